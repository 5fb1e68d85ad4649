"""Known counts that may have been mistyped.

>>> is_slip(109_428_240, 109_482_240)
True
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.known_counts import Known, every_count, known_counts, more_counts, published_counts

_WORTH_IT = 1_000_000  # smaller counts are too close to each other
_MOST_SLIPS = 3
_LONG = 7  # a slip in a number of more digits keeps its first or its last three


class Slip(NamedTuple):
    """A known count that was probably mistyped."""

    meant: int
    model: Known
    preset: str = ""


def slips_to(model: Known, number: int) -> list[Slip]:
    """Known counts of which a number may be a mistyped version or is a neighbor, the likeliest first."""
    digits = len(str(number))  # a published count of another length is of a model of another size
    found: dict[int, Slip] = {}
    for slip in (Slip(model.total, model), *_candidates(model.subject.config)):
        count = slip.meant
        as_long = not slip.preset or len(str(count)) == digits
        if as_long and count >= _WORTH_IT and count not in found and is_slip(number, count):
            found[count] = slip
    return sorted(found.values(), key=lambda slip: abs(slip.meant - number) != 1)[:_MOST_SLIPS]


@lru_cache(maxsize=16)
def _candidates(config: Config) -> list[Slip]:
    own = [known for counts in (known_counts, more_counts) for known in every_count(config, counts)]
    published = [Slip(count, known, preset) for count, (preset, known) in published_counts().items()]
    return [*(Slip(known.total, known) for known in own), *published]


def mistyped(number: int) -> Iterator[int]:
    """The numbers that result from exchanging two adjacent digits of a number, or from one wrong digit."""
    digits = f"{number}"
    for at, digit in enumerate(digits):
        if at and digits[at - 1] != digit and (at > 1 or digit != "0"):
            yield int(digits[: at - 1] + digit + digits[at - 1] + digits[at + 1 :])
    for at, digit in enumerate(digits):
        yield from (int(digits[:at] + other + digits[at + 1 :]) for other in "0123456789"[not at :] if other != digit)


def is_slip(typed: int, meant: int) -> bool:
    """Whether a number differs from another by 1, by a wrong, extra or missing digit, or by two exchanged digits."""
    if abs(typed - meant) == 1:
        return True
    wrong, right = str(typed), str(meant)
    if len(right) > _LONG and wrong[:3] != right[:3] and wrong[-3:] != right[-3:]:
        return False
    if len(wrong) < len(right):
        wrong, right = right, wrong
    at = next((at for at, digit in enumerate(right) if wrong[at] != digit), len(right))
    if len(wrong) > len(right):
        return wrong[at + 1 :] == right[at:]
    exchanged = wrong[at : at + 2] == right[at : at + 2][::-1] and wrong[at + 2 :] == right[at + 2 :]
    return exchanged or wrong[at + 1 :] == right[at + 1 :]
