"""Files that are made when somebody presses Download: in turns, so that one reader's reports do not delay the others.

Streamlit 1.67 makes all of them in the six threads that asyncio has on two cores, first come, first served: 160 reports
that eight sessions ask for delay the table of another reader by 20 seconds, and every run of a script. Here one file is
made at a time, for the session that has used the least time; a second one may be made beside it, for a session that has
used almost none.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse, DeferredFileResponsePayload
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.media_file_storage import MediaFileStorageError

from bertcalc.text import N_, Translate

MOST_WAITING = 8  # files that a session may wait for
ALMOST_NONE = 0.1  # seconds of making files
_HALF_LIFE = 60.0  # seconds after which half of what a session has used is forgotten
_MOST_REMEMBERED = 500  # sessions that are remembered
TOO_MANY = N_("Your earlier downloads are still being made: wait for them.")
GONE = N_("The server has restarted. Change something on the page, or reload it; then press again.")
FAILED = N_("This file could not be made.")

R = TypeVar("R")


class TooManyError(Exception):
    """A session waits for MOST_WAITING files already."""


class Turns:
    """The waiting sessions, and how long making files has taken for each. All methods run in one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._making: set[str] = set()
        self._used: dict[str, tuple[float, float]] = {}  # seconds, and when they were added up
        self._threads = ThreadPoolExecutor(2, "download")

    async def run(self, session: str, make: Callable[[], R]) -> R:
        """Call a function in a thread when it is this session's turn. Raises TooManyError."""
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
            if not turn.cancelled():  # also if the session ends between its call and its turn
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
        """The seconds that a session has used lately."""
        seconds, since = self._used.get(session, (0.0, 0.0))
        return seconds * float(0.5 ** ((time.monotonic() - since) / _HALF_LIFE))

    def _add(self, session: str, seconds: float) -> None:
        used = self.used(session) + seconds
        self._used.pop(session, None)
        self._used[session] = used, time.monotonic()
        if len(self._used) > _MOST_REMEMBERED:
            del self._used[next(iter(self._used))]  # of the session that has waited longest for its last file


TURNS = Turns()


def take_turns(translate: Callable[[str], Translate]) -> None:
    """Make files in turns; ``translate`` returns the translation for a session."""

    async def handle(
        handler: DeferredFileHandler, request: BackendOperationRequest, session_id: str
    ) -> BackendOperationResponse:
        identifier = request.deferred_file.file_id
        try:
            url = await TURNS.run(session_id, lambda: handler._get_media_file_mgr().execute_deferred(identifier))
        except TooManyError:
            message = TOO_MANY
        except MediaFileStorageError as error:
            # Its cause is the exception of the function; without one there is no such function, as after a restart.
            message = FAILED if error.__cause__ else GONE
            if error.__cause__:
                logging.getLogger("bertcalc").error("a file could not be made", exc_info=error.__cause__)
        else:
            payload = DeferredFileResponsePayload(url=url)
            return BackendOperationResponse(request_id=request.request_id, deferred_file=payload)
        return BackendOperationResponse(request_id=request.request_id, error_msg=translate(session_id)(message))

    DeferredFileHandler.handle = handle  # type: ignore[assignment, method-assign]
