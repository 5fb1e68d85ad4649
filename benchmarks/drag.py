"""Dragging a slider in Chromium: frames painted, stops shown, and the time from input to number.

``python -m benchmarks.drag``. For comparison, the one-slider app shows how long Streamlit's own slider takes. A script
in the page moves the slider for the number of layers to the next stop in each frame, back and forth.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playwright.sync_api import Page

from benchmarks.browser import opened, settled
from benchmarks.load import FLOOR, row
from tests.browser.launch import running_browser, running_server

PAGES = ("", "any_model", "compute", "layers", "memory", "compare")
SECONDS = 4

_DRAG = """(seconds) => new Promise((done) => {
  const range = [...document.querySelectorAll('.panel input[type=range]')]
    .find((input) => /num_hidden_layers/.test(input.getAttribute('aria-label')));
  const words = () => document.querySelector('[data-testid=stMain]').innerText;
  const seen = { frames: 0, moves: 0, shown: 0, waits: [] };
  const numbers = () => [...document.querySelectorAll('.panel input[type=range]')].map((input) => input.ariaValueText);
  range.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
  const [low, high] = [Number(range.min), Number(range.max)];
  let [value, by] = [Number(range.value), 1];
  const began = performance.now();
  const step = () => {
    seen.frames += 1;
    if (value + by > high || value + by < low) by = -by;
    value += by;
    const before = words();
    const moved = performance.now();
    range.value = value;
    range.dispatchEvent(new Event('input', { bubbles: true }));
    seen.moves += 1;
    requestAnimationFrame(() => {
      if (words() !== before) {
        seen.shown += 1;
        seen.waits.push(performance.now() - moved);
      }
      if (performance.now() - began < 1000 * seconds) step();
      else {
        range.dispatchEvent(new PointerEvent('pointerup', { bubbles: true }));
        done({ ...seen, seconds: (performance.now() - began) / 1000, numbers: numbers() });
      }
    });
  };
  requestAnimationFrame(step);
})"""
# Milliseconds from a key press on the one-slider app's slider until its number changes.
_PRESS = """() => new Promise((done) => {
  const number = () => document.querySelector('[data-testid=stMetricValue]').textContent;
  const before = number();
  const pressed = performance.now();
  const look = () => (number() === before ? requestAnimationFrame(look) : done(performance.now() - pressed));
  look();
})"""


class Drag(NamedTuple):
    """The result of a drag: frames per second, the share of stops shown in the next frame, and the waits in ms."""

    frames: float
    shown: float
    waits: list[float]

    def wait(self, share: float) -> float:
        """Return the wait in ms that this share of the inputs did not exceed."""
        return sorted(self.waits or [float("nan")])[int(share * (len(self.waits) - 1))]


def drag(page: Page) -> Drag:
    """Drag the slider for the number of layers on a page."""
    seen = page.evaluate(_DRAG, SECONDS)
    settled(page)
    return Drag(seen["frames"] / seen["seconds"], seen["shown"] / seen["moves"], seen["waits"])


def press(page: Page) -> float:
    """Return the median of the milliseconds from a key press to the new number, with Streamlit's own slider."""
    page.get_by_role("slider").first.focus()
    waits = []
    for _press in range(12):
        page.keyboard.press("ArrowRight", delay=0)
        waits.append(page.evaluate(_PRESS))
        settled(page)
    return float(sorted(waits)[len(waits) // 2])


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
        least = press(opened(browser, floor)[0])
        print(row("page", "frames a second", "stops shown in the next frame", "input to number, ms, median / p95"))
        print("|---" * 4 + "|")
        for name in options.pages:
            page, _waited = opened(browser, f"{app}/{name}")
            seen = drag(page)
            waits = f"{seen.wait(0.5):.1f} / {seen.wait(0.95):.1f}"
            print(row(name or "parameters", f"{seen.frames:.0f}", f"{100 * seen.shown:.0f} %", waits), flush=True)
            page.context.close()
        print(row("the one-slider app", "", "", f"{least:.0f}"))


if __name__ == "__main__":
    main()
