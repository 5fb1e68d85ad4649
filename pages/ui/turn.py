"""One run of a script at a time: Python runs one anyway, and when many share its time in slices, all of them end late.

Streamlit runs each session's script in a thread. Forty that are under way at once would each take forty times as long;
one after the other the first has its page after 20 ms, and a newer move of somebody who still waits replaces the older
one. What runs outside of pages/main.py takes no turn: callbacks, dialogs, downloads.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds after which a run begins in any case: one that takes long must not stop all others. Where more is asked than
# one core can do, that is as it would be without turns.
PATIENCE = 1.0


class Turn:
    """What a run takes before it computes, and lets go of while it waits for something else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run = threading.local()

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for this run's turn, PATIENCE at most; whoever has it already goes on."""
        if self._holds():
            yield
            return
        self._begin()
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let others run while this one waits: for another process, for the network. Does nothing outside of a turn."""
        if not self._holds():
            yield
            return
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _holds(self) -> bool:
        return getattr(self._run, "holds", False)

    def _begin(self) -> None:
        self._run.holds = self._lock.acquire(timeout=PATIENCE)

    def _end(self) -> None:
        if self._run.holds:
            self._lock.release()
            self._run.holds = False


TURN = Turn()
