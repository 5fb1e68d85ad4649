"""Tables of fvcore 0.1.5 are read. The files contain its output for the real classes."""

from pathlib import Path

import pytest
import torch
import transformers

import bertcalc

TABLES = Path(__file__).parent / "fvcore_tables"
TINY = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 40, "max_position_embeddings": 30}


def real(**sizes: int) -> transformers.BertModel:
    with torch.device("meta"):
        return transformers.BertModel(transformers.BertConfig(**sizes))


@pytest.mark.parametrize("name", ["parameters", "flops"])
def test_a_table_of_a_published_model_is_that_model(name: str) -> None:
    """The table's rows are rounded: 0.1G and 0.109G for the whole model."""
    reading = bertcalc.read((TABLES / f"{name}.txt").read_text())
    assert reading.kind == "listing"
    assert reading.model == bertcalc.load("bert-base-uncased")
    assert reading.num_parameters == real().num_parameters()
    assert reading.agrees


def test_a_count_of_few_digits_is_exact() -> None:
    reading = bertcalc.read((TABLES / "flops_of_tiny.txt").read_text())
    assert reading.num_parameters == real(vocab_size=100, hidden_size=24, **TINY).num_parameters()
    assert reading.model is None


def test_a_table_with_all_shapes_is_exact() -> None:
    model = real(vocab_size=100, hidden_size=24, **TINY)
    rows = [f"| {name} | {tuple(tensor.shape)} |" for name, tensor in model.named_parameters()]
    text = "\n".join(["| name | #elements or shape |", "|:--|:--|", "| model | 12.8K |", *rows])
    reading = bertcalc.read(text)
    assert reading.num_parameters == model.num_parameters()
    assert reading.agrees


def test_a_rounded_count_is_not_taken_for_an_exact_one() -> None:
    text = "| name | #elements or shape |\n|:--|:--|\n| model | 12.8K |\n| encoder | 9.0K |\n| encoder.bias | (24,) |"
    reading = bertcalc.read(text)
    assert reading.num_parameters is None
    assert "about 12.8K" in str(reading)
