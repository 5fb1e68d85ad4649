"""How many examples of a property are drawn: 24 times as many in ``make test-thorough`` as in ``make test``."""

from collections.abc import Iterable
from itertools import product
from typing import Any, TypeVar

from hypothesis import settings

_USUAL = 25  # what the number is said for: the profile that tests/conftest.py begins with
Case = TypeVar("Case")


def examples(number: int) -> settings:
    """Settings with so many examples, and with more of them under a profile that has more."""
    return settings(max_examples=max(1, number * settings().max_examples // _USUAL))


def sampled(cases: Iterable[Case], every: int, begin: int = 0) -> list[Case]:
    """One in so many of some cases that take long; all of them under a profile that has more examples."""
    usual = settings().max_examples <= _USUAL
    return [*cases][begin % every :: every] if usual else [*cases]


def crossed(every: int, *axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """One in so many combinations, a different value of each axis next time; all of them if there are more examples.

    Each value is in one of them at least: raises ValueError where that is not possible.
    """
    lists = [[*axis] for axis in axes]
    places = [*product(*(range(len(values)) for values in lists))]
    if settings().max_examples <= _USUAL:
        places = [place for place in places if sum(place) % every == 0]
    if any(len({place[axis] for place in places}) < len(values) for axis, values in enumerate(lists)):
        raise ValueError(f"one in {every} leaves values out")
    return [tuple(values[at] for values, at in zip(lists, place, strict=True)) for place in places]
