"""Fixtures: the server, the browser, a window, and a way to open an address of the app."""

import time
from collections.abc import Iterator
from typing import Literal, Protocol

import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.launch import running_browser
from tests.browser.look import settled

# Tests run beside each other, on machines with other work, too: a page may take its time, but not for ever.
expect.set_options(timeout=20_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of each file, what is looked at in one session comes first: after a session of one's own it would begin anew."""
    files = {path: at for at, path in enumerate(dict.fromkeys(item.path for item in items))}
    items.sort(key=lambda item: (files[item.path], "look" not in getattr(item, "fixturenames", ())))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with running_browser() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def server(running: tuple[str, int]) -> str:
    """The address of a server that all tests share."""
    return running[0]


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

    def __call__(self, address: str = "", appearance: Literal["light", "dark"] = "light") -> Page: ...


# Opens an address as Back and Forward do.
_GO = """(address) => {
    history.pushState(null, "", address);
    window.dispatchEvent(new PopStateEvent("popstate", { state: null }));
}"""


@pytest.fixture(scope="module")
def look(window: Page, server: str) -> Iterator[Look]:
    """For tests that need no session of their own: the next page is opened in that of the one before it.

    To load Streamlit costs three times as much as to draw a page. Each module has a session of its own. What a test
    did before is in the history and in undo; what it left half typed in a field is there, too, if the page stays.
    """
    looked: list[str] = []  # in which appearance, where there is a session
    ends: list[float] = []  # of runs, as the server says them

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", note)

    def note(frame: str | bytes) -> None:
        if isinstance(frame, bytes) and ForwardMsg.FromString(frame).WhichOneof("type") == "script_finished":
            ends.append(time.monotonic())

    def go(address: str = "", appearance: Literal["light", "dark"] = "light") -> Page:
        for other in window.context.pages:
            if other != window:
                other.close()
        window.set_viewport_size({"width": 1280, "height": 720})
        if not window.url.startswith(server) or looked != [appearance]:
            looked.clear()  # where the page does not come, the next test begins anew
            window.emulate_media(color_scheme=appearance, media="screen")
            window.goto(server)
            expect(window.get_by_role("slider").last).to_be_attached()
            settled(window)
            looked.append(appearance)
        began = time.monotonic()
        ends.clear()
        window.evaluate(_GO, f"/{address}")
        while not ends:
            assert time.monotonic() - began < 60, "the page was not drawn"
            window.wait_for_timeout(20)
        settled(window)
        return window

    window.goto("about:blank")
    window.on("websocket", listen)
    yield go
    window.remove_listener("websocket", listen)
    if window.url.startswith(server):
        window.evaluate("() => localStorage.clear()")  # that the list of pages was open: Streamlit would begin with it
    window.goto("about:blank")
