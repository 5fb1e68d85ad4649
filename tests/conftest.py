"""What every test needs before it imports anything."""

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from bertcalc.discover import discovery_worker
from bertcalc.processes.worker import WORKER
from tests.slow import listed

gc.disable()  # while everything is imported and collected: a quarter of that time; see pytest_collection_finish
# The real classes are built from configurations alone; nothing is ever fetched.
os.environ["HF_HUB_OFFLINE"] = "1"
# The models are tiny: more threads would wait for each other, and waiting is work here.
os.environ["OMP_NUM_THREADS"] = "1"

# No deadline: the first model of a run loads PyTorch. On CI the examples are the same in every run, so that a red
# build is red for everyone who repeats it; on a developer's machine each run looks at new ones.
settings.register_profile("bertcalc", deadline=None, max_examples=25, derandomize=bool(os.environ.get("CI")))
# For make test-thorough.
settings.register_profile("all", deadline=None, max_examples=600)
# For python -m pytest --hypothesis-profile bulk: see tests/README.md.
settings.register_profile("bulk", deadline=None, max_examples=20_000)
settings.load_profile("bertcalc")


@pytest.fixture(scope="session", autouse=True)
def _pytorch_here() -> Iterator[None]:
    """Pages ask PyTorch in this process, which has imported it: another one takes seconds to do so.

    That they ask another one else, and what that does, is in tests/processes/test_worker.py and tests/browser.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WORKER, "listen", _here)
        yield


@pytest.fixture
def discovering_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class is discovered in this process, likewise; the other one is in tests/discover/test_discovery_worker.py."""
    monkeypatch.setattr(discovery_worker.WORKER, "listen", _here)
    monkeypatch.setattr(discovery_worker, "limit_memory", lambda: None)
    monkeypatch.setattr(discovery_worker, "limit_time", lambda _seconds: None)  # the limit would stay, and end pytest


def _here(_hear: object, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return function(*given, **named)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address and the process of a server that all tests share which need none of their own."""
    from tests.browser.launch import running_server

    with running_server(tmp_path_factory.mktemp("server") / "log") as found:
        yield found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks transformers 4 comes first, so that most of it is in one worker, which starts it once.

    Slow tests are marked, so that make test leaves them out. A test of a real server or a real browser gets a second
    try: the machine may be busy with other tests. The summary lists what needed it.
    """
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "ask_transformers4"))
    slow = listed()
    for item in items:
        if item.nodeid.partition("[")[0] in slow:
            item.add_marker(pytest.mark.slow)
        if {"browser", "server"} & set(item.path.relative_to(item.config.rootpath).parts):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """What is imported by now stays: a full collection of garbage takes 0.2 s where it looks through it."""
    gc.freeze()
    gc.enable()
