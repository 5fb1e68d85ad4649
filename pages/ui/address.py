"""Writing the address: one entry of the browser's history for each step.

Controls that are bound to the link write it one by one, so that a change of several fields would leave entries with
models in between that nobody chose; and what is typed into one leaves no entry at all (Streamlit 1.67).
"""

from collections.abc import Collection, Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def went_back() -> bool:
    """Whether this run is the browser's Back or Forward.

    Streamlit has no documented way to ask; tests/browser/test_panel.py fails where this one is gone.
    """
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def restore() -> None:
    """After Back and Forward, take the address as it is: before any control is drawn.

    Where both pages have a control of the same name, Streamlit 1.67 leaves out what the address says of it, as if it
    were the other page's, and the control begins with its default.
    """
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:
        with context.session_state.query_params() as params:
            params.populate_from_query_string(context.query_string)
            params.set_initial_query_params(context.query_string)


def open_page(page: str) -> None:
    """A run of this page begins."""
    st.session_state["opened"] = st.session_state.get("page of the link", page) != page
    st.session_state["page of the link"] = page


def is_opened() -> bool:
    """Whether this run opens another page."""
    opened: bool = st.session_state["opened"]
    return opened


def write(names: Collection[str], said: Mapping[str, str]) -> None:
    """Replace these parameters of the link by what is ``said``, in one message, so that it is one entry of the history.

    ``st.query_params`` has no way to take several out at once: each ``del`` would be an entry of its own. On a page
    that is just opened the browser is not told: it hears at the end of the run what the whole address is (see the
    panel), and adds nothing to the history.
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
