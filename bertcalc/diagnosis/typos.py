"""Search for known counts that may have been mistyped.

>>> is_slip(109_428_240, 109_482_240)
True
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.known_counts import KnownCount, every_count, known_counts, more_counts, published_counts

_SMALLEST = 1_000_000  # smaller counts are too close to each other
_MOST_SLIPS = 3
_LONG = 7  # in a number with more digits, a typing error leaves the first or the last three digits unchanged


class Slip(NamedTuple):
    """A known count that was probably mistyped. ``preset`` is empty for counts of the present configuration."""

    meant: int
    known_count: KnownCount
    preset: str = ""


def slips_to(present: KnownCount, number: int) -> list[Slip]:
    """Return up to ``_MOST_SLIPS`` known counts that differ from a number by a typing error or by 1.

    The likeliest come first. Counts below a million are left out.
    """
    digits = len(str(number))  # a published count with more or fewer digits belongs to a model of another size
    by_count: dict[int, Slip] = {}
    for slip in (Slip(present.total, present), *_candidates(present.model.config)):
        count = slip.meant
        as_long = not slip.preset or len(str(count)) == digits
        if as_long and count >= _SMALLEST and count not in by_count and is_slip(number, count):
            by_count[count] = slip
    return sorted(by_count.values(), key=lambda slip: abs(slip.meant - number) != 1)[:_MOST_SLIPS]


@lru_cache(maxsize=16)
def _candidates(config: Config) -> list[Slip]:
    of_classes = [count for counts in (known_counts, more_counts) for count in every_count(config, counts)]
    published = [
        Slip(count, published_count, preset) for count, (preset, published_count) in published_counts().items()
    ]
    return [*(Slip(count.total, count) for count in of_classes), *published]


def mistyped(number: int) -> Iterator[int]:
    """Yield the numbers with two adjacent digits exchanged, then the numbers with one digit replaced."""
    digits = f"{number}"
    for index, digit in enumerate(digits):
        if index and digits[index - 1] != digit and (index > 1 or digit != "0"):
            yield int(digits[: index - 1] + digit + digits[index - 1] + digits[index + 1 :])
    for index, digit in enumerate(digits):
        yield from (
            int(digits[:index] + other + digits[index + 1 :]) for other in "0123456789"[not index :] if other != digit
        )


def is_slip(typed: int, meant: int) -> bool:
    """Whether a number differs from another by 1, by a wrong, extra or missing digit, or by two exchanged digits."""
    if abs(typed - meant) == 1:
        return True
    wrong, right = str(typed), str(meant)
    if len(right) > _LONG and wrong[:3] != right[:3] and wrong[-3:] != right[-3:]:
        return False
    if len(wrong) < len(right):
        wrong, right = right, wrong
    index = next((index for index, digit in enumerate(right) if wrong[index] != digit), len(right))
    if len(wrong) > len(right):
        return wrong[index + 1 :] == right[index:]
    exchanged = wrong[index : index + 2] == right[index : index + 2][::-1] and wrong[index + 2 :] == right[index + 2 :]
    return exchanged or wrong[index + 1 :] == right[index + 1 :]
