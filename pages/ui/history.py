"""What changed since the last run of this session."""

from typing import TypedDict

import streamlit as st


class Change(TypedDict):
    """A total that changed: what it was before, and by how much it differs now."""

    before: int
    difference: int


def last_change(total: int) -> Change | None:
    """The last change of the total in this session, or None as long as it has had one value only."""
    before, now = st.session_state.get("totals", (None, total))
    if now != total:
        before = now
    st.session_state["totals"] = (before, total)
    return None if before is None else {"before": before, "difference": total - before}
