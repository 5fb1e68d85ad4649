"""Conditions on a model's sizes under which its formula holds (its regime), as data and as sentences."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd
from operator import ge, gt, le, lt, ne
from typing import NamedTuple

from bertcalc.text import N_
from bertcalc.text.problem import Problem

# The sentence of each kind of condition.
SENTENCES = {
    "is": N_("{size} is {other}"),
    "share": N_("{size} is {factor} times {other}"),
    "multiple": N_("{size} is a multiple of {other}"),
    "multiple of times": N_("{size} is a multiple of {factor} times {other}"),
    "differs": N_("{size} differs from {other}"),
    "at least": N_("{size} is at least {other}"),
    "at most": N_("{size} is at most {other}"),
    "more": N_("{size} is more than {other}"),
    "less": N_("{size} is less than {other}"),
}

# The comparisons among them, with Python's operators.
COMPARED = {"differs": ("!=", ne), "at least": (">=", ge), "at most": ("<=", le), "more": (">", gt), "less": ("<", lt)}


class Condition(NamedTuple):
    """A condition on a field; ``kind`` is a key of SENTENCES, ``other`` a number or another field."""

    kind: str
    field: str
    other: str | int
    factor: Fraction = Fraction(1)

    def __str__(self) -> str:
        return str(self.sentence())

    def sentence(self) -> Problem:
        kind = self.kind if self.factor != 1 or self.kind != "share" else "is"
        kind = "multiple of times" if self.factor != 1 and kind == "multiple" else kind
        return Problem.of(SENTENCES[kind], size=self.field, other=self.other, factor=self.factor)

    def fields(self) -> set[str]:
        return {self.field} | ({self.other} if isinstance(self.other, str) else set())

    def holds(self, values: Mapping[str, int]) -> bool:
        size, other = values[self.field], self.side(values)
        if self.kind == "multiple":
            step = self.step(values)
            return step != 0 and size % step == 0
        if self.kind in ("is", "share"):
            above, below = self.factor.as_integer_ratio()
            return below * size == above * other
        met: bool = COMPARED[self.kind][1](size, other)
        return met

    def side(self, values: Mapping[str, int]) -> int:
        """The number with which the field is compared."""
        return values[self.other] if isinstance(self.other, str) else self.other

    def step(self, values: Mapping[str, int]) -> int:
        """The number of which the field must be a multiple: 6 for "3/2 times 4", 3 for "3/2 times 1"."""
        above, below = self.factor.as_integer_ratio()  # faster than arithmetic with fractions
        times = above * self.side(values)
        return times // gcd(times, below)

    def problem(self, values: Mapping[str, int]) -> Problem:
        """The message for values that do not meet the condition."""
        right = self.factor * self.side(values)
        if self.kind == "share" and right.denominator == 1:
            message = N_("{size} would have to change to {right}: the formula holds only where {condition}.")
            details = {"size": self.field, "right": int(right), "condition": self.sentence()}
            return Problem.of(message, self.field, values[self.field], **details)
        sizes = ", ".join(f"{name} = {values[name]:,}" for name in sorted(self.fields()))
        message = N_("The formula holds only where {condition}, but {here}.")
        return Problem(self.field, values[self.field], message, {"condition": self.sentence(), "here": sizes})


# Order of preference if several conditions explain the same observations.
_ORDER = ("multiple", "differs", "more", "less", "at least", "at most")
_FACTORS = (Fraction(1), Fraction(2), Fraction(1, 2))  # such as heads of even size, or a width of 2 * hidden_size
FEW = 16  # every value of a field up to this size is tried, so that a single value can be excluded
_DIVISORS = (2, 3, 4, 5, 6, 8, 12, 16, 32, 64, 128)


def candidates(
    values: Mapping[str, int], good: Sequence[Mapping[str, int]], fields: Sequence[str], base: Mapping[str, int]
) -> list[Condition]:
    """Return conditions that all good values meet and these values do not, the likeliest first.

    ``base`` has the values before the change; each condition involves a field that was changed.
    """
    changed = [field for field in fields if values[field] != base[field]]
    conditions = [
        condition
        for condition in _all(changed, fields, good, base, values)
        if not condition.holds(values) and all(condition.holds(sizes) for sizes in good)
    ]

    def likely(condition: Condition) -> tuple[bool, bool, bool, int]:
        number = isinstance(condition.other, int)
        single = number and condition.kind == "differs"
        return number, single, condition.factor != 1, _ORDER.index(condition.kind)

    return sorted(dict.fromkeys(conditions), key=likely)


def _all(
    changed: Sequence[str],
    fields: Sequence[str],
    good: Sequence[Mapping[str, int]],
    base: Mapping[str, int],
    values: Mapping[str, int],
) -> Iterator[Condition]:
    for field in changed:
        for other in fields:
            if other == field:
                continue
            for factor in _FACTORS:
                yield from (Condition("multiple", field, other, factor), Condition("multiple", other, field, factor))
            yield Condition("differs", field, other)
            yield Condition("more" if base[field] > base[other] else "less", field, other)
            yield Condition("at least" if base[field] >= base[other] else "at most", field, other)
        yield from (Condition("multiple", field, number) for number in _DIVISORS)
        good_sizes = [sizes[field] for sizes in good]
        yield Condition("at least", field, min(good_sizes))
        yield Condition("at most", field, max(good_sizes))
        if len(changed) == 1 and base[field] <= FEW:
            yield Condition("differs", field, values[field])


def bounds(values: Mapping[str, int], good: Sequence[Mapping[str, int]], changed: Sequence[str]) -> list[Condition]:
    """Return conditions on one field that exclude these values: bounds at the nearest good values, or constants."""
    conditions: list[Condition] = []
    for field in changed:
        below = [sizes[field] for sizes in good if sizes[field] < values[field]]
        above = [sizes[field] for sizes in good if sizes[field] > values[field]]
        conditions += [Condition("at most", field, max(below))] if below else []
        conditions += [Condition("at least", field, min(above))] if above else []
        usual = good[0][field]
        conditions += [Condition("is", field, usual)] if usual != values[field] else []
    return conditions


def count_excluded(condition: Condition, good: Sequence[Mapping[str, int]]) -> int:
    """Count the good values that a condition excludes."""
    return sum(not condition.holds(values) for values in good)


def remedy(condition: Condition, values: Mapping[str, int], of: str) -> int | None:
    """Return a nearby value for ``of``, one of the condition's fields, that meets the condition, or None."""
    other = condition.field if of == condition.other else str(condition.other)
    size, partner = values[of], values[other]
    near = [partner, partner + 1, partner - 1, 2 * partner, 3 * partner, size + 1, size - 1]
    near += [*(partner // by for by in _DIVISORS), 1]
    return next((value for value in near if value >= 0 and condition.holds({**values, of: value})), None)
