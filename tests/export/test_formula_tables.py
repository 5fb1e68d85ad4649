"""Exported formulas: MathML and LaTeX agree, and both evaluate to the count."""

import re
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given

from bertcalc import ARCHITECTURES, BertConfig, Lora, NarrowFeedForward, PromptTuning, ResizeVocabulary, forward_flops
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.config import letters as letters_of
from bertcalc.export.formula_tables import component_table, flops_formula, tensor_table
from bertcalc.export.table import Math
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from tests.oracle import Case
from tests.strategies import cases


def said(node: Any, letters: dict[str, int]) -> str:
    """Convert MathML to Python. Adjacent factors have an invisible sign between them."""
    inside = [said(child, letters) for child in node]
    match node.tag:
        case "math" | "mrow":
            return "(" + "".join(inside).removeprefix("+") + ")" if node.tag == "mrow" else "".join(inside)
        case "mn":
            return str(node.text).replace(",", "")
        case "mi":
            return str(letters[str(node.text)])
        case "mo":
            return {"\N{INVISIBLE TIMES}": "*", "·": "*"}.get(str(node.text), str(node.text))
        case "msup":
            return f"{inside[0]}**{inside[1]}"
        case "mfrac":
            return f"({inside[0]})/({inside[1]})"
        case other:
            raise AssertionError(other)


def worth(math: Math, letters: dict[str, int]) -> float:
    text = math.mathml.replace("&InvisibleTimes;", "\N{INVISIBLE TIMES}")
    found: float = eval(said(ElementTree.fromstring(text), letters).replace("()", ""))
    return found


@given(cases(POSITION_EMBEDDING_TYPES))
def test_the_numbers_in_mathml_give_the_count(case: Case) -> None:
    table = component_table(case.model, str)
    assert sum(int(row[3]) for row in table.rows if isinstance(row[3], int)) == case.ours().num_parameters()
    for _component, letters, numbers, count, _share in table.rows:
        assert isinstance(letters, Math)
        assert isinstance(numbers, Math)
        assert worth(numbers, {}) == count  # no symbols are left
        values = letters_of(case.config)
        assert worth(letters, values) == count


@pytest.mark.parametrize(("architecture", "cross"), [*product(ARCHITECTURES, (False, True))])
def test_the_formula_of_flops_gives_the_flops(architecture: str, cross: bool) -> None:
    config = BertConfig(num_hidden_layers=3, is_decoder=cross, add_cross_attention=cross, num_labels=2)
    model = Model(config, architecture)
    flops = forward_flops(model, 4, 32, encoder_sequence_length=model.encoder_length(32))
    _letters, numbers = flops_formula(model, 4, 32)
    assert worth(numbers, {}) == flops


@given(cases(POSITION_EMBEDDING_TYPES))
def test_the_tensors_sum_to_the_model(case: Case) -> None:
    table = tensor_table(case.model, str)
    counts = [row[4] for row in table.rows]
    assert sum(count for count in counts if isinstance(count, int)) == case.ours().num_parameters()
    values = letters_of(case.config)
    for row, count in zip(table.rows, counts, strict=True):
        assert isinstance(row[3], Math)
        python = re.sub("(?<=[0-9A-Z])(?=[A-Z])", "*", row[3].latex.replace(r"\cdot", "*"))
        assert eval(python, {}, values) == count


@pytest.mark.parametrize(
    "change",
    [Lora(r=3, target_modules=["query"]), PromptTuning(5, "SEQ_CLS"), ResizeVocabulary(9_000), NarrowFeedForward(100)],
)
def test_the_numbers_of_a_changed_model_have_no_letter_left(change: Change) -> None:
    model = Model(BertConfig(), "BertForSequenceClassification", changes=(change,))
    for _component, _letters, numbers, count, _share in component_table(model, str).rows:
        assert isinstance(numbers, Math)
        assert worth(numbers, {}) == count
