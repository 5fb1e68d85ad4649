"""The run queue: one run at a time, equal shares for all sessions, and a bounded wait."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from types import ModuleType
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig
from bertcalc.hub import hub_workers
from bertcalc.model.model import Model
from bertcalc.processes.worker import WORKER
from bertcalc.proof import tensor_proof
from pages.server import run_queue
from pages.server.run_queue import RunQueue
from pages.ui.checkpoints import inputs as bring
from pages.ui.widgets import real_answers, verdict


@pytest.fixture(autouse=True)
def nobody_gets_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_queue, "PATIENCE", 600)


def in_thread(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_one_at_a_time() -> None:
    line, inside, most = RunQueue(), [0], [0]

    def run() -> None:
        for _again in range(20):
            with line.enter({}):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1

    for thread in [in_thread(run) for _number in range(8)]:
        thread.join(60)
        assert not thread.is_alive()
    assert most == [1]


def test_a_run_that_waits_for_something_else_lets_others_pass() -> None:
    line, passed = RunQueue(), threading.Event()

    def other() -> None:
        with line.enter({}):
            passed.set()

    with line.enter({}):
        thread = in_thread(other)
        assert not passed.wait(0.05)
        with line.pause():
            assert passed.wait(60)
        thread.join(60)
        passed.clear()
        thread = in_thread(other)  # this thread has the turn again
        assert not passed.wait(0.05)
    assert passed.wait(60)


def test_a_run_that_does_not_end_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_queue, "PATIENCE", 0.01)
    line, ended = RunQueue(), threading.Event()

    def endless() -> None:
        with line.enter({}):
            ended.wait(60)

    thread = in_thread(endless)
    while not line.taken:
        time.sleep(0.001)
    with line.enter({}):
        assert thread.is_alive()
        with line.pause():
            pass
        ended.set()
        thread.join(60)
        assert line.taken  # a run that ends late does not end the turn of the run that passed it
    assert not line.taken


def test_behind_a_run_that_does_not_end_there_is_still_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    line, ended, began = RunQueue(), [threading.Event() for _run in range(3)], [threading.Event() for _run in range(3)]

    def run(number: int) -> None:
        with line.enter({}):
            began[number].set()
            ended[number].wait(60)

    threads = [in_thread(lambda: run(0))]
    assert began[0].wait(60)
    monkeypatch.setattr(run_queue, "PATIENCE", 0.05)
    threads.append(in_thread(lambda: run(1)))
    assert began[1].wait(60)
    monkeypatch.setattr(run_queue, "PATIENCE", 600)
    threads.append(in_thread(lambda: run(2)))
    ended[0].set()
    assert not began[2].wait(0.05)
    ended[1].set()
    assert began[2].wait(60)
    ended[2].set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def waiting(line: RunQueue, count: int) -> None:
    """Wait until this many runs are in the queue."""
    while line.waiting < count:
        time.sleep(0.001)


def test_first_come_first_served() -> None:
    line, order = RunQueue(), list[int]()

    def run(number: int) -> None:
        with line.enter({}):
            order.append(number)

    threads = []
    with line.enter({}):
        for number in range(20):
            threads.append(in_thread(partial(run, number)))
            waiting(line, number + 1)
    for thread in threads:
        thread.join(60)
    assert order == list(range(20))


def test_a_sender_without_pause_does_not_go_before_others() -> None:
    """A session that has just run waits for sessions that have not. After that, they take turns."""
    line, order = RunQueue(), list[str]()

    def run(name: str, session: dict[str, object]) -> None:
        with line.enter(session):
            order.append(name)

    busy: dict[str, object] = {"share of the queue": run_queue.Share(0.05)}
    threads = []
    with line.enter({}):
        for number, (name, session) in enumerate({"busy": busy, "one": {}, "two": {}}.items()):
            threads.append(in_thread(partial(run, name, session)))
            waiting(line, number + 1)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert order == ["one", "two", "busy"]


@pytest.mark.parametrize(("new", "most"), [(False, 3), (True, 25)])
def test_the_wait_does_not_depend_on_how_much_others_send(
    new: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty sessions always want the turn, and each for longer than the reader, who waits for only one or two of them.

    If each sender always has a new session, which has used no time, the reader waits for at most as many runs as there
    are senders.
    """
    clock = [0.0]
    monkeypatch.setattr("pages.server.run_queue.time.monotonic", lambda: clock[0])
    line = RunQueue()
    passed, stop, others = list[int](), threading.Event(), [19]

    def send_without_pause(number: int) -> None:
        session: dict[str, object] = {}
        while not stop.is_set():
            with line.enter({} if new else session):
                passed.append(number)
                clock[0] += 0.05
                while line.waiting < others[0] and not stop.is_set():  # until all others are in the queue again
                    time.sleep(0.0001)

    senders = [in_thread(partial(send_without_pause, number)) for number in range(20)]
    reader: dict[str, object] = {}
    waits = []
    for _move in range(10):
        before = len(passed)
        while len(passed) < before + 30:  # the reader looks at the page for 1.5 s
            time.sleep(0.0001)
        others[0] = 20  # including the reader
        before = len(passed)
        with line.enter(reader):
            waits.append(len(passed) - before)
            clock[0] += 0.02
            others[0] = 19
    stop.set()
    for sender in senders:
        sender.join(60)
    assert sorted(waits)[5] <= most, waits  # a first-come queue would give 20


def test_every_run_begins_whatever_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty threads have runs that end, fail, are ended, wait for another process, or take longer than PATIENCE.

    No session's turn starts more than MOST after the virtual time. This bounds the number of sessions that go before
    it.
    """
    monkeypatch.setattr(run_queue, "PATIENCE", 0.02)
    line, done, ahead = RunQueue(), list[int](), list[float]()

    def run(random: Random, session: dict[str, Any]) -> None:
        with suppress(ValueError, KeyboardInterrupt), line.enter(session):
            time.sleep(random.choice([0, 0, 0.001, 0.003, 0.05]))
            if random.random() < 0.3:
                with line.pause():
                    time.sleep(random.choice([0, 0.002, 0.03]))
                    if random.random() < 0.3:
                        raise KeyboardInterrupt
            if random.random() < 0.3:
                raise random.choice([ValueError, KeyboardInterrupt])

    def read(number: int) -> None:
        random, session = Random(number), dict[str, Any]()
        for _run in range(15):
            if random.random() < 0.2:
                session = {}  # a new reader
            run(random, session)
            until = session["share of the queue"].until
            ahead.append(until - line._clock)
            time.sleep(random.choice([0, 0, 0.01]))
        done.append(number)

    readers = [in_thread(partial(read, number)) for number in range(60)]
    for reader in readers:
        reader.join(120)
    assert sorted(done) == [*range(60)]
    assert (line.taken, line.waiting) == (False, 0)
    assert max(ahead) <= run_queue.MOST + 1e-9


def test_a_slow_page_counts_no_more_than_most(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("pages.server.run_queue.time.monotonic", lambda: clock[0])
    line = RunQueue()
    for seconds, counts in ((0.0, run_queue.LEAST), (0.03, 0.03), (60.0, run_queue.MOST)):
        session: dict[str, run_queue.Share] = {}
        start = line._clock
        with line.enter(session):
            clock[0] += seconds
        assert next(iter(session.values())).until == pytest.approx(start + counts)


def test_an_idle_session_saves_up_a_moment_not_the_hour_that_it_was_idle() -> None:
    """Otherwise, it would go before all others until it has used up that hour."""
    line = RunQueue()
    idle: dict[str, run_queue.Share] = {}
    with line.enter(idle):
        pass
    line._clock += 3600.0  # time that others have used
    now = line._clock
    with line.enter(idle):
        pass
    assert next(iter(idle.values())).until >= now - run_queue.SAVED


def test_a_run_that_its_reader_ends_counts_as_a_long_one() -> None:
    line, session = RunQueue(), dict[str, run_queue.Share]()
    with suppress(KeyboardInterrupt), line.enter(session):
        raise KeyboardInterrupt
    assert next(iter(session.values())).until >= run_queue.MOST
    assert not line.taken


SCRIPT = """
import streamlit as st
from pages.server.run_queue import RUN_QUEUE

with RUN_QUEUE.enter(st.session_state):
    began = st.session_state.setdefault("began", [])
    began.append(len(began))
    if len(began) < 3:
        st.rerun()
    st.write("drawn")
"""


def test_streamlit_ends_a_run_whose_reader_has_moved_on() -> None:
    """In Streamlit 1.67, a newer move raises an exception in the script, like st.rerun, and session_state is kept."""
    app = AppTest.from_string(SCRIPT).run()
    assert app.session_state["began"] == [0, 1, 2]
    assert app.session_state["share of the queue"].until > 0
    assert app.markdown[0].value == "drawn"
    assert not run_queue.RUN_QUEUE.taken


def test_an_error_ends_the_run() -> None:
    line = RunQueue()
    with pytest.raises(ValueError, match="no such page"), line.enter({}):
        raise ValueError("no such page")
    assert not line.taken


def test_readers_that_request_the_same_model_let_others_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second reader waits for the first reader's answer, and must not hold the turn meanwhile."""
    line, asked, answered, passed = RunQueue(), threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(real_answers, "RUN_QUEUE", line)

    def prove(*_question: object) -> tensor_proof.Proof:
        asked.set()
        assert answered.wait(60)
        checks = [tensor_proof.Check(name, "1", "1", agrees=True) for name in ("Tensors", "Parameters")]
        return tensor_proof.Proof(checks, [], 1.0, 1.0, {"torch": "2"})

    monkeypatch.setattr(WORKER, "run", prove)
    model = Model(BertConfig(vocab_size=12_345))

    def read() -> None:
        with line.enter({}):
            verdict.show_verdict(model)

    def pass_by() -> None:
        with line.enter({}):
            passed.set()

    readers = [in_thread(read), in_thread(read)]
    assert asked.wait(60)
    time.sleep(0.2)  # so that the second reader asks, too
    in_thread(pass_by)
    assert passed.wait(10)
    answered.set()
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()


def test_outside_of_the_queue_there_is_nothing_to_pause() -> None:
    line = RunQueue()
    with line.enter({}):
        in_thread(lambda: line.pause().__enter__()).join(60)
        assert line.taken


@pytest.mark.parametrize("room", [real_answers, bring])
def test_a_run_that_waits_for_another_process_lets_others_pass(
    room: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = RunQueue()
    taken: list[bool] = []
    monkeypatch.setattr(room, "RUN_QUEUE", line)
    monkeypatch.setattr(WORKER, "run", lambda *_: taken.append(line.taken))
    monkeypatch.setattr(hub_workers, "ask", lambda *_: taken.append(line.taken))
    with line.enter({}):
        real_answers.run(int) if room is real_answers else bring.ask_hub("a/b")
        assert line.taken
    assert taken == [False]
