"""A slider's key press until the new total is painted, and the server's CPU for it: ``python -m benchmarks.dashboard``.

The Parameters page and the one-slider app take turns in one run, in the same browser and under the same settings,
so that a change of the machine's speed meets both.
"""

from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil
from playwright.sync_api import Browser, Locator, Page

from tests.browser.launch import running_browser, running_server

PRESSES = 60
WARM_UP = 10
SETTLE = 500  # milliseconds after which nothing of a run is left to do
CHANGED = """(element) => new Promise((painted) => {
  const before = element.innerText, began = performance.now();
  const look = () => element.innerText !== before ? painted(performance.now() - began) : requestAnimationFrame(look);
  look();
})"""


class App(NamedTuple):
    """An open page of a running server, and what was measured on it."""

    page: Page
    slider: Locator
    server: psutil.Process
    milliseconds: list[float]
    cpu_milliseconds: list[float]

    def press(self, key: str) -> None:
        """Press a key on the slider; note the time until the total changed, and the CPU until all was done."""
        before = sum(self.server.cpu_times()[:2])
        changed = self.page.get_by_test_id("stMetricValue").first.element_handle()
        # The promise begins to look before the key is pressed; it answers when the new text is painted.
        self.page.evaluate(f"(element) => {{ window.changed = ({CHANGED})(element) }}", changed)
        self.slider.press(key)
        self.milliseconds.append(self.page.evaluate("window.changed"))
        self.page.wait_for_timeout(SETTLE)
        self.cpu_milliseconds.append(1000 * (sum(self.server.cpu_times()[:2]) - before))


def open_app(browser: Browser, url: str, process: int) -> App:
    """Open the first page and wait until it is quiet."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(url)
    slider = page.get_by_role("slider", name="num_hidden_layers")
    slider.wait_for()
    page.wait_for_timeout(3000)
    return App(page, slider, psutil.Process(process), [], [])


def main() -> None:
    """Print the table."""
    with (
        TemporaryDirectory() as folder,
        running_server(Path(folder) / "app") as app,
        running_server(Path(folder) / "floor", "benchmarks/one_slider.py") as floor,
        running_browser() as browser,
    ):
        apps = [open_app(browser, *app), open_app(browser, *floor)]
        for press in range(WARM_UP + PRESSES):
            for each in apps:
                each.press("ArrowRight" if press % 20 < 10 else "ArrowLeft")
        latencies = [median(each.milliseconds[WARM_UP:]) for each in apps]
        cpu = [mean(each.cpu_milliseconds[WARM_UP:]) for each in apps]
    print(f"{'':40}{'Parameters':>12}{'one slider':>12}{'ratio':>8}")
    for name, (ours, least) in {
        "key press to new total, median ms": latencies,
        "server CPU per rerun, mean ms": cpu,
    }.items():
        print(f"{name:40}{ours:12.1f}{least:12.1f}{ours / least:8.1f}")


if __name__ == "__main__":
    main()
