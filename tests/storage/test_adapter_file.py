"""adapter_model.safetensors against the file that peft writes."""

import warnings
from pathlib import Path
from typing import Any

import peft
import pytest
from safetensors import safe_open

from bertcalc import IA3, BertConfig, LNTuning, Lora, PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.storage.adapter_file import adapter_file_bytes
from tests.changes.adapters import Adapter
from tests.oracle import Case

SMALL = BertConfig(vocab_size=61, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48)
PROMPTS = {"num_virtual_tokens": 5, "task_type": "SEQ_CLS"}
ADAPTERS = [
    Adapter(Lora, {"task_type": "SEQ_CLS"}),
    Adapter(Lora, {"bias": "all", "modules_to_save": ["pooler"]}),
    Adapter(Lora, {"bias": "lora_only", "use_dora": True}),
    Adapter(Lora, {"target_modules": ["word_embeddings", "query"], "layers_to_transform": [0, 2]}),
    Adapter(IA3, {}),
    Adapter(LNTuning, {"target_modules": ["LayerNorm"]}),
    Adapter(PromptTuning, PROMPTS),
    Adapter(PrefixTuning, {**PROMPTS, "prefix_projection": True}),
    Adapter(PromptEncoder, {**PROMPTS, "encoder_hidden_size": 8}),
]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
def test_it_is_as_large_as_the_file_that_peft_writes(adapter: Adapter, tmp_path: Path) -> None:
    case = Case(SMALL, "BertForSequenceClassification")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real: Any = peft.get_peft_model(case.real("cpu"), adapter.theirs())
        real.save_pretrained(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    with safe_open(path, "pt") as file:
        assert file.keys()
    assert adapter_file_bytes(case.model.changed(changes=(adapter.ours(),))) == path.stat().st_size


def test_a_model_without_an_adapter_has_no_such_file() -> None:
    assert adapter_file_bytes(Case(SMALL).model) == 0
