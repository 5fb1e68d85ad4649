"""Create download files in turns, so that one reader's reports do not delay other readers.

Streamlit 1.67 creates all files in the six threads that asyncio has on two cores, first come, first served. As a
result, 160 reports for eight sessions delay another reader's table by 20 seconds, and they delay every script run. This
module creates one file at a time, for the session that has used the least time. It creates a second file in parallel
only for a session that has used almost no time.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bertcalc.text import N_, Translate
from pages.server.upstream import streamlit_internals
from pages.server.upstream.streamlit_internals import DownloadError, UnknownFileError

MOST_WAITING = 8  # maximum number of files that a session may wait for
ALMOST_NONE = 0.1  # seconds; a session that has used no more may get the second thread
_HALF_LIFE = 60.0  # seconds after which half of a session's used time is forgotten
_MOST_REMEMBERED = 500  # maximum number of sessions whose used time is remembered
TOO_MANY = N_("Your earlier downloads are still being prepared. Try again when they have arrived.")
GONE = N_("The server has restarted. Reload the page or change something on it, then try again.")
FAILED = N_("This file could not be created.")

R = TypeVar("R")


class TooManyError(Exception):
    """The session already waits for MOST_WAITING files."""


class Turns:
    """A fair queue of sessions that wait for files. All of its methods run in one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._making: set[str] = set()
        self._used: dict[str, tuple[float, float]] = {}  # keyed by session: seconds used, and the time of the update
        self._threads = ThreadPoolExecutor(2, "download")

    async def run(self, session: str, make: Callable[[], R]) -> R:
        """Call ``make`` in a thread when it is the session's turn, and return its result.

        Raises TooManyError if the session already waits for MOST_WAITING files.
        """
        line = self._waiting.setdefault(session, deque())
        if len(line) >= MOST_WAITING:
            raise TooManyError
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        line.append(turn)
        self._call_next()
        began = None
        try:
            await turn
            began = time.monotonic()
            return await loop.run_in_executor(self._threads, make)
        finally:
            if not turn.cancelled():  # also true if the session ends just after its turn was granted
                self._making.discard(session)
                self._add(session, time.monotonic() - (began or time.monotonic()))
                self._call_next()

    def _call_next(self) -> None:
        while len(self._making) < 2 and (waiting := [name for name in self._waiting if name not in self._making]):
            session = min(waiting, key=self.used)
            if self._making and self.used(session) > ALMOST_NONE:
                return
            turn = self._waiting[session].popleft()
            if not self._waiting[session]:
                del self._waiting[session]
            if not turn.cancelled():
                self._making.add(session)
                turn.set_result(None)

    def used(self, session: str) -> float:
        """Return the seconds that a session has used recently; they decay with a half-life of _HALF_LIFE seconds."""
        seconds, since = self._used.get(session, (0.0, 0.0))
        return seconds * float(0.5 ** ((time.monotonic() - since) / _HALF_LIFE))

    def _add(self, session: str, seconds: float) -> None:
        used = self.used(session) + seconds
        self._used.pop(session, None)
        self._used[session] = used, time.monotonic()
        if len(self._used) > _MOST_REMEMBERED:
            del self._used[next(iter(self._used))]  # the session whose last file is the oldest


TURNS = Turns()


def take_turns(translate: Callable[[str], Translate]) -> None:
    """Create files in turns from now on; ``translate`` returns the translator for a session id."""

    async def make(session: str, write: Callable[[], str]) -> str:
        try:
            return await TURNS.run(session, write)
        except TooManyError:
            message = TOO_MANY
        except UnknownFileError as error:
            # An error without a cause means that Streamlit does not know the file, for example after a restart.
            message = FAILED if error.__cause__ else GONE
            if error.__cause__:
                logging.getLogger("bertcalc").error("A file could not be created", exc_info=error.__cause__)
        raise DownloadError(translate(session)(message))

    streamlit_internals.answer_downloads(make)
