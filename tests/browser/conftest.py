"""Fixtures: the server, the browser, a window, and a way to open an address of the app."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.launch import running_browser, running_server

# Tests run beside each other, on machines with other work, too: a page may take its time, but not for ever.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with running_browser() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that all tests share."""
    with running_server(tmp_path_factory.mktemp("server") / "log") as (url, _process):
        yield url


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[str]:
    """A server that nobody has asked for anything yet."""
    with running_server(tmp_path / "log") as (url, _process):
        yield url


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[Page]:
    """One window for all tests: Streamlit's scripts are compiled once, not for each test (1.9 s of CPU, not 5)."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def page(window: Page) -> Page:
    """The window, of a lecture screen's size, with nothing in it and alone."""
    for other in window.context.pages:
        if other != window:
            other.close()
    window.set_viewport_size({"width": 1280, "height": 720})
    window.emulate_media(color_scheme="light", media="screen")
    window.goto("about:blank")
    return window


class Open(Protocol):
    """Opens an address of the app, such as "verify?lang=zh"."""

    def __call__(self, address: str = "") -> Page: ...


@pytest.fixture
def visit(page: Page, server: str) -> Open:
    """Open an address of the app, such as "verify?lang=zh"."""

    def go(address: str = "") -> Page:
        page.goto(f"{server}/{address}")
        return page

    return go
