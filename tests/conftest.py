"""Pytest settings and fixtures for all tests. This file is loaded before any test module."""

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from bertcalc.discover import discovery_worker
from bertcalc.processes.worker import WORKER
from tests.slow import listed

gc.disable()  # imports and collection are a quarter faster without; pytest_collection_finish enables it again
# The real classes are built from configurations alone; tests never download anything.
os.environ["HF_HUB_OFFLINE"] = "1"
# The models are tiny: more threads would wait for each other, and waiting threads use the CPU.
os.environ["OMP_NUM_THREADS"] = "1"

# No deadline and no limit for drawing examples: the first model of a run loads PyTorch, and other workers are busy. On
# CI, the examples are the same in every run, so that a failure can be reproduced. On a developer's machine, each run
# draws new examples.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("bertcalc", PATIENT, max_examples=25, derandomize=bool(os.environ.get("CI")))
# For make test-thorough.
settings.register_profile("all", PATIENT, max_examples=600)
# For python -m pytest --hypothesis-profile bulk: see tests/README.md.
settings.register_profile("bulk", PATIENT, max_examples=20_000)
settings.load_profile("bertcalc")


@pytest.fixture(scope="session", autouse=True)
def _pytorch_here() -> Iterator[None]:
    """Run the PyTorch functions of pages in this process, which has already imported PyTorch.

    A separate process would need seconds for the import. tests/processes/test_worker.py and tests/browser test the
    separate process.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WORKER, "listen", _here)
        yield


@pytest.fixture
def discovering_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discover classes in this process. tests/discover/test_discovery_worker.py tests the separate process."""
    monkeypatch.setattr(discovery_worker.WORKER, "listen", _here)
    monkeypatch.setattr(discovery_worker, "limit_memory", lambda: None)
    # The limit would stay set and end pytest.
    monkeypatch.setattr(discovery_worker, "limit_time", lambda _seconds: None)


def _here(_hear: object, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return function(*given, **named)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Start a server for all tests that can share one. Yield its address and process id."""
    from tests.browser.launch import running_server

    with running_server(tmp_path_factory.mktemp("server") / "log") as found:
        yield found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests, mark the slow tests, and rerun failed tests of a server or browser once.

    Tests that ask transformers 4 come first, so that usually only one worker starts it. ``make test`` leaves out tests
    that are marked as slow. A test of a real server or a real browser gets a second try because the machine may be busy
    with other tests. The summary lists each test that needed it.
    """
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "ask_transformers4"))
    slow = listed()
    for item in items:
        if item.nodeid.partition("[")[0] in slow:
            item.add_marker(pytest.mark.slow)
        if {"browser", "server"} & set(item.path.relative_to(item.config.rootpath).parts):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Exclude all imported objects from garbage collection: a full collection that visits them takes 0.2 s."""
    gc.freeze()
    gc.enable()
