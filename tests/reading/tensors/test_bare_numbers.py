"""Shapes without brackets and counts with other thousands separators: lists of real models have their count."""

from collections.abc import Callable
from math import prod
from typing import Any

import pytest
import torch
import transformers

import bertcalc
from bertcalc.reading.tensors.bare_numbers import with_plain_numbers

SHAPES: dict[str, Callable[[str, torch.Size], str]] = {
    "spaces": lambda name, shape: f"{name} {' '.join(map(str, shape))}",
    "commas": lambda name, shape: f"{name}: {', '.join(map(str, shape))}",
    "CSV": lambda name, shape: f"{name},{','.join(map(str, shape))}",
    "quoted CSV": lambda name, shape: f'"{name}","{", ".join(map(str, shape))}","{prod(shape):,}"',
    "a Markdown table": lambda name, shape: f"| {name} | {', '.join(map(str, shape))} | {prod(shape):,} |",
    "with products": lambda name, shape: f"{name} {' '.join(map(str, (*shape, prod(shape))))}",
}
SEPARATORS = {"points": ".", "spaces": " ", "apostrophes": "'", "narrow spaces": "\u202f", "commas": ","}
SIZES: dict[str, dict[str, Any]] = {
    "base": {},
    "small": {"hidden_size": 60, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 77},
    "three digits": {"hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 512},
}


def _real(sizes: str) -> Any:
    with torch.device("meta"):
        return transformers.BertModel(transformers.BertConfig(**SIZES[sizes]))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("row", SHAPES.values(), ids=SHAPES)
def test_sizes_without_brackets_are_shapes(sizes: str, row: Callable[[str, torch.Size], str]) -> None:
    real = _real(sizes)
    reading = bertcalc.read("\n".join(row(name, tensor.shape) for name, tensor in real.named_parameters()))
    assert reading.agrees
    assert reading.num_parameters == real.num_parameters()


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("separator", SEPARATORS.values(), ids=SEPARATORS)
def test_thousands_may_have_any_separator(sizes: str, separator: str) -> None:
    real = _real(sizes)
    counts = {name: f"{tensor.numel():,}".replace(",", separator) for name, tensor in real.named_parameters()}
    reading = bertcalc.read("\n".join(f"{name}: {count}" for name, count in counts.items()))
    assert reading.num_parameters == real.num_parameters()


@pytest.mark.parametrize(
    "text",
    [
        "a.weight 0.123\na.bias 1.234\nb.weight 2.345",  # values
        "a.weight: 2 * 768\na.bias: 2 + 0\nb.weight: 768 x 2",
        "a.weight 1,536 2\na.bias 2 0\nb.weight 8 1",
        "a.weight [2, 768]\na.bias [2]\nb.weight [8, 2]",
        "BERT has 109 482 240 parameters, and bert.pooler 590 592 of them.",
    ],
)
def test_other_numbers_stay_as_they_are(text: str) -> None:
    assert with_plain_numbers(text) == text


@pytest.mark.parametrize("text", ["a.weight 1 " * 50_000, "a.b " * 200_000, "a.weight 1\n" * 50_000, "1 " * 300_000])
def test_no_list_of_numbers_takes_long(text: str) -> None:
    assert with_plain_numbers(text) == text
