"""One run of a script at a time: Python runs one anyway, and when many share its time in slices, all of them end late.

Streamlit runs each session's script in a thread. Forty that are under way at once would each take forty times as long;
one after the other the first has its page after 20 ms, and a newer move of somebody who still waits takes the place of
the older one. What runs outside of pages/main.py takes no turn: callbacks, dialogs, downloads.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds after which a turn is over in any case: the run goes on, but no longer stops those who wait.
PATIENCE = 1.0


class Turn:
    """What a run takes before it computes, first come, first served, and lets go of while it waits for others."""

    def __init__(self) -> None:
        self._change = threading.Lock()
        self._line: deque[threading.Event] = deque()  # those who wait, each for its event
        self._present: threading.Event | None = None  # whose turn it is
        self._since = 0.0
        self._run = threading.local()

    @property
    def taken(self) -> bool:
        """Whether it is somebody's turn."""
        return self._present is not None

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for this run's turn; whoever has it already goes on."""
        if self._mine() is not None:
            yield
            return
        again = getattr(self._run, "again", False)
        self._run.again = False
        self._begin(first=again)
        try:
            yield
        except BaseException as ended:
            # Here, as the worker imports this module, and runs without Streamlit.
            from streamlit.runtime.scriptrunner import RerunException

            # A newer move of the same reader, who does not wait again; but the next time, so that others pass.
            self._run.again = isinstance(ended, RerunException) and not again
            raise
        finally:
            self._end()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let others run while this one waits: for another process, for the network. Does nothing outside of a turn."""
        if self._mine() is None:
            yield
            return
        self._end()
        try:
            yield
        finally:
            self._begin(first=True)

    def _mine(self) -> threading.Event | None:
        return getattr(self._run, "mine", None)

    def _begin(self, *, first: bool) -> None:
        self._run.mine = mine = threading.Event()
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
            if self._present is self._run.mine:
                self._present = None
                self._call_next()
        self._run.mine = None

    def _call_next(self) -> float:
        """The first in line begins, if it is nobody's turn, or somebody's for too long; seconds until that is so."""
        now = time.monotonic()
        if self._line and (self._present is None or now - self._since >= PATIENCE):
            self._present, self._since = self._line.popleft(), now
            self._present.set()
        return self._since + PATIENCE - now


TURN = Turn()
