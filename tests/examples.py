"""How many examples of a property are drawn: 24 times as many in ``make test-all`` as in ``make test``."""

from collections.abc import Iterable
from typing import TypeVar

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
