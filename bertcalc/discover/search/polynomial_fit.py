"""Fit a formula to an integer that depends on fields, from samples alone; this module knows nothing about models.

>>> samples = [{"H": 8, "I": 20}, {"H": 16, "I": 20}, {"H": 8, "I": 40}, {"H": 24, "I": 60}, {"H": 40, "I": 28}]
>>> str(fit(samples, [2 * sample["H"] + sample["I"] + 3 for sample in samples]).expression)
'2*H + I + 3'
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, combinations_with_replacement, permutations, product
from math import floor, gcd, prod
from typing import Any, NamedTuple

import sympy

from bertcalc.discover.results.result import symbol

Values = Mapping[str, int]
Number = int | Fraction

# Larger denominators are not accepted: a coefficient such as 355/113 indicates that the terms are wrong.
_LARGEST_DENOMINATOR = 16
_PATIENCE = 20_000
_MOST_PAIRS = 12
_MULTIPLES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
_PERIODS = range(2, 9)


# The next three classes are terms with a value at given sizes and a SymPy expression.


class Rounding(NamedTuple):
    """⌊(factor · field + plus - less) / by⌋ raised to a power. ``less`` is a field or "".

    With ``up``, the quotient is rounded up instead of down.
    """

    field: str
    by: str | int
    up: bool = False
    plus: int = 0
    factor: Fraction = Fraction(1)
    power: int = 1  # 2 for the patches of a square image
    less: str = ""  # for example, the first special layer if every eighth layer from the fourth on is special

    def value(self, values: Values) -> int:
        by = values[self.by] if isinstance(self.by, str) else self.by
        less = values[self.less] if self.less else 0
        inside = (self.factor * values[self.field] + self.plus - less) / by
        return int((-floor(-inside) if self.up else floor(inside)) ** self.power)

    def expression(self) -> Any:
        by = symbol(self.by) if isinstance(self.by, str) else self.by
        less = symbol(self.less) if self.less else 0
        inside = (sympy.Rational(self.factor) * symbol(self.field) + self.plus - less) / by
        return (sympy.ceiling if self.up else sympy.floor)(inside) ** self.power


class Bound(NamedTuple):
    """The minimum, or with ``larger`` the maximum, of a field and another field or a number."""

    field: str
    other: str | int
    larger: bool = False

    def value(self, values: Values) -> int:
        other = values[self.other] if isinstance(self.other, str) else self.other
        return max(values[self.field], other) if self.larger else min(values[self.field], other)

    def expression(self) -> Any:
        other = symbol(self.other) if isinstance(self.other, str) else self.other
        return (sympy.Max if self.larger else sympy.Min)(symbol(self.field), other)


class FittedTerm(NamedTuple):
    """A product of fields, divided by other fields, times a rounded quotient or a bound."""

    times: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    special: Rounding | Bound | None = None

    def has(self, field: str) -> bool:
        return field in (*self.times, *self.over, *(self.special or ()))

    def value(self, values: Values) -> Number:
        """Return the term's value; a whole number is an int, which is much faster than a Fraction."""
        above = prod(values[field] for field in self.times) * (self.special.value(values) if self.special else 1)
        return whole(Fraction(above, prod(values[field] for field in self.over))) if self.over else above

    def expression(self) -> Any:
        above = prod(map(symbol, self.times)) * (self.special.expression() if self.special else 1)
        return sympy.sympify(above) / prod(map(symbol, self.over))


class Fit:
    """A sum of terms, each with a coefficient; the constant is a term without fields."""

    def __init__(self, terms: Sequence[tuple[Fraction, FittedTerm]]) -> None:
        self.terms = tuple((coefficient, term) for coefficient, term in terms if coefficient)

    def value(self, values: Values) -> Fraction:
        """Return the formula's value; it is fractional if a division has a remainder, unlike in the samples."""
        return sum((coefficient * term.value(values) for coefficient, term in self.terms), Fraction())

    def specials(self) -> list[Rounding | Bound]:
        """Return the formula's rounded quotients and bounds."""
        return [term.special for _coefficient, term in self.terms if term.special]

    @cached_property
    def expression(self) -> Any:
        """The formula as a SymPy expression; its symbols are the names of the fields."""
        return sympy.Add(*(sympy.Rational(coefficient) * term.expression() for coefficient, term in self.terms))


def fit(samples: Sequence[Values], numbers: Sequence[int], *, counting: bool = False) -> Fit | None:
    """Return the simplest formula that maps each sample to its number, or None if no formula was found.

    All samples have the same fields. Ideally, some samples differ from the first sample in only one field, and some in
    all fields. Sums of products and quotients are tried first, then sums with one rounded term, minimum or maximum. If
    the numbers are counts of tensors (``counting``), rounded terms include "every third layer". Otherwise they include
    sizes rounded up to a multiple. The formula is right for the samples; the caller has to check other sizes.
    """
    if len(set(numbers)) == 1:
        return Fit([(Fraction(numbers[0]), FittedTerm())])
    changing = _alone(samples, numbers)
    if changing and _determined(changing, samples, numbers) and (fitted := _of(changing, samples, numbers, counting)):
        return fitted
    others = [field for field in samples[0] if field not in changing]
    # A maximum depends on each of its two fields only where that field is larger, so a field may have no effect alone.
    for extra in others:
        fields = [*changing, extra]
        if _determined(fields, samples, numbers):
            specials = [term for term in _specials(fields, samples, numbers, counting) if term.has(extra)]
            if fitted := _search(_TermValues.of(specials, fields, samples), None, numbers, 1, 1):
                return fitted
    return None


def _of(fields: list[str], samples: Sequence[Values], numbers: Sequence[int], counting: bool) -> Fit | None:
    products = _TermValues.of(_products(fields), fields, samples)
    if fitted := _search(products, None, numbers, 1, 3):
        return fitted
    specials = _TermValues.of(_specials(fields, samples, numbers, counting), fields, samples)
    return (
        _search(specials, None, numbers, 1, 1)
        or _search(products, specials, numbers, 2, 3)
        or _search(products, None, numbers, 4, 4)
    )


def _alone(samples: Sequence[Values], numbers: Sequence[int]) -> list[str]:
    """Return the fields that change the number when they change alone."""
    alone: set[str] = set()
    for (left, first), (right, second) in combinations(zip(samples, numbers, strict=True), 2):
        if first != second:
            differ = [field for field in left if left[field] != right[field]]
            if len(differ) == 1:
                alone.add(differ[0])
    return [field for field in samples[0] if field in alone]


def _determined(fields: list[str], samples: Sequence[Values], numbers: Sequence[int]) -> bool:
    """Whether samples with the same values of these fields also have the same number."""
    seen: dict[tuple[int, ...], int] = {}
    return all(
        seen.setdefault(tuple(values[field] for field in fields), number) == number
        for values, number in zip(samples, numbers, strict=True)
    )


def _products(fields: list[str]) -> list[FittedTerm]:
    single = [FittedTerm((field,)) for field in fields]
    pairs = [FittedTerm(pair) for pair in combinations_with_replacement(fields, 2)]
    quotients = [
        FittedTerm(term.times, (field,)) for term in [*pairs, *single] for field in fields if field not in term.times
    ]
    threes = [*combinations(fields, 3), *((twice, twice, once) for twice, once in permutations(fields, 2))]
    return [*single, *pairs, *quotients, *map(FittedTerm, threes)]


def _specials(fields: list[str], samples: Sequence[Values], numbers: Sequence[int], counting: bool) -> list[FittedTerm]:
    specials: list[Rounding | Bound] = []
    common = gcd(*numbers)
    for field in fields:
        others = [other for other in fields if other != field]
        specials += [Rounding(field, other, up) for other in others for up in (False, True)]
        specials += [Bound(field, other, larger) for other in others for larger in (False, True) if field < other]
        specials += [Bound(field, max(numbers)), Bound(field, min(numbers), True)]
        if counting:
            specials += [Rounding(field, other, plus=plus) for other in others for plus in (-1, 1)]
            specials += [Rounding(field, by, up=True, less=less) for by, less in permutations(others, 2)]
            specials += [Rounding(field, period, plus=plus) for period in _PERIODS for plus in range(period)]
            continue
        specials += [Rounding(field, other, power=2) for other in others]
        largest, number = max((values[field], number) for values, number in zip(samples, numbers, strict=True))
        ratios = {Fraction(1), *(Fraction(number, largest).limit_denominator(bound) for bound in (8, 64))} - {0}
        specials += [Rounding(field, 1, up, 0, ratio) for ratio in ratios - {Fraction(1)} for up in (False, True)]
        steps = sorted({step for step in (*_MULTIPLES, common) if step > 1 and common % step == 0}, reverse=True)
        specials += [Rounding(field, step, True, 0, ratio) for step in steps for ratio in ratios]
    alone = [FittedTerm(special=special) for special in specials]
    return alone + [
        FittedTerm((field,), special=special) for special in specials for field in fields if field != special.field
    ]


class _TermValues(NamedTuple):
    terms: list[FittedTerm]
    columns: list[list[Number]]
    pairs: dict[str, list[tuple[int, int]]]  # field -> pairs of samples that differ only in this field

    @classmethod
    def of(cls, terms: list[FittedTerm], fields: list[str], samples: Sequence[Values]) -> "_TermValues":
        pairs: dict[str, list[tuple[int, int]]] = {field: [] for field in fields}
        for first, second in combinations(range(len(samples)), 2):
            differ = [field for field in fields if samples[first][field] != samples[second][field]]
            if len(differ) == 1 and len(pairs[differ[0]]) < _MOST_PAIRS:
                pairs[differ[0]].append((first, second))
        return cls(terms, [[term.value(values) for values in samples] for term in terms], pairs)


def _search(
    table: _TermValues, special: _TermValues | None, numbers: Sequence[int], least: int, most: int
) -> Fit | None:
    """Find a sum of ``least`` to ``most`` terms and a constant, with at most one term from the table ``special``.

    Returns None if there is no such sum, or if too many terms were tried.
    """
    patience = iter(range(_PATIENCE))  # each attempted term uses up one item
    most = min(most, len(numbers) - 3)  # with as many coefficients as samples, a formula fits anything
    try:
        for depth in range(least, most + 1):
            if terms := _peel(table, special, list(numbers), depth, patience):
                return Fit(terms)
            if depth == 2 and (terms := _two(table, special, numbers, patience)):
                return Fit(terms)
    except StopIteration:  # out of patience
        pass
    return None


def _peel(
    table: _TermValues, special: _TermValues | None, rest: list[Number], depth: int, patience: Iterator[int]
) -> list[tuple[Fraction, FittedTerm]] | None:
    """Subtract at most ``depth`` terms one by one until a constant is left; return them as (coefficient, term) pairs.

    Each term must explain all changes that one field causes alone. Returns None if no such terms are found.
    """
    if all(number == rest[0] for number in rest):
        return [(Fraction(rest[0]), FittedTerm())]
    if depth == 0:
        return None
    for pairs in table.pairs.values():
        changing = next(((first, second) for first, second in pairs if rest[first] != rest[second]), None)
        if changing is None:
            continue
        first, second = changing
        change = rest[first] - rest[second]
        for term, column, left in _choices(table, special):
            by = column[first] - column[second]
            if not by:
                continue
            next(patience)
            coefficient = Fraction(change) / by
            if coefficient.denominator > _LARGEST_DENOMINATOR:
                continue
            if any((rest[a] - rest[b]) * by != change * (column[a] - column[b]) for a, b in pairs):
                continue
            factor = whole(coefficient)
            if depth == 1:
                constant = rest[0] - factor * column[0]
                # Check the last samples first: all their fields are changed, so they are the most likely to differ.
                if all(number - factor * value == constant for number, value in zip(reversed(rest), reversed(column))):  # noqa: B905
                    return [(coefficient, term), (Fraction(constant), FittedTerm())]
                continue
            less = [number - factor * value for number, value in zip(rest, column, strict=True)]
            if (terms := _peel(table, left, less, depth - 1, patience)) is not None:
                return [(coefficient, term), *terms]
        if depth == 1:
            return None  # a single term has to explain every field
    return None


def _choices(
    table: _TermValues, special: _TermValues | None
) -> Iterator[tuple[FittedTerm, list[Number], _TermValues | None]]:
    """Yield each term that may be subtracted, its column, and the special terms that may be used after it."""
    for term, column in zip(table.terms, table.columns, strict=True):
        yield term, column, special
    if special:
        for term, column in zip(special.terms, special.columns, strict=True):
            yield term, column, None


def _two(
    table: _TermValues, special: _TermValues | None, numbers: Sequence[int], patience: Iterator[int]
) -> list[tuple[Fraction, FittedTerm]] | None:
    """Find two terms with a common field, such as (2 w + 1) h, and a constant, by elimination; None if this fails."""
    target = [number - numbers[0] for number in numbers]
    rows = range(1, len(numbers))
    first_terms, second_terms = _moved(table), _moved(special) if special else None
    pairs = product(first_terms, second_terms) if second_terms else combinations(first_terms, 2)
    for (first, left, column), (second, other, column2) in pairs:
        next(patience)
        pivot = next((row for row in rows if left[row]), None)
        if pivot is None:
            continue
        row = next((row for row in rows if other[row] * left[pivot] != other[pivot] * left[row]), None)
        if row is None:
            continue
        determinant = other[row] * left[pivot] - other[pivot] * left[row]
        b = Fraction(target[row] * left[pivot] - target[pivot] * left[row]) / determinant
        if b.denominator > _LARGEST_DENOMINATOR:
            continue
        a = (target[pivot] - b * other[pivot]) / left[pivot]
        if a.denominator > _LARGEST_DENOMINATOR:
            continue
        if all(target[index] == a * left[index] + b * other[index] for index in rows):
            return [(a, first), (b, second), (numbers[0] - a * column[0] - b * column2[0], FittedTerm())]
    return None


def _moved(table: _TermValues) -> list[tuple[FittedTerm, list[Number], list[Number]]]:
    """Return each term with its values in the samples, relative to the first sample and absolute."""
    columns = zip(table.terms, table.columns, strict=True)
    return [(term, [value - column[0] for value in column], column) for term, column in columns]


def whole(number: Fraction) -> Number:
    """Convert a whole number to an int, which is much faster than a Fraction."""
    return number.numerator if number.denominator == 1 else number
