import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import example, given

from bertcalc import ARCHITECTURES, BertConfig, Config, ModernBertConfig, NomicBertConfig, build
from bertcalc.config import POSITION_EMBEDDING_TYPES, sizes_of
from bertcalc.config import letters as letters_of
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.formula import (
    SYMBOLS,
    Term,
    component_formulas,
    component_terms,
    filled,
    formula,
    symbolic_model,
    tensor_formulas,
)
from bertcalc.model.model import Model
from bertcalc.model.totals import openable, over_layers, submodule, totals_by_component
from bertcalc.text.digits import latex_number
from tests.oracle import Case
from tests.strategies import cases

# In order: SymPy's LaTeX, then the products of tensor_formulas, as Python writes them.
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
    """What a formula comes to, computed from nothing but the text that people see."""
    for pattern, python in _SPELLINGS:
        text = re.sub(pattern, python, text)
    letters = {letter: Fraction(size) for letter, size in letters_of(config).items()} if config else {}
    return Fraction(eval(text, {"Fraction": Fraction}, letters))


def substituted(expression: Any, config: Config) -> Any:
    fields = {*sizes_of(type(config)), *config.letters_of_sizes()}
    return expression.subs({SYMBOLS[field]: getattr(config, field) for field in fields})


def test_keys_and_values_that_heads_share_have_a_letter() -> None:
    config = PRESETS["EuroBERT-610m"].config
    model = Model(config, "EuroBertModel")
    (layers, _norm) = dict(component_terms(model))["encoder"]
    assert layers.text == "L (2H² + 2GH²/A + 3HI + 2H)"
    shown = filled(layers.text, config.shared())
    assert shown == "26 · (2 · 1,152² + 2 · 6 · 1,152²/18 + 3 · 1,152 · 4,096 + 2 · 1,152)"
    assert value(shown.replace(",", "").replace("²", "^{2}")) == 607_874_688 - 128_256 * 1152 - 1152
    assert letters_of(config)["G"] == 6
    for heads in (None, 18, 1):  # as many as heads, and a single one, which is a number
        changed: dict[str, Any] = {"num_key_value_heads": heads}
        other = Model(replace(config, **changed), "EuroBertModel")
        assert "G" not in letters_of(other.config)
        assert not any(
            SYMBOLS["num_key_value_heads"] in each.expression.free_symbols for _, each in component_formulas(other)
        )


@given(cases(POSITION_EMBEDDING_TYPES))
def test_the_formula_is_the_count(case: Case) -> None:
    found = formula(case.model, path="")
    total = case.ours().num_parameters()
    assert substituted(found.expression, case.config) == total
    assert value(found.latex(case.config)) == total


@given(cases(POSITION_EMBEDDING_TYPES))
@example(Case(BertConfig(), "BertForPreTraining"))
@example(Case(BertConfig(position_embedding_type="relative_key", hidden_act="xielu"), "BertForMaskedLM"))
@example(Case(NomicBertConfig(), "NomicBertForSequenceClassification"))  # whose pooler is registered before the layers
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
@example(Case(ModernBertConfig(num_hidden_layers=1), "ModernBertModel"))  # which has no L
def test_each_tensor_has_a_formula_that_is_its_count(case: Case) -> None:
    tensors = list(case.ours().tensors())
    with_copies = tensor_formulas(case.model)
    without = tensor_formulas(case.model, copies=False)
    assert [value(text, case.config) for text in with_copies] == [tensor.num_parameters() for tensor in tensors]
    assert [value(text, case.config) for text in without] == [t._replace(copies=1).num_parameters() for t in tensors]


# Every structure that a formula depends on.
_STRUCTURES = [
    BertConfig(
        position_embedding_type=position,
        hidden_act=activation,
        tie_word_embeddings=tied,
        is_decoder=cross,
        add_cross_attention=cross,
    )
    for position in ("absolute", "relative_key")
    for activation in ("gelu", *(("prelu", "xielu") if position == "absolute" else ()))
    for tied in (True, False)
    for cross in (True, False)
]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_terms_add_up_to_the_formula_and_each_tensor_is_in_one_of_them(architecture: str) -> None:
    for config in _STRUCTURES:
        formulas = dict(component_formulas(Model(config, architecture)))
        found = component_terms(Model(config, architecture))
        assert [component for component, _brackets in found] == list(formulas)
        for component, brackets in found:
            whole = sum(term.tensors[0].copies * term.expression for bracket in brackets for term in bracket.terms)
            assert sympy.expand(whole - formulas[component].expression) == 0
        tensors = [
            tensor for _c, brackets in found for each in brackets for term in each.terms for tensor in term.tensors
        ]
        assert len(tensors) == len(set(tensors))
        assert set(tensors) == set(symbolic_model(Model(config, architecture)).tensors())


@given(cases(POSITION_EMBEDDING_TYPES))
def test_a_terms_text_is_the_number_of_its_tensors_and_no_two_terms_of_a_bracket_look_alike(case: Case) -> None:
    here = {tensor.name: tensor for tensor in over_layers(case.ours())}
    for _component, brackets in component_terms(case.model):
        for bracket in brackets:
            told_apart = [term.text.lstrip("0123456789") for term in bracket.terms if not (term.fixed or term.norm)]
            assert len(told_apart) == len(set(told_apart))
            for term in bracket.terms:
                one = sum(here[tensor.name]._replace(copies=1).num_parameters() for tensor in term.tensors)
                assert spoken(filled(term.text, case.config.shared())) == one
            whole = sum(here[tensor.name].num_parameters() for term in bracket.terms for tensor in term.tensors)
            assert spoken(filled(bracket.text, case.config.shared())) == whole


@given(cases())
def test_the_formula_of_terms_with_numbers_is_the_real_models_count(case: Case) -> None:
    found = component_terms(case.model)
    numbers = [filled(bracket.text, case.config.shared()) for _component, brackets in found for bracket in brackets]
    assert sum(map(spoken, numbers)) == case.real().num_parameters()


@pytest.mark.parametrize(
    "preset", ["ModernBERT-base", "EuroBERT-610m", "deberta-base", "deberta-v3-base", "gpt2", "albert-base-v2"]
)
def test_where_layers_differ_the_formula_of_terms_is_the_real_models_count_too(preset: str) -> None:
    config = PRESETS[preset].config
    for layers in (1, 2, 3, config.num_hidden_layers):
        changed = replace(config, num_hidden_layers=layers)
        case = Case(changed, family_of(changed).base.name)
        terms = component_terms(case.model)
        numbers = [filled(bracket.text, changed.shared()) for _component, brackets in terms for bracket in brackets]
        assert sum(map(spoken, numbers)) == case.real().num_parameters()


def test_what_the_first_layer_lacks_is_a_term_of_its_own() -> None:
    found = dict(component_terms(Model(PRESETS["ModernBERT-base"].config, "ModernBertModel")))
    assert " + ".join(bracket.text for bracket in found["encoder"]) == "L (4H² + 3HI + H) + (L − 1) H + H"


@pytest.mark.parametrize(
    ("preset", "wanted"),
    [
        ("gpt2", "H (V + P) + L (4H² + 2HI + 9H + I) + 2H"),
        ("deberta-base", "HV + 2H + L (6H² + 2HI + 9H + I) + 2HP"),
        ("deberta-v2-xlarge", "HV + 2H + L (4H² + 2HI + 9H + I) + 3H² + 2DH + 5H"),
        ("electra-small-discriminator", "E (V + P + T) + EH + 2E + H + L (4H² + 2HI + 9H + I)"),
        ("gte-multilingual-base", "H (V + T) + 2H + L (4H² + 3HI + 9H)"),
    ],
)
def test_every_family_reads_as_bert_does(preset: str, wanted: str) -> None:
    """Like letters together, layers first, attention before feed-forward."""
    config = PRESETS[preset].config
    terms = component_terms(Model(config, family_of(config).base.name))
    assert " + ".join(bracket.text for _component, brackets in terms for bracket in brackets) == wanted


def spoken(text: str) -> Fraction:
    """What a text with numbers, as people write it, comes to."""
    return value(text.replace(",", "").replace("²", "^{2}").replace("−", "-"))


def by_text(config: Config, architecture: str) -> dict[str, Term]:
    found = component_terms(Model(config, architecture))
    return {f"{name} {term.text}": term for name, brackets in found for each in brackets for term in each.terms}


def test_what_is_layer_norms_alone_and_what_is_a_size_that_no_field_sets() -> None:
    found = by_text(BertConfig(hidden_act="xielu"), "BertForPreTraining")
    assert [name for name, term in found.items() if term.norm] == ["embeddings 2H"]
    assert [name for name, term in found.items() if term.fixed] == ["encoder 2", "head 2H", "head 2"]


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
