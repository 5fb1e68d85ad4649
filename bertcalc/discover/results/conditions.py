"""The conditions under which a formula holds (its regime), as data and as sentences."""

from collections.abc import Mapping
from fractions import Fraction
from math import gcd
from operator import ge, gt, le, lt, ne
from typing import NamedTuple

from bertcalc.text import N_
from bertcalc.text.problem import Problem

# The sentence for each kind of condition.
SENTENCES = {
    "is": N_("{size} is {other}"),
    "share": N_("{size} is {factor} × {other}"),
    "multiple": N_("{size} is a multiple of {other}"),
    "multiple of times": N_("{size} is a multiple of {factor} × {other}"),
    "differs": N_("{size} differs from {other}"),
    "at least": N_("{size} is at least {other}"),
    "at most": N_("{size} is at most {other}"),
    "more": N_("{size} is more than {other}"),
    "less": N_("{size} is less than {other}"),
}

# The kinds that compare a field with a number or another field: Python's operator as text and as a function.
COMPARED = {"differs": ("!=", ne), "at least": (">=", ge), "at most": ("<=", le), "more": (">", gt), "less": ("<", lt)}


class Condition(NamedTuple):
    """A condition on a field; ``kind`` is a key of SENTENCES.

    The field is compared with ``factor`` times ``other``, which is a number or another field.
    """

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
        """Return the value that the field is compared with: a number, or another field's value."""
        return values[self.other] if isinstance(self.other, str) else self.other

    def step(self, values: Mapping[str, int]) -> int:
        """Return the number that must divide the field: 6 for "3/2 times 4", 3 for "3/2 times 1"."""
        above, below = self.factor.as_integer_ratio()  # faster than arithmetic with fractions
        times = above * self.side(values)
        return times // gcd(times, below)

    def problem(self, values: Mapping[str, int]) -> Problem:
        """Return the problem with sizes that do not meet the condition."""
        right = self.factor * self.side(values)
        if self.kind == "share" and right.denominator == 1:
            message = N_("{size} would have to change to {right}: the formula holds only if {condition}.")
            details = {"size": self.field, "right": int(right), "condition": self.sentence()}
            return Problem.of(message, self.field, values[self.field], **details)
        sizes = ", ".join(f"{name} = {values[name]:,}" for name in sorted(self.fields()))
        message = N_("The formula holds only if {condition}, but {here}.")
        return Problem(self.field, values[self.field], message, {"condition": self.sentence(), "here": sizes})
