"""Four changes of Streamlit's sessions: a shared lock, callbacks that finish, the address, and how many are stored.

When a browser connects again, a new run starts at once, while the previous run goes on to its next command. Streamlit
1.67 gives each of the two runs its own lock for the same session state (streamlit/streamlit#16763): one iterates over a
dictionary that the other one extends, and a page ends in "RuntimeError: dictionary changed size during iteration".
tests/server/test_sessions.py fails when Streamlit changes this.

If the next run is requested during a callback, Streamlit 1.67 aborts the callback as soon as it reads or writes session
state, and does not call it again: the click is lost. A dialog that is closed just before a slider moves would stay
open. Here a callback finishes before the next run begins.

When a page is opened, Streamlit 1.67 removes the query parameters of the previous page's controls, and sends that to
the browser while it still shows the previous page: Back then leads to that page without its values. Here nothing is
sent: the panel writes the whole address of an opened page once it is drawn. tests/browser/test_links.py fails without
this.

A session whose browser has lost the network is stored for two minutes, but Streamlit 1.67 stores 128 and has no setting
for it: of a class of 200 whose Wi-Fi fails for a moment, 72 would lose their steps. Here STORED sessions are stored.
"""

import threading
from collections.abc import Callable

from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.runtime.state.query_params import QueryParams

# Sessions without a connection that are stored: two classes of 200, one that lost the network and one that left.
STORED = 400
_made = SafeSessionState.__init__
_made_storage = MemorySessionStorage.__init__
_begin_next = ScriptRunner._maybe_handle_execution_control_request
_populate = QueryParams.populate_from_query_string


def share_lock() -> None:
    """Give all runs of a session the same lock."""
    SafeSessionState.__init__ = _with_shared_lock  # type: ignore[assignment, method-assign]


def _with_shared_lock(safe: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]) -> None:
    _made(safe, state, yield_callback)
    # The state itself takes no new attributes; its query parameters do, and live as long.
    lock = vars(state.query_params).setdefault("lock of session", threading.RLock())
    object.__setattr__(safe, "_lock", lock)  # its own __setattr__ writes session state


def end_callbacks() -> None:
    """Let callbacks finish before the next run begins."""
    ScriptRunner._maybe_handle_execution_control_request = _begin_next_outside_callbacks  # type: ignore[assignment, method-assign]


def _begin_next_outside_callbacks(runner: ScriptRunner) -> None:
    # A run holds its session's lock while it calls callbacks, and otherwise only for moments.
    if not runner._session_state._lock._is_owned():  # type: ignore[attr-defined]  # as threading.Condition does
        _begin_next(runner)


def leave_quietly() -> None:
    """Leave the browser's address unchanged when another page is opened."""
    QueryParams.populate_from_query_string = _populate_quietly  # type: ignore[assignment, method-assign]


def _populate_quietly(params: QueryParams, query_string: str, valid_script_hashes: set[str] | None = None) -> None:
    vars(params)["_send_query_param_msg"] = lambda: None
    try:
        _populate(params, query_string, valid_script_hashes)
    finally:
        del vars(params)["_send_query_param_msg"]


def store_class() -> None:
    """Store so many sessions without a connection as a class has."""
    MemorySessionStorage.__init__ = _made_larger  # type: ignore[assignment, method-assign]


def _made_larger(storage: MemorySessionStorage, maxsize: int = STORED, ttl_seconds: int = 120) -> None:
    _made_storage(storage, maxsize, ttl_seconds)
