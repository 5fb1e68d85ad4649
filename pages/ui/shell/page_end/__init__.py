"""The end of a page: an invisible component that sends the browser all data that it needs after a page is drawn.

The component sends the live program, the values that the browser keeps, and the number of the last answered event. It
also follows the reader's theme. Separate components would slow down each run and the first visit.
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
    """Tell the browser that ``page`` is drawn, and send it the data.

    ``pages`` holds the paths of all pages, and ``live_data`` is the result of ``live.end``.
    """
    _PAGE_END(
        key=KEY,
        data={
            "kept": kept.values(),
            "theme": {"page": page, "pages": list(pages)},
            "live": live_data,
            "drawn": panel.drawn(page),
        },
        on_kept_change=lambda: None,
        on_reloaded_change=lambda: kept.take_reloaded(st.session_state[KEY]),
        on_paper_change=lambda: None,
        on_mismatch_change=lambda: live.log_mismatch(st.session_state.get(KEY, {}).get("mismatch")),
        on_lost_change=lambda: None,  # a browser without the program triggers a rerun, which sends the program
    )
