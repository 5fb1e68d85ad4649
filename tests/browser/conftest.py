"""Fixtures: the server, the browser, a window, and a way to open an address of the app."""

import time
from collections.abc import Iterator
from typing import Literal, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.launch import running_browser
from tests.browser.look import settled

# Tests run beside each other, on machines with other work, too: a page may take its time, but not for ever.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with running_browser() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One cache for all tests: Streamlit's scripts are compiled once, not for each test (1.9 s of CPU, not 5)."""
    with browser.new_context() as context:
        yield context


@pytest.fixture(scope="session")
def server(running: tuple[str, int], context: BrowserContext) -> str:
    """The address of a server that all tests share; its first page, for which it imports, is no test's."""
    first = context.new_page()
    first.goto(running[0])
    expect(first.get_by_role("slider").last).to_be_attached(timeout=600_000)
    first.close()
    return running[0]


@pytest.fixture(scope="session")
def window(context: BrowserContext) -> Page:
    """One window for all tests that have a session of their own."""
    return context.new_page()


Appearance = Literal["light", "dark"]


@pytest.fixture(scope="session")
def looked() -> dict[Appearance, "Looked"]:
    """A window in the light, and one in the dark, for all tests that need no session of their own."""
    return {}


def _alone(context: BrowserContext, *kept: Page) -> None:
    """Close what tests have opened."""
    for other in context.pages:
        if other not in kept:
            other.close()


@pytest.fixture
def page(window: Page, looked: dict[Appearance, "Looked"]) -> Page:
    """The window, of a lecture screen's size, with nothing in it and alone."""
    _alone(window.context, window, *(one.page for one in looked.values()))
    window.goto("about:blank")  # before it is wide: what a phone left is forgotten as a phone's
    window.set_viewport_size({"width": 1280, "height": 720})
    window.emulate_media(color_scheme="light", media="screen")
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


class Look(Protocol):
    """Opens an address of the app on a lecture screen, in the session of what was looked at before."""

    def __call__(self, address: str = "", appearance: Appearance = "light") -> Page: ...


# Opens an address as Back and Forward do.
_GO = """(address) => {
    history.pushState(null, "", address);
    window.dispatchEvent(new PopStateEvent("popstate", { state: null }));
}"""


class Looked:
    """A window whose session goes on from test to test of a file."""

    def __init__(self, context: BrowserContext, appearance: Appearance) -> None:
        self.page = context.new_page()
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._note))
        self.began: tuple[str, int] | None = None  # for which file the session did, and after how many failures
        self._ends = 0  # of runs, as the server says them

    def _note(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes) and ForwardMsg.FromString(frame).WhichOneof("type") == "script_finished":
            self._ends += 1

    def begin(self, server: str) -> None:
        self.page.goto(f"{server}/favicon.png")
        self.page.evaluate("() => localStorage.clear()")  # that the list of pages was open: Streamlit would begin so
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
    """For tests that need no session of their own: the next page is opened in that of the one before it.

    To load Streamlit costs three times as much as to draw a page. Each file has a session of its own, and a test after
    one that failed. What a test did before is in the history and in undo; what it left half typed in a field is there,
    too, if the page stays.
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
            here.began = None  # where the page does not come, the next test begins anew
            here.begin(server)
            here.began = now
        here.open(address)
        return here.page

    return go
