"""Write the address of the page: one entry in the browser's history for each step.

Controls with ``bind="query-params"`` write their parameters one by one: a change of several fields would leave entries
with intermediate models, and typing into such a control leaves no entry at all (Streamlit 1.67).
"""

from collections.abc import Collection, Mapping

import streamlit as st

from pages.server.restarts import is_rehearsal
from pages.server.upstream import streamlit_internals
from pages.ui.session import kept


def went_back() -> bool:
    """Whether this run was caused by the browser's Back or Forward."""
    return streamlit_internals.went_back()


def restore() -> None:
    """After Back or Forward, read all parameters of the address, before any control is drawn.

    If both pages have a control of the same name, Streamlit 1.67 treats its parameter as the other page's and drops it;
    the control then starts with its default.
    """
    if went_back():
        streamlit_internals.restore_parameters()


def open_page(page: str) -> None:
    """Record the page of this run, and whether the last run, perhaps in a lost session, drew another page."""
    before = st.session_state.setdefault("page of the link", kept.get("page") or page)
    st.session_state["opened"] = before != page
    if not is_rehearsal():  # after a rehearsal, the next run opens the page again
        st.session_state["page of the link"] = page
        kept.put("page", page)


def is_opened() -> bool:
    """Whether this run opens a page, because the last run drew another page."""
    opened: bool = st.session_state["opened"]
    return opened


def drop_with_next(names: Collection[str]) -> None:
    """In a callback: remove parameters with the next change of a bound control, as one entry in the history."""
    streamlit_internals.set_parameters(names, {})


def write(names: Collection[str], values: Mapping[str, str]) -> None:
    """Replace the parameters ``names`` of the link by ``values``, in one message: one entry in the history.

    ``st.query_params`` cannot remove several parameters at once: each ``del`` would be a separate entry. A run that
    opens a page tells the browser nothing here: at the end of the run, the panel gives the browser the whole address,
    without an entry in the history.
    """
    if not streamlit_internals.set_parameters(names, values if is_opened() else {}):
        for name in {*names} - values.keys():
            st.query_params.pop(name, None)
        st.query_params.update(values)
    elif not is_opened():
        st.query_params.update(values)
