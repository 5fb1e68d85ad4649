"""One lock for what Streamlit keeps of a session, callbacks that end, and one entry of the history for an opened page.

A reader who moves on gets a new run at once, while the run before goes on to its next command. Streamlit 1.67 gives
each of the two a lock of its own for the same values (streamlit/streamlit#16763): one walks through a dictionary that
the other lets grow, and a page ends in "RuntimeError: dictionary changed size during iteration".
tests/server/test_sessions.py fails when Streamlit does otherwise.

Where the next run is asked for while a callback is called, Streamlit 1.67 leaves the callback as soon as that reads or
writes a value of the session, and does not call it again: what was pressed is lost. A dialog that is closed just before
a slider moves would stay open. Here a callback comes to its end before the next run begins.

Where a page is opened, Streamlit 1.67 takes what the page before has controls for out of the link, and tells the
browser so while that still shows the page before: Back then leads to that page without its values. The browser is not
told: the panel writes the whole address of a page that is opened, once that is drawn. tests/browser/test_links.py fails
without that.
"""

import threading
from collections.abc import Callable

from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.runtime.state.query_params import QueryParams

_made = SafeSessionState.__init__
_begin_next = ScriptRunner._maybe_handle_execution_control_request
_populate = QueryParams.populate_from_query_string


def share_lock() -> None:
    """Give all runs of a session the same lock."""
    SafeSessionState.__init__ = _with_shared_lock  # type: ignore[assignment, method-assign]


def _with_shared_lock(safe: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]) -> None:
    _made(safe, state, yield_callback)
    # The state has no place for an attribute; its query parameters do, and live as long.
    lock = vars(state.query_params).setdefault("lock of session", threading.RLock())
    object.__setattr__(safe, "_lock", lock)  # the object's own sets a value of the session


def end_callbacks() -> None:
    """Let a callback come to its end before the next run begins."""
    ScriptRunner._maybe_handle_execution_control_request = _begin_next_outside_callbacks  # type: ignore[assignment, method-assign]


def _begin_next_outside_callbacks(runner: ScriptRunner) -> None:
    # A run has its session's lock while it calls callbacks, and otherwise for a moment only.
    if not runner._session_state._lock._is_owned():  # type: ignore[attr-defined]  # as threading.Condition asks it
        _begin_next(runner)


def leave_quietly() -> None:
    """Leave the link of a page as it is when another one is opened."""
    QueryParams.populate_from_query_string = _populate_quietly  # type: ignore[assignment, method-assign]


def _populate_quietly(params: QueryParams, query_string: str, valid_script_hashes: set[str] | None = None) -> None:
    vars(params)["_send_query_param_msg"] = lambda: None
    try:
        _populate(params, query_string, valid_script_hashes)
    finally:
        del vars(params)["_send_query_param_msg"]
