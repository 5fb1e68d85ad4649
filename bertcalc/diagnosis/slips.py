"""Known counts that may have been mistyped.

>>> is_slip(109_428_240, 109_482_240)
True
"""

from collections.abc import Iterator
from typing import NamedTuple

from bertcalc.diagnosis.known import Known, every_count, known_counts, more_counts, published_counts

_WORTH_IT = 1_000_000  # of smaller numbers too many are near each other
_MOST_SLIPS = 3


class Slip(NamedTuple):
    """A known count that was probably mistyped."""

    meant: int
    model: Known
    preset: str = ""


def slips_to(model: Known, number: int) -> Iterator[Slip]:
    """Known counts from which a number differs by 1 or as if it were mistyped, the likeliest first."""
    own = [known for counts in (known_counts, more_counts) for known in every_count(model.subject.config, counts)]
    candidates = [Slip(model.total, model), *(Slip(known.total, known) for known in own)]
    candidates += [
        Slip(count, known, preset)
        for count, (preset, known) in published_counts().items()
        if len(str(count)) == len(str(number))  # with a digit less it would be a model of another size
    ]
    seen = set()
    for slip in sorted(candidates, key=lambda slip: abs(slip.meant - number) != 1):
        if slip.meant not in seen and slip.meant >= _WORTH_IT and is_slip(number, slip.meant):
            seen.add(slip.meant)
            yield slip
            if len(seen) == _MOST_SLIPS:
                return


def mistyped(number: int) -> Iterator[int]:
    """Numbers that come of one by exchanging two digits that are beside each other, or by one wrong digit."""
    digits = f"{number}"
    for at, digit in enumerate(digits):
        if at and digits[at - 1] != digit and (at > 1 or digit != "0"):
            yield int(digits[: at - 1] + digit + digits[at - 1] + digits[at + 1 :])
    for at, digit in enumerate(digits):
        yield from (int(digits[:at] + other + digits[at + 1 :]) for other in "123456789"[not at :] if other != digit)


def is_slip(typed: int, meant: int) -> bool:
    """Whether a number is one beside another, or has one digit wrong, too many or too few, or two exchanged."""
    if abs(typed - meant) == 1:
        return True
    wrong, right = str(typed), str(meant)
    if len(wrong) == len(right):
        at = [place for place, (one, other) in enumerate(zip(wrong, right, strict=True)) if one != other]
        exchanged = (
            len(at) == 2 and at[1] == at[0] + 1 and wrong[at[0]] == right[at[1]] and wrong[at[1]] == right[at[0]]
        )
        return len(at) == 1 or exchanged
    longer, shorter = sorted((wrong, right), key=len, reverse=True)
    return len(longer) == len(shorter) + 1 and any(
        longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer))
    )
