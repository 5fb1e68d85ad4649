"""Detect when the browser has drawn a page, so that hidden parts, such as texts for printing, can be drawn last."""

import streamlit as st

from pages.ui.session.component import component

_IDLE = component("bertcalc_idle", "widgets/idle/idle.js")
_KEY = "idle"


def is_idle() -> bool:
    """Whether the browser has finished drawing this page.

    The result is False at first. About a second after drawing the page, the browser triggers a rerun, in which the
    result is True.
    """
    is_drawn = bool((st.session_state.get(_KEY) or {}).get("is_drawn"))
    _IDLE(data={"isDrawn": is_drawn}, key=_KEY, on_is_drawn_change=lambda: None)
    return is_drawn
