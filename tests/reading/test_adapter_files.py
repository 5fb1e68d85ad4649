"""An adapter's configuration is read as peft counts it.

This includes the adapter's class, trained copies of modules, and all other trained parameters.
"""

import json
import re
import time
from typing import Any

import peft
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

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


LOADS = 'model = {cls}.from_pretrained("bert-base-uncased"{more})\n'
PROGRAMS = {
    "labels": LOADS.format(cls="AutoModelForSequenceClassification", more=", num_labels=20")
    + 'config = LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")\n'
    "model = get_peft_model(model, config)",
    "a later rank": 'config = LoraConfig(r=8, target_modules=["query", "value"])\nconfig.r = 64\n'
    'model = get_peft_model(AutoModel.from_pretrained("bert-base-uncased"), config)',
    "the base of several": 'model = AutoModel.from_pretrained("bert-large-uncased")\n'
    'other = AutoModel.from_pretrained("roberta-base")\nconfig = LoraConfig(target_modules=["query"], r=4, '
    "lora_alpha=16, lora_dropout=0.05)\nmodel = get_peft_model(other, config)",
    "the second": 'small = LoraConfig(r=2, target_modules=["query"])\nlarge = LoraConfig(r=4, target_modules=["key"])\n'
    'model = get_peft_model(AutoModel.from_pretrained("bert-base-uncased"), peft_config=large)',
}


class _WithoutFiles:
    """A class of transformers whose from_pretrained builds the model without weights."""

    def __init__(self, name: str) -> None:
        self._name = name

    def from_pretrained(self, name: str, **fields: Any) -> Any:
        sizes = {"bert-large-uncased": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}}
        kind = "RobertaConfig" if name.startswith("roberta") else "BertConfig"
        config = getattr(transformers, kind)(**(ROBERTA if name in NAMES.values() and kind[0] == "R" else {}))
        config.update({**sizes.get(name, {}), **fields})
        with torch.device("meta"):
            return getattr(transformers, self._name).from_config(config)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_python_code_is_counted_as_peft_counts_its_adapter(program: str) -> None:
    classes = ("AutoModel", "AutoModelForSequenceClassification")
    names = {**vars(peft), **{name: _WithoutFiles(name) for name in classes}}
    with torch.device("meta"):
        exec(program, names)  # the programs are in this file
    trained, count = names["model"].get_nb_trainable_parameters()
    reading = bertcalc.read(program)
    assert (reading.kind, reading.num_parameters) == ("adapter-config", count)
    assert sum(tensor.num_parameters() for tensor in reading.tensors) == trained
    assert "default of" not in str(reading)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('LoraConfig(r=rank, target_modules=["query"], base_model_name_or_path="gpt2")', "sets r to rank"),
        ('a = LoraConfig(r=2, target_modules=["query"])\nb = LoraConfig(r=3)\n', "several adapters .lines 1, 2."),
    ],
)
def test_an_adapter_that_code_leaves_open_is_asked_for(text: str, reason: str) -> None:
    with pytest.raises(bertcalc.InputError, match=reason):
        bertcalc.read(text)


@pytest.mark.parametrize(("base", "words"), [("google/flan-t5-base", "is not a preset"), ("gpt2", "such as T5")])
def test_an_adapter_of_an_encoder_decoder_is_not_called_invalid(base: str, words: str) -> None:
    config = peft.LoraConfig(task_type="SEQ_2_SEQ_LM", target_modules=["q", "v"], base_model_name_or_path=base)
    reading = bertcalc.read(_in_file(config))
    assert words in str(reading)
    assert "invalid" not in str(reading)
    assert reading.num_parameters is None


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


SLOW = r"(\w+\.?)+zz"


@pytest.mark.parametrize(
    "keys",
    [
        {"target_modules": SLOW},
        {"target_modules": r"(\w+\.?)+query_proj"},
        {"target_modules": r"([a-z._0-9]+)+\.query$"},
        {"target_modules": r"((.*)+\2)+zz"},
        {"target_modules": f"{'(' * 60}a*{')*' * 60}"},
        {"target_modules": "(.*)*" * 500},
        {"target_modules": ["query"], "exclude_modules": SLOW},
        {"target_modules": ["query"], "rank_pattern": {SLOW: 4}},
        {"target_modules": ["query"], "rank_pattern": {f"(\\w+\\.?)+z{at}": 4 for at in range(1_000)}},
        {"target_modules": ["query"], "rank_pattern": {f"a.*{at}": 4 for at in range(5_000)}},
        {"target_modules": ["query"], "alpha_pattern": {SLOW: 4}},
        {"target_modules": ["query"], "layers_to_transform": [0], "layers_pattern": SLOW},
        {"target_modules": ["query"], "layers_to_transform": [0], "layers_pattern": [SLOW] * 1_000},
        {"target_modules": ["query"], "modules_to_save": [SLOW]},
        {"target_modules": [f"layer.{at}.dense" for at in range(45_000)]},
    ],
    ids=lambda keys: str(keys)[:60],
)
def test_no_pattern_stalls_the_reader(keys: dict[str, Any]) -> None:
    content = {"peft_type": "LORA", "task_type": "SEQ_CLS", "base_model_name_or_path": "bert-base-uncased", **keys}
    start = time.process_time()
    reading = bertcalc.read(json.dumps(content))
    assert time.process_time() - start < 30  # a slow machine needs 5 seconds
    assert reading.kind == "adapter-config"


@given(st.lists(st.sampled_from(["query", "dense", r"\.", ".", r"\w", "(", ")", "|", "*", "+", "?", "{2,}"])))
@pytest.mark.filterwarnings("ignore")
def test_a_pattern_selects_what_peft_selects(parts: list[str]) -> None:
    pattern = f"{''.join(parts)}(query|dense|s?s?s?s?)*"
    try:
        re.compile(pattern)
    except re.error:
        return
    content = {"peft_type": "LORA", "target_modules": pattern, "base_model_name_or_path": "bert-base-uncased"}
    reading = bertcalc.read(json.dumps(content))
    if reading.num_parameters is None:
        return
    adapted = {
        tensor.name.partition(".lora_")[0] for tensor in reading.detail.tensors(folded=False) if "lora_" in tensor.name
    }
    with torch.device("meta"):
        names = [name for name, _module in transformers.BertModel(transformers.BertConfig()).named_modules()]
    expected = {name for name in names if peft.utils.other.match_target_against_key(pattern, name)}
    assert adapted == expected


@pytest.mark.filterwarnings("ignore")
def test_a_pattern_of_unsloth_is_counted_as_peft_counts_it() -> None:
    pattern = (
        r"(?:.*?(?:language|text|encoder).*?(?:self_attn|attention|attn|mlp|feed_forward|ffn|dense).*?"
        r"(?:k_proj|v_proj|q_proj|out_proj|fc1|fc2|query|value).*?)|(?:\bmodel\.layers\.[\d]{1,}\.(?:mlp)\.(?:(?:up)))"
    )
    config = peft.LoraConfig(r=8, target_modules=pattern, task_type="FEATURE_EXTRACTION")
    _trained, count = _adapted("BertModel", config).get_nb_trainable_parameters()
    config.base_model_name_or_path = "bert-base-uncased"
    assert bertcalc.read(_in_file(config)).num_parameters == count


def test_a_pasted_call_without_a_base_model_is_counted_once_the_advice_is_followed() -> None:
    call = 'LoraConfig(r=16, target_modules=["query", "value"]{})'
    [note] = bertcalc.read(call.format("")).notes
    assert "add base_model_name_or_path" in str(note)
    first, *_ = bertcalc.read(call.format(', base_model_name_or_path="roberta-large"')).notes
    assert f"{24 * 2 * 2 * 1024 * 16:,} parameters to roberta-large" in str(first)  # layers, targets, A and B, H, r
