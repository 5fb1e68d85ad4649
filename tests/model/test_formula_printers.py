"""Expressions as text and Python, compared with the value that Python's own arithmetic gives for the text."""

import re
from fractions import Fraction
from typing import Any

import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from bertcalc.model.formula_printers import latex, python, text
from bertcalc.text.digits import superscript

_SYMBOLS = sympy.symbols("a b c", integer=True, positive=True)
_NUMBERS = {"a": 12, "b": 768, "c": 5}
_EXPRESSIONS = st.recursive(
    st.sampled_from(_SYMBOLS) | st.integers(-9, 2000).map(sympy.Integer),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.sampled_from(_SYMBOLS)).map(lambda pair: pair[0] / pair[1]),
        st.tuples(inner, st.integers(2, 12)).map(lambda pair: pair[0] ** pair[1]),
    ),
    max_leaves=5,
)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def evaluated(written: str) -> Fraction:
    """The value of a written expression, computed with fractions."""
    powers = _RAISED.sub(lambda digits: f"**{digits[0].translate(_DIGITS)}", written.replace(",", ""))
    whole = re.sub(r"(?<!\*)\b[0-9]+", r"Fraction(\g<0>)", powers.replace("·", "*"))
    return Fraction(eval(whole, {"Fraction": Fraction}))


@given(_EXPRESSIONS, st.booleans())
def test_text_with_numbers_has_the_value_of_the_expression(expression: Any, minus_last: bool) -> None:
    values = {symbol: _NUMBERS[symbol.name] for symbol in _SYMBOLS}
    right = sympy.nsimplify(expression.subs(values))
    assume(right.is_Rational)
    names = {name: f"{number:,}" for name, number in _NUMBERS.items()}
    written = text(expression, names, times=" · ", minus_last=minus_last)
    assert evaluated(written) == Fraction(int(right.p), int(right.q))


def test_a_product_in_a_denominator_is_in_parentheses() -> None:
    a, b, _c = _SYMBOLS
    assert text(b**2 / (4 * a)) == "b²/(4a)"
    assert text(b**2 / (4 * a), {"a": "12", "b": "768"}, times=" · ") == "768²/(4 · 12)"


def test_signs_are_those_of_paper() -> None:
    a, b, _c = _SYMBOLS
    assert text(b**12 + 1234 * a) == "1,234a + b¹²"
    assert text(b - a) == "-a + b"
    assert text(b - a, minus_last=True) == "b - a"
    assert text(sympy.floor(b / a) * sympy.ceiling(b / 5) + sympy.Max(a, b)) == "⌈b/5⌉⌊b/a⌋ + max(a, b)"
    assert superscript(-10) == "⁻¹⁰"


def test_names_keep_their_signs() -> None:
    a, b, _c = _SYMBOLS
    assert text(a * b - a, {"a": "text-config*", "b": "-"}, times="·", minus="−") == "text-config*·- − text-config*"


def test_latex_has_names_and_dots() -> None:
    a, b, _c = _SYMBOLS
    assert latex(4 * a * b) == "4 a b"
    assert latex(4 * a * b, {a: "12", b: "768"}, dots=True) == r"4 \cdot 12 \cdot 768"


def test_python_divides_sums_as_a_whole() -> None:
    a, b, _c = _SYMBOLS
    names = {"a": "heads", "b": "hidden"}
    assert python(b / 4 + a / 2, names, tight=True) == "((2*heads + hidden) // 4)"
    assert python(a + b, names, tight=True) == "(heads + hidden)"
    assert python(sympy.ceiling(b / a), names) == "(-(-hidden // heads))"
