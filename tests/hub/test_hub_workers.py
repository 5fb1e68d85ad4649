"""Requests to the Hub run in worker processes, limited in number, time and memory."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bertcalc.hub import hub_workers
from bertcalc.text.problem import InputError
from tests.hub.hub_server import Server, slow_body, slow_headers
from tests.pages.apptest import ROOT


class OtherError(Exception):
    """The reader wants something else."""


def stay() -> None:
    """Do nothing: the reader wants nothing else."""


@pytest.fixture(autouse=True)
def patient(hub: Server) -> None:
    """Let two of the models be slow."""
    hub.written = {"some/headers": slow_headers, "some/body": slow_body}


def limit(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for place in hub_workers.PLACES:
        monkeypatch.setattr(place, "limit", seconds)


def said(name: str) -> str:
    with pytest.raises(InputError) as caught:
        hub_workers.ask(name, stay)
    return str(caught.value)


@pytest.fixture
def both_taken() -> Iterator[Callable[[], None]]:
    """Let two threads read slow headers until the yielded function is called."""
    told = threading.Event()

    def leave() -> None:
        if told.is_set():
            raise OtherError

    def read() -> None:
        with pytest.raises(OtherError):
            hub_workers.ask("some/headers", leave)

    threads = [threading.Thread(target=read) for _place in hub_workers.PLACES]
    for thread in threads:
        thread.start()
    while not hub_workers._FREE.empty():
        time.sleep(0.02)
    yield told.set
    told.set()
    for thread in threads:
        thread.join()


def test_what_is_found_is_read_elsewhere(hub: Server) -> None:
    reading, comparison = hub_workers.ask("some/published", stay)
    assert reading.architecture == comparison.model.architecture == "BertForMaskedLM"
    assert comparison.complete
    assert said("some/nothing") == "some/nothing is not on the Hub, or it is not public."


@pytest.mark.parametrize("name", ["some/headers", "some/body"])
def test_who_sends_slowly_is_given_up_in_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, 2)
    began = time.monotonic()
    assert said(name) == "The Hub did not respond within 2 seconds: try again later."
    assert time.monotonic() - began < 20  # the server would send for ever


def test_a_third_reader_is_told_that_others_read_and_reads_when_they_have_done(
    both_taken: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_workers, "PATIENCE", 0.2)
    assert said("some/published") == "Other users are reading from the Hub right now: try again in a moment."
    both_taken()
    monkeypatch.setattr(hub_workers, "PATIENCE", 20)
    assert hub_workers.ask("some/published", stay)[1].complete


def test_who_leaves_makes_room_at_once(hub: Server) -> None:
    def leave() -> None:
        if len(hub.asked) > left:
            raise OtherError

    for _leaving in range(3):
        left = len(hub.asked)
        with pytest.raises(OtherError):
            hub_workers.ask("some/headers", leave)
    began = time.monotonic()
    assert hub_workers.ask("some/published", stay)[1].complete
    assert time.monotonic() - began < 10


def test_who_leaves_the_line_takes_no_place(both_taken: object) -> None:
    def leave() -> None:
        raise OtherError

    with pytest.raises(OtherError):
        hub_workers.ask("some/published", leave)


def test_a_process_that_is_stopped_is_said(hub: Server) -> None:
    def stop() -> None:
        while not hub.asked:
            time.sleep(0.02)
        (process,) = (place._process for place in hub_workers.PLACES if place._process)
        os.kill(process.pid, signal.SIGKILL)

    with ExitStack() as ends:
        thread = threading.Thread(target=stop)
        thread.start()
        ends.callback(thread.join)
        assert said("some/headers") == "The process that reads from the Hub was stopped: try again."
    assert hub_workers.ask("some/published", stay)[1].complete


def test_a_server_that_ends_waits_for_nobody(hub: Server) -> None:
    program = (
        "import sys, threading; from bertcalc.hub.hub_workers import PLACES, reader;"
        "threading.Thread(target=PLACES[0].run, args=(reader.find, 'some/headers'), daemon=True).start();"
        "sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE) as server:
        while not hub.asked:
            time.sleep(0.02)
        assert server.stdin
        server.stdin.close()
        assert server.wait(10) == 0


def test_little_comes_back_of_many_tensors(models: Path) -> None:
    folder = models / "some" / "many"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({f"{one}": empty for one in range(50_000)}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    found = hub_workers.ask("some/many", stay)
    assert found[1].groups["other"].tensors == 50_000
    assert len(pickle.dumps(found)) < 20_000
