"""adapter_model.safetensors has the size of the file that peft writes."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given, reject
from hypothesis import strategies as st
from safetensors import safe_open

from bertcalc import (
    IA3,
    BertConfig,
    EuroBertConfig,
    InputError,
    LNTuning,
    Lora,
    PrefixTuning,
    PromptEncoder,
    file_bytes,
)
from bertcalc.storage.adapter_file import adapter_file_bytes
from tests.adapters import Adapter, adapters
from tests.changes.test_adapters import IN_TRANSFORMERS
from tests.examples import examples
from tests.oracle import Case
from tests.storage.test_files import sizes_in
from tests.strategies import cases

SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
BERT = BertConfig(vocab_size=61, **SIZES)
EUROBERT = EuroBertConfig(vocab_size=61, pad_token_id=0, bos_token_id=1, eos_token_id=2, mask_token_id=3, **SIZES)
PROMPTS = {"num_virtual_tokens": 5, "task_type": "SEQ_CLS"}
ALL = {"bias": "all", "modules_to_save": ["transform"]}
CASES = [
    (Case(BERT, "BertForSequenceClassification"), Adapter(Lora, {"task_type": "SEQ_CLS", "use_dora": True})),
    (Case(BERT, "BertForMaskedLM"), Adapter(Lora, {"target_modules": ["query", "word_embeddings"], **ALL})),
    (Case(EUROBERT, "EuroBertForMaskedLM"), Adapter(Lora, {"target_modules": ["embed_tokens", "lm_head"]})),
    (Case(EUROBERT, "EuroBertForMaskedLM"), Adapter(Lora, {"target_modules": r"(.*\.)?(q_proj|lm_head)"})),
    (Case(BERT, "BertForSequenceClassification"), Adapter(IA3, {"task_type": "SEQ_CLS"})),
    (Case(BERT, "BertForSequenceClassification"), Adapter(LNTuning, {"target_modules": ["LayerNorm"]})),
    (Case(BERT, "BertForSequenceClassification"), Adapter(PrefixTuning, {**PROMPTS, "prefix_projection": True})),
    (Case(BERT, "BertForSequenceClassification"), Adapter(PromptEncoder, {**PROMPTS, "encoder_hidden_size": 8})),
]


def real_files(case: Case, adapter: Adapter, folder: Path, dtype: str = "float32") -> int:
    """Let transformers save the model and peft the adapter, in two folders. Return the bytes of both."""
    real = case.real("cpu").to(getattr(torch, dtype))
    real.save_pretrained(folder / "model")
    adapted = adapter.added(real)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft warns that embeddings are saved
        adapted.save_pretrained(str(folder / "adapter"))
    with safe_open(folder / "adapter" / "adapter_model.safetensors", "pt") as file:
        assert file.keys()
    return sum(sum(sizes_in(folder / name).values()) for name in ("model", "adapter"))


@pytest.mark.parametrize(("case", "adapter"), CASES, ids=[adapter.kind.__name__ for _case, adapter in CASES])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_files_are_those_of_transformers_and_peft(case: Case, adapter: Adapter, dtype: Any, tmp_path: Path) -> None:
    size = real_files(case, adapter, tmp_path, dtype)
    model = case.model.changed(changes=(adapter.ours(),))
    assert adapter_file_bytes(model, dtype) == sum(sizes_in(tmp_path / "adapter").values())
    assert file_bytes(model, dtype=dtype) == size


@examples(25)
@given(st.data())
def test_a_random_adapter_is_as_large_as_the_file_that_peft_writes(data: st.DataObject) -> None:
    case = data.draw(cases(classes=IN_TRANSFORMERS).filter(is_small))
    adapter = data.draw(adapters(case.model))
    try:
        model = case.model.changed(changes=(adapter.ours(),))
    except InputError:  # tests/changes compares what peft refuses
        reject()
    with TemporaryDirectory() as folder:
        real_files(case, adapter, Path(folder))
        assert adapter_file_bytes(model) == sum(sizes_in(Path(folder) / "adapter").values())


def is_small(case: Case) -> bool:
    return case.model.num_parameters() < 3_000_000


def test_a_model_without_an_adapter_has_no_such_file() -> None:
    assert adapter_file_bytes(Case(BERT).model) == 0
