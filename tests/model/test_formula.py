import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given

from bertcalc import ARCHITECTURES, BertConfig, Config, ModernBertConfig, NomicBertConfig, build
from bertcalc.config import POSITION_EMBEDDING_TYPES, sizes_of
from bertcalc.config import letters as letters_of
from bertcalc.model.formula import SYMBOLS, component_formulas, formula, tensor_formulas
from bertcalc.model.model import Model
from bertcalc.model.totals import openable, submodule, totals_by_component
from bertcalc.text.digits import latex_number
from tests.oracle import Case
from tests.strategies import cases

# Applied in order: SymPy's LaTeX, then the products of tensor_formulas, converted to Python.
_SPELLINGS = [
    (r"\{,\}", ""),
    (r"\\left\(", "("),
    (r"\\right\)", ")"),
    (r"\^\{(\d+)\}", r"**\1"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))"),
    (r"\\cdot|·", "*"),
    (r"([\dA-Z])(?=[A-Z])", r"\1*"),
    (r"\b\d+", r"Fraction(\g<0>)"),
]


def value(text: str, config: Config | None = None) -> Fraction:
    """Evaluate a formula, using only the text that readers see."""
    for pattern, python in _SPELLINGS:
        text = re.sub(pattern, python, text)
    letters = {letter: Fraction(size) for letter, size in letters_of(config).items()} if config else {}
    return Fraction(eval(text, {"Fraction": Fraction}, letters))


def substituted(expression: Any, config: Config) -> Any:
    fields = {*sizes_of(type(config)), *config.letters_of_sizes()}
    return expression.subs({SYMBOLS[field]: getattr(config, field) for field in fields})


@given(cases(POSITION_EMBEDDING_TYPES))
def test_the_formula_is_the_count(case: Case) -> None:
    found = formula(case.model, path="")
    total = case.ours().num_parameters()
    assert substituted(found.expression, case.config) == total
    assert value(found.latex(case.config)) == total


@given(cases(POSITION_EMBEDDING_TYPES))
@example(Case(BertConfig(), "BertForPreTraining"))
@example(Case(BertConfig(position_embedding_type="relative_key", hidden_act="xielu"), "BertForMaskedLM"))
@example(Case(NomicBertConfig(), "NomicBertForSequenceClassification"))  # its pooler is registered before the layers
def test_the_formula_of_each_component_is_its_count(case: Case) -> None:
    found = dict(component_formulas(case.model))
    totals = totals_by_component(case.ours())
    assert list(found) == list(totals)
    assert {name: substituted(each.expression, case.config) for name, each in found.items()} == totals
    assert {name: value(each.latex(case.config)) for name, each in found.items()} == totals


@given(cases(POSITION_EMBEDDING_TYPES))
def test_everything_that_can_be_opened_has_a_formula_that_is_its_count(case: Case) -> None:
    model = case.ours()
    for path in openable(model):
        found = formula(case.model, path=path)
        assert value(found.latex(case.config)) == submodule(model, path).num_parameters()


@given(cases(POSITION_EMBEDDING_TYPES))
@example(Case(ModernBertConfig(num_hidden_layers=1), "ModernBertModel"))  # its formula has no L
def test_each_tensor_has_a_formula_that_is_its_count(case: Case) -> None:
    tensors = list(case.ours().tensors())
    with_copies = tensor_formulas(case.model)
    without = tensor_formulas(case.model, copies=False)
    assert [value(text, case.config) for text in with_copies] == [tensor.num_parameters() for tensor in tensors]
    assert [value(text, case.config) for text in without] == [t._replace(copies=1).num_parameters() for t in tensors]


def test_one_layer_in_letters() -> None:
    assert formula(Model(BertConfig()), path="encoder.layer.*").latex() == "4 H^{2} + 2 H I + 9 H + I"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_one_layer_is_the_same_in_every_architecture(architecture: str) -> None:
    assert formula(Model(BertConfig(), architecture), path="encoder.layer.*") == formula(
        Model(BertConfig()), path="encoder.layer.*"
    )


def test_the_embeddings_in_letters_and_in_numbers() -> None:
    embeddings = formula(Model(BertConfig()), path="embeddings")
    assert embeddings.latex() == r"H \left(P + T + V + 2\right)"
    assert embeddings.latex(BertConfig()) == r"768 \cdot \left(512 + 2 + 30{,}522 + 2\right)"


def test_relative_positions_divide_by_the_heads_without_a_floor() -> None:
    config = BertConfig(position_embedding_type="relative_key")
    assert r"\frac{H \left(2 P - 1\right)}{A}" in formula(Model(config)).latex()
    assert "L · (2P - 1) · H/A" in tensor_formulas(Model(config))


def test_tensors_are_written_with_the_layers_in_front_or_without() -> None:
    embeddings = "V · H", "P · H", "T · H", "H", "H"
    assert tensor_formulas(Model(BertConfig()))[:7] == (*embeddings, "L · H · H", "L · H")
    assert tensor_formulas(Model(BertConfig()), copies=False)[:7] == (*embeddings, "H · H", "H")


def test_a_formula_depends_on_structure_alone() -> None:
    other = replace(BertConfig(), vocab_size=7, hidden_dropout_prob=0.5, num_attention_heads=3, num_hidden_layers=1)
    untied = replace(other, tie_word_embeddings=False)
    of_bert, of_other, of_untied = (
        formula(Model(config, "BertForMaskedLM")) for config in (BertConfig(), other, untied)
    )
    assert of_other is of_bert
    assert of_untied != of_other


@pytest.mark.parametrize("path", ["nothing", "encoder.layer.*.nothing", "cls", "bert.encoder"])
def test_there_is_no_formula_for_what_is_not_there(path: str) -> None:
    with pytest.raises(KeyError):
        formula(Model(BertConfig()), path=path)


def test_a_number_is_written_in_groups_of_three() -> None:
    assert [latex_number(number) for number in (0, 999, 1000, 109_482_240)] == [
        "0",
        "999",
        "1{,}000",
        "109{,}482{,}240",
    ]


def test_the_texts_are_read_by_these_tests_as_they_are_meant() -> None:
    assert value(r"2 \cdot \left(3 + 1{,}000^{2}\right) + \frac{6 \cdot \left(2 \cdot 4 - 1\right)}{4}") == Fraction(
        4_000_033, 2
    )
    assert value("L · (2P - 1) · H/A", BertConfig()) == 12 * 1023 * 64
    assert build(BertConfig()).num_parameters() == value("(30522 + 512 + 2 + 2) · 768 + 12 · 7087872 + 768 · 769")
