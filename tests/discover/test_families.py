"""The formula of a built-in family and the formula discovered from the real class are the same expression."""

from math import inf, prod
from typing import Any

import pytest
import sympy

from bertcalc.compute.flop_formulas import letters
from bertcalc.compute.flops import total
from bertcalc.discover import discover
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import symbol
from bertcalc.discover.search import build, call_lab
from bertcalc.discover.search.config_integers import Recipe
from bertcalc.discover.search.formula_search import find
from bertcalc.families import CLASSES
from bertcalc.model.formula import CALL_SYMBOLS, SYMBOLS, exact, formula
from bertcalc.model.model import Model
from tests.examples import sampled
from tests.strategies import SPLIT_IN_TWO

FOUR_TIMES = {symbol("n_inner"): 4 * symbol("n_embd")}  # GPT-2's default, which the discovered formula assumes
# bertcalc's configurations allow only 1 for these fields (bertcalc/config/fields.py).
ONES = {symbol(field): 1 for field in ("num_hidden_groups", "inner_group_num")}


def ours(architecture: str) -> Any:
    """The formula of bertcalc's definition, with Hugging Face's names as symbols."""
    default: Any = CLASSES[architecture].config.default()
    field_of = {letter: symbol(default.own_name(field)) for field, letter in SYMBOLS.items()}
    return exact(formula(Model(default, architecture)).expression).subs(field_of).subs(FOUR_TIMES)


@pytest.mark.parametrize("architecture", sampled(CLASSES, 36))
def test_the_formula_of_a_class_is_the_one_that_is_discovered(architecture: str) -> None:
    found = discover(DiscoveryRequest(CLASSES[architecture].name, architecture))
    assert not found.unexplained
    # Only ALBERT can be built with heads that do not divide hidden_size; its heads are then narrower. bertcalc refuses
    # it.
    divided = found.total.subs(ONES).replace(sympy.floor, lambda ratio: ratio)
    labels = {symbol("num_labels"): 2} if architecture in SPLIT_IN_TWO else {}
    assert sympy.expand(ours(architecture).subs(labels) - divided) == 0
    size, heads = map(CLASSES[architecture].config.own_name, ("hidden_size", "num_attention_heads"))
    albert = CLASSES[architecture].name == "albert"
    conditions = [f"{heads} is at most {size}"] if albert else [f"{size} is a multiple of {heads}"]
    conditions += [f"{size} is a multiple of 2 × {heads}"]  # rotary positions rotate pairs
    assert set(conditions) & {*map(str, found.regime)}
    assert found.checked.agreed == found.checked.of >= 10
    assert found.checked.all_changed >= 4


# One class of each family, and all heads of BERT. The conditions of the formulas are not tested, since this takes long.
OF_FAMILIES = dict.fromkeys(next(cls for cls in CLASSES if CLASSES[cls].name == kind.name) for kind in CLASSES.values())
WITH_FLOPS = dict.fromkeys([*OF_FAMILIES, *(cls for cls in CLASSES if CLASSES[cls].name == "bert")])


@pytest.mark.parametrize("architecture", sampled(WITH_FLOPS, 16))
def test_flops_are_the_same_expression(architecture: str) -> None:
    default = CLASSES[architecture].config.default()
    kind = build.config_class(CLASSES[architecture].name)
    with build.quiet():
        lab = call_lab(Recipe(kind, {}), build.model_class(architecture), inf, lambda *_told: None)
        lab.sort_fields()
        findings = find(lab)
    assert not findings.unexplained
    products = [each for kinds in findings.kinds.values() for each in kinds]
    found = sum(2 * prod(side.expression for side in (*each.copies, *each.shape)) for each in products)
    names = {letter: symbol(default.own_name(field)) for field, letter in SYMBOLS.items()}
    names |= {letter: symbol(field) for field, letter in CALL_SYMBOLS.items()}
    labels = (
        {symbol("num_labels"): 2} if architecture.endswith("ForQuestionAnswering") else {}
    )  # it does not run with other numbers of labels
    here = exact(total(letters(Model(default, architecture)))).subs(names).subs(FOUR_TIMES).subs(labels)
    divided = sympy.sympify(found).subs(ONES).replace(sympy.floor, lambda ratio: ratio)
    assert sympy.expand(here - divided) == 0
