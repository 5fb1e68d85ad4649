"""Bars glide after a jump, and numbers do not wait for them. During a drag, bars follow the slider at once."""

import pytest
from playwright.sync_api import Page, expect

from bertcalc import BertConfig, build
from tests.browser.conftest import Look, Open
from tests.browser.look import boxes, number, ready, settled, slider, total

# Count the animations that start from now on.
_COUNT = """() => {
    const animate = Element.prototype.plain ??= Element.prototype.animate;
    window.gliding = 0;
    Element.prototype.animate = function (frames, options) {
        window.gliding += options.id === "glide";
        return animate.call(this, frames, options);
    };
}"""
# Press a key. Return what the page shows one frame later: the total, and the width of the longest bar.
_PRESS = """async (key) => {
    const range = document.querySelector(".st-key-num_hidden_layers_slider input[type=range]");
    for (const kind of ["keydown", "keyup"]) {
        range.dispatchEvent(new KeyboardEvent(kind, { key, bubbles: true, cancelable: true }));
    }
    await new Promise(requestAnimationFrame);
    return document.querySelector("[data-testid=stMetricValue]").innerText;
}"""


def gliding(page: Page) -> int:
    return int(page.evaluate("window.gliding"))


def bars(page: Page) -> list[int]:
    return [round(box["width"]) for box in boxes(page.get_by_test_id("stVegaLiteChart").locator(".mark-rect path"))]


def test_bars_glide_after_a_key_undo_and_a_typed_value(page: Page, visit: Open) -> None:
    visit()
    ready(page)
    page.evaluate(_COUNT)
    before = bars(page)
    expect(slider(page, "num_hidden_layers")).to_be_visible()
    assert page.evaluate(_PRESS, "ArrowRight") == "116,570,112"  # without delay
    settled(page)
    glided = [gliding(page)]
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text("109,482,240")
    settled(page)
    glided.append(gliding(page))
    assert bars(page) == before
    number(page, "num_hidden_layers").fill("24")
    number(page, "num_hidden_layers").press("Enter")
    expect(total(page)).to_have_text("194,536,704")
    settled(page)
    glided.append(gliding(page))
    assert 0 < glided[0] < glided[1] < glided[2]


def test_in_a_drag_nothing_glides(page: Page, visit: Open) -> None:
    visit()
    ready(page)
    (box,) = boxes(slider(page, "num_hidden_layers"))
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    page.wait_for_timeout(400)
    page.evaluate(_COUNT)
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2, steps=12)
    page.wait_for_timeout(100)
    layers = int(slider(page, "num_hidden_layers").input_value())
    expect(total(page)).to_have_text(f"{build(BertConfig(num_hidden_layers=layers)).num_parameters():,}")
    assert gliding(page) == 0
    page.mouse.up()
    page.wait_for_url(f"**num_hidden_layers={layers}*")
    settled(page)
    assert gliding(page) == 0  # the server shows the values that the browser already showed


@pytest.mark.parametrize(("motion", "glides"), [("reduce", False), ("no-preference", True)])
def test_who_wants_less_motion_has_none(look: Look, motion: str, glides: bool) -> None:
    page = look("memory")
    page.emulate_media(reduced_motion="reduce" if motion == "reduce" else "no-preference")
    page.evaluate(_COUNT)
    page.evaluate(_PRESS, "ArrowRight")
    settled(page)
    page.emulate_media(reduced_motion="no-preference")
    assert bool(gliding(page)) == glides
