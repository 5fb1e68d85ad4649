"""The polynomial fit: random formulas are recovered or refused, never replaced by wrong ones."""

from collections.abc import Callable
from fractions import Fraction
from math import prod
from random import Random
from typing import Any

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.discover.results.result import exact, symbol
from bertcalc.discover.search.polynomial_fit import Fit, fit

FIELDS = ("a", "b", "c", "d")

Values = dict[str, int]


def samples(random: Random, fields: tuple[str, ...], *, largest: int = 90) -> list[Values]:
    """Return a base, samples that differ from it in one field, and samples that differ in all.

    Quotients are integers.
    """
    base = {field: 12 * factor for field, factor in zip(fields, random.sample(range(1, 10), len(fields)), strict=True)}
    alone = [{**base, field: base[field] * factor} for field in fields for factor in (2, 3, 5)]
    alone += [{**base, field: base[field] + 1 + random.randrange(7)} for field in fields]
    return [base, *alone, *({field: random.randint(1, largest) for field in fields} for _time in range(8))]


@st.composite
def polynomials(draw: st.DrawFn) -> Any:
    """Draw a sum of up to three products of up to three fields, and a constant."""
    products = st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3)
    terms = draw(st.lists(st.tuples(st.integers(1, 9), products), min_size=1, max_size=3))
    return sympy.expand(
        draw(st.integers(-2, 9)) + sum(factor * prod(symbol(field) for field in fields) for factor, fields in terms)
    )


@given(polynomials(), st.randoms(use_true_random=False))
def test_a_polynomial_is_recovered_or_refused(polynomial: Any, random: Random) -> None:
    known = samples(random, FIELDS)
    found = fit(known, [int(exact(polynomial, values)) for values in known])
    assert found is None or sympy.expand(found.expression - polynomial) == 0


@given(
    st.integers(1, 9), st.integers(-9, 9), st.sampled_from(["a", "ab", "aa", "abc"]), st.randoms(use_true_random=False)
)
def test_a_product_and_a_constant_are_always_recovered(factor: int, more: int, fields: str, random: Random) -> None:
    known = samples(random, FIELDS)
    found = fit(known, [factor * prod(values[field] for field in fields) + more for values in known])
    assert found is not None
    assert found.expression == factor * prod(map(symbol, fields)) + more


@given(st.integers(-1000, 1000), st.randoms(use_true_random=False))
def test_a_constant_needs_no_field(number: int, random: Random) -> None:
    known = samples(random, FIELDS)
    assert _found(known, lambda _values: number).expression == number


SHAPES: dict[str, tuple[Callable[[Values], int], bool]] = {
    "a*b/c": (lambda v: v["a"] * v["b"] // v["c"], False),
    "a/2": (lambda v: v["a"] // 2, False),
    "2*a*b + 2*c*d + a": (lambda v: 2 * v["a"] * v["b"] + 2 * v["c"] * v["d"] + v["a"], False),
    "(2*a + 1)*b": (lambda v: (2 * v["a"] + 1) * v["b"], False),
    "64*ceiling(a/64)": (lambda v: -(-v["a"] // 64) * 64, False),
    "min(a, b)": (lambda v: min(v["a"], v["b"]), False),
    "a - floor(a/4)": (lambda v: v["a"] - v["a"] // 4, True),
    "floor((a + 1)/3)": (lambda v: (v["a"] + 1) // 3, True),
    "ceiling(a/b)": (lambda v: -(-v["a"] // v["b"]), True),
    "ceiling((a - d)/b)": (lambda v: -((v["d"] - v["a"]) // v["b"]), True),
    "a - b": (lambda v: v["a"] - v["b"], True),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_models_have(name: str) -> None:
    function, counting = SHAPES[name]
    whole = name in ("a*b/c", "a/2")
    random = Random(name)
    known = samples(random, FIELDS)
    if name == "ceiling(a/b)":  # with samples where b divides a, as for layers
        known += [{"a": 24 * k, "b": 12, "c": 5, "d": 7} for k in (1, 2, 5)]
    if "d" in name and counting:
        base = {"a": 40, "b": 8, "c": 5, "d": 4}
        more = {"a": (20, 39, 41, 47, 80), "b": (4, 5, 7, 16), "d": (3, 2, 1, 7)}
        known = [base, *({**base, field: value} for field, values in more.items() for value in values), *known[-8:]]
    if whole:  # the fields divide each other, as the real class requires
        known = [v for v in known if v["a"] * v["b"] % v["c"] == 0 and v["a"] % 2 == 0]
        known += [{"a": 24 * k, "b": 60, "c": 12, "d": 7 + k} for k in range(1, 5)]
        known += [{"a": 24, "b": 60 * k, "c": 12, "d": 9} for k in (2, 3)]
        known += [{"a": 24, "b": 60, "c": k, "d": 9} for k in (2, 3, 4)]
    found = _found(known, function, counting=counting)
    others = [v for v in samples(random, FIELDS) if not whole or (v["a"] * v["b"] % v["c"] == 0 and v["a"] % 2 == 0)]
    for values in others:
        assert found.value(values) == exact(found.expression, values) == function(values)


def test_noise_has_no_formula() -> None:
    random = Random(5)
    known = samples(random, FIELDS)
    numbers = [random.randrange(10**6) for _values in known]
    assert fit(known, numbers) is None
    assert fit(known, numbers, counting=True) is None


def test_what_is_told_by_no_field_has_no_formula() -> None:
    known = samples(Random(6), FIELDS)
    numbers = [values["a"] for values in known]
    assert fit([*known, known[0]], [*numbers, numbers[0] + 1]) is None


def test_a_value_that_is_not_whole_is_not_rounded() -> None:
    found = _found([{"a": a} for a in (2, 4, 6, 10, 24)], lambda values: values["a"] // 2)
    assert found.value({"a": 5}) == Fraction(5, 2)


def _found(known: list[Values], function: Callable[[Values], int], *, counting: bool = False) -> Fit:
    found = fit(known, [function(values) for values in known], counting=counting)
    assert found is not None
    return found
