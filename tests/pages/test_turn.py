"""Runs in a line: one at a time, whoever waits for something else lets others pass, and nobody waits for ever."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException

from bertcalc import BertConfig
from bertcalc.presets import DEFAULT_PRESET
from pages.ui import proof, turn, verdict
from pages.ui.sidebar import Choice
from pages.ui.turn import Turn
from pages.ui.worker import WORKER, Worker


@pytest.fixture(autouse=True)
def nobody_gets_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "PATIENCE", 600)


def in_thread(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_one_at_a_time() -> None:
    line, inside, most = Turn(), [0], [0]

    def run() -> None:
        for _again in range(20):
            with line.take():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1

    for thread in [in_thread(run) for _number in range(8)]:
        thread.join(60)
        assert not thread.is_alive()
    assert most == [1]


def test_who_waits_for_something_else_lets_others_pass() -> None:
    line, passed = Turn(), threading.Event()

    def other() -> None:
        with line.take():
            passed.set()

    with line.take():
        thread = in_thread(other)
        assert not passed.wait(0.05)
        with line.pause():
            assert passed.wait(60)
        thread.join(60)
        passed.clear()
        thread = in_thread(other)  # the turn is ours again
        assert not passed.wait(0.05)
    assert passed.wait(60)


def test_a_run_that_does_not_end_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "PATIENCE", 0.01)
    line, ended = Turn(), threading.Event()

    def endless() -> None:
        with line.take():
            ended.wait(60)

    thread = in_thread(endless)
    while not line.taken:
        time.sleep(0.001)
    with line.take():
        assert thread.is_alive()
        with line.pause():
            pass
        ended.set()
        thread.join(60)
        assert line.taken  # what ends late does not end the turn of who passed it
    assert not line.taken


def test_behind_a_run_that_does_not_end_there_is_still_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    line, ended, began = Turn(), [threading.Event() for _run in range(3)], [threading.Event() for _run in range(3)]

    def run(number: int) -> None:
        with line.take():
            began[number].set()
            ended[number].wait(60)

    threads = [in_thread(lambda: run(0))]
    assert began[0].wait(60)
    monkeypatch.setattr(turn, "PATIENCE", 0.05)
    threads.append(in_thread(lambda: run(1)))
    assert began[1].wait(60)
    monkeypatch.setattr(turn, "PATIENCE", 600)
    threads.append(in_thread(lambda: run(2)))
    ended[0].set()
    assert not began[2].wait(0.05)
    ended[1].set()
    assert began[2].wait(60)
    ended[2].set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def waiting(line: Turn, count: int) -> None:
    """Wait until so many stand in line."""
    while len(line._line) < count:
        time.sleep(0.001)


def test_first_come_first_served() -> None:
    line, order = Turn(), list[int]()

    def run(number: int) -> None:
        with line.take():
            order.append(number)

    threads = []
    with line.take():
        for number in range(20):
            threads.append(in_thread(partial(run, number)))
            waiting(line, number + 1)
    for thread in threads:
        thread.join(60)
    assert order == list(range(20))


def test_who_moves_again_while_waiting_keeps_the_place_once() -> None:
    """Streamlit ends the older run as soon as it does something, and begins anew in the same thread."""
    line, order = Turn(), list[str]()

    def moves() -> None:
        for name in ("first", "second", "third"):
            with suppress(RerunException), line.take():
                order.append(name)
                if name != "third":
                    raise RerunException(RerunData())

    def other(name: str, others: int) -> None:
        with line.take():
            waiting(line, others)  # who moves again is in line before this one is through
            order.append(name)

    runs: list[Callable[[], object]] = [
        moves,
        partial(other, "one", 3),
        partial(other, "two", 2),
        partial(other, "three", 0),
    ]
    threads = []
    with line.take():
        for number, one in enumerate(runs):
            threads.append(in_thread(one))
            waiting(line, number + 1)
    for thread in threads:
        thread.join(60)
    assert order == ["first", "one", "second", "two", "three", "third"]


def test_an_error_ends_the_turn() -> None:
    line = Turn()
    with pytest.raises(ValueError, match="no such page"), line.take():
        raise ValueError("no such page")
    assert not line.taken


def test_who_has_the_turn_needs_no_other() -> None:
    line = Turn()
    with line.take():
        with line.take():
            assert line.taken
        assert line.taken
    assert not line.taken


def test_readers_who_ask_for_the_same_model_leave_the_turn_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the answer to the first, and must not have the turn meanwhile."""
    line, asked, answered, passed = Turn(), threading.Event(), threading.Event(), threading.Event()
    for module in ("pages.ui.oracle", "pages.ui.worker"):
        monkeypatch.setattr(f"{module}.TURN", line)

    def prove(*_question: object) -> proof.Proof:
        asked.set()
        assert answered.wait(60)
        checks = [proof.Check(name, "1", "1", agrees=True) for name in ("Tensors", "Parameters")]
        return proof.Proof(checks, [], 1.0, 1.0, {"torch": "2"})

    monkeypatch.setattr(WORKER, "run", prove)
    choice = Choice(BertConfig(vocab_size=12_345), "BertModel", True, DEFAULT_PRESET)

    def read() -> None:
        with line.take():
            verdict.show_verdict(choice)

    def pass_by() -> None:
        with line.take():
            passed.set()

    readers = [in_thread(read), in_thread(read)]
    assert asked.wait(60)
    time.sleep(0.2)  # for the second to ask, too
    in_thread(pass_by)
    assert passed.wait(10)
    answered.set()
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()


def test_without_a_turn_there_is_nothing_to_pause() -> None:
    line = Turn()
    with line.take():
        in_thread(lambda: line.pause().__enter__()).join(60)
        assert line.taken


def test_work_beside_the_server_lets_others_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    line, worker = Turn(), Worker()
    monkeypatch.setattr("pages.ui.worker.TURN", line)
    try:
        with line.take():
            passed = threading.Event()

            def other() -> None:
                with line.take():
                    passed.set()

            in_thread(other)
            worker.run(time.sleep, 0.1)
            assert passed.wait(60)
    finally:
        worker.stop()
