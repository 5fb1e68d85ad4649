"""Fixtures: the server, the browser, a window, and functions that open an address of the app."""

import time
from collections.abc import Iterator
from typing import Literal, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.launch import running_browser
from tests.browser.look import settled

# Tests run in parallel, and the machine may have other work. A page may therefore take long, but not for ever.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, shared by all tests."""
    with running_browser() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser context for all tests. Its cache compiles Streamlit's scripts once (1.9 s of CPU instead of 5)."""
    with browser.new_context() as context:
        yield context


@pytest.fixture(scope="session")
def server(running: tuple[str, int], context: BrowserContext) -> str:
    """The address of a server that all tests share.

    A first page is opened and closed, so that no test waits for the server's imports.
    """
    first = context.new_page()
    first.goto(running[0])
    expect(first.get_by_role("slider").last).to_be_attached(timeout=600_000)
    first.close()
    return running[0]


@pytest.fixture(scope="session")
def window(context: BrowserContext) -> Page:
    """One window for all tests that need their own session."""
    return context.new_page()


Appearance = Literal["light", "dark"]


@pytest.fixture(scope="session")
def looked() -> dict[Appearance, "Looked"]:
    """The windows of ``look``, keyed by appearance: one light, one dark, for tests that can share a session."""
    return {}


def _alone(context: BrowserContext, *kept: Page) -> None:
    """Close all windows except the ones to keep."""
    for other in context.pages:
        if other not in kept:
            other.close()


@pytest.fixture
def page(window: Page, looked: dict[Appearance, "Looked"]) -> Page:
    """The window with a blank page, at the size of a lecture screen; all other windows are closed."""
    _alone(window.context, window, *(one.page for one in looked.values()))
    window.goto("about:blank")  # before the window is wide: the page leaves while it is still as narrow as a phone
    window.set_viewport_size({"width": 1280, "height": 720})
    window.emulate_media(color_scheme="light", media="screen")
    return window


class Open(Protocol):
    """Opens an address of the app, such as "verify?lang=zh"."""

    def __call__(self, address: str = "") -> Page: ...


@pytest.fixture
def visit(page: Page, server: str) -> Open:
    """Return a function that opens an address of the app, such as "verify?lang=zh"."""

    def go(address: str = "") -> Page:
        page.goto(f"{server}/{address}")
        return page

    return go


class Look(Protocol):
    """Opens an address of the app on a lecture screen, in the session of the previous test."""

    def __call__(self, address: str = "", appearance: Appearance = "light") -> Page: ...


# Opens an address without reloading, as Back and Forward do.
_GO = """(address) => {
    history.pushState(null, "", address);
    window.dispatchEvent(new PopStateEvent("popstate", { state: null }));
}"""


class Looked:
    """A window that keeps its session for all tests of a file."""

    def __init__(self, context: BrowserContext, appearance: Appearance) -> None:
        self.page = context.new_page()
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._note))
        # The test file that began the session, and the number of failed tests until then.
        self.began: tuple[str, int] | None = None
        self._ends = 0  # number of runs that the server has finished

    def _note(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes) and ForwardMsg.FromString(frame).WhichOneof("type") == "script_finished":
            self._ends += 1

    def begin(self, server: str) -> None:
        self.page.goto(f"{server}/favicon.png")
        self.page.evaluate("() => localStorage.clear()")  # Streamlit remembers whether the navigation was open
        self.page.goto(server)
        expect(self.page.get_by_role("slider").last).to_be_attached()
        settled(self.page)

    def open(self, address: str) -> None:
        self._ends = 0
        began = time.monotonic()
        self.page.evaluate(_GO, f"/{address}")
        while not self._ends:
            assert time.monotonic() - began < 60, "the page was not drawn"
            self.page.wait_for_timeout(20)
        settled(self.page)


@pytest.fixture
def look(request: pytest.FixtureRequest, window: Page, server: str, looked: dict[Appearance, Looked]) -> Look:
    """Return a function that opens the next page in the session of the previous test.

    It is for tests that do not need their own session: loading Streamlit takes three times as long as drawing a page. A
    new session begins with each file, and after a test that failed. The actions of earlier tests are in the history and
    in Undo. If the page stays the same, so does text left in a field.
    """

    def go(address: str = "", appearance: Appearance = "light") -> Page:
        if appearance not in looked:
            looked[appearance] = Looked(window.context, appearance)
        here = looked[appearance]
        _alone(window.context, window, *(one.page for one in looked.values()))
        here.page.set_viewport_size({"width": 1280, "height": 720})
        here.page.emulate_media(color_scheme=appearance, media="screen")
        here.page.bring_to_front()
        now = (request.node.nodeid.partition("::")[0], request.session.testsfailed)
        if here.began != now or not here.page.url.startswith(server):
            here.began = None  # if the page cannot be opened, the next test begins a new session
            here.begin(server)
            here.began = now
        here.open(address)
        return here.page

    return go
