"""Handle a browser's first message after the server has restarted or has dropped the browser's session.

The page in the browser stays as it was. The next action sends the values of all controls to a session that has not
drawn any of them. Streamlit 1.67 then does not know the callbacks: a pressed button, a submitted form and a typed
number have no effect, and the typed text disappears. So the page is first drawn from the URL alone, and nothing is sent
to the browser (a rehearsal). Then the message is handled like any other message. Without the rehearsal,
tests/server/test_restarts.py fails.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pages.server.upstream import streamlit_internals
from pages.server.upstream.streamlit_internals import Values

_NOTE = "first message of the browser"


class _FirstMessage:
    """A session's first message, whose values are held back until the page has been drawn once.

    ``held`` is None if no values are held back.
    """

    def __init__(self) -> None:
        self.held: Values | None = None
        self.is_drawn = False
        self.resume: Callable[[], object] = lambda: None  # resumes sending messages to the browser


def hold_first_message() -> None:
    """Hold back the first message of each session until its page has been drawn once."""
    streamlit_internals.filter_values(_hold_first)


def _hold_first(notes: dict[str, Any], values: Values | None) -> Values | None:
    if values is None:
        return None
    is_first = _NOTE not in notes
    first: _FirstMessage = notes.setdefault(_NOTE, _FirstMessage())
    if first.held or (is_first and streamlit_internals.has_values(values)):
        # A newer message is merged with the waiting message, as in Streamlit's queue.
        merged = streamlit_internals.merge_values(first.held, values)
        if first.is_drawn:
            first.held = None
            return merged
        first.held = merged
        return streamlit_internals.no_values()
    return values


def _first_message() -> _FirstMessage | None:
    """Return the first message of this run's session if it is held back, otherwise None."""
    first: _FirstMessage | None = streamlit_internals.session_notes().get(_NOTE)
    return first if first and first.held else None


def is_rehearsal() -> bool:
    """Whether this run draws the page while a message is held back."""
    return _first_message() is not None


def sent_by(key: str) -> str:
    """Return the JSON from the component with this key in the message that is held back; "" if there is none."""
    first = _first_message()
    return streamlit_internals.json_of(first.held, key) if first else ""


def tell_browser() -> None:
    """If this run is a rehearsal, send its remaining output to the browser, so that a slow step shows its progress."""
    if first := _first_message():
        first.resume()


@contextmanager
def rehearse() -> Iterator[None]:
    """Context manager for a run. If a message is held back, draw the page without sending it to the browser.

    Then run again with the message.
    """
    first = _first_message()
    if first is None:
        yield
        return
    first.resume = streamlit_internals.stop_sending()
    try:
        yield
    finally:
        first.resume()
    first.is_drawn = True
    streamlit_internals.run_again(first.held)
