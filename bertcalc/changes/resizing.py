"""What changes of the model's own sizes have in common."""

from collections.abc import Collection
from typing import Any

from bertcalc.config import check_whole_number
from bertcalc.config.fields import is_int
from bertcalc.model.change import Change
from bertcalc.text.problem import InputError


class Resizing(Change):
    """The base of the changes of the model's own sizes. They come before all adapters."""

    resizes = True

    def check(self, field: str, value: Any, low: int, high: Any) -> None:
        """Raise InputError for a number out of its limits. Beside symbols and columns, there is no check."""
        symbolic = hasattr(value, "free_symbols") or not is_int(high)
        if not symbolic and (problem := check_whole_number(field, value, low, high, like=high)):
            raise InputError(problem)


def in_order(numbers: Collection[int]) -> Collection[int]:
    """The numbers in ascending order, each once."""
    return tuple(sorted(set(numbers)))
