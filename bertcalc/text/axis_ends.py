"""Where an axis ends: live, so that it widens while a slider moves."""

from bertcalc.text.live_numbers import mirrored

_FAR = 8  # an axis that is so many times as long as the longest bar is hardly readable
_TENTHS = (10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100)


@mirrored
def widened(limit: int, largest: int) -> int:
    """The end of an axis: it stays while the largest figure fits and is readable."""
    return round_figure(largest) if largest > limit or _FAR * largest < limit else limit


@mirrored
def round_figure(largest: int) -> int:
    """A round figure, at least a tenth above the largest one."""
    wanted = max(100, 11 * largest)
    tenth: int = 10 ** (len(f"{wanted}") - 2)
    return next(steps * tenth for steps in _TENTHS if steps * tenth >= wanted) // 10
