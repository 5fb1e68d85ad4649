"""Pasted configurations: the prints of transformers and Python are read back as the configuration."""

import argparse
import json
import re
from collections.abc import Callable
from time import process_time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

import bertcalc
from bertcalc.config import ConfigError
from bertcalc.reading.config_text import config_from_text, looks_like_config
from bertcalc.text.loose_json import LONGEST
from bertcalc.text.problem import InputError
from tests.oracle import Case, real_config
from tests.proofreading.real_models import count, real
from tests.reading.noise import (
    Noise,
    coloured,
    commented,
    numbered,
    quoted,
    with_hard_spaces,
    with_line_numbers,
    with_windows_line_ends,
)
from tests.strategies import cases

# Hypothesis also draws the words of our own code. These keys mark an adapter, which may repeat sizes of its model, and
# a notebook.
OF_OTHER_FILES = ("peft_type", "nbformat")
KEYS = st.text(max_size=9).filter(lambda key: key not in OF_OTHER_FILES)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
CONTENTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(cases())
def test_what_transformers_prints_is_read_as_its_json(case: Case) -> None:
    real = real_config(case.config)
    printed = f"{real!r}"
    assert printed.startswith(type(real).__name__)
    assert config_from_text(printed) == json.loads(real.to_json_string())
    assert looks_like_config(printed)
    assert config_from_text(f"Model config {printed}\n") == config_from_text(printed)


@given(CONTENTS)
def test_what_python_prints_is_read_as_the_same(content: dict[str, Any]) -> None:
    content["hidden_size"] = 768
    assert config_from_text(repr(content)) == content
    assert config_from_text(f"config = {content!r}") == content
    assert config_from_text(json.dumps(content, ensure_ascii=False)) == content
    assert looks_like_config(f"{{'hidden_size': 768, **{content!r}")


@pytest.mark.parametrize("kind", [argparse.Namespace, SimpleNamespace], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("line", ["{}", "args = {}", "INFO - arguments: {}"])
def test_arguments_as_python_prints_them_are_a_configuration(kind: Any, line: str) -> None:
    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    given = kind(model_type="bert", lr=2e-5, device=torch.device("cuda"), **sizes, dtype=torch.float32, epochs=3)
    reading = bertcalc.read(line.format(given))
    real = transformers.BertConfig(**sizes)
    with torch.device("meta"):
        assert reading.num_parameters == transformers.BertModel(real).num_parameters()
    assert reading.kind == "config"


def test_arguments_without_sizes_are_no_hand_count() -> None:
    with pytest.raises(bertcalc.InputError, match="cannot recognize"):
        bertcalc.read(str(argparse.Namespace(lr=2e-5, epochs=3, batch_size=32)))


@given(CONTENTS)
def test_comments_and_last_commas_change_nothing(content: dict[str, Any]) -> None:
    content["hidden_size"] = 768
    lines = json.dumps(content, indent=2).split("\n")
    commented = "\n".join((*(f"{line} // {{'x': 1}}" for line in lines[:-1]), "/* } */ , }".replace(" ,", " ,")))
    assert config_from_text(commented) == content


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("{hidden_size: 64}", {"hidden_size": 64}),
        ("{“hidden_size”： 64，“is_decoder”: True}", {"hidden_size": 64, "is_decoder": True}),
        ("{'id2label': {0: 'no', 1: 'yes'}}", {"id2label": {"0": "no", "1": "yes"}}),
        ("{'layers': (1, 2,)}", {"layers": [1, 2]}),
        ("```json\n{'vocab_size': 30_522}\n```", {"vocab_size": 30522}),
        ("BertConfig {}", {"model_type": "bert"}),
        ("BertConfig()", {"model_type": "bert"}),
        (
            "config = BertConfig(hidden_size=128, id2label={0: 'a'}, is_decoder=True,)  # small",
            {"model_type": "bert", "hidden_size": 128, "id2label": {"0": "a"}, "is_decoder": True},
        ),
        ("GPTConfig(n_layer=12, n_embd=768)", {"n_layer": 12, "n_embd": 768}),
        ("config = dict(model_type='bert', hidden_size=128)", {"model_type": "bert", "hidden_size": 128}),
        ("{'device': device(type='cuda', index=(0,)), 'a': 1}", {"device": "device(type='cuda',index=(0,))", "a": 1}),
        ('DistilBertConfig {"model_type": "bert"}', {"model_type": "bert"}),
        ("{'url': 'http://a#b', 'quote': 'it\\'s'}", {"url": "http://a#b", "quote": "it's"}),
    ],
)
def test_notations_whose_meaning_is_certain(text: str, content: dict[str, Any]) -> None:
    assert config_from_text(text) == content


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{'a': 1, 'a': 2}", "a appears twice"),
        ("{'a': 1, a: 2}", "a appears twice"),
        ("{'a': nan}", "NaN is not valid in JSON"),
        ("{'a': 'b' 'c'}", "This is not JSON"),
        ("{'a': 1 'b': 2}", "This is not JSON"),
        ("{'a': __import__('os').system('true')}", "This is not JSON"),
        ("{'a': 2 * 384}", "This is not JSON"),
        ("{'a': 30,522}", "This is not JSON"),
        ("{'a': 01}", "This is not JSON"),
        ("{'a': b'x'}", "This is not JSON"),
        ("{'a': {1, 2}}", "This is not JSON"),
        ("{'a': 1} {'b': 2}", "This is not JSON"),
        ("{'a': 1", "This is not JSON"),
        ("{'a': 1]", "This is not JSON"),
        ("{'a': 1,,}", "This is not JSON"),
        ("{,}", "This is not JSON"),
        ("{'a' = 1}", "This is not JSON"),
        ("BertConfig(hidden_size=128]", "This is not JSON"),
        ("BertConfig(128)", "This is not JSON"),
        ("BertConfig(**{'hidden_size': 128})", "This is not JSON"),
        ("BertConfig(hidden_size=64 * 2)", "This is not JSON"),
        ("BertConfig(hidden_size=128).hidden_size", "This is not JSON"),
        ("print(1)", "This is not a config.json: expected a JSON object"),
        ("{'a': 1 /* never closed", "This is not JSON"),
        ("hidden_size = 768", "This is not a config.json: expected a JSON object"),
        ("[1]", "This is not a config.json: expected a JSON object"),
        ("", "This is not a config.json: expected a JSON object"),
    ],
)
def test_what_is_not_certain_is_refused(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        config_from_text(text)


@pytest.mark.parametrize("text", ["BertConfig(vocab_size={})", "{{'model_type': 'bert', 'vocab_size': {}}}"])
@pytest.mark.parametrize("call", ["len(tokenizer)", "len(words)"])
def test_a_size_that_is_a_call_is_shown(text: str, call: str) -> None:
    with pytest.raises(InputError, match=rf"vocab_size (?:'|to ){re.escape(call)}"):
        bertcalc.read(text.format(call), "config")


@pytest.mark.parametrize(
    "text",
    [
        "{" + "/*" * 90_000,
        "{'" * 60_000,
        "{" + "'a':1," * 30_000,
        "{" + "(1," * 60_000,
        "{" + "“a" * 90_000,
        "#" * 190_000,
        "x" * 190_000,
        "BertConfig" * 19_000,
        "{" + " " * 190_000,
        "{'a': '" + "\\" * 190_000,
        "```" + " " * 190_000,
        "{" + "[" * 190_000,
        "{'a': 1}" + ";" * (LONGEST - 10),
        "{'a': 1}" + " " * 900_000 + "x",
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    start = process_time()
    with pytest.raises(ConfigError):
        config_from_text(text)
    looks_like_config(text)
    assert process_time() - start < 2


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "110M", "{}", '{"a": 1}', '{"cells": [], "nbformat": 4, "vocab_size": 1}'),
        *(
            "BertModel(\n  (x): y)",
            '{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}',
            '{"weight_map": {}}',
        ),
    ],
)
def test_what_does_not_look_like_a_configuration(text: str) -> None:
    assert not looks_like_config(text)


def test_other_types_look_like_one() -> None:
    types = ("llama", "t5", "bart")
    assert all(looks_like_config(transformers.CONFIG_MAPPING[kind]().to_json_string()) for kind in types)


SIZES = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 1536}
LAYOUTS = {
    "tabs": "\n".join(f"{key}\t{value}" for key, value in SIZES.items()),
    "columns": "\n".join(f"{key:30}{value}" for key, value in SIZES.items()),
    "options": " ".join(f"--{key} {value}" for key, value in SIZES.items()),
    "options with =": " ".join(f"--{key}={value}" for key, value in SIZES.items()),
    "a section": "model:\n" + "\n".join(f"  {key}: {value}" for key, value in SIZES.items()),
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_settings_in_any_layout_are_a_configuration(text: str) -> None:
    with torch.device("meta"):
        real = transformers.BertModel(transformers.BertConfig(**SIZES))
    assert bertcalc.read(text).num_parameters == real.num_parameters()


NOISES = (coloured, quoted, commented, numbered, with_line_numbers, with_hard_spaces, with_windows_line_ends)
WRITTEN = {
    "printed": str,
    "JSON": lambda config: config.to_json_string(),
    "a question": lambda config: f"Mine:\n{config}\nThanks!",
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
def test_the_margin_of_a_configuration_is_left_out(write: Callable[[Any], str], noise: Noise) -> None:
    config = transformers.BertConfig(**SIZES, vocab_size=12, layer_norm_eps=1.5e-12)
    with torch.device("meta"):
        real = transformers.BertModel(config)
    assert bertcalc.read(noise(write(config))).num_parameters == real.num_parameters()


def test_the_number_of_a_single_line_is_left_out() -> None:
    with torch.device("meta"):
        real = transformers.BertModel(transformers.BertConfig(**SIZES))
    call = f"BertConfig({', '.join(f'{key}={value}' for key, value in SIZES.items())})"
    for text in (f"   1  {call}", f"> {call}", f"12 | {call}"):
        assert bertcalc.read(text).num_parameters == real.num_parameters()


def test_two_configurations_with_one_size_each_are_two() -> None:
    text = 'bert:\n{"model_type": "bert", "hidden_size": 384}\nroberta:\n{"model_type": "roberta", "hidden_size": 360}'
    for written in (text, text.replace("roberta:\n", "").replace("bert:\n", "")):
        reading = bertcalc.read(written)
        assert reading.num_parameters is None
        with torch.device("meta"):
            real = [
                transformers.BertModel(transformers.BertConfig(hidden_size=384)).num_parameters(),
                transformers.RobertaModel(transformers.RobertaConfig(hidden_size=360)).num_parameters(),
            ]
        assert [possible.parameters for possible in reading.possible_counts] == real


@pytest.mark.parametrize("text", ['{"hidden_size": 384,\n"num_hidden_layers": 6', '{"hidden_size": 384,\n"num_hid'])
def test_the_end_of_a_cut_configuration_is_asked_for(text: str) -> None:
    with pytest.raises(InputError, match="a closing bracket is missing at the end of the text"):
        bertcalc.read(text)


def test_a_quantization_without_a_method_is_named_by_its_flag() -> None:
    text = '{"model_type": "bert", "quantization_config": {"load_in_4bit": true}}'
    assert "quantization_config ('load_in_4bit'): " in str(bertcalc.read(text))


METADATA = {"bert.block_count": 6, "bert.embedding_length": 384, "bert.feed_forward_length": 1536}
METADATA |= {"bert.attention.head_count": 12, "bert.context_length": 512}


@pytest.mark.parametrize(
    "row", ["{name} u32 = {size}", "llama_model_loader: - kv   9: {name:>40} u32              = {size}"]
)
def test_the_metadata_of_a_gguf_file_is_a_configuration(row: str) -> None:
    lines = [row.format(name=name, size=size) for name, size in METADATA.items()]
    text = "\n".join([*lines, 'llama_model_loader: - kv  20: tokenizer.ggml.tokens arr[str,30000]  = ["[PAD]", ...'])
    with torch.device("meta"):
        sizes = {"vocab_size": 30000, "hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
        real = transformers.BertModel(transformers.BertConfig(**sizes))
    reading = bertcalc.read(text)
    assert (reading.kind, reading.num_parameters) == ("config", real.num_parameters())
    with pytest.raises(InputError, match=r"llama \(GGUF\)"):
        bertcalc.read(text.replace("bert.", "llama."))


def test_sizes_on_one_line_or_under_a_heading_are_a_configuration() -> None:
    with torch.device("meta"):
        real = transformers.BertModel(transformers.BertConfig(num_hidden_layers=6, vocab_size=99))
    for text in (
        "hidden_size=768, num_hidden_layers=6, vocab_size=99",
        "hidden_size: 768, num_hidden_layers: 6, vocab_size: 99",
        "[model]\nhidden_size = 768\nnum_hidden_layers = 6\nvocab_size = 99",
    ):
        reading = bertcalc.read(text)
        assert (reading.kind, reading.num_parameters) == ("config", real.num_parameters())


@pytest.mark.parametrize(
    "text",
    [
        "L=7, H=48, A=3",
        "L=7\nH=48\nA=3\n",
        "export NUM_HIDDEN_LAYERS=7\nexport HIDDEN_SIZE=48\nexport NUM_ATTENTION_HEADS=3",
        "num_hidden_layers: 7, hidden_size: 48, num_attention_heads: 3, vocab_size: 30,522",
    ],
)
def test_letters_shell_variables_and_thousands_separators_are_sizes(text: str) -> None:
    built = real("BertModel", num_hidden_layers=7, hidden_size=48, num_attention_heads=3)
    reading = bertcalc.read(text)
    assert reading.kind == "config"
    assert reading.model is not None
    assert reading.model.num_parameters() == count(built)
