"""A server that dies under somebody's hand, a worker that hangs: what they do next counts."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Look
from tests.browser.launch import running_server
from tests.browser.look import expect_query, number, ready, slider, total


def test_the_next_key_counts_on(browser: Browser, tmp_path: Path) -> None:
    """Whether it is pressed when the server is there again, or while it is away."""

    def shows(layers: int, count: str) -> None:
        expect(total(page)).to_have_text(count)
        expect(number(page, "num_hidden_layers")).to_have_value(f"{layers}")
        expect_query(page, {"vocab_size": "21128", "num_hidden_layers": f"{layers}"})

    def press() -> None:
        slider(page, "num_hidden_layers").press("ArrowRight")

    with browser.new_context(viewport={"width": 1280, "height": 720}) as context:
        page = context.new_page()
        with running_server(tmp_path / "first") as (url, process):
            page.goto(f"{url}/?vocab_size=21128")
            ready(page)
            press()
            shows(13, "109,355,520")
            os.kill(process, signal.SIGKILL)
        port = urlsplit(url).port or 0
        with running_server(tmp_path / "second", port=port) as (_url, process):
            page.wait_for_event("websocket", timeout=60_000)
            press()
            shows(14, "116,443,392")
            press()
            shows(15, "123,531,264")
            os.kill(process, signal.SIGKILL)
        press()
        with running_server(tmp_path / "third", port=port):
            shows(16, "130,619,136")
            press()
            shows(17, "137,707,008")


def test_a_newer_move_takes_the_place_of_a_question_that_hangs(look: Look, running: tuple[str, int]) -> None:
    """Verify asks the worker; while that is stopped, what its reader does next is done at once."""
    page = look("verify?num_hidden_layers=3")
    expect(page.get_by_text("The real BertModel agrees")).to_be_visible(timeout=60_000)
    below = psutil.Process(running[1]).children(recursive=True)  # of this server: others' tests go on
    workers = []
    try:
        for one in below:
            with suppress(psutil.NoSuchProcess):  # one that has nothing more to do ends when it likes
                if "bertcalc.worker" in one.cmdline():
                    one.suspend()
                    workers.append(one)
        assert workers
        slider(page, "num_hidden_layers").press("ArrowRight")
        expect(page.get_by_text("Asking the real BertModel")).to_be_visible()
        page.get_by_role("link", name="Parameters").click()
        expect(total(page)).to_have_text("52,779,264", timeout=10_000)
    finally:
        for worker in workers:
            with suppress(psutil.NoSuchProcess):
                worker.resume()
