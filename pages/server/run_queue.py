"""A queue that runs one script at a time, in an order that gives each session the same share of the server.

Streamlit runs the script of each session in a thread, and Python executes one thread at a time. Forty simultaneous runs
would each take forty times as long. In a queue, the first page is drawn after 20 ms.

The order is fair queueing (Demers, Keshav and Shenker, SIGCOMM 1989). A session that has used less than its share comes
before a session that sends without pause. Sessions that have used the same amount are served in order of arrival. A run
that is ended by a newer message counts as a long run, so a client that, unlike a browser, does not wait for responses
comes later. A reader's waiting time does not depend on how much others send.

The queue needs ``runner.fastReruns = false`` in .streamlit/config.toml. A session then has a single thread, and so a
single place in the queue, whatever it sends, and Streamlit merges the messages that arrive while this thread waits.
With ``fastReruns = true``, Streamlit starts a thread for each message: five senders had 900 threads in the queue.

Callbacks, dialogs and downloads run outside pages/main.py and do not wait.
"""

import heapq
import threading
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, NamedTuple

# Seconds after which the next run begins even if the active run has not ended; both then run in parallel.
PATIENCE = 1.0
# The minimum and maximum number of seconds for which a run counts. So even the shortest run counts, and a slow page is
# not locked out. A run that is ended by its reader's next message counts as MOST.
LEAST, MOST = 0.001, 0.1
# Seconds of its share that an idle session can save up: enough to come before sessions that always want a turn.
SAVED = 0.1
_SHARE = "share of the queue"  # the key of a session's Share


class Share:
    """The virtual time until which a session has used its share of the queue."""

    def __init__(self, until: float) -> None:
        self.until = until


class _Turn(NamedTuple):
    """A waiting run. Runs are ordered by virtual start time, then by number; setting ``begun`` starts the run."""

    start: float
    number: int
    share: Share
    begun: threading.Event


class RunQueue:
    """A queue for runs, each of which has its own thread."""

    def __init__(self) -> None:
        self._change = threading.Lock()
        self._line: list[_Turn] = []  # a heap
        self._count = 0  # number of turns so far
        self._clock = 0.0  # virtual time: the seconds used by a session that always has a waiting run
        self._active: _Turn | None = None
        self._since = 0.0
        self._thread = threading.local()

    @property
    def taken(self) -> bool:
        """Whether a run is active."""
        return self._active is not None

    @property
    def waiting(self) -> int:
        """The number of runs that wait."""
        return len(self._line)

    @contextmanager
    def enter(self, session: MutableMapping[Any, Any]) -> Iterator[None]:
        """Wait for the turn of a run, then run the body of the ``with`` statement.

        ``session`` is the state that Streamlit keeps between the runs of a reader. Streamlit ends a run with an
        exception when its reader moves on, and begins the next run in the same thread.
        """
        self._begin(session.setdefault(_SHARE, Share(self._clock)))
        try:
            yield
        except BaseException:
            self._end(MOST)
            raise
        self._end()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let others run while this run waits for another process or the network; does nothing outside ``enter``."""
        turn: _Turn | None = getattr(self._thread, "turn", None)
        if turn is None:
            yield
            return
        self._end()
        try:
            yield
        finally:
            self._begin(turn.share)

    def _begin(self, share: Share) -> None:
        with self._change:
            self._count += 1
            turn = _Turn(max(share.until, self._clock - SAVED), self._count, share, threading.Event())
            heapq.heappush(self._line, turn)
            left = self._call_next()
        self._thread.turn = turn
        while not turn.begun.wait(left):
            with self._change:
                left = self._call_next()
        self._thread.since = time.monotonic()

    def _end(self, least: float = LEAST) -> None:
        turn = self._thread.turn
        used = min(MOST, max(least, time.monotonic() - self._thread.since))
        self._thread.turn = None
        with self._change:
            turn.share.until = turn.start + used
            # Advance by the time used. If the clock advanced to the start of the next run instead, it would stop while
            # new sessions keep arriving, because they start at the current time.
            self._clock += used / (len(self._line) + 1)
            if self._active is turn:
                self._active = None
                self._call_next()

    def _call_next(self) -> float:
        """Start the first waiting run if no run is active or the active run is overdue.

        Returns the seconds until the active run is overdue.
        """
        moment = time.monotonic()
        if self._line and (self._active is None or moment - self._since >= PATIENCE):
            self._active, self._since = heapq.heappop(self._line), moment
            self._clock = max(self._clock, self._active.start)
            self._active.begun.set()
        return self._since + PATIENCE - moment


RUN_QUEUE = RunQueue()
