"""Texts with several configurations: each is counted like its real model, and no sizes are mixed."""

import json
from time import process_time

import pytest
import torch
import transformers

import bertcalc
from bertcalc.text.problem import InputError

SMALL = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 64, "num_hidden_layers": 2}
SMALL |= {"num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 99}
LARGE = {**SMALL, "hidden_size": 128, "num_hidden_layers": 3}
LLAMA = {**SMALL, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
PROSE = "We trained it on Wikipedia for a week. "


def _real(content: dict[str, object]) -> int:
    fields = {key: value for key, value in content.items() if key not in ("model_type", "architectures")}
    with torch.device("meta"):
        config = transformers.AutoConfig.for_model(str(content["model_type"]), **fields)
        count: int = getattr(transformers, content["architectures"][0])(config).num_parameters()  # type: ignore[index]
    return count


TEXTS = {
    "Markdown": "Small:\n```json\n{}\n```\nLarge:\n```json\n{}\n```\n",
    "one after the other": "{}\n\n{}",
    "a list": "[{}, {}]",
    "a log": "INFO Model config BertConfig {}\nINFO Model config BertConfig {}\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("others", [(SMALL, LARGE), (SMALL, LLAMA)], ids=["sizes", "types"])
def test_each_configuration_of_a_text_has_its_own_count(text: str, others: tuple[dict[str, object], ...]) -> None:
    written = text.replace("{}", "%s") % tuple(json.dumps(content, indent=2) for content in others)
    if "BertConfig" in text and LLAMA in others:
        written = written.replace("BertConfig", "")
    reading = bertcalc.read(written)
    assert (reading.kind, reading.num_parameters, reading.model) == ("config", None, None)
    assert [possible.parameters for possible in reading.possible_counts] == [_real(content) for content in others]
    first = written.splitlines().index(next(line for line in written.splitlines() if "model_type" in line))
    assert f"(lines {first} to" in str(reading)


def test_the_same_configuration_twice_is_one() -> None:
    again = {**SMALL, "_name_or_path": "elsewhere", "transformers_version": "4.1"}
    reading = bertcalc.read(f"{json.dumps(SMALL)}\n{json.dumps(again)}", "config")
    assert reading.num_parameters == _real(SMALL)


def test_a_configuration_that_cannot_be_counted_is_named() -> None:
    odd = {**SMALL, "hidden_size": 65}
    reading = bertcalc.read(f"{json.dumps(SMALL)}\n{json.dumps(odd)}")
    assert [possible.parameters for possible in reading.possible_counts] == [_real(SMALL)]
    assert "configuration 2 (line 2) is not counted: hidden_size 65" in str(reading)


def test_an_article_with_two_configurations_is_not_about_a_mixture() -> None:
    blocks = f"```json\n{json.dumps(SMALL)}\n```\nand\n```json\n{json.dumps(LARGE)}\n```\n"
    reading = bertcalc.read(PROSE * 50 + blocks + PROSE * 50)
    assert reading.kind == "article"
    assert reading.model is not None
    assert reading.model.num_parameters() == _real(SMALL)
    assert "has 2 different configurations" in str(reading)


@pytest.mark.parametrize("sign", ["=", ": "])
def test_lines_that_contradict_each_other_are_named(sign: str) -> None:
    lines = [f"{key}{sign}{value}" for key, value in SMALL.items() if isinstance(value, int)]
    with pytest.raises(InputError, match="gives num_hidden_layers several values: 2, 24"):
        bertcalc.read("\n".join([*lines, f"num_hidden_layers{sign}24"]))


@pytest.mark.parametrize("quotes", ['"{}"', "'{}'", "{}"])
def test_an_object_in_a_string_is_read(quotes: str) -> None:
    escaped = json.dumps(json.dumps(SMALL, indent=2))[1:-1]
    assert bertcalc.read(quotes.replace("{}", escaped)).num_parameters == _real(SMALL)


@pytest.mark.parametrize("piece", ["{", "}", "{}", '{"hidden_size": 1, "num_layers": 2}', "{{}}\n"])
def test_hostile_texts_take_little_time(piece: str) -> None:
    start = process_time()
    with pytest.raises(InputError):
        bertcalc.read(piece * (999_999 // len(piece)))
    assert process_time() - start < 10


def _rows(labels: dict[str, object]) -> str:
    rows = "".join(f"| {label} | {value} |\n" for label, value in labels.items())
    return f"| Hyperparameter | Value |\n|---|---:|\n{rows}"


@pytest.mark.parametrize(
    "labels",
    [
        {key: value for key, value in SMALL.items() if isinstance(value, int)},
        {"Layers": 2, "Hidden size": 64, "Attention heads": 4, "FFN inner": 96, "Vocab size": 99, "Parameters": "0.1M"},
        {"Number of layers": 2, "**Hidden dim**": 64, "`heads`": 4, "Intermediate size": 96, "Vocabulary": 99},
    ],
)
def test_a_table_of_sizes_is_a_configuration(labels: dict[str, object]) -> None:
    reading = bertcalc.read(_rows(labels))
    assert (reading.kind, reading.num_parameters) == ("config", _real(SMALL))
    assert "the count is a guess" in str(reading)


@pytest.mark.parametrize(
    "text",
    [
        "配置如下：\n{“hidden_size”：64，“num_hidden_layers”：2，“num_attention_heads”：4，“intermediate_size”：96，"
        "“vocab_size”：99}\n请问有多少参数？",
        "🤗" * 400 + json.dumps(SMALL) + "🤗" * 400,
        '{"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, '
        '"intermediate_size": 96, "vocab_size": 99}',
    ],
    ids=["Chinese", "emoji", "short"],
)
def test_a_short_configuration_is_not_a_number(text: str) -> None:
    reading = bertcalc.read(text)
    assert (reading.kind, reading.num_parameters) == ("config", _real(SMALL))


def test_a_log_with_the_time_in_each_line_is_read() -> None:
    lines = json.dumps(SMALL, indent=2).split("\n")
    text = "\n".join(f"2024-05-01 12:00:{second:02},123 INFO  [a.py:88] {line}" for second, line in enumerate(lines))
    assert bertcalc.read(text).num_parameters == _real(SMALL)


@pytest.mark.parametrize("marks", [("<<<<<<< HEAD\n", "=======\n", ">>>>>>> main\n"), ("", "=======\n", "")])
def test_a_merge_conflict_is_named(marks: tuple[str, str, str]) -> None:
    first, middle, last = marks
    text = f'{{\n  "model_type": "bert",\n{first}  "hidden_size": 64,\n{middle}  "hidden_size": 128,\n{last}'
    with pytest.raises(InputError, match=r"merge conflict in line [34]: keep one"):
        bertcalc.read(f'{text}  "num_hidden_layers": 2\n}}' + " " * 200_000)


def test_code_that_cannot_be_followed_is_not_called_bad_json() -> None:
    with pytest.raises(InputError, match="neither JSON nor Python code"):
        bertcalc.read("BertConfig(hidden_size=64 num_hidden_layers=2)")


NESTED = {
    "an encoder and a decoder": transformers.EncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.BertConfig(), transformers.BertConfig(num_hidden_layers=6)
    ).to_dict(),
    "twice the same": {"encoder": SMALL, "decoder": SMALL},
    "other names": {"student": SMALL, "teacher": LARGE, "epochs": 3},
}


@pytest.mark.parametrize("content", NESTED.values(), ids=NESTED)
def test_each_nested_configuration_has_its_own_count(content: dict[str, dict[str, object]]) -> None:
    reading = bertcalc.read(json.dumps(content))
    assert (reading.kind, reading.num_parameters, reading.model) == ("config", None, None)
    parts = {name: part for name, part in content.items() if name in ("encoder", "decoder", "student", "teacher")}
    counts = [_real({"model_type": "bert", **part, "architectures": ["BertModel"]}) for part in parts.values()]
    assert [possible.parameters for possible in reading.possible_counts] == counts
    assert all(f"if {name} is meant" in str(reading) for name in parts)


def test_a_nested_configuration_of_another_type_has_its_formula() -> None:
    text = transformers.CLIPConfig().to_json_string(use_diff=False)
    reading = bertcalc.read(text)
    with torch.device("meta"):
        real = transformers.CLIPTextModel(transformers.CLIPConfig().text_config).num_parameters()
    assert [possible.parameters for possible in reading.possible_counts] == [real]
    assert "a config.json of clip, which contains the configurations text_config, vision_config" in str(reading)
    assert "vision_config is not counted: bertcalc has no formula for its model_type." in str(reading)


def test_the_only_configuration_in_a_file_is_counted() -> None:
    reading = bertcalc.read(json.dumps({"model": {"encoder": SMALL}, "training": {"batch_size": 32, "lr": 1e-4}}))
    assert reading.num_parameters == _real(SMALL)
    assert "inside model.encoder; the rest of the file is ignored" in str(reading)


def test_nested_sizes_of_an_unknown_type_are_refused() -> None:
    sizes = {key: value for key, value in SMALL.items() if key != "model_type"}
    with pytest.raises(InputError, match=r"nested configurations \(text_config, vision_config\)"):
        bertcalc.read(json.dumps({"model_type": "clip", "text_config": sizes, "vision_config": sizes}))
