"""What has to hold between the sizes of a model for its formula to hold: the regime, as conditions and as sentences."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from bertcalc.discover.fit import symbol
from bertcalc.problem import Problem

# Each sentence with what it needs beside the field.
SENTENCES = {
    "is": "{field} is {other}",
    "share": "{field} is {factor} times {other}",
    "multiple": "{field} is a multiple of {other}",
    "differs": "{field} differs from {other}",
    "at least": "{field} is at least {other}",
    "at most": "{field} is at most {other}",
    "more": "{field} is more than {other}",
    "less": "{field} is less than {other}",
}


class Condition(NamedTuple):
    """One condition on a field: ``kind`` is a key of SENTENCES, ``other`` a number or another field."""

    kind: str
    field: str
    other: str | int
    factor: Fraction = Fraction(1)

    def __str__(self) -> str:
        return SENTENCES[self.kind].format(**self._filled())

    def _filled(self) -> dict[str, str]:
        other = self.other if isinstance(self.other, str) else f"{self.other:,}"
        return {"field": self.field, "other": other, "factor": str(self.factor)}

    def fields(self) -> set[str]:
        """The fields in it."""
        return {self.field} | ({self.other} if isinstance(self.other, str) else set())

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether it does for these values."""
        here = values[self.field]
        other = values[self.other] if isinstance(self.other, str) else self.other
        if self.kind == "multiple":
            return other != 0 and here % other == 0
        if self.kind in ("is", "share"):
            return here == self.factor * other
        return {
            "differs": here != other,
            "at least": here >= other,
            "at most": here <= other,
            "more": here > other,
            "less": here < other,
        }[self.kind]

    def expression(self) -> Any:
        """In SymPy."""
        import sympy

        here = symbol(self.field)
        other = symbol(self.other) if isinstance(self.other, str) else sympy.Integer(self.other)
        if self.kind == "multiple":
            return sympy.Eq(sympy.Mod(here, other), 0)
        if self.kind in ("is", "share"):
            return sympy.Eq(here, sympy.Rational(self.factor.numerator, self.factor.denominator) * other)
        kinds = {
            "differs": sympy.Ne,
            "at least": sympy.Ge,
            "at most": sympy.Le,
            "more": sympy.Gt,
            "less": sympy.Lt,
        }
        return kinds[self.kind](here, other)

    def problem(self, values: Mapping[str, int]) -> Problem:
        """What is wrong with values for which it does not hold."""
        here = f"{self.field} is {values[self.field]:,}"
        if isinstance(self.other, str):
            here += f" and {self.other} {values[self.other]:,}"
        message = f"The formula holds where {SENTENCES[self.kind]}; here, {{here}}."
        return Problem(self.field, values[self.field], message, {**self._filled(), "here": here})


def learned(
    bad: Sequence[Mapping[str, int]], good: Sequence[Mapping[str, int]], fields: Sequence[str], at: Mapping[str, int]
) -> tuple[list[Condition], list[Mapping[str, int]]]:
    """Conditions that all good values meet and that bad ones do not, and the bad ones for which there is none."""
    found: list[Condition] = []
    left = list(bad)
    offered = {
        condition: None
        for values in bad
        for condition in _offered(values, good, fields, at)
        if not condition.holds(values)
    }
    kept = [condition for condition in offered if all(condition.holds(values) for values in good)]
    while left:
        covers = {condition: sum(not condition.holds(values) for values in left) for condition in kept}
        best = max(kept, key=lambda condition: (_weight(condition), covers[condition]) if covers[condition] else (-9, 0), default=None)
        if best is None or not covers[best]:
            break
        found.append(best)
        left = [values for values in left if best.holds(values)]
    return found, left


# What is said first where several conditions explain the same.
_ORDER = ("multiple", "differs", "more", "less", "at least", "at most")


def _weight(condition: Condition) -> int:
    return -_ORDER.index(condition.kind) - (0 if isinstance(condition.other, str) else 3)


def _offered(
    values: Mapping[str, int], good: Sequence[Mapping[str, int]], fields: Sequence[str], at: Mapping[str, int]
) -> Iterable[Condition]:
    changed = [field for field in fields if values[field] != at[field]]
    for field in changed:
        for other in fields:
            if other == field:
                continue
            if min(values[other], values[field]) > 0:
                yield from (Condition("multiple", field, other), Condition("multiple", other, field))
            yield Condition("differs", field, other)
            yield Condition("more" if at[field] > at[other] else "less", field, other)
            yield Condition("at least" if at[field] >= at[other] else "at most", field, other)
        yield from (Condition("multiple", field, number) for number in (2, 3, 4, 5, 6, 8, 12, 16, 32, 64, 128))
        known = sorted({here[field] for here in good})
        yield Condition("at least", field, known[0])
        yield Condition("at most", field, known[-1])
