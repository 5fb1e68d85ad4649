"""What changes of the model's own sizes have in common."""

from typing import Any, TypeGuard

from bertcalc.config import check_whole_number
from bertcalc.config.fields import is_int
from bertcalc.model.change import Change
from bertcalc.text.problem import InputError


class Resizing(Change):
    """The base of the changes of the model's own sizes. They come before all adapters."""

    resizes = True

    def check(self, field: str, value: Any, low: int, high: int) -> None:
        """Raise InputError for a number out of its limits. Symbols and columns are not checked."""
        if is_number(high) and not hasattr(value, "free_symbols") and not hasattr(value, "dtype"):
            if problem := check_whole_number(field, value, low, high, like=high):
                raise InputError(problem)


def is_number(value: Any) -> TypeGuard[int]:
    """Whether a size is an integer, not a symbol or a column."""
    return is_int(value)
