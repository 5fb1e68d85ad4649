"""Sliders and number fields, with the keyboard alone."""

from playwright.sync_api import expect

from tests.browser.conftest import Look, Open
from tests.browser.look import boxes, ready


def test_the_keyboard_alone_reaches_the_controls_and_opens_a_part(visit: Open) -> None:
    page = visit()
    ready(page)
    page.wait_for_timeout(1000)  # while charts are still being drawn, the browser drops the focus
    reached = set()
    for _press in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    for field in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
        names = [name for name in reached if name and field in name]
        assert [name.endswith(", exact value") for name in sorted(names)] == [False, True], (field, reached)
    page.get_by_role("combobox", name="Open").focus()
    page.keyboard.type("pooler")
    page.keyboard.press("Enter")
    expect(page.get_by_text("dense.weight")).to_be_visible()


def test_a_click_on_a_bar_opens_it(look: Look) -> None:
    page = look()
    ready(page)
    (box,) = boxes(page.get_by_test_id("stVegaLiteChart").first)
    axis = 24  # pixels below eight bars, of which the longest is the feed-forward
    page.mouse.click(box["x"] + 0.35 * box["width"], box["y"] + 6.5 * (box["height"] - axis) / 8)
    page.wait_for_url("**/?open=encoder.layer*")
    expect(page.get_by_text("intermediate.dense")).to_be_visible()
