"""A log with one entry per minute for each kind of event."""

from collections.abc import Callable
from typing import Any

import pytest

from pages.server.limited_log import LimitedLog


class Clock:
    """A fake clock, and the log entries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.entries: list[tuple[str, bool]] = []
        monkeypatch.setattr("pages.server.limited_log.time.monotonic", lambda: self.now)
        monkeypatch.setattr("logging.Logger.log", self._log)

    def _log(self, _level: int, text: str, *values: object, exc_info: Exception | None = None) -> None:
        self.entries.append((text % values, exc_info is not None))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_minute_has_one_line(clock: Clock) -> None:
    log = LimitedLog("A message was refused")
    for _message in range(1_000):
        log.note("it cannot be read")
        clock.now += 0.1
    assert clock.entries == [
        ("A message was refused: it cannot be read", False),
        ("A message was refused: it cannot be read (599 more since the last one)", False),
    ]


def fail(number: int) -> None:
    if number % 2:
        raise ValueError(number)
    raise ValueError(-number)


def test_each_place_that_fails_has_one_traceback(clock: Clock) -> None:
    log = LimitedLog("A page failed")
    for number in range(1_000):
        with pytest.raises(ValueError, match=f"{number}") as raised:
            fail(number)
        log.trace(raised.value)
    assert clock.entries == [("A page failed: ValueError", True)] * 2


def test_the_launcher_logs_a_page_that_fails_once(
    clock: Clock, launch: Callable[[], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamlit.error", lambda _text: None)
    say_sorry = launch()["say_sorry"]
    assert all(say_sorry(ValueError("no such page")) for _again in range(100))
    assert clock.entries == [("A page failed: ValueError", True)]
