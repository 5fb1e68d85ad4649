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
PAGE_PRESSES = 20
WARM_UP = 10
PAGES = (
    "layers",
    "structure",
    "structure?view=freezing",
    "outputs",
    "configuration",
    "compute",
    "memory",
    "compare",
    "compare?compare=scatter",
    "sweep",
    "sweep?sweep=map",
    "design",
    "verify",
    "explain",
    "explain?explain=terms",
    "tools",
    "exercises",
)
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

    def rerun(self, key: str) -> None:
        """Press a key on the slider; note the server's CPU until all was done."""
        before = sum(self.server.cpu_times()[:2])
        self.slider.press(key)
        self.page.wait_for_timeout(SETTLE)
        self.cpu_milliseconds.append(1000 * (sum(self.server.cpu_times()[:2]) - before))

    def press(self, key: str) -> None:
        """The same, and note the time until the total changed."""
        changed = self.page.get_by_test_id("stMetricValue").first.element_handle()
        # The promise begins to look before the key is pressed; it answers when the new text is painted.
        self.page.evaluate(f"(element) => {{ window.changed = ({CHANGED})(element) }}", changed)
        self.rerun(key)
        self.milliseconds.append(self.page.evaluate("window.changed"))


def key(press: int) -> str:
    """Ten steps up, ten steps down."""
    return "ArrowRight" if press % 20 < 10 else "ArrowLeft"


def open_app(browser: Browser, url: str, process: int) -> App:
    """Open a page and wait until it is quiet."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(url)
    slider = page.get_by_role("slider", name="num_hidden_layers")
    slider.wait_for()
    page.wait_for_timeout(3000)
    return App(page, slider, psutil.Process(process), [], [])


def page_cpu(browser: Browser, url: str, process: int) -> float:
    """Mean CPU of the server for a rerun of a page, in milliseconds."""
    app = open_app(browser, url, process)
    for press in range(WARM_UP + PAGE_PRESSES):
        app.rerun(key(press))
    app.page.close()
    return mean(app.cpu_milliseconds[WARM_UP:])


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
                each.press(key(press))
        latencies = [median(each.milliseconds[WARM_UP:]) for each in apps]
        cpu = [mean(each.cpu_milliseconds[WARM_UP:]) for each in apps]
        pages = {address: page_cpu(browser, f"{app[0]}/{address}", app[1]) for address in PAGES}
    print(f"{'':40}{'Parameters':>12}{'one slider':>12}{'ratio':>8}")
    for name, (ours, least) in {
        "key press to new total, median ms": latencies,
        "server CPU per rerun, mean ms": cpu,
    }.items():
        print(f"{name:40}{ours:12.1f}{least:12.1f}{ours / least:8.1f}")
    for address, milliseconds in pages.items():
        print(f"server CPU per rerun, {address:24}{milliseconds:12.1f}{cpu[1]:12.1f}{milliseconds / cpu[1]:8.1f}")


if __name__ == "__main__":
    main()
