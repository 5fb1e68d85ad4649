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


def write(names: Collection[str], said: Mapping[str, str]) -> None:
    """Replace these parameters of the link by what is ``said``, in one message, so that it is one entry of the history.

    ``st.query_params`` has no way to take several out at once: each ``del`` would be an entry of its own.
    """
    context = get_script_run_ctx()
    if context is not None:
        with context.session_state.query_params() as params:
            for name in names:
                params.discard_param_no_forward_msg(name)
    st.query_params.update(said)
