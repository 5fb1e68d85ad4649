"""Draw sizes at which to test a formula: over a wide range, and where a class's behavior often changes.

A formula that is right near the default can be wrong where a list in the configuration ends, where a size no longer
divides another, or where two sizes are equal.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

from bertcalc.discover.results.conditions import Condition

DEPTH = re.compile("layer|block|depth")
_DEPTHS = re.compile("layer|block|depth|stage")
_SIZE = re.compile("size|dim|vocab|channels|width")
_SMALL = (1, 2, 3, 4, 5, 7, 8, 9, 11, 16, 31, 32, 44, 48, 64, 97, 128)
_DEEPEST = 96  # deeper models take too long to build
_FARTHEST = 4  # the largest multiple of the given size
_BEYOND = (1, 2, 4, 7, 10, 13)


def is_depth(field: str) -> bool:
    """Whether a field is a number of layers, blocks or stages, judged by its name."""
    name = field.rpartition(".")[2]
    return bool(_DEPTHS.search(name)) and not _SIZE.search(name)


def wide_values(field: str, values: Mapping[str, int], random: Random) -> list[int]:
    """Return other values for a field, in random order.

    They include small values, neighbors, multiples, divisors, powers of two, sizes of other fields, and random values.
    """
    size = values[field]
    most = max(_FARTHEST * size, 16)
    far = {times * size for times in (2, 3, 4)} | {size // by for by in (2, 3, 4, 8) if size % by == 0}
    near = {size + 1, size - 1, size + 2, size + 3}
    powers = {2**power for power in range(7, 20) if 2**power <= most}
    others = {other + step for other in values.values() for step in (0, 1)}
    free = {random.randint(1, max(3 * size, 12)) for _time in range(4)}
    candidates = {*_SMALL, *far, *near, *powers, *others, *free}
    most = min(most, _DEEPEST // 2) if is_depth(field) else most
    drawn = sorted(value for value in candidates if 0 < value <= max(most, size + 1) and value != size)
    random.shuffle(drawn)
    return drawn


def values_beyond(field: str, size: int, base_size: int) -> list[int]:
    """Return larger values for a number of layers, for which lists with one entry per layer may be too short.

    ``size`` is the given number, and ``base_size`` the number in the small models of the lab. If ``base_size`` is
    already large, there are no such values.
    """
    if base_size >= _DEEPEST:
        return []
    candidates = [size + step for step in _BEYOND] + [2 * size + 1, 3 * size]
    return [value for value in candidates if value <= max(_DEEPEST, size + 1)]


def adjusted(changes: Mapping[str, int], base: Mapping[str, int], conditions: Sequence[Condition]) -> dict[str, int]:
    """Adjust or drop some changes so that the conditions are met, and return the remaining changes.

    Sizes become multiples where a condition requires it. If a condition is still not met, its fields are not changed.
    """
    values = {**base, **changes}
    for _time in range(3):
        for condition in conditions:
            if condition.kind == "multiple" and condition.field in changes and (step := condition.step(values)):
                values[condition.field] = max(1, values[condition.field] // step) * step
    for _time in range(len(changes) + 1):
        broken = next((condition for condition in conditions if not condition.holds(values)), None)
        if broken is None:
            break
        for name in broken.fields():
            values[name] = base[name]
    return {name: values[name] for name in changes if values[name] != base[name]}
