"""Files are made in turns: sessions get fair shares, and small requests are answered quickly."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.media_file_storage import MediaFileStorageError

from pages.server import downloads
from pages.server.downloads import MOST_WAITING, TooManyError, Turns
from tests.loop import finished

REPORT = 0.15  # seconds to make a report


def make(name: str, seconds: float, made: list[str]) -> Callable[[], str]:
    def write() -> str:
        time.sleep(seconds)
        made.append(name)
        return name

    return write


def test_a_table_is_made_while_eight_sessions_ask_for_reports() -> None:
    made: list[str] = []

    async def ask() -> float:
        turns = Turns()
        reports = [
            asyncio.create_task(turns.run(f"session {session}", make("report", REPORT, made)))
            for session in range(8)
            for _report in range(MOST_WAITING)
        ]
        await asyncio.sleep(12 * REPORT)  # until all sessions have used some time
        began = time.monotonic()
        await turns.run("another", make("table", 0, made))
        waited = time.monotonic() - began
        for report in reports:
            report.cancel()
        return waited

    assert finished(ask()) < REPORT
    assert made.index("table") < 20


def test_sessions_take_turns_and_each_waits_for_a_few_files_only() -> None:
    made: list[str] = []

    async def ask() -> int:
        turns, refused = Turns(), 0
        many = [asyncio.create_task(turns.run("many", make("many", 0.02, made))) for _file in range(20)]
        single = asyncio.create_task(turns.run("one", make("one", 0.02, made)))
        for result in await asyncio.gather(*many, single, return_exceptions=True):
            refused += isinstance(result, TooManyError)
        return refused

    assert finished(ask()) == 20 - MOST_WAITING - 1  # one of them started at once
    assert "one" in made[:3]


def test_one_file_of_a_session_is_made_at_a_time() -> None:
    making: list[int] = [0]
    most: list[int] = []

    def count() -> None:
        making[0] += 1
        most.append(making[0])
        time.sleep(0.02)
        making[0] -= 1

    async def ask() -> None:
        turns = Turns()
        await asyncio.gather(*(turns.run("one", count) for _file in range(5)))

    finished(ask())
    assert most == [1] * 5


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_session_that_ends_leaves_its_turn_to_others(steps: int) -> None:
    async def ask() -> str:
        turns = Turns()
        left = [asyncio.create_task(turns.run("left", make("left", 0.02, []))) for _file in range(3)]
        for _step in range(steps):
            await asyncio.sleep(0)
        for file in left:
            file.cancel()
        return await asyncio.wait_for(turns.run("another", lambda: "made"), 2)

    assert finished(ask()) == "made"


def test_a_class_that_leaves_all_its_downloads_is_passed_over() -> None:
    """1,600 files are abandoned, which is more than Python's limit on nested calls."""

    async def ask() -> str:
        turns = Turns()
        left = [
            asyncio.create_task(turns.run(f"session {session}", make("left", 0.02, [])))
            for session in range(200)
            for _file in range(MOST_WAITING)
        ]
        await asyncio.sleep(0)
        for file in left:
            file.cancel()
        ends = await asyncio.gather(*left, return_exceptions=True)
        assert {type(end) for end in ends} == {asyncio.CancelledError}
        return await asyncio.wait_for(turns.run("another", lambda: "made"), 5)

    assert finished(ask()) == "made"


def test_an_exception_is_raised_and_used_time_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> Turns:
        turns = Turns()
        with pytest.raises(ZeroDivisionError):
            await turns.run("one", lambda: 1 // 0)
        await turns.run("one", make("report", REPORT, []))
        return turns

    turns = finished(ask())
    start, before = time.monotonic(), turns.used("one")
    assert before >= REPORT * 0.9
    monkeypatch.setattr(time, "monotonic", lambda: start + 60)
    assert turns.used("one") == pytest.approx(before / 2, rel=0.01)


class Files:
    """A stand-in for Streamlit's file manager: one file fails, and the others do not exist."""

    def execute_deferred(self, identifier: str) -> str:
        if identifier != "broken":
            raise MediaFileStorageError(f"Deferred file {identifier} not found")
        try:
            raise ValueError("no such luck")
        except ValueError as error:
            raise MediaFileStorageError(f"Callable execution failed: {error}") from error


def answer(identifier: str) -> BackendOperationResponse:
    downloads.take_turns(lambda session: lambda text: f"{session}: {text}")
    request = BackendOperationRequest(request_id="1")
    request.deferred_file.file_id = identifier
    files: Any = Files()
    return finished(DeferredFileHandler(lambda: files).handle(request, "s"))


def test_a_file_of_a_session_that_is_gone_is_a_sentence_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged: list[object] = []
    monkeypatch.setattr(logging.getLogger("bertcalc"), "error", lambda _text, exc_info: logged.append(exc_info))
    assert answer("unknown").error_msg == f"s: {downloads.GONE}"
    assert not logged
    assert answer("broken").error_msg == f"s: {downloads.FAILED}"
    assert "no such luck" in f"{logged[0]}"


def test_a_session_that_waits_for_many_files_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_given: object) -> str:
        raise TooManyError

    monkeypatch.setattr(downloads.TURNS, "run", refuse)
    assert answer("any").error_msg == f"s: {downloads.TOO_MANY}"
