"""Make the pictures of the README: python -m docs.pictures [NAME ...]."""

import sys
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from tests.browser.launch import running_browser, running_server
from tests.browser.look import boxes, ready, settled, slider

HERE = Path(__file__).parent
STILL = {
    "lecture": "lecture?screen=one-layer",
}
# From bert-base to bert-large: the field of each drag, its last value, and the number of frames.
DRAGS = (("num_hidden_layers", 24, 12), ("hidden_size", 1024, 12))
WIDTH, QUALITY = 960, 75
MOVING, RESTING = 90, 700  # ms per frame: during a drag, and at its ends
CURSOR = ((0, 0), (0, 17), (4, 13), (7, 20), (10, 19), (7, 12), (12, 12))
GRIP = 9  # px from the slider's end to the middle of its handle there


def drag(page: Page) -> Iterator[tuple[Image.Image, int]]:
    """Drag the sliders; yield each frame with its duration in ms."""
    for field, end, pictures in DRAGS:
        handle = slider(page, field)
        (box,) = boxes(handle)
        low, high, start = (float(handle.evaluate(f"range => range.{name}")) for name in ("min", "max", "value"))
        y = box["y"] + box["height"] / 2
        for step in range(pictures + 1):
            part = (start + (end - start) * step / pictures - low) / (high - low)
            x = box["x"] + GRIP + part * (box["width"] - 2 * GRIP)
            page.mouse.move(x, y)
            if not step:
                page.mouse.down()
            page.wait_for_timeout(100)  # the page follows in the next frame, but a machine may be busy
            yield seen(page, x, y), RESTING if step in (0, pictures) else MOVING
        page.mouse.up()
        settled(page)
        expect(handle).to_have_value(f"{end}")


def seen(page: Page, x: float, y: float) -> Image.Image:
    """A screenshot with a cursor drawn into it."""
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    shape = [(x + 1.3 * right, y + 1.3 * down) for right, down in CURSOR]
    ImageDraw.Draw(picture).polygon(shape, fill="black", outline="white", width=2)
    return picture.resize((WIDTH, WIDTH * picture.height // picture.width), Image.Resampling.LANCZOS)


def main(names: list[str]) -> None:
    """Make the pictures of these names, or all of them."""
    expect.set_options(timeout=60_000)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder) / "log") as (server, _process),
        running_browser() as browser,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for name, address in STILL.items():
            if not names or name in names:
                page.goto(f"{server}/{address}")
                expect(slider(page, "hidden_size")).to_be_attached()
                page.wait_for_timeout(3000)  # a chart redraws when it knows its width
                settled(page)
                page.screenshot(path=HERE / f"{name}.png")
        if not names or "drag" in names:
            page.goto(f"{server}/?lock_intermediate=true")
            ready(page)
            pictures, times = zip(*drag(page), strict=True)
            pictures[0].save(
                HERE / "drag.webp",
                save_all=True,
                append_images=pictures[1:],
                duration=times,
                loop=0,
                quality=QUALITY,
                method=6,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
