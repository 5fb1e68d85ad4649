"""The sizes at which a formula is tried: over a wide range for each field, and where rules of a class often end.

A formula that agrees near the default can be wrong where a list of the configuration ends, where a size no longer
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
_DEEPEST = 96  # deeper models take long to build
_FARTHEST = 4  # times the given size
_BEYOND = (1, 2, 4, 7, 10, 13)


def is_depth(field: str) -> bool:
    """Whether a field is a number of layers, blocks or stages by its name."""
    name = field.rpartition(".")[2]
    return bool(_DEPTHS.search(name)) and not _SIZE.search(name)


def wide(field: str, values: Mapping[str, int], random: Random) -> list[int]:
    """Return other values for a field, in random order.

    They are small ones, neighbors, multiples, divisors, powers of two, the sizes of other fields, and random ones.
    """
    here = values[field]
    most = max(_FARTHEST * here, 16)
    far = {times * here for times in (2, 3, 4)} | {here // by for by in (2, 3, 4, 8) if here % by == 0}
    near = {here + 1, here - 1, here + 2, here + 3}
    powers = {2**power for power in range(7, 20) if 2**power <= most}
    others = {other + more for other in values.values() for more in (0, 1)}
    free = {random.randint(1, max(3 * here, 12)) for _time in range(4)}
    candidates = {*_SMALL, *far, *near, *powers, *others, *free}
    most = min(most, _DEEPEST // 2) if is_depth(field) else most
    drawn = sorted(value for value in candidates if 0 < value <= max(most, here + 1) and value != here)
    random.shuffle(drawn)
    return drawn


def beyond(field: str, here: int, at: int) -> list[int]:
    """Values above the given one of a field that counts something: the layers of a list end where its entries do."""
    if at >= _DEEPEST:
        return []
    candidates = [here + more for more in _BEYOND] + [2 * here + 1, 3 * here]
    return [value for value in candidates if value <= max(_DEEPEST, here + 1)]


def met(changes: Mapping[str, int], at: Mapping[str, int], conditions: Sequence[Condition]) -> dict[str, int]:
    """Return the changes with as few as possible adjusted or left out so that they meet the conditions."""
    values = {**at, **changes}
    for _time in range(3):
        for condition in conditions:
            if condition.kind == "multiple" and condition.field in changes and (step := condition.step(values)):
                values[condition.field] = max(1, values[condition.field] // step) * step
    for _time in range(len(changes) + 1):
        broken = next((each for each in conditions if not each.holds(values)), None)
        if broken is None:
            break
        for name in broken.fields():
            values[name] = at[name]
    return {name: values[name] for name in changes if values[name] != at[name]}
