"""Draw hidden parts of a page last, such as a text that is only printed."""

import streamlit as st

from pages.ui.session.component import component

_IDLE = component("bertcalc_idle", "widgets/idle/idle.js")
_KEY = "idle"


def is_idle() -> bool:
    """Whether the browser has drawn this page.

    False at first; the browser reruns the page about a second after drawing it, and then this is True.
    """
    is_drawn = bool((st.session_state.get(_KEY) or {}).get("is_drawn"))
    _IDLE(data={"isDrawn": is_drawn}, key=_KEY, on_is_drawn_change=lambda: None)
    return is_drawn
