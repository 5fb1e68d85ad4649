"""Dragging a slider in Chromium: frames painted, stops shown, and the time from a key press to the number.

``python -m benchmarks.drag``. For the drag, a script in the page moves the slider for the number of layers to the next
stop in each frame, back and forth. Then Chromium presses arrow keys, and the page measures the time from the key
event to the first change of a text. Streamlit's own slider, in the one-slider app, gets the same keys.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playwright.sync_api import Locator, Page

from benchmarks.browser import opened, settled
from benchmarks.load import FLOOR, row
from tests.browser.launch import running_browser, running_server

PAGES = ("", "any_model", "compute", "layers", "memory", "compare")
SECONDS = 4
PRESSES, PAUSE = 21, 300  # key presses, and the milliseconds after each

_DRAG = """(seconds) => new Promise((done) => {
  const range = [...document.querySelectorAll('.panel input[type=range]')]
    .find((input) => /num_hidden_layers/.test(input.getAttribute('aria-label')));
  const words = () => document.querySelector('[data-testid=stMain]').innerText;
  const seen = { frames: 0, moves: 0, shown: 0 };
  range.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
  const [low, high] = [Number(range.min), Number(range.max)];
  let [value, by] = [Number(range.value), 1];
  const began = performance.now();
  const step = () => {
    seen.frames += 1;
    if (value + by > high || value + by < low) by = -by;
    value += by;
    const before = words();
    range.value = value;
    range.dispatchEvent(new Event('input', { bubbles: true }));
    seen.moves += 1;
    requestAnimationFrame(() => {
      if (words() !== before) seen.shown += 1;
      if (performance.now() - began < 1000 * seconds) step();
      else {
        range.dispatchEvent(new PointerEvent('pointerup', { bubbles: true }));
        done({ ...seen, seconds: (performance.now() - began) / 1000 });
      }
    });
  };
  requestAnimationFrame(step);
})"""
# Collect in window.waits the milliseconds from each key press to the first change of a text outside the panel.
_WAITS = """() => {
  window.waits = [];
  let pressed = null;
  addEventListener('keydown', (event) => { pressed = event.timeStamp; }, true);
  const isShown = ({ target }) => !(target.parentElement ?? target).closest('.panel, [data-testid=stSlider]');
  new MutationObserver((changes) => {
    if (pressed === null || !changes.some(isShown)) return;
    window.waits.push(performance.now() - pressed);
    pressed = null;
  }).observe(document.querySelector('[data-testid=stMain]'), { subtree: true, childList: true, characterData: true });
}"""


class Drag(NamedTuple):
    """The result of a drag: frames per second, and the share of stops shown in the next frame."""

    frames: float
    shown: float


def drag(page: Page) -> Drag:
    """Drag the slider for the number of layers on a page."""
    seen = page.evaluate(_DRAG, SECONDS)
    settled(page)
    return Drag(seen["frames"] / seen["seconds"], seen["shown"] / seen["moves"])


def press(page: Page, slider: Locator) -> str:
    """Press arrow keys on a slider. Return the median and the 95th percentile of the ms until a number changes."""
    page.evaluate(_WAITS)
    slider.focus()
    for number in range(PRESSES):
        page.keyboard.press("ArrowRight" if number % 2 else "ArrowLeft")
        page.wait_for_timeout(PAUSE)
    settled(page)
    waits = sorted(page.evaluate("() => window.waits"))
    assert len(waits) == PRESSES, f"{len(waits)} of {PRESSES} presses changed a number"
    return f"{median(waits):.1f} / {waits[int(0.95 * (PRESSES - 1))]:.1f}"


def main() -> None:
    """Drag the slider on each page, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", nargs="+", default=list(PAGES))
    options = parser.parse_args()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        app, _server = stack.enter_context(running_server(Path(folder) / "app"))
        floor, _floor = stack.enter_context(running_server(Path(folder) / "floor", FLOOR))
        browser = stack.enter_context(running_browser(compiles=True))
        opened(browser, app)  # the first page of a new server takes longer
        one_slider = opened(browser, floor)[0]
        least = press(one_slider, one_slider.get_by_role("slider").first)
        print(row("page", "frames a second", "stops shown in the next frame", "key to number, ms, median / p95"))
        print("|---" * 4 + "|")
        for name in options.pages:
            page, _waited = opened(browser, f"{app}/{name}")
            seen = drag(page)
            waits = press(page, page.locator(".panel input[type=range]").first)
            print(row(name or "parameters", f"{seen.frames:.0f}", f"{100 * seen.shown:.0f} %", waits), flush=True)
            page.context.close()
        print(row("the one-slider app", "", "", least))


if __name__ == "__main__":
    main()
