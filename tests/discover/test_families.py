"""Where a family is written here, its formula and the one read off the real class are the same expression."""

from typing import Any

import pytest
import sympy

from bertcalc.discover import discover
from bertcalc.discover.fit import symbol
from bertcalc.families import CLASSES
from bertcalc.formula import SYMBOLS, exact, formula
from bertcalc.subject import Subject

FIELD_OF = {letter: symbol(field) for field, letter in SYMBOLS.items()}


def ours(architecture: str) -> Any:
    """The formula of the definition, in Hugging Face's names; its letters are symbols of the same kind."""
    default = CLASSES[architecture].config.default()
    return exact(formula(Subject(default, architecture)).expression).subs(FIELD_OF)


@pytest.mark.parametrize("architecture", CLASSES)
def test_the_formula_of_a_class_is_the_one_that_is_discovered(architecture: str) -> None:
    found = discover(CLASSES[architecture].name, architecture)
    assert not found.unexplained
    assert sympy.expand(ours(architecture) - found.total) == 0
    assert "hidden_size is a multiple of num_attention_heads" in map(str, found.regime)
    assert found.checked.agreed == found.checked.of >= 10
    assert found.checked.all_changed >= 4
