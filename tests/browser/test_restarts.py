"""The server restarts on the same port while eight windows show state that their links do not hold."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.launch import running_server
from tests.browser.look import PYTORCH, expect_query, number, settled, slider, total

# The unknown field changes no shape, and its list is too long for a link.
LONG = json.dumps({"model_type": "gpt2", "architectures": ["GPT2Model"], "n_layer": 5, "notes": [12_345] * 700})


def connection(window: Page) -> Locator:
    return window.get_by_test_id("stApp")


class Restarted:
    """A server that can be restarted, and windows that show it."""

    def __init__(self, page: Page, folder: Path, stack: ExitStack) -> None:
        self._page, self._folder, self._stack = page, folder, stack
        self.url, self._process = stack.enter_context(running_server(folder / "first"))

    def open(self, path: str) -> Page:
        window = self._page.context.new_page()
        self._stack.callback(window.close)
        window.goto(f"{self.url}/{path}")
        expect(connection(window)).to_have_attribute("data-test-connection-state", "CONNECTED")
        settled(window)
        return window

    def restart(self, *windows: Page) -> None:
        os.kill(self._process, signal.SIGKILL)
        for window in windows:
            expect(connection(window)).not_to_have_attribute("data-test-connection-state", "CONNECTED")
        port = urlsplit(self.url).port or 0
        self._stack.enter_context(running_server(self._folder / "second", port=port))
        for window in windows:
            expect(connection(window)).to_have_attribute("data-test-connection-state", "CONNECTED", timeout=30_000)


@pytest.fixture
def server(page: Page, tmp_path: Path) -> Iterator[Restarted]:
    with ExitStack() as stack:
        yield Restarted(page, tmp_path, stack)


def answer(window: Page) -> Locator:
    return window.get_by_role("textbox", name="Your answer").or_(window.get_by_role("textbox", name="你的答案"))


def batch_size(window: Page) -> Locator:
    return window.get_by_role("spinbutton", name="Batch size").first


def undo(window: Page) -> Locator:
    return window.get_by_role("button", name="Undo", exact=True)


def take(window: Page, field: Locator, text: str) -> None:
    field.fill(text)
    field.press("Enter")
    settled(window)


def test_after_a_restart_nothing_changes_that_the_reader_did_not_change(server: Restarted) -> None:
    sheet, second = server.open("exercises?seed=4&exercise=4"), server.open("exercises?seed=4&exercise=4&lang=zh")
    answer(sheet).fill("7")
    sheet.get_by_role("button", name="Check answer").click()
    expect(sheet.get_by_text("Not yet.")).to_be_visible()
    sheet.get_by_role("button", name="Next").click()
    expect(sheet.get_by_role("heading", name="5 ·")).to_be_visible()
    answer(second).fill("7")

    config = server.open("any_model?any_bring=true&model_type=gpt2&model_class=GPT2Model")
    config.get_by_role("textbox", name="config.json").fill(LONG)
    config.keyboard.press("Control+Enter")
    settled(config)
    config.get_by_role("button", name="Find its formula").click()
    expect(total(config)).to_have_text("74,824,704", timeout=PYTORCH)

    stepped, typed = server.open(""), server.open("?lang=zh")
    for layers in (13, 14):
        slider(stepped, "num_hidden_layers").press("ArrowRight")
        expect_query(stepped, {"num_hidden_layers": f"{layers}"})
    settled(stepped)
    take(typed, number(typed, "hidden_size"), "770")
    problem = typed.get_by_role("alert").filter(has_text="770").first
    expect(problem).to_be_visible()

    elsewhere = server.open("memory")
    take(elsewhere, batch_size(elsewhere), "7")
    expect_query(elsewhere, {"batch_size": "7"})
    elsewhere.get_by_role("link", name="Modules").click()
    elsewhere.wait_for_url("**/structure")
    settled(elsewhere)

    chosen = server.open("configuration?num_hidden_layers=5")
    exported = server.open("?num_hidden_layers=3")
    exported.get_by_role("button", name="Export").click()
    expect(exported.get_by_role("button", name="config.json")).to_be_visible()
    settled(exported)

    server.restart(sheet, second, config, stepped, typed, elsewhere, chosen, exported)

    answer(sheet).fill("8")  # the first answer after the restart is checked, and the previous answer is still listed
    sheet.get_by_role("button", name="Check answer").click()
    expect(sheet.get_by_text("Not yet.")).to_be_visible(timeout=30_000)
    expect(answer(sheet)).to_have_value("8")
    expect(sheet.get_by_text("✗ 4 5")).to_be_visible()
    answer(second).press("Enter")
    expect(second.get_by_text("还不对")).to_be_visible(timeout=30_000)
    expect(answer(second)).to_have_value("7")

    undo(stepped).click()
    expect(total(stepped)).to_have_text("116,570,112", timeout=30_000)
    expect_query(stepped, {"num_hidden_layers": "13"})
    undo(stepped).click()
    expect(total(stepped)).to_have_text("109,482,240")
    expect(undo(stepped)).to_be_disabled()

    typed.get_by_role("button", name="H = 768").click()  # removes the invalid value typed before
    expect(problem).to_have_count(0, timeout=30_000)

    slider(elsewhere, "num_hidden_layers").press("ArrowRight")
    expect_query(elsewhere, {"num_hidden_layers": "13", "batch_size": "7"})
    elsewhere.get_by_role("link", name="Memory").click()
    elsewhere.wait_for_url("**/memory?**")
    expect(batch_size(elsewhere)).to_have_value("7")

    chosen.get_by_role("link", name="Step by step").click()  # the first message after the restart opens a page
    chosen.wait_for_url("**/layers?num_hidden_layers=5")
    expect(number(chosen, "num_hidden_layers")).to_have_value("5")

    with exported.expect_download(timeout=60_000) as download:
        exported.get_by_role("button", name="config.json").click()
    assert json.loads(download.value.path().read_text())["num_hidden_layers"] == 3

    slider(config, "n_layer").press("ArrowRight")
    expect(total(config)).to_have_text("81,912,576", timeout=PYTORCH)
    expect(number(config, "n_layer")).to_have_value("6")
    expect(undo(config)).to_be_enabled(timeout=PYTORCH)  # once the server has found the formula again
    undo(config).click()
    expect(total(config)).to_have_text("74,824,704")
