"""Arrow keys that lead through a lecture or the walk; every press counts.

A shortcut key of Streamlit's own buttons is lost while a page is drawn. These keys are sent like the sliders' events,
which are repeated until they are answered (pages/ui/shell/panel/).
"""

from collections.abc import Sequence

import streamlit as st

from pages.ui.session.component import component
from pages.ui.shell.controls import set_values
from pages.ui.shell.present import presenting

_KEYS = component("bertcalc_stepping", "shell/stepping/stepping.js")
_PLACE = "where steps go"


def listen(field: str, names: Sequence[str], drawn: str) -> None:
    """Have the arrow keys step through ``names``, the values of the control ``field``; this run draws ``drawn``.

    On the projector the keys of a presenter's remote control (Page Up, Page Down) do so, too; elsewhere they scroll.
    """
    st.session_state[_PLACE] = (field, list(names), drawn)
    _KEYS(key="stepping", data={"remote": presenting(), "drawn": drawn})


def button(label: str, what: str, by: int, *, end: bool) -> None:
    """Draw the button that goes back or forward; ``what`` (step, screen) is part of its key."""
    arrow = "back" if by < 0 else "forward"
    st.button(label, key=f"{arrow} {what}", icon=f":material/arrow_{arrow}:", disabled=end, on_click=go, args=(by,))


def go(by: int) -> None:
    """Go ``by`` steps from the control's present value, which may not be drawn yet: keys are faster than pages."""
    if _PLACE in st.session_state:
        field, names, drawn = st.session_state[_PLACE]
        now = st.session_state.get(field)
        at = names.index(now if now in names else drawn) + by
        set_values({field: names[min(max(at, 0), len(names) - 1)]})
