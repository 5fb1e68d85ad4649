"""Arrow keys that step through a lecture or through the page Step by step, without losing a key press.

Streamlit loses the shortcut keys of its own buttons while it draws a page. Here the browser sends key presses like the
events of sliders: it repeats them until the server answers (pages/ui/shell/panel/).
"""

from collections.abc import Sequence
from typing import Literal, TypedDict

import streamlit as st

from pages.ui.session.component import component
from pages.ui.shell.controls import set_values
from pages.ui.shell.present import presenting

_KEYS = component("bertcalc_stepping", "shell/stepping/stepping.js")
_PLACE = "where steps go"
_LAST = "the last step"  # the control's values before and after the last step


def listen(field: str, names: Sequence[str], drawn: str) -> None:
    """Make the arrow keys step through ``names``, the values of the control ``field``; this run draws ``drawn``.

    In projector view, the keys of a presenter's remote control (Page Up, Page Down) do the same; otherwise they scroll.
    """
    st.session_state[_PLACE] = (field, list(names), drawn)
    if st.session_state.get(_LAST, (None, drawn))[1] != drawn:
        del st.session_state[_LAST]  # the reader has chosen another value since the last step
    _KEYS(key="stepping", data={"remote": presenting(), "drawn": drawn})


def button(label: str, name: str, by: int, *, end: bool) -> None:
    """Draw a button that goes ``by`` steps, back or forward; ``end`` disables it. ``name`` makes its key unique."""
    arrow = "back" if by < 0 else "forward"
    st.button(label, key=f"{arrow} {name}", disabled=end, on_click=go, args=(by,), **outward_arrow(by))


class _Arrow(TypedDict):
    icon: str
    icon_position: Literal["left", "right"]


def outward_arrow(by: int) -> _Arrow:
    """The arrow of a button that steps back or forward, as arguments of ``st.button``: "← Previous", "Next →"."""
    if by < 0:
        return {"icon": ":material/arrow_back:", "icon_position": "left"}
    return {"icon": ":material/arrow_forward:", "icon_position": "right"}


def go(by: int) -> None:
    """Go ``by`` steps from the control's current value, which the browser may not have drawn yet.

    Key presses can be faster than the page. A browser that has not drawn the last step yet sends the value from before
    that step again (Streamlit 1.67). In this case, count from the value after that step.
    """
    if _PLACE not in st.session_state:
        return
    field, names, drawn = st.session_state[_PLACE]
    present = st.session_state.get(field)
    if present in (last := st.session_state.get(_LAST, ())):
        present = last[1]
    present = present if present in names else drawn
    goal = names[min(max(names.index(present) + by, 0), len(names) - 1)]
    st.session_state[_LAST] = (present, goal)
    set_values({field: goal})
