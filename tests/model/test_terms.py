from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given

from bertcalc import ARCHITECTURES, BertConfig, Config
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.config import letters as letters_of
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.formula import SYMBOLS, component_formulas, symbolic_model
from bertcalc.model.letters import filled
from bertcalc.model.model import Model
from bertcalc.model.terms import Term, component_terms
from bertcalc.model.totals import over_layers
from tests.model.test_formula import value
from tests.oracle import Case
from tests.strategies import cases


def test_keys_and_values_that_heads_share_have_a_letter() -> None:
    config = PRESETS["EuroBERT-610m"].config
    model = Model(config, "EuroBertModel")
    (layers, _norm) = dict(component_terms(model))["encoder"]
    assert layers.text == "L (2H² + 2GH²/A + 3HI + 2H)"
    shown = filled(layers.text, config.shared())
    assert shown == "26 · (2 · 1,152² + 2 · 6 · 1,152²/18 + 3 · 1,152 · 4,096 + 2 · 1,152)"
    assert value(shown.replace(",", "").replace("²", "^{2}")) == 607_874_688 - 128_256 * 1152 - 1152
    assert letters_of(config)["G"] == 6
    for heads in (None, 18, 1):  # as many as the heads, and a single one, which is a number
        changed: dict[str, Any] = {"num_key_value_heads": heads}
        other = Model(replace(config, **changed), "EuroBertModel")
        assert "G" not in letters_of(other.config)
        assert not any(
            SYMBOLS["num_key_value_heads"] in each.expression.free_symbols for _, each in component_formulas(other)
        )


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
        model = Model(config, architecture)
        formulas = dict(component_formulas(model))
        found = component_terms(model)
        assert [component for component, _brackets in found] == list(formulas)
        for component, brackets in found:
            whole = sum(term.tensors[0].copies * term.expression for bracket in brackets for term in bracket.terms)
            assert sympy.expand(whole - formulas[component].expression) == 0
        tensors = [
            tensor for _c, brackets in found for each in brackets for term in each.terms for tensor in term.tensors
        ]
        assert len(tensors) == len(set(tensors))
        assert {tensor.name for tensor in tensors} == {tensor.name for tensor in symbolic_model(model).tensors()}


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
    """Like symbols are grouped, layers come first, and attention comes before the feed-forward network."""
    config = PRESETS[preset].config
    terms = component_terms(Model(config, family_of(config).base.name))
    assert " + ".join(bracket.text for _component, brackets in terms for bracket in brackets) == wanted


def spoken(text: str) -> Fraction:
    """The value of a text with numbers in the format for readers."""
    return value(text.replace(",", "").replace("²", "^{2}").replace("−", "-"))


def by_text(config: Config, architecture: str) -> dict[str, Term]:
    found = component_terms(Model(config, architecture))
    return {f"{name} {term.text}": term for name, brackets in found for each in brackets for term in each.terms}


def test_what_is_layer_norms_alone_and_what_is_a_size_that_no_field_sets() -> None:
    found = by_text(BertConfig(hidden_act="xielu"), "BertForPreTraining")
    assert [name for name, term in found.items() if term.norm] == ["embeddings 2H"]
    assert [name for name, term in found.items() if term.fixed] == ["encoder 2", "head 2H", "head 2"]
