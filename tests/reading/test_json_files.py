"""Files that describe no model get the same explanation wherever they are pasted."""

import json
from math import prod
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

import bertcalc
from bertcalc.families.config_files import other_files
from bertcalc.text.loose_json import read_loosely
from tests.families.test_wild_configs import FILES

EXPLAINED = [entry for entry in FILES["refused"] if other_files.explained(read_loosely(entry["text"], 10**6))]
WITH_A_READER = ("adapter-config", "safetensors-index", "article")


@pytest.mark.parametrize("entry", EXPLAINED, ids=[entry["name"] for entry in EXPLAINED])
def test_a_file_that_describes_no_model_is_explained(entry: dict[str, str]) -> None:
    reading = bertcalc.read(entry["text"])
    assert reading.kind in ("other-file", *WITH_A_READER)
    assert entry["why"] in str(reading) or reading.kind in WITH_A_READER


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("is_twice", [False, True], ids=["once", "tied twice"])
def test_an_index_whose_count_and_size_disagree_has_two_counts(dtype: str, is_twice: bool, tmp_path: Path) -> None:
    model = GPT2LMHeadModel(GPT2Config(vocab_size=999, n_positions=9, n_embd=16, n_layer=2, n_head=2))
    model.to(getattr(torch, dtype)).save_pretrained(tmp_path, max_shard_size=9000)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    twice = sum(parameter.numel() for _name, parameter in model.named_parameters(remove_duplicate=False))
    index["metadata"]["total_parameters"] = twice if is_twice else model.num_parameters()
    reading = bertcalc.read(json.dumps(index))
    counts = [possible.parameters for possible in reading.possible_counts]
    if is_twice:
        assert (reading.num_parameters, counts) == (None, [model.num_parameters(), twice])
        assert "contradict each other" in str(reading)
    else:
        assert (reading.num_parameters, counts) == (model.num_parameters(), [])


def _tensors() -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        model = BertModel(BertConfig(vocab_size=99, hidden_size=64, num_hidden_layers=2, num_attention_heads=4))
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("indent", [None, 1])
def test_tensors_in_json_are_a_listing(indent: int | None) -> None:
    tensors = _tensors()
    counts = {name: prod(shape) for name, shape in tensors.items()}
    objects = [{"name": name, "shape": shape, "dtype": "float32"} for name, shape in tensors.items()]
    for content in (tensors, counts, objects):
        reading = bertcalc.read(json.dumps(content, indent=indent))
        assert (reading.kind, reading.num_parameters) == ("listing", sum(counts.values()))
        assert reading.agrees


@pytest.mark.parametrize(
    "line",
    ["{count} {name}", "{count:,}  {name}", "{name} ({count:,} params)", "{at}: {count} | 1, 1 | F32 | {name}"],
)
def test_a_list_with_counts_in_another_place_is_read(line: str) -> None:
    counts = {name: prod(shape) for name, shape in _tensors().items()}
    text = "\n".join(line.format(at=at, name=name, count=count) for at, (name, count) in enumerate(counts.items()))
    reading = bertcalc.read(text)
    assert (reading.agrees, reading.num_parameters) == (True, sum(counts.values()))


def test_rounded_counts_are_not_called_missing() -> None:
    text = "\n".join(f"{name} {prod(shape) / 1e6:.2f}M" for name, shape in _tensors().items())
    reading = bertcalc.read(text)
    assert reading.num_parameters is None
    assert "rounded, so they show no sizes" in str(reading)


def test_the_count_of_an_index_of_quantized_weights_is_believed() -> None:
    """Their elements take less than a byte, so the size says nothing about the count."""
    names = ["proj.weight", "proj.weight.absmax", "proj.weight.quant_map", "norm.weight"]
    index = {"metadata": {"total_parameters": 10_064, "total_size": 7_128}, "weight_map": dict.fromkeys(names, "a")}
    reading = bertcalc.read(json.dumps(index))
    assert (reading.num_parameters, reading.possible_counts) == (10_064, ())
