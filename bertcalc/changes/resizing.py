"""The base class of all changes to a model's own sizes."""

from collections.abc import Collection
from typing import Any

from bertcalc.config import Config, check_whole_number
from bertcalc.config.fields import is_int
from bertcalc.model.change import SIZES, Change
from bertcalc.text.problem import InputError, Problem


class Resizing(Change):
    """The base class of all changes to a model's own sizes. These changes come before all adapters."""

    turn = SIZES
    once = False

    def check(self, config: Config) -> None:
        """Raise InputError for a number outside its limits. In a column of limits, the strictest one applies.

        Symbols are not checked.
        """
        for field, value, low, high, message in self.limits(config):
            highest = smallest(high)
            if hasattr(value, "free_symbols") or not is_int(highest):
                continue
            if message and value > highest:
                raise InputError(Problem.of(message, field, getattr(self, field), count=highest + 1))
            if problem := check_whole_number(field, value, low, highest, like=highest):
                raise InputError(problem)


def smallest(size: Any) -> Any:
    """Return the smallest number in a column; a number or a symbol is returned unchanged."""
    return int(size.min()) if hasattr(size, "min") else size


def in_order(numbers: Collection[int]) -> Collection[int]:
    """Return the distinct numbers in ascending order."""
    return tuple(sorted(set(numbers)))
