"""Fixtures for running the launcher in the tests' own process."""

from collections.abc import Callable
from functools import partial
from runpy import run_path
from typing import Any

import pytest

from pages.server.upstream import INTERNALS
from pages.server.upstream.internals import look_up
from tests.browser.launch import ROOT


@pytest.fixture(autouse=True)
def _methods_as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the methods of other packages that a test replaces."""
    for internal in INTERNALS.values():
        if internal.parameters:
            owner, _, name = internal.names[0].rpartition(".")
            monkeypatch.setattr(look_up(owner), name, look_up(internal.names[0]))


@pytest.fixture
def launch() -> Callable[[], dict[str, Any]]:
    """Run app.py and return its names."""
    return partial(run_path, f"{ROOT / 'app.py'}")
