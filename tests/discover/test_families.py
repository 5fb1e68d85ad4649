"""Where a family is written here, its formula and the one read off the real class are the same expression."""

from typing import Any

import pytest
import sympy

from bertcalc.discover import discover
from bertcalc.discover.fit import symbol
from bertcalc.families import CLASSES
from bertcalc.formula import SYMBOLS, exact, formula
from bertcalc.subject import Subject
from tests.strategies import SPLIT_IN_TWO

# These our configurations have as 1 alone (bertcalc/fields.py).
ONES = {symbol(field): 1 for field in ("num_hidden_groups", "inner_group_num")}


def ours(architecture: str) -> Any:
    """The formula of the definition, in Hugging Face's names; its letters are symbols of the same kind."""
    default: Any = CLASSES[architecture].config.default()
    field_of = {letter: symbol(default.own_name(field)) for field, letter in SYMBOLS.items()}
    four_times = {symbol("n_inner"): 4 * symbol("n_embd")}  # GPT-2's default, which is what is discovered
    return exact(formula(Subject(default, architecture)).expression).subs(field_of).subs(four_times)


@pytest.mark.parametrize("architecture", CLASSES)
def test_the_formula_of_a_class_is_the_one_that_is_discovered(architecture: str) -> None:
    found = discover(CLASSES[architecture].name, architecture)
    assert not found.unexplained
    # ALBERT alone can be built with heads that do not divide hidden_size, which we refuse: then they are narrower.
    divided = found.total.subs(ONES).replace(sympy.floor, lambda ratio: ratio)
    labels = {symbol("num_labels"): 2} if architecture in SPLIT_IN_TWO else {}
    assert sympy.expand(ours(architecture).subs(labels) - divided) == 0
    size, heads = map(CLASSES[architecture].config.own_name, ("hidden_size", "num_attention_heads"))
    albert = CLASSES[architecture].name == "albert"
    condition = f"{heads} is at most {size}" if albert else f"{size} is a multiple of {heads}"
    assert condition in map(str, found.regime)
    assert found.checked.agreed == found.checked.of >= 10
    assert found.checked.all_changed >= 4
