"""The end of a chart's axis. It stays while sizes change, so that a growing bar is seen to grow."""

from collections.abc import Hashable

import streamlit as st

from bertcalc.text.live_numbers import largest, mirrored

_FAR = 8  # an axis that is so many times as long as the longest bar is hardly readable
_TENTHS = (10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100)


def axis_end(place: str, looked_at: Hashable, before: int, present: int) -> int:
    """The end of the axis of the chart at ``place``: the largest figures of the preset and of the present model fit.

    It widens if necessary, and otherwise stays until it is hardly readable or ``looked_at`` changes.
    """
    scales: dict[str, tuple[Hashable, int]] = st.session_state.setdefault("scales", {})
    seen, limit = scales.get(place, (None, 0))
    longest = largest((before, present))
    limit = int(widened(limit, longest) if seen == looked_at else round_figure(longest))
    scales[place] = looked_at, limit
    return widened(limit, longest)


def forget() -> None:
    """Reset all scales, when the reader goes back to a preset."""
    st.session_state.pop("scales", None)


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
