"""Waiting times in Chromium, and the time until the server is up: ``python -m benchmarks.browser``.

bertcalc's pages and the floors (minimal apps for comparison) take turns in one run, in the same browser and with the
same settings. Changes in the machine's speed therefore affect all of them. A wait ends with the last change on the
page: the script has ended, and nothing is written or drawn after it.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil
from playwright.sync_api import Browser, Page

from benchmarks.load import row
from pages.ui.shell.navigation import PAGES
from tests.browser.launch import running_browser, running_server

CHART = "benchmarks/one_chart.py"
EMPTY = "benchmarks/empty.py"
SAME = "benchmarks/same_elements.py"
VISITS = 5
STARTS = 5
QUIET = 400  # milliseconds without a change after which a page counts as drawn

# Record the time of every change of the document and of every canvas, on which charts and tables are drawn.
_WATCH = """() => {
  window.lastChange = 0;
  const note = () => { window.lastChange = performance.now(); };
  new MutationObserver(note).observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
  const draw = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) { note(); return draw.apply(this, box); };
}"""
# The time from ``began`` until the last change. It resolves once the script has ended and nothing changed for ``quiet``
# ms.
_SETTLED = """([began, quiet]) => new Promise((settled, failed) => {
  setTimeout(() => failed(new Error("nothing has changed for a minute")), 60000);
  const look = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    const done = app && app.getAttribute("data-test-script-state") === "notRunning" && window.lastChange > began
      && document.querySelector('[data-testid="stSlider"], .panel')
      && !document.querySelector('[data-testid="stSkeleton"]');
    if (done && performance.now() - window.lastChange > quiet) settled(window.lastChange - began);
    else setTimeout(look, 20);
  };
  look();
})"""


def settled(page: Page, began: float = 0.0) -> float:
    """Wait until the page is drawn. Return the milliseconds from ``began`` on the page's clock to its last change."""
    waited: float = page.evaluate(_SETTLED, [began, QUIET])
    return waited


def opened(browser: Browser, url: str) -> tuple[Page, float]:
    """Open a page with an empty browser cache. Return it with the milliseconds until it is drawn completely."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.add_init_script(f"({_WATCH})()")
    page.goto(url)
    return page, settled(page)


def visit(browser: Browser, url: str) -> float:
    """Return the milliseconds of a first visit, until the page is drawn completely."""
    page, waited = opened(browser, url)
    page.context.close()
    return waited


def cpu(server: int) -> float:
    """Return the CPU time that a server has used, in milliseconds."""
    times = psutil.Process(server).cpu_times()
    return 1000 * float(times.user + times.system)


def switch(page: Page, address: str) -> float | None:
    """Switch to a page in the navigation or one of its menus. Return the milliseconds until the page's last change.

    Return None if the navigation has no link to the page.
    """
    link = page.locator(f'a[href$="/{address}"], a[href*="/{address}?"]').first
    menus = page.get_by_role("navigation").get_by_role("button").all()
    while menus and not link.count():
        menus.pop(0).click()
        page.wait_for_timeout(QUIET)
    if not link.count():
        return None
    link.click(trial=True)  # waits until the link can be clicked
    began: float = page.evaluate("() => performance.now()")
    link.dispatch_event("click")
    return settled(page, began)


def start(script: str, folder: Path) -> float:
    """Return the seconds from the command that starts the server until it is up."""
    began = time.perf_counter()
    with running_server(folder / "start", script):
        return time.perf_counter() - began


def alternately(times: int, measures: Sequence[Callable[[], float]]) -> list[float]:
    """Return the median of each measure. The measures take turns."""
    rows = [[measure() for measure in measures] for _time in range(times)]
    return [median(column) for column in zip(*rows, strict=True)]


def main() -> None:
    """Measure the starts and pages of the command line, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", nargs="+", default=[name or "parameters" for name in PAGES])
    parser.add_argument("--quick", action="store_true", help="measure two pages, a few times")
    options = parser.parse_args()
    names = ["" if name == "parameters" else name for name in (options.pages[:2] if options.quick else options.pages)]
    visits, starts = (1, 1) if options.quick else (VISITS, STARTS)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder)
        ours, empty = alternately(starts, [lambda: start("app.py", path), lambda: start(EMPTY, path)])
        app, server = stack.enter_context(running_server(path / "app"))
        chart, same = (
            stack.enter_context(running_server(path / Path(script).stem, script))[0] for script in (CHART, SAME)
        )
        browser = stack.enter_context(running_browser())
        for url in (app, chart, same):
            visit(browser, url)
        walker = opened(browser, app)[0]
        columns = ["page", "first visit, ms", "x one chart", "x the same elements", "of it server CPU, ms"]
        print(row(*columns, "switch to it, ms"))
        print("|---" * 6 + "|")
        for name in names:
            before = cpu(server)
            urls = f"{app}/{name}", chart, same
            first, least, elements = alternately(visits, [partial(visit, browser, url) for url in urls])
            served = (cpu(server) - before) / visits
            switched = switch(walker, name) if name else None
            cells = [f"{first:,.0f}", f"{first / least:.2f}", f"{first / elements:.2f}", f"{served:,.0f}"]
            print(row(name or "parameters", *cells, f"{switched:,.0f}" if switched else ""), flush=True)
        print(row("the floors", f"{least:,.0f} (one chart)", "1", f"1 ({elements:,.0f} ms)", "", ""))
        print(f"\nThe server is up in {ours:.2f} s, with an empty app in {empty:.2f} s: {ours / empty:.2f} x.")


if __name__ == "__main__":
    main()
