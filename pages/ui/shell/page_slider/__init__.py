"""A slider on a page, for a size that the sidebar's model does not have, such as an adapter's rank.

Like the panel's sliders, it changes the page's live numbers. The panel sends its events to the server.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from bertcalc.text.amounts import whole
from pages.ui.session.component import component
from pages.ui.shell.i18n import _

_SLIDER = component(
    "bertcalc_page_slider",
    *("shell/panel/panel.css", "session/dom.js", "shell/panel/field.js", "shell/page_slider/slider.js"),
)
_TAKERS = "page sliders"
_LONGEST = 40  # maximum number of characters of a typed number


def show(name: str, label: str, full_label: str, value: int, stops: Sequence[int], take: Callable[[str], None]) -> None:
    """Draw a slider for ``name``, a size in the formulas of the page's live numbers.

    The slider calls ``take`` with each new value as text. Screen readers read ``full_label``, which must be unique on
    the page.
    """
    st.session_state.setdefault(_TAKERS, {})[name] = take
    data: dict[str, Any] = {
        "name": name,
        "label": label,
        "letter": "",
        "slider": full_label,
        "help": full_label,
        "exact": _("{field}, exact value").format(field=full_label),
        "value": value,
        "stops": [*stops],
        "even": True,
        "followers": {},
        "unlike": [],
        **dict.fromkeys(("typed", "lock", "note", "problem")),
    }
    _SLIDER(key=f"slider {name}", data=data)


def take(event: dict[str, Any]) -> bool:
    """Handle an untrusted event from the browser; return whether it belongs to a slider on the page."""
    takers: dict[str, Callable[[str], None]] = st.session_state.get(_TAKERS, {})
    match event:
        case {"do": "move", "field": str(name), "value": int(value)} if name in takers:
            takers[name](f"{value}")
        case {"do": "type", "field": str(name), "text": str(text)} if name in takers:
            takers[name](f"{whole(text[:_LONGEST])}")
        case _:
            return False
    return True
