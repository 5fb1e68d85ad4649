"""The run queue: one run of a script at a time, first come, first served.

Streamlit runs the script of each session in a thread, and Python runs one thread at a time. Forty simultaneous runs
would each take forty times as long; in a queue the first page is drawn after 20 ms. A plain lock is not enough: it is
not fair, and if a run never ended, all those waiting would start at once when their timeout of a second is over
(tests/server/test_run_queue.py; with a queue 95 % of the moves of 200 readers took 0.4 s instead of 5.9 s, see
benchmarks/README.md). Callbacks, dialogs and downloads run outside pages/main.py and do not wait.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

# Seconds after which the next run begins in any case; a longer run continues in parallel.
PATIENCE = 1.0
_LAST = "last run"  # the session's key for the state of its last run: "waited", "first" or "ended"


class RunQueue:
    """A queue for runs that are each in a thread of its own."""

    def __init__(self) -> None:
        self._change = threading.Lock()
        self._line: deque[threading.Event] = deque()  # one event for each waiting run
        self._present: threading.Event | None = None  # the event of the active run
        self._since = 0.0
        self._thread = threading.local()

    @property
    def taken(self) -> bool:
        """Whether a run is active."""
        return self._present is not None

    @contextmanager
    def enter(self, session: MutableMapping[Any, Any]) -> Iterator[None]:
        """Wait for the turn of a run, then run; ``session`` is what Streamlit keeps between the runs of one reader.

        Streamlit aborts a run when its reader moves on. The reader's next run goes to the head of the queue, as the
        reader has already waited; but not twice in a row, so that others get their turn.
        """
        first = session.get(_LAST) == "waited"
        session[_LAST] = "first" if first else "waited"
        self._begin(first=first)
        try:
            yield
            session[_LAST] = "ended"
        finally:
            self._end()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let others run while this run waits for another process or the network; does nothing outside ``enter``."""
        if getattr(self._thread, "mine", None) is None:
            yield
            return
        self._end()
        try:
            yield
        finally:
            self._begin(first=True)

    def _begin(self, *, first: bool) -> None:
        self._thread.mine = mine = threading.Event()
        with self._change:
            if first:
                self._line.appendleft(mine)
            else:
                self._line.append(mine)
            left = self._call_next()
        while not mine.wait(left):
            with self._change:
                left = self._call_next()

    def _end(self) -> None:
        with self._change:
            if self._present is self._thread.mine:
                self._present = None
                self._call_next()
        self._thread.mine = None

    def _call_next(self) -> float:
        """Start the first in line if no run is active or the active one is overdue; the seconds until one will be."""
        now = time.monotonic()
        if self._line and (self._present is None or now - self._since >= PATIENCE):
            self._present, self._since = self._line.popleft(), now
            self._present.set()
        return self._since + PATIENCE - now


RUN_QUEUE = RunQueue()
