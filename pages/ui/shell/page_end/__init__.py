"""The end of a page: one invisible component that sends the browser all data it needs once a page is drawn.

The component sends the live program, the values that the browser keeps, and the number of the last answered event; it
also follows the reader's theme. All of this is one component, because each component slows down runs and first visits.
"""

from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from pages.ui.session import kept
from pages.ui.session.component import component
from pages.ui.shell import live, panel

KEY = "page end"
_PAGE_END = component(
    "bertcalc_page_end",
    *("session/kept/kept.js", "shell/page_end/theme.js"),
    *("../../bertcalc/live/runtime.js", "shell/live/parts.js", "shell/live/live.js"),
    "shell/page_end/page_end.js",
)


def show(page: str, pages: Collection[str], live_data: Mapping[str, Any]) -> None:
    """Tell the browser that ``page`` is drawn; ``live_data`` comes from ``live.end``, ``pages`` are all addresses."""
    _PAGE_END(
        key=KEY,
        data={
            "kept": kept.values(),
            "theme": {"page": page, "pages": list(pages)},
            "live": live_data,
            "drawn": panel.drawn(page),
        },
        on_kept_change=lambda: None,
        on_reloaded_change=lambda: kept.take_texts(st.session_state[KEY]),
        on_paper_change=lambda: None,
        on_mismatch_change=lambda: live.log_mismatch(st.session_state.get(KEY, {}).get("mismatch")),
        on_lost_change=lambda: None,  # a browser that lost its program asks for a run, which sends the program
    )
