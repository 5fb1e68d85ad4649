"""The first message of a browser whose session is gone: the server was restarted, or it dropped the session.

The page in the browser stays as it was, and the next action sends the values of all controls to a session that has
drawn none of them. Streamlit 1.67 knows no callbacks then: a pressed button, a submitted form and a typed number do
nothing, and what was typed disappears. So the page is first drawn from the link alone, without sending anything to the
browser (a rehearsal); then the message is handled like any other. tests/server/test_restarts.py fails without this.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import _coalesce_widget_states
from streamlit.runtime.state import SessionState

_begin_run = SessionState.on_script_will_rerun
_STATE = "first message of the browser"


class _FirstMessage:
    """The widget states that are held back until the page has been drawn once; None if nothing is held back."""

    def __init__(self) -> None:
        self.held: WidgetStates | None = None
        self.is_drawn = False
        self.tell: Callable[[], object] = lambda: None  # sends messages to the browser again


def hold_first_message() -> None:
    """Hold back the first message of each session until its page has been drawn once."""
    SessionState.on_script_will_rerun = _hold_first  # type: ignore[assignment, method-assign]


def _hold_first(state: SessionState, fresh_widget_states: WidgetStates | None, **more: Any) -> None:
    kept = vars(state.query_params)  # the state itself takes no new attributes
    if fresh_widget_states is not None:
        is_first = _STATE not in kept
        first: _FirstMessage = kept.setdefault(_STATE, _FirstMessage())
        if first.held or (is_first and fresh_widget_states.widgets):
            # A newer message joins the one that waits, as it would in Streamlit's own queue.
            merged = _coalesce_widget_states(first.held, fresh_widget_states)
            first.held, fresh_widget_states = (None, merged) if first.is_drawn else (merged, WidgetStates())
    _begin_run(state, fresh_widget_states, **more)


def _first_message() -> _FirstMessage | None:
    """Return the first message of this run's session, if it is still held back."""
    context = get_script_run_ctx()
    if context is None:
        return None
    with context.session_state.query_params() as params:
        first: _FirstMessage | None = vars(params).get(_STATE)
    return first if first and first.held else None


def is_rehearsal() -> bool:
    """Whether this run draws a page for a message that is held back."""
    return _first_message() is not None


def sent_by(key: str) -> str:
    """Return the JSON that the component with this key sent with a message that is held back; "" if there is none."""
    first = _first_message()
    for state in first.held.widgets if first and first.held else ():
        if state.id.endswith(f"-{key}") and state.WhichOneof("value") == "json_value":
            return f"{state.json_value}"
    return ""


def tell_browser() -> None:
    """Send the rest of a rehearsal to the browser: a slow step shows its progress."""
    if first := _first_message():
        first.tell()


@contextmanager
def rehearse() -> Iterator[None]:
    """While a message is held back, draw the page without sending it; then run again with the message."""
    context, first = get_script_run_ctx(), _first_message()
    if context is None or first is None:
        yield
        return
    first.tell = partial(setattr, context, "_enqueue", context._enqueue)
    context._enqueue = lambda message: None
    try:
        yield
    finally:
        first.tell()
    first.is_drawn = True
    raise RerunException(
        RerunData(
            query_string=context.query_string,
            page_script_hash=context.page_script_hash,
            widget_states=first.held,
            is_history_navigation=context.is_history_navigation,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )
