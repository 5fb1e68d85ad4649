"""The Step by step page: keyboard, mouse, link, and its look on a lecture screen."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.browser.look import bottom, boxes, overflow, settled, slider


def at(page: Page, step: str) -> None:
    """Wait until the headline shows the step and the page is drawn completely."""
    expect(page.get_by_role("heading", name=step)).to_be_visible()
    expect(page.get_by_test_id("stExpander").nth(2)).to_be_visible()
    settled(page)


def test_arrow_keys_walk_and_the_step_is_in_the_link(look: Look) -> None:
    page = look("layers?batch_size=2")
    at(page, "1 / 34 · token ids")
    for _press in range(5):  # faster than pages are drawn
        page.keyboard.press("ArrowRight")
    at(page, "6 / 34 · position")
    for _press in range(4):
        page.keyboard.press("ArrowLeft")
    at(page, "2 / 34 · token type ids")
    page.wait_for_url("**/layers?batch_size=2&step=token_type_ids")


def test_arrow_keys_on_a_slider_move_the_slider_alone(look: Look) -> None:
    page = look("layers?step=embeddings.word_embeddings")
    at(page, "3 / 34 · word")
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(page.get_by_text("of 116,570,112")).to_be_visible()
    at(page, "3 / 34 · word")


def test_a_click_in_the_picture_goes_there_again_and_again(look: Look) -> None:
    page = look("layers")
    at(page, "1 / 34 · token ids")
    picture = page.get_by_test_id("stVegaLiteChart")
    picture.locator("canvas, svg").first.wait_for()
    (box,) = boxes(picture)
    for _time in range(2):
        page.mouse.click(box["x"] + 0.2 * box["width"], box["y"] + 0.025 * box["height"] + box["height"] / 18)
        at(page, "3 / 34 · word")
        page.get_by_role("button", name="Next").click()
        at(page, "4 / 34 · token type")
        settled(page)


def test_the_walk_needs_no_scrolling(look: Look) -> None:
    page = look("layers?step=encoder.layer.*.attention.output.dense&sequence_length=512")
    at(page, "21 / 34 · dense")
    for thing in (page.locator(".katex-display").first, page.get_by_role("progressbar").last):
        assert bottom(thing) <= 720
    assert bottom(page.get_by_test_id("stVegaLiteChart")) <= 720
    expect(page.get_by_role("spinbutton", name="Layer", exact=True)).to_be_in_viewport()
    expect(page.get_by_text("Why is there another dense layer after attention?")).to_be_in_viewport()


def test_the_batch_is_kept_on_the_way_to_another_page_and_back(look: Look) -> None:
    page = look("layers?batch_size=2&sequence_length=64&step=embeddings.dropout")
    expect(page.get_by_text("2 × 64 × 768").first).to_be_visible()
    page.get_by_role("link", name="Configuration").click()
    expect(page.get_by_role("spinbutton", name="Sequence length")).to_have_value("64")
    page.wait_for_url("**/configuration?batch_size=2&sequence_length=64")
    page.get_by_role("link", name="Step by step").click()
    expect(page.get_by_text("2 × 64 × 768").first).to_be_visible()
    at(page, "9 / 34 · dropout")


def test_chinese(look: Look) -> None:
    page = look("layers?lang=zh&step=embeddings.LayerNorm")
    expect(page.get_by_text("gamma 和 beta")).to_be_visible()
    expect(page.get_by_role("button", name="下一步")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})  # last, since the sidebar stays closed
    settled(page)
    assert overflow(page.get_by_test_id("stTable").locator("td")) <= 1  # no name covers the next column
