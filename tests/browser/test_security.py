"""What the browser is told to refuse, that no page needs what it refuses, and that nobody else is asked."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import ConsoleMessage, Error, Frame, Locator, Page, Request, expect

from bertcalc.server.headers import HEADERS
from pages.ui.navigation import PAGES
from tests.browser.conftest import Open
from tests.browser.launch import running_server
from tests.browser.look import expect_query, number, settled


@pytest.mark.parametrize("path", ["", "layers", "favicon.png", "_stcore/health", "media/none.png"])
def test_every_answer_has_the_headers(server: str, path: str) -> None:
    try:
        with urlopen(f"{server}/{path}") as answer:
            headers = answer.headers
    except HTTPError as refusal:
        headers = refusal.headers
        refusal.close()
    assert {name: headers[name] for name in HEADERS} == HEADERS


def test_nothing_that_is_refused_is_done_and_no_other_host_is_asked(visit: Open, server: str) -> None:
    """From the first byte on; what each page does then is in test_every_page.py."""
    page = visit()
    hosts = set()
    errors = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url.removeprefix("blob:")).netloc))
    page.reload()
    addresses = list(_addresses(page))
    settled(page)
    assert (errors, hosts) == ([], {urlsplit(server).netloc})
    assert sorted(addresses) == sorted(PAGES)
    with pytest.raises(Error, match="Content Security Policy"):
        page.add_script_tag(content="window.ran = true")


def _addresses(page: Page) -> Iterator[str]:
    """Where the navigation leads."""
    header = page.get_by_test_id("stHeader")
    links, sections = header.get_by_test_id("stTopNavLink"), header.get_by_test_id("stTopNavSection")
    expect(links.first).to_be_visible()
    settled(page)  # how many sections have room is known once all lies still
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


def test_a_deep_link_is_the_first_request_of_a_server_and_no_telemetry_leaves(page: Page, tmp_path: Path) -> None:
    """A host may turn telemetry on, as Streamlit Community Cloud does, whatever the settings say: our policy alone
    refuses what is tried.
    """
    hosts: set[str] = set()
    paths: list[str] = []

    def note(request: Request) -> None:
        hosts.add(urlsplit(request.url.removeprefix("blob:")).netloc)

    def follow(frame: Frame) -> None:
        paths.append(urlsplit(frame.url).path)

    page.on("request", note)
    page.on("framenavigated", follow)
    with running_server(tmp_path / "log", STREAMLIT_BROWSER_GATHER_USAGE_STATS="true") as (url, _process):
        with page.expect_console_message(lambda message: "violates the following Content Security" in message.text):
            page.goto(f"{url}/compute?vocab_size=21128&hidden_size=1024&num_attention_heads=16&lang=zh")
        expect(page).to_have_title(re.compile("^计算量 · "))
        expect(page.get_by_test_id("stMetricValue")).to_have_count(3)
        settled(page)
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert set(paths) == {"/compute"}
        expect(number(page, "hidden_size")).to_have_value("1,024")
        expect_query(page, {"vocab_size": "21128", "hidden_size": "1024", "num_attention_heads": "16", "lang": "zh"})
        page.get_by_role("link", name="内存").click()
        page.wait_for_url("**/memory?**")
        settled(page)
        assert hosts == {urlsplit(url).netloc}
    page.remove_listener("request", note)
    page.remove_listener("framenavigated", follow)
