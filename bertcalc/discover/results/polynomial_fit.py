"""A formula for an integer that depends on fields, found from samples alone: ``fit`` knows nothing of models.

>>> samples = [{"H": 8, "I": 20}, {"H": 16, "I": 20}, {"H": 8, "I": 40}, {"H": 24, "I": 60}, {"H": 40, "I": 28}]
>>> str(fit(samples, [2 * each["H"] + each["I"] + 3 for each in samples]).expression)
'2*H + I + 3'
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, combinations_with_replacement, permutations, product
from math import floor, gcd, prod
from typing import Any, NamedTuple

import sympy

Values = Mapping[str, int]
Number = int | Fraction

# A coefficient such as 355/113 is a sign that the terms are wrong.
_LARGEST_DENOMINATOR = 16
_PATIENCE = 20_000
_MOST_PAIRS = 12
_MULTIPLES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
_PERIODS = range(2, 9)


def symbol(field: str) -> Any:
    """The SymPy symbol of a field."""
    return sympy.Symbol(field, integer=True, positive=True)


# Each of the following classes has its value at some sizes, and its SymPy expression.


class Rounding(NamedTuple):
    """⌊(factor · field + plus - less) / by⌋, or rounded up, to a power; ``less`` is a field or ""."""

    field: str
    by: str | int
    up: bool = False
    plus: int = 0
    factor: Fraction = Fraction(1)
    power: int = 1  # the patches of an image form a square
    less: str = ""  # every eighth layer from the fourth on

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
    """The minimum of a field and another field or a number, or the maximum."""

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
    """A product of fields, divided by others, times a rounded quotient or a bound."""

    times: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    special: Rounding | Bound | None = None

    def has(self, field: str) -> bool:
        return field in (*self.times, *self.over, *(self.special or ()))

    def value(self, values: Values) -> Number:
        """An int where it is whole, which is much faster, else a fraction."""
        above = prod(values[field] for field in self.times) * (self.special.value(values) if self.special else 1)
        return whole(Fraction(above, prod(values[field] for field in self.over))) if self.over else above

    def expression(self) -> Any:
        above = prod(map(symbol, self.times)) * (self.special.expression() if self.special else 1)
        return sympy.sympify(above) / prod(map(symbol, self.over))


class Fit:
    """A sum of terms, each with its coefficient; the constant is the term without fields."""

    def __init__(self, terms: Sequence[tuple[Fraction, FittedTerm]]) -> None:
        self.terms = tuple((coefficient, term) for coefficient, term in terms if coefficient)

    def value(self, values: Values) -> Fraction:
        """Its value, a fraction where a field does not divide as in the samples."""
        return sum((coefficient * term.value(values) for coefficient, term in self.terms), Fraction())

    def specials(self) -> list[Rounding | Bound]:
        """Its rounded quotients and bounds."""
        return [term.special for _coefficient, term in self.terms if term.special]

    @cached_property
    def expression(self) -> Any:
        """Its SymPy expression, with the fields' names as symbols."""
        return sympy.Add(*(sympy.Rational(coefficient) * term.expression() for coefficient, term in self.terms))


def fit(samples: Sequence[Values], numbers: Sequence[int], *, counting: bool = False) -> Fit | None:
    """Return the simplest formula that gives each sample its number, or None if no formula that is tried does.

    All samples have the same fields. Best are a first sample, some that differ from it in one field alone, and some
    that differ in all. Sums of products and quotients are tried first, then sums with one term that is rounded, or a
    minimum or maximum: terms such as every third layer if the numbers say how many tensors there are (``counting``),
    else sizes rounded up to a multiple. The formula is right for the samples; for other sizes, the caller has to check.
    """
    if len(set(numbers)) == 1:
        return Fit([(Fraction(numbers[0]), FittedTerm())])
    known = _alone(samples, numbers)
    if known and _determined(known, samples, numbers) and (found := _of(known, samples, numbers, counting)):
        return found
    others = [field for field in samples[0] if field not in known]
    for more in others:  # a maximum follows each of two fields only where that one is the larger
        fields = [*known, more]
        if _determined(fields, samples, numbers):
            specials = [term for term in _specials(fields, samples, numbers, counting) if term.has(more)]
            if found := _search(_TermValues.of(specials, fields, samples), None, numbers, 1, 1):
                return found
    return None


def _of(fields: list[str], samples: Sequence[Values], numbers: Sequence[int], counting: bool) -> Fit | None:
    """The simplest formula with these fields."""
    products = _TermValues.of(_products(fields), fields, samples)
    if found := _search(products, None, numbers, 1, 3):
        return found
    specials = _TermValues.of(_specials(fields, samples, numbers, counting), fields, samples)
    return (
        _search(specials, None, numbers, 1, 1)
        or _search(products, specials, numbers, 2, 3)
        or _search(products, None, numbers, 4, 4)
    )


def _alone(samples: Sequence[Values], numbers: Sequence[int]) -> list[str]:
    """The fields that change the number when they change alone."""
    found: set[str] = set()
    for (one, first), (other, second) in combinations(zip(samples, numbers, strict=True), 2):
        if first != second:
            differ = [field for field in one if one[field] != other[field]]
            if len(differ) == 1:
                found.add(differ[0])
    return [field for field in samples[0] if field in found]


def _determined(fields: list[str], samples: Sequence[Values], numbers: Sequence[int]) -> bool:
    """Whether samples with the same values of these fields have the same number."""
    seen: dict[tuple[int, ...], int] = {}
    return all(
        seen.setdefault(tuple(values[field] for field in fields), number) == number
        for values, number in zip(samples, numbers, strict=True)
    )


def _products(fields: list[str]) -> list[FittedTerm]:
    """Products and quotients of fields, the simplest first."""
    single = [FittedTerm((field,)) for field in fields]
    pairs = [FittedTerm(pair) for pair in combinations_with_replacement(fields, 2)]
    quotients = [
        FittedTerm(term.times, (field,)) for term in [*pairs, *single] for field in fields if field not in term.times
    ]
    threes = [*combinations(fields, 3), *((one, one, other) for one, other in permutations(fields, 2))]
    return [*single, *pairs, *quotients, *map(FittedTerm, threes)]


def _specials(fields: list[str], samples: Sequence[Values], numbers: Sequence[int], counting: bool) -> list[FittedTerm]:
    """Terms with a rounded quotient or a bound."""
    found: list[Rounding | Bound] = []
    common = gcd(*numbers)
    for field in fields:
        others = [other for other in fields if other != field]
        found += [Rounding(field, other, up) for other in others for up in (False, True)]
        found += [Bound(field, other, larger) for other in others for larger in (False, True) if field < other]
        found += [Bound(field, max(numbers)), Bound(field, min(numbers), True)]
        if counting:
            found += [Rounding(field, other, plus=plus) for other in others for plus in (-1, 1)]
            found += [Rounding(field, by, up=True, less=less) for by, less in permutations(others, 2)]
            found += [Rounding(field, period, plus=plus) for period in _PERIODS for plus in range(period)]
            continue
        found += [Rounding(field, other, power=2) for other in others]
        largest, number = max((values[field], number) for values, number in zip(samples, numbers, strict=True))
        ratios = {Fraction(1), *(Fraction(number, largest).limit_denominator(bound) for bound in (8, 64))} - {0}
        found += [Rounding(field, 1, up, 0, ratio) for ratio in ratios - {Fraction(1)} for up in (False, True)]
        steps = sorted({step for step in (*_MULTIPLES, common) if step > 1 and common % step == 0}, reverse=True)
        found += [Rounding(field, step, True, 0, ratio) for step in steps for ratio in ratios]
    alone = [FittedTerm(special=special) for special in found]
    return alone + [
        FittedTerm((field,), special=special) for special in found for field in fields if field != special.field
    ]


class _TermValues(NamedTuple):
    """Terms with their values for all samples."""

    terms: list[FittedTerm]
    columns: list[list[Number]]
    pairs: dict[str, list[tuple[int, int]]]  # field -> pairs of samples that differ in it alone

    @classmethod
    def of(cls, terms: list[FittedTerm], fields: list[str], samples: Sequence[Values]) -> "_TermValues":
        pairs: dict[str, list[tuple[int, int]]] = {field: [] for field in fields}
        for one, other in combinations(range(len(samples)), 2):
            differ = [field for field in fields if samples[one][field] != samples[other][field]]
            if len(differ) == 1 and len(pairs[differ[0]]) < _MOST_PAIRS:
                pairs[differ[0]].append((one, other))
        return cls(terms, [[term.value(values) for values in samples] for term in terms], pairs)


def _search(table: _TermValues, one: _TermValues | None, numbers: Sequence[int], least: int, most: int) -> Fit | None:
    """Return a sum of ``least`` to ``most`` terms and a constant, at most one of them from the table ``one``."""
    patience = iter(range(_PATIENCE))  # each term that is tried takes one
    most = min(most, len(numbers) - 3)  # a formula with as many coefficients as samples fits anything
    try:
        for depth in range(least, most + 1):
            if found := _peel(table, one, list(numbers), depth, patience):
                return Fit(found)
            if depth == 2 and (found := _two(table, one, numbers, patience)):
                return Fit(found)
    except StopIteration:  # out of patience
        pass
    return None


def _peel(
    table: _TermValues, special: _TermValues | None, rest: list[Number], depth: int, patience: Iterator[int]
) -> list[tuple[Fraction, FittedTerm]] | None:
    """Take away one term after the other, each of which explains all changes by one field alone."""
    if all(number == rest[0] for number in rest):
        return [(Fraction(rest[0]), FittedTerm())]
    if depth == 0:
        return None
    for pairs in table.pairs.values():
        changing = next(((one, other) for one, other in pairs if rest[one] != rest[other]), None)
        if changing is None:
            continue
        one, other = changing
        change = rest[one] - rest[other]
        for term, column, left in _choices(table, special):
            by = column[one] - column[other]
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
                # The last samples have all fields changed: they tell most.
                if all(number - factor * value == constant for number, value in zip(reversed(rest), reversed(column))):  # noqa: B905
                    return [(coefficient, term), (Fraction(constant), FittedTerm())]
                continue
            less = [number - factor * value for number, value in zip(rest, column, strict=True)]
            if (more := _peel(table, left, less, depth - 1, patience)) is not None:
                return [(coefficient, term), *more]
        if depth == 1:
            return None  # one term has to explain every field
    return None


def _choices(
    table: _TermValues, one: _TermValues | None
) -> Iterator[tuple[FittedTerm, list[Number], _TermValues | None]]:
    """Yield each term that may be taken away, its column, and the table of specials that is left then."""
    for term, column in zip(table.terms, table.columns, strict=True):
        yield term, column, one
    if one:
        for term, column in zip(one.terms, one.columns, strict=True):
            yield term, column, None


def _two(
    table: _TermValues, one: _TermValues | None, numbers: Sequence[int], patience: Iterator[int]
) -> list[tuple[Fraction, FittedTerm]] | None:
    """Find two terms that have a field in common, and a constant, by elimination: (2 w + 1) h."""
    right = [number - numbers[0] for number in numbers]
    rows = range(1, len(numbers))
    those, others = _moved(table), _moved(one) if one else None
    for (first, left, column), (second, other, column2) in product(those, others) if others else combinations(those, 2):
        next(patience)
        pivot = next((row for row in rows if left[row]), None)
        if pivot is None:
            continue
        row = next((row for row in rows if other[row] * left[pivot] != other[pivot] * left[row]), None)
        if row is None:
            continue
        under = other[row] * left[pivot] - other[pivot] * left[row]
        b = Fraction(right[row] * left[pivot] - right[pivot] * left[row]) / under
        if b.denominator > _LARGEST_DENOMINATOR:
            continue
        a = (right[pivot] - b * other[pivot]) / left[pivot]
        if a.denominator > _LARGEST_DENOMINATOR:
            continue
        if all(right[each] == a * left[each] + b * other[each] for each in rows):
            return [(a, first), (b, second), (numbers[0] - a * column[0] - b * column2[0], FittedTerm())]
    return None


def _moved(table: _TermValues) -> list[tuple[FittedTerm, list[Number], list[Number]]]:
    """The terms with their differences from the first sample, and their columns."""
    columns = zip(table.terms, table.columns, strict=True)
    return [(term, [value - column[0] for value in column], column) for term, column in columns]


def whole(number: Fraction) -> Number:
    """An int if the number is whole: ints are much faster."""
    return number.numerator if number.denominator == 1 else number
