"""One lock for what Streamlit keeps of a session.

A reader who moves on gets a new run at once, while the run before goes on to its next command. Streamlit 1.67 gives
each of the two a lock of its own for the same values (streamlit/streamlit#16763): one walks through a dictionary that
the other lets grow, and a page ends in "RuntimeError: dictionary changed size during iteration".
tests/server/test_sessions.py fails when Streamlit does otherwise.
"""

import threading
from collections.abc import Callable

from streamlit.runtime.state import SafeSessionState, SessionState

_made = SafeSessionState.__init__


def share_lock() -> None:
    """Give all runs of a session the same lock."""
    SafeSessionState.__init__ = _with_shared_lock  # type: ignore[assignment, method-assign]


def _with_shared_lock(safe: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]) -> None:
    _made(safe, state, yield_callback)
    # The state has no place for an attribute; its query parameters do, and live as long.
    lock = vars(state.query_params).setdefault("lock of session", threading.RLock())
    object.__setattr__(safe, "_lock", lock)  # the object's own sets a value of the session
