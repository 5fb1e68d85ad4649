"""Propose conditions that explain why the class refuses some sizes, or why a formula is wrong for them."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from bertcalc.discover.results.conditions import Condition

# The order of preference if several conditions explain the same observations.
_ORDER = ("multiple", "differs", "more", "less", "at least", "at most")
# Factors between two fields in a condition. For example, the factor is 2 if heads must have an even size, or for a
# width of 2 * hidden_size.
_FACTORS = (Fraction(1), Fraction(2), Fraction(4), Fraction(1, 2))
FEW = 16  # every value of a field up to this size is tried, so a single value can be excluded
_DIVISORS = (2, 3, 4, 5, 6, 8, 12, 16, 32, 64, 128)


def candidates(
    values: Mapping[str, int], good: Sequence[Mapping[str, int]], fields: Sequence[str], base: Mapping[str, int]
) -> list[Condition]:
    """Return conditions that all ``good`` sizes meet and ``values`` does not, the likeliest first.

    ``base`` has the sizes before the change. Each condition involves a changed field, and only ``fields``.
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
    """Return conditions on single ``changed`` fields that exclude the sizes ``values``.

    A condition is a bound at the nearest good value of a field, or fixes the field at its value in the first of the
    ``good`` sizes.
    """
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
    """Return the number of good configurations that a condition excludes."""
    return sum(not condition.holds(values) for values in good)


def remedies(condition: Condition, values: Mapping[str, int], of: str) -> list[int]:
    """Return values that meet a condition for the field ``of``, which is one of the condition's two fields."""
    other = condition.field if of == condition.other else str(condition.other)
    size, partner = values[of], values[other]
    near = [partner, partner + 1, partner - 1, 2 * partner, 3 * partner, size + 1, size - 1]
    near += [*(partner // by for by in _DIVISORS), 1]
    return [value for value in dict.fromkeys(near) if value >= 0 and condition.holds({**values, of: value})]
