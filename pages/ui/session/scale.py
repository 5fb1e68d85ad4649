"""The end of a chart's axis, which stays the same while sizes change, so that readers see a bar grow."""

from collections.abc import Hashable

import streamlit as st

from bertcalc.text.live_choices import largest, round_figure, widened


def axis_end(place: str, looked_at: Hashable, before: int, present: int) -> int:
    """The end of the axis of the chart at ``place``: the largest figures of the preset and of the present model fit.

    The end moves out if necessary. Otherwise it stays until the bars are hardly readable or ``looked_at`` changes.
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
