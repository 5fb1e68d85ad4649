"""Conditions on the sizes of a model under which its formula holds, the regime, as data and as sentences."""

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

# The other kinds, as Python has them.
COMPARED = {"differs": ("!=", ne), "at least": (">=", ge), "at most": ("<=", le), "more": (">", gt), "less": ("<", lt)}


class Condition(NamedTuple):
    """A condition on a field: ``kind`` is a key of SENTENCES, ``other`` a number or another field."""

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
        here, other = values[self.field], self.side(values)
        if self.kind == "multiple":
            step = self.step(values)
            return step != 0 and here % step == 0
        if self.kind in ("is", "share"):
            above, below = self.factor.as_integer_ratio()
            return below * here == above * other
        met: bool = COMPARED[self.kind][1](here, other)
        return met

    def side(self, values: Mapping[str, int]) -> int:
        """The number that the field is compared with."""
        return values[self.other] if isinstance(self.other, str) else self.other

    def step(self, values: Mapping[str, int]) -> int:
        """The number of which the field has to be a multiple: of 6 for 3/2 times 4, of 3 for 3/2 times 1."""
        above, below = self.factor.as_integer_ratio()  # faster than arithmetic with fractions
        times = above * self.side(values)
        return times // gcd(times, below)

    def problem(self, values: Mapping[str, int]) -> Problem:
        """The problem with values for which it does not hold."""
        right = self.factor * self.side(values)
        if self.kind == "share" and right.denominator == 1:
            message = N_("{size} would have to be {right}, too: the formula holds where {condition}.")
            shown = {"size": self.field, "right": int(right), "condition": self.sentence()}
            return Problem.of(message, self.field, values[self.field], **shown)
        here = ", ".join(f"{name} = {values[name]:,}" for name in sorted(self.fields()))
        message = N_("The formula holds where {condition}; here, {here}.")
        return Problem(self.field, values[self.field], message, {"condition": self.sentence(), "here": here})


# The order of preference where several conditions explain the same.
_ORDER = ("multiple", "differs", "more", "less", "at least", "at most")
_FACTORS = (Fraction(1), Fraction(2), Fraction(1, 2))  # heads of an even size, of hidden_size twice as wide
_DIVISORS = (2, 3, 4, 5, 6, 8, 12, 16, 32, 64, 128)


def offered(
    values: Mapping[str, int], good: Sequence[Mapping[str, int]], fields: Sequence[str], at: Mapping[str, int]
) -> list[Condition]:
    """Return conditions that these values do not meet and all good ones do, the likeliest first.

    ``at`` has the values that fields were changed from: a condition is always on a field that was changed.
    """
    changed = [field for field in fields if values[field] != at[field]]
    found = [
        condition
        for condition in _all(changed, fields, good, at)
        if not condition.holds(values) and all(condition.holds(each) for each in good)
    ]

    def likely(condition: Condition) -> tuple[bool, bool, int]:
        return isinstance(condition.other, int), condition.factor != 1, _ORDER.index(condition.kind)

    return sorted(dict.fromkeys(found), key=likely)


def _all(
    changed: Sequence[str], fields: Sequence[str], good: Sequence[Mapping[str, int]], at: Mapping[str, int]
) -> Iterator[Condition]:
    for field in changed:
        for other in fields:
            if other == field:
                continue
            for factor in _FACTORS:
                yield from (Condition("multiple", field, other, factor), Condition("multiple", other, field, factor))
            yield Condition("differs", field, other)
            yield Condition("more" if at[field] > at[other] else "less", field, other)
            yield Condition("at least" if at[field] >= at[other] else "at most", field, other)
        yield from (Condition("multiple", field, number) for number in _DIVISORS)
        known = [each[field] for each in good]
        yield Condition("at least", field, min(known))
        yield Condition("at most", field, max(known))


def bounds(values: Mapping[str, int], good: Sequence[Mapping[str, int]], changed: Sequence[str]) -> list[Condition]:
    """Return conditions on one field that exclude these values: bounds by the nearest good values, and a constant."""
    found: list[Condition] = []
    for field in changed:
        below = [each[field] for each in good if each[field] < values[field]]
        above = [each[field] for each in good if each[field] > values[field]]
        found += [Condition("at most", field, max(below))] if below else []
        found += [Condition("at least", field, min(above))] if above else []
        usual = good[0][field]
        found += [Condition("is", field, usual)] if usual != values[field] else []
    return found


def excluded(condition: Condition, good: Sequence[Mapping[str, int]]) -> int:
    """The number of good values that a condition excludes."""
    return sum(not condition.holds(values) for values in good)


def remedy(condition: Condition, values: Mapping[str, int], of: str) -> int | None:
    """A value near by for the field ``of``, one of the two, with which the condition is met; None if there is none."""
    other = condition.field if of == condition.other else str(condition.other)
    here, there = values[of], values[other]
    near = [there, there + 1, there - 1, 2 * there, 3 * there, here + 1, here - 1]
    near += [*(there // by for by in _DIVISORS), 1]
    return next((each for each in near if each >= 0 and condition.holds({**values, of: each})), None)
