"""The real server and a real Chromium."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
# Without these Chromium looks up its maker's hosts at every start.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def installed_chromium() -> str | None:
    """An installed Chromium, or None for the one that ``playwright install chromium`` brings."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=installed_chromium(), args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def running_server(log: Path) -> Iterator[str]:
    """A fresh server on a free port of the loopback interface; its log has to stay free of tracebacks."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", port]
    with (
        log.open("wb") as output,
        subprocess.Popen([*command, "--server.address", "127.0.0.1"], cwd=ROOT, stdout=output, stderr=output) as server,
    ):
        try:
            yield _wait_for(f"http://127.0.0.1:{port}", server)
        finally:
            server.terminate()
    assert "Traceback" not in log.read_text(), log.read_text()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> str:
    while server.poll() is None:
        try:
            with urlopen(f"{url}/_stcore/health"):
                return url
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the server did not start")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that all tests share."""
    with running_server(tmp_path_factory.mktemp("server") / "log") as url:
        yield url


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[str]:
    """A server that nobody has asked for anything yet."""
    with running_server(tmp_path / "log") as url:
        yield url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A window of a lecture screen's size, with an empty history."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    yield context.new_page()
    context.close()


Open = Callable[[str], Page]


@pytest.fixture
def visit(page: Page, server: str) -> Open:
    """Open an address of the app, such as "verify?lang=zh"."""

    def go(address: str = "") -> Page:
        page.goto(f"{server}/{address}")
        return page

    return go
