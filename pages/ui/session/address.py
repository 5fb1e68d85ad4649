"""Write the address of the page: one entry in the browser's history for each step.

Controls with ``bind="query-params"`` write it one by one, so that a change of several fields would leave entries with
intermediate models that nobody chose, and typing into such a control leaves no entry at all (Streamlit 1.67).
"""

from collections.abc import Collection, Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.server.restarts import is_rehearsal
from pages.ui.session import kept


def went_back() -> bool:
    """Whether this run was caused by the browser's Back or Forward.

    Streamlit has no documented way to ask; tests/browser/test_panel.py fails if this one disappears.
    """
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def restore() -> None:
    """After Back or Forward, read all parameters of the address, before any control is drawn.

    If both pages have a control of the same name, Streamlit 1.67 drops its parameter as the other page's, and the
    control starts with its default.
    """
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:
        with context.session_state.query_params() as params:
            params.populate_from_query_string(context.query_string)
            params.set_initial_query_params(context.query_string)


def open_page(page: str) -> None:
    """Note which page this run draws, and whether the last run drew another one, perhaps in a session that was lost."""
    before = st.session_state.setdefault("page of the link", kept.get("page") or page)
    st.session_state["opened"] = before != page
    if not is_rehearsal():  # else the next run opens the page again
        st.session_state["page of the link"] = page
        kept.put("page", page)


def is_opened() -> bool:
    """Whether this run opens a page: the last run drew another one."""
    opened: bool = st.session_state["opened"]
    return opened


def write(names: Collection[str], said: Mapping[str, str]) -> None:
    """Replace the parameters ``names`` of the link by ``said``, in one message: one entry in the history.

    ``st.query_params`` cannot remove several at once: each ``del`` would be an entry of its own. In a run that opens a
    page the browser is told nothing here: the panel puts the whole address into it at the end of the run, without an
    entry in the history.
    """
    context = get_script_run_ctx()
    if context is not None:
        with context.session_state.query_params() as params:
            for name in names:
                params.discard_param_no_forward_msg(name)
            for name, text in said.items() if is_opened() else ():
                params.set_with_no_forward_msg(name, text)
    if not is_opened():
        st.query_params.update(said)
