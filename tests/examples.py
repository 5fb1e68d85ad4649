"""How many examples of a property are drawn: fifteen times as many in ``make test-all`` as in ``make test``."""

from hypothesis import settings

_USUAL = 40  # what the number is said for: the profile that tests/conftest.py begins with


def examples(number: int) -> settings:
    """Settings with so many examples, and with more of them under a profile that has more."""
    return settings(max_examples=max(1, number * settings().max_examples // _USUAL))
