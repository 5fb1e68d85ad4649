"""The worker process: it answers, raises errors as a function does, ends, and restarts."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertcalc.processes.worker import WORKER, SlowError, StoppedError, Worker, tell
from tests.pages.apptest import ROOT, open_app


@pytest.fixture
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.stop()


def test_it_works_elsewhere_and_stays(worker: Worker) -> None:
    there = worker.run(os.getpid)
    assert there != os.getpid()
    assert worker.run(os.getpid) == there
    worker.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(there, 0)
    assert worker.run(os.getpid) != there


def test_the_collector_leaves_alone_what_is_imported(worker: Worker) -> None:
    worker.run(int, "7")
    assert worker.run(gc.get_freeze_count) > 0


def test_it_imports_nothing_of_the_server() -> None:
    program = "import sys, bertcalc.processes.worker; print('streamlit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def count_to(last: int) -> int:
    """Report the progress to the caller."""
    for number in range(last):
        tell(number)
    return last


def test_what_is_told_meanwhile_is_heard(worker: Worker) -> None:
    heard: list[int] = []
    assert worker.listen(heard.append, count_to, 3) == 3
    assert heard == [0, 1, 2]
    assert worker.run(count_to, 5) == 5  # no one receives the progress
    assert count_to(2) == 2  # in this process
    assert heard == [0, 1, 2]


def test_an_error_comes_back(worker: Worker) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        worker.run(int, "x")
    assert worker.run(int, "7") == 7


def test_one_that_ends_is_replaced(worker: Worker) -> None:
    with pytest.raises(StoppedError) as crashed:
        worker.run(os._exit, 9)
    assert not crashed.value.from_outside
    with pytest.raises(StoppedError) as crashed:
        worker.run(os.abort)
    assert not crashed.value.from_outside
    assert worker.run(int, "7") == 7


@pytest.mark.parametrize("stopping", [signal.SIGKILL, signal.SIGTERM])
def test_one_that_somebody_stops_says_so(worker: Worker, stopping: signal.Signals) -> None:
    there = worker.run(os.getpid)
    threading.Timer(0.2, os.kill, (there, stopping)).start()
    with pytest.raises(StoppedError) as stopped:
        worker.run(time.sleep, 20)
    assert stopped.value.from_outside
    assert worker.run(int, "7") == 7


def test_one_that_linux_kills_for_its_memory_was_not_stopped_by_somebody(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "memory.events"
    events.write_text("low 0\noom 1\noom_kill 3\noom_group_kill 0\n")
    monkeypatch.setattr("bertcalc.processes.worker._MEMORY_EVENTS", (tmp_path / "nowhere", events))
    there = worker.run(os.getpid)

    def kill() -> None:
        events.write_text("low 0\noom 2\noom_kill 4\noom_group_kill 0\n")
        os.kill(there, signal.SIGKILL)

    threading.Timer(0.2, kill).start()
    with pytest.raises(StoppedError) as stopped:
        worker.run(time.sleep, 20)
    assert not stopped.value.from_outside


def test_one_that_was_killed_while_nobody_asked_is_not_missed(worker: Worker) -> None:
    there = worker.run(os.getpid)
    os.kill(there, signal.SIGKILL)
    time.sleep(0.1)
    assert worker.run(int, "7") == 7


def test_one_that_was_killed_before_it_read_a_call_is_replaced(worker: Worker) -> None:
    there = worker.run(os.getpid)
    process = worker._process
    assert process
    assert process.stdin
    process.stdin.write(b"half a call")  # closing it then fails
    os.kill(there, signal.SIGKILL)
    process.wait()
    assert worker.run(int, "7") == 7


def test_one_that_hangs_is_replaced(worker: Worker) -> None:
    there = worker.run(os.getpid)
    os.kill(there, signal.SIGSTOP)
    worker.limit = 0.3
    with pytest.raises(SlowError):
        worker.run(int, "7")
    worker.limit = 60
    assert worker.run(os.getpid) != there


def test_who_wants_something_else_does_not_wait_and_gets_no_answer_of_before(worker: Worker) -> None:
    class OtherError(Exception):
        pass

    def wanted() -> None:
        raise OtherError

    there = worker.run(os.getpid)
    worker.wanted = wanted
    with pytest.raises(OtherError):
        worker.run(time.sleep, 1)
    worker.wanted = lambda: None
    assert worker.run(int, "7") == 7
    assert worker.run(os.getpid) == there


def test_pytorchs_own_word_for_no_memory_is_understood(worker: Worker) -> None:
    with pytest.raises(MemoryError):
        worker.run(_too_large)
    assert worker.run(int, "7") == 7


def _too_large() -> None:
    import torch

    torch.empty(2**60)


def test_the_page_says_so_and_the_next_run_has_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    real = WORKER.run
    for error, words in (
        (SlowError, "did not answer within 60 s"),
        (StoppedError, "was stopped"),
        (MemoryError, "not fit"),
    ):

        def fail(*_arguments: object, error: type[Exception] = error) -> None:
            raise error

        monkeypatch.setattr(WORKER, "run", fail)
        app = open_app("verify.py", num_hidden_layers="7")
        assert [words in one.value for one in app.error] == [True]
        monkeypatch.setattr(WORKER, "run", real)
    assert not app.run().error
    assert len(app.success) == 1


def test_what_is_printed_there_is_no_answer(worker: Worker) -> None:
    worker.run(print, "hello")
    assert worker.run(int, "7") == 7


def test_the_server_never_imports_what_the_worker_needs() -> None:
    program = (
        "import sys; from tests.pages.apptest import open_app;"
        "open_app(tensors='true');"
        "app = open_app('verify.py', num_hidden_layers='1', returned='true');"
        "assert len(app.success) == 2;"
        "app = open_app('compute.py', num_hidden_layers='1', pytorch='true');"
        "assert len(app.success) == 1;"
        "from bertcalc import BertConfig; from bertcalc.model.model import Model;"
        "from pages.ui.widgets.export.files import _verification;"
        "found = _verification(Model(BertConfig()), str);"
        "assert '109,482,240' in found.verdict;"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
