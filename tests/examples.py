"""Number of examples per property: ``make test-thorough`` draws 24 times as many as ``make test``."""

from collections.abc import Iterable
from itertools import product
from typing import Any, TypeVar

from hypothesis import settings

_USUAL = 25  # examples per property in the default profile of tests/conftest.py
Case = TypeVar("Case")


def examples(number: int) -> settings:
    """Return settings with this number of examples, scaled up under a profile that draws more."""
    return settings(max_examples=max(1, number * settings().max_examples // _USUAL))


def sampled(cases: Iterable[Case], every: int, begin: int = 0) -> list[Case]:
    """Return every ``every``-th case from ``begin`` on, or all cases under a profile that draws more examples."""
    usual = settings().max_examples <= _USUAL
    return [*cases][begin % every :: every] if usual else [*cases]


def crossed(every: int, *axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return one in ``every`` combinations of the axes, or all combinations under a profile that draws more examples.

    It selects the combinations with indices that add up to a multiple of ``every``. ValueError is raised if a value
    would occur in none of them.
    """
    lists = [[*axis] for axis in axes]
    places = [*product(*(range(len(values)) for values in lists))]
    if settings().max_examples <= _USUAL:
        places = [place for place in places if sum(place) % every == 0]
    if any(len({place[axis] for place in places}) < len(values) for axis, values in enumerate(lists)):
        raise ValueError(f"one in {every} leaves values out")
    return [tuple(values[at] for values, at in zip(lists, place, strict=True)) for place in places]
