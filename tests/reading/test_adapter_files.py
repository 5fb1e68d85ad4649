"""An adapter's configuration is read as peft counts it.

This includes the adapter's class, trained copies of modules, and all other trained parameters.
"""

import json
from typing import Any

import peft
import pytest
import torch
import transformers

import bertcalc

QUERY_VALUE = ["query", "value"]
ROBERTA = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}
ADAPTERS: list[tuple[str, str, Any]] = [
    ("BertForSequenceClassification", "SEQ_CLS", peft.LoraConfig(r=8, target_modules=QUERY_VALUE)),
    ("RobertaForSequenceClassification", "SEQ_CLS", peft.LoraConfig(target_modules="all-linear", bias="all")),
    ("BertForTokenClassification", "TOKEN_CLS", peft.LoraConfig(r=8, rank_pattern={"query": 4}, use_dora=True)),
    ("BertLMHeadModel", "CAUSAL_LM", peft.LoraConfig(target_modules=r".*\.(query|key)")),
    ("BertForQuestionAnswering", "QUESTION_ANS", peft.LoraConfig(target_modules=QUERY_VALUE, layers_to_transform=[0])),
    ("GPT2LMHeadModel", "CAUSAL_LM", peft.LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True)),
    ("BertForSequenceClassification", "SEQ_CLS", peft.IA3Config()),
    ("BertForSequenceClassification", "SEQ_CLS", peft.PromptTuningConfig(num_virtual_tokens=20)),
    ("BertModel", "FEATURE_EXTRACTION", peft.PrefixTuningConfig(num_virtual_tokens=20, prefix_projection=True)),
    ("BertForSequenceClassification", "SEQ_CLS", peft.PromptEncoderConfig(num_virtual_tokens=9)),
]
NAMES = {"Bert": "bert-base-uncased", "Roberta": "roberta-base", "GPT2": "gpt2"}


def _adapted(architecture: str, config: Any) -> Any:
    cls = getattr(transformers, architecture)
    sizes = ROBERTA if architecture.startswith("Roberta") else {}
    with torch.device("meta"):
        return peft.get_peft_model(cls(cls.config_class(**sizes)), config)


def _in_file(config: Any, **keys: Any) -> str:
    content = {**config.to_dict(), **keys}
    return json.dumps({key: sorted(value) if isinstance(value, set) else value for key, value in content.items()})


@pytest.mark.parametrize(("architecture", "task_type", "config"), ADAPTERS, ids=lambda case: str(case)[:40])
@pytest.mark.filterwarnings("ignore")
def test_an_adapter_is_counted_as_peft_counts_it(architecture: str, task_type: str, config: Any) -> None:
    config.task_type = task_type
    name = next(name for start, name in NAMES.items() if architecture.startswith(start))
    trained, count = _adapted(architecture, config).get_nb_trainable_parameters()
    config.base_model_name_or_path = name
    for text in (_in_file(config), repr(config), f"adapter = {config!r}\n"):
        reading = bertcalc.read(text)
        assert reading.kind == "adapter-config"
        assert reading.model is not None
        assert (reading.model.architecture, reading.num_parameters) == (architecture, count)
        assert sum(tensor.num_parameters() for tensor in reading.tensors) == trained
        assert f"{trained:,}" in str(reading)


@pytest.mark.parametrize(
    ("config", "width"),
    [
        (peft.PromptTuningConfig(num_virtual_tokens=20), 768),
        (peft.PrefixTuningConfig(num_virtual_tokens=7), 768),
        (peft.PromptEncoderConfig(num_virtual_tokens=7, encoder_hidden_size=64), 768),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_virtual_tokens_need_no_base_model(config: Any, width: int) -> None:
    config.task_type = "CAUSAL_LM"
    trained, _count = _adapted("GPT2LMHeadModel", config).get_nb_trainable_parameters()
    text = _in_file(config, base_model_name_or_path="somebody/unknown")
    assert f'"token_dim": {width}' in text
    assert bertcalc.read(text).num_parameters == trained


def test_python_code_names_the_base_model() -> None:
    reading = bertcalc.read(
        'model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")\n'
        'config = LoraConfig(r=8, target_modules=["query", "value"], task_type=TaskType.SEQ_CLS)\n'
    )
    assert reading.num_parameters == 109_780_228  # printed by peft 0.21


def test_the_class_that_peft_writes_instead_of_a_task_is_used() -> None:
    mapping = {"base_model_class": "BertForSequenceClassification", "parent_library": "transformers.models.bert"}
    config = peft.LoraConfig(r=8, target_modules=QUERY_VALUE)
    text = _in_file(config, auto_mapping=mapping, base_model_name_or_path="bert-base-uncased")
    assert bertcalc.read(text).num_parameters == 109_483_778 + 294_912


def test_what_is_not_counted_is_named() -> None:
    for keys, words in (
        ({"peft_type": "ADALORA"}, "does not support adapters of this type"),
        ({"peft_type": "LORA", "r": "8"}, "r '8' is invalid"),
        ({"peft_type": "LORA", "trainable_token_indices": [1]}, "trainable_token_indices"),
    ):
        reading = bertcalc.read(json.dumps({"base_model_name_or_path": "bert-base-uncased", **keys}))
        assert words in str(reading)
        assert reading.num_parameters is None
