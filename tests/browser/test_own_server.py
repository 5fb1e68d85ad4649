"""Tests that need their own server: its first request, with telemetry and another Hub; then its restart during use."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Frame, Page, Request, expect

from bertcalc.hub.hub_workers import PLACES
from tests.browser.launch import running_server
from tests.browser.look import expect_query, hold, number, open_page, query, ready, settled, slider, total
from tests.browser.test_bring import nothing_is_cut, shown
from tests.hub.conftest import models
from tests.hub.hub_server import Server, serving, slow_headers

__all__ = ["models"]  # a fixture that pytest finds by name
HUB = "bring?bring=hub&repo_id=some/published"


@pytest.fixture(scope="module")
def hub(models: Path) -> Iterator[Server]:
    with serving(models) as server:
        yield server


@pytest.fixture(scope="module")
def own(hub: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The app with another Hub and with telemetry: its address and process id. The last test kills it."""
    log = tmp_path_factory.mktemp("own") / "log"
    with running_server(
        log, HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0", STREAMLIT_BROWSER_GATHER_USAGE_STATS="true"
    ) as found:
        yield found


def test_a_deep_link_is_the_first_request_of_a_server_and_no_telemetry_leaves(page: Page, own: tuple[str, int]) -> None:
    """A host may turn telemetry on, as Streamlit Community Cloud does, whatever the settings say.

    Then only the content security policy blocks the requests.
    """
    url, _process = own
    hosts: set[str] = set()
    paths: list[str] = []

    def note(request: Request) -> None:
        hosts.add(urlsplit(request.url.removeprefix("blob:")).netloc)

    def follow(frame: Frame) -> None:
        paths.append(urlsplit(frame.url).path)

    page.on("request", note)
    page.on("framenavigated", follow)
    with page.expect_console_message(lambda message: "violates the following Content Security" in message.text):
        page.goto(f"{url}/compute?vocab_size=21128&hidden_size=1024&num_attention_heads=16&lang=zh")
    expect(page).to_have_title(re.compile("^计算量 · "), timeout=60_000)  # a new server first imports its modules
    expect(page.get_by_test_id("stMetricValue")).to_have_count(3)
    settled(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert set(paths) == {"/compute"}
    expect(number(page, "hidden_size")).to_have_value("1,024")
    expect_query(page, {"vocab_size": "21128", "hidden_size": "1024", "num_attention_heads": "16", "lang": "zh"})
    page.get_by_role("link", name="显存").click()
    page.wait_for_url("**/memory?**")
    settled(page)
    assert hosts == {urlsplit(url).netloc}
    page.remove_listener("request", note)
    page.remove_listener("framenavigated", follow)


def test_a_model_of_the_hub_is_read_on_request(page: Page, own: tuple[str, int], hub: Server) -> None:
    page.goto(f"{own[0]}/{HUB}")
    button = page.get_by_role("button", name="Read it from the Hub")
    expect(button).to_be_visible(timeout=30_000)
    assert hub.asked == []
    button.focus()
    page.keyboard.press("Enter")
    shown(page)
    nothing_is_cut(page)
    expect(page.get_by_text("has all tensors of BertForMaskedLM, and others as well")).to_be_visible()
    expect(page.get_by_text("head of a different class")).to_be_in_viewport()
    assert len(hub.asked) == 2
    page.get_by_role("link", name="Parameters").click()
    ready(page)
    assert "repo_id" not in query(page)
    open_page(page, "Import", "Bring anything")
    page.wait_for_url("**repo_id=some**published**")
    page.wait_for_url("**bring=hub**")
    shown(page)
    page.get_by_role("textbox", name="Name on the Hub").fill("some/sharded")
    page.keyboard.press("Enter")
    page.wait_for_url("**repo_id=some**sharded**")
    button.click()
    expect(
        page.get_by_text("is BertForSequenceClassification: it has every tensor, in the right shape")
    ).to_be_visible()
    page.get_by_role("textbox", name="Name on the Hub").fill("some/nothing")
    page.keyboard.press("Enter")
    page.wait_for_url("**repo_id=some**nothing**")
    button.click()
    expect(page.get_by_text("some/nothing is not on the Hub, or it is not public.")).to_be_visible()
    expect(
        page.get_by_text("is BertForSequenceClassification: it has every tensor, in the right shape")
    ).to_be_visible()


def test_who_closes_the_page_makes_room_for_others(page: Page, own: tuple[str, int], hub: Server) -> None:
    hub.written["some/headers"] = slow_headers
    slow = [page.context.new_page() for _place in PLACES]
    for other in slow:
        asked = len(hub.asked)
        other.goto(f"{own[0]}/bring?bring=hub&repo_id=some/headers")
        other.get_by_role("button", name="Read it from the Hub").click(timeout=30_000)
        while len(hub.asked) == asked:
            other.wait_for_timeout(50)
    for other in slow:
        other.close()
    page.goto(f"{own[0]}/{HUB}")
    page.get_by_role("button", name="Read it from the Hub").click(timeout=30_000)
    expect(page.get_by_text("has all tensors of BertForMaskedLM, and others as well")).to_be_visible(timeout=10_000)


def test_after_the_server_has_died_the_next_key_counts_on(page: Page, own: tuple[str, int], tmp_path: Path) -> None:
    """The key may be pressed while the server is down or after its restart. A drag continues meanwhile."""
    url, process = own

    def shows(window: Page, layers: int, count: str) -> None:
        expect(total(window)).to_have_text(count, timeout=60_000)  # a new server first imports its modules
        expect(number(window, "num_hidden_layers")).to_have_value(f"{layers}")
        expect_query(window, {"vocab_size": "21128", "num_hidden_layers": f"{layers}"})

    def press(window: Page) -> None:
        slider(window, "num_hidden_layers").press("ArrowRight")

    def drag(window: Page, part: float) -> tuple[int, str]:
        layers = hold(window, "num_hidden_layers", part)
        count = f"{109_355_520 + (layers - 13) * 7_087_872:,}"
        expect(total(window)).to_have_text(count, timeout=1_000)
        return layers, count

    away, dragged = page.context.new_page(), page.context.new_page()
    for window in (page, away, dragged):
        window.goto(f"{url}/?vocab_size=21128")
        expect(total(window)).to_be_visible(timeout=60_000)
        ready(window)
        press(window)
        shows(window, 13, "109,355,520")
    drag(dragged, 0.5)
    os.kill(process, signal.SIGKILL)
    press(away)
    expect(dragged.get_by_test_id("stApp")).not_to_have_attribute("data-test-connection-state", "CONNECTED")
    reached = drag(dragged, 0.8)
    dragged.mouse.up()
    with running_server(tmp_path / "second", port=urlsplit(url).port or 0):
        for window in (dragged, away):
            expect(window.get_by_test_id("stApp")).to_have_attribute(
                "data-test-connection-state", "CONNECTED", timeout=60_000
            )
        shows(dragged, *reached)
        dragged.keyboard.press("Control+z")
        shows(dragged, 13, "109,355,520")
        shows(away, 14, "116,443,392")
        press(away)
        shows(away, 15, "123,531,264")
        page.bring_to_front()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-connection-state", "CONNECTED")
        press(page)
        shows(page, 14, "116,443,392")
        press(page)
        shows(page, 15, "123,531,264")
        away.close()
        dragged.close()
        page.goto("about:blank")
