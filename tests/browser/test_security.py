"""The browser's security policy: what it refuses, that no page needs it, and that no other host receives requests."""

from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import ConsoleMessage, Error, Locator, Page, expect

from pages.server.headers import HEADERS
from pages.ui.shell.navigation import PAGES
from tests.browser.conftest import Open
from tests.browser.look import settled


@pytest.mark.parametrize("path", ["", "layers", "favicon.png", "_stcore/health", "media/none.png"])
def test_every_answer_has_the_headers(server: str, path: str) -> None:
    try:
        with urlopen(f"{server}/{path}") as answer:
            headers = answer.headers
    except HTTPError as refusal:
        headers = refusal.headers
        refusal.close()
    assert {name: headers[name] for name in HEADERS} == HEADERS


def test_nothing_that_is_refused_is_done_and_no_other_host_is_asked(visit: Open, page: Page, server: str) -> None:
    """The test records all errors and requests from the first byte on.

    test_every_page.py checks each page further.
    """
    hosts = set()
    errors = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url.removeprefix("blob:")).netloc))
    page.set_viewport_size({"width": 1920, "height": 720})  # wide enough to show every section of the navigation
    visit()
    addresses = list(_addresses(page))
    settled(page)
    assert (errors, hosts) == ([], {urlsplit(server).netloc})
    assert sorted(addresses) == sorted(path for path, entry in PAGES.items() if entry.is_listed)
    with pytest.raises(Error, match="Content Security Policy"):
        page.add_script_tag(content="window.ran = true")


def _addresses(page: Page) -> Iterator[str]:
    """Yield the addresses that the navigation links to."""
    header = page.get_by_test_id("stHeader")
    links, sections = header.get_by_test_id("stTopNavLink"), header.get_by_test_id("stTopNavSection")
    expect(links.first).to_be_visible()
    settled(page)
    for link in links.all():
        yield _address(link)
    for section in sections.all():
        section.click()
        expect(page.get_by_role("menuitem").first).to_be_visible()
        yield from map(_address, page.get_by_role("menuitem").all())
        page.get_by_role("menuitem").first.press("Escape")
        expect(page.get_by_role("menuitem")).to_have_count(0)


def _address(link: Locator) -> str:
    return urlsplit(link.get_attribute("href") or "").path.removeprefix("/")
