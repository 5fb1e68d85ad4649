"""Arrow keys that lead through a lecture or the walk; every press counts.

A key of Streamlit's own buttons is lost while a page is drawn. These go the way of the sliders' events, which come
again until they are answered (pages/ui/panel/).
"""

from collections.abc import Sequence

import streamlit as st

from pages.ui.component import component
from pages.ui.controls import set_values
from pages.ui.present import presenting

_KEYS = component("bertcalc_stepping", "stepping/stepping.js")
_PLACE = "where steps go"


def listen(field: str, names: Sequence[str], drawn: str) -> None:
    """Have the arrow keys lead through ``names``, which the control ``field`` holds; ``drawn`` is what this run draws.

    On the projector the keys of a presenter's remote control do, too: elsewhere they scroll.
    """
    st.session_state[_PLACE] = (field, list(names), drawn)
    _KEYS(key="stepping", data={"remote": presenting(), "drawn": drawn})


def button(label: str, what: str, by: int, *, end: bool) -> None:
    """The button that goes back or forth between ``what``: steps, screens."""
    arrow = "back" if by < 0 else "forward"
    st.button(label, key=f"{arrow} {what}", icon=f":material/arrow_{arrow}:", disabled=end, on_click=go, args=(by,))


def go(by: int) -> None:
    """Go so many steps on from where the control is by now: keys can be pressed faster than pages are drawn."""
    if _PLACE in st.session_state:
        field, names, drawn = st.session_state[_PLACE]
        now = st.session_state.get(field)
        at = names.index(now if now in names else drawn) + by
        set_values({field: names[min(max(at, 0), len(names) - 1)]})
