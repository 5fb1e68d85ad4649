"""Projector view: large type, no prose, and the sidebar's controls below the page."""

from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.session.style import sheet_address, style_page
from pages.ui.shell.controls import Number, set_values
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import section_mark

PRESENT = Number("present", "present", 0, min_value=0, max_value=1, label_visibility="collapsed")
KEY = "p"
SCREENS = ("lecture",)  # the paths of pages that are always in projector view
_HERE = Path(__file__).parent
LECTURE_STYLE = _HERE.parent / "lecture" / "style.css"
STYLE, _WINDOW, _PROJECTOR = (_HERE / f"{name}.css" for name in ("style", "window", "present"))


def sheets(page: str, *, presents: bool) -> tuple[str, ...]:
    """The URLs of a page's style sheets; ``presents`` says whether the link has ``present=1``."""
    lecture = [LECTURE_STYLE] if page in SCREENS else []
    return tuple(map(sheet_address, (STYLE, _PROJECTOR if presents or lecture else _WINDOW, *lecture)))


def choose(page: str) -> None:
    """Draw the switch for projector view, record whether this run is in projector view, and style the page.

    A hidden number field writes present=1 into the link: a control that is bound to the link survives page switches,
    Back and reloads. The visible switch is a button with a shortcut key.
    """
    present = PRESENT.show()
    st.session_state["presenting"] = bool(present) or page in SCREENS
    if page not in SCREENS:
        st.button(
            _("Exit") if present else _("Present"),
            icon=":material/close_fullscreen:" if present else ":material/present_to_all:",
            key="leave" if present else "present-switch",
            shortcut=KEY,
            on_click=set_values,
            args=({"present": 1 - present},),
            width="stretch",
        )
    style_page(_PROJECTOR if presenting() else _WINDOW, section_mark(page))


def presenting() -> bool:
    """Whether this run is in projector view, which omits prose and long tables."""
    return bool(st.session_state.get("presenting"))


def lower(spec: dict[str, Any], height: int) -> dict[str, Any]:
    """The chart's spec; in projector view, where type is larger, its height is ``height``."""
    return spec | {"height": height} if presenting() else spec


def row() -> DeltaGenerator:
    """A container for controls, which are stacked by default and side by side in projector view."""
    return st.container(horizontal=presenting(), vertical_alignment="bottom")
