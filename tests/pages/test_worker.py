"""The process beside the server: it answers, it fails as a function fails, it ends, and it comes back."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pages.ui.worker import Worker
from tests.pages.apptest import ROOT


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
    program = "import sys, pages.ui.worker; print('streamlit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_error_comes_back(worker: Worker) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        worker.run(int, "x")
    assert worker.run(int, "7") == 7


def test_where_memory_is_short_the_server_lives_on(worker: Worker) -> None:
    with pytest.raises(MemoryError):
        worker.run(os._exit, 9)
    assert worker.run(int, "7") == 7


def test_what_is_printed_there_is_no_answer(worker: Worker) -> None:
    worker.run(print, "hello")
    assert worker.run(int, "7") == 7


def test_the_server_never_imports_what_the_worker_needs() -> None:
    program = (
        "import sys; from tests.pages.apptest import open_app;"
        "app = open_app('verify.py', num_hidden_layers='1', returned='true');"
        "assert len(app.success) == 2;"
        "app = open_app('compute.py', num_hidden_layers='1', pytorch='true');"
        "assert len(app.success) == 1;"
        "from bertcalc import BertConfig; from pages.ui.sidebar import Choice;"
        "from pages.ui.take.files import _evidence;"
        "found = _evidence(Choice(BertConfig(), 'BertModel', True, 'bert-base-uncased', True), str);"
        "assert '109,482,240' in found.verdict;"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
