"""The end of a chart's axis. It stays the same while sizes change, so that bars visibly grow and shrink."""

from collections.abc import Hashable

import streamlit as st

from bertcalc.text.live_choices import largest, round_figure, widened


def axis_end(place: str, looked_at: Hashable, before: int, present: int) -> int:
    """The end of the axis for the chart at ``place``.

    ``before`` is the largest figure of the preset, and ``present`` the largest figure of the current model; both fit on
    the axis. ``looked_at`` identifies what the chart shows. The end grows if necessary. Otherwise it stays until the
    bars become barely readable or ``looked_at`` changes.
    """
    scales: dict[str, tuple[Hashable, int]] = st.session_state.setdefault("scales", {})
    seen, limit = scales.get(place, (None, 0))
    longest = largest((before, present))
    limit = int(widened(limit, longest) if seen == looked_at else round_figure(longest))
    scales[place] = looked_at, limit
    return widened(limit, longest)


def forget() -> None:
    """Reset all axes, for example when the reader loads a preset."""
    st.session_state.pop("scales", None)
