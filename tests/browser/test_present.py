"""The presentation view in a lecture room: its key and its pointer. How it looks is in test_every_page.py."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Look
from tests.browser.look import boxes, expect_query, open_page, ready, total


def controls(page: Page) -> Locator:
    """The row below the page."""
    return page.get_by_test_id("stSidebar")


def top(thing: Locator) -> float:
    """Its first line, in pixels."""
    (box,) = boxes(thing)
    return box["y"]


def test_the_structure_is_a_tree(look: Look) -> None:
    page = look("structure?present=1")
    for module in ("word_embeddings", "BertLayer", "intermediate", "BertPooler"):
        expect(page.locator(".tree").get_by_text(module).first).to_be_in_viewport()


def test_tooltips_and_clicks_are_where_the_pointer_is(look: Look) -> None:
    page = look("?present=1")
    page.set_viewport_size({"width": 1920, "height": 1080})
    (row,) = boxes(page.get_by_test_id("stVegaLiteChart").get_by_text("Feed-forward", exact=True))
    middle = (960, row["y"] + row["height"] / 2)
    page.mouse.move(*middle)
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text("Feed-forward")
    (said,) = boxes(tooltip)
    assert abs(said["x"] - middle[0]) < 60
    page.mouse.click(*middle)
    expect(page.get_by_role("combobox", name="Open")).to_have_value("encoder.layer.*")


def test_the_key_switches_and_pages_keep_it(look: Look) -> None:
    page = look("?num_hidden_layers=6")
    ready(page)
    before = total(page).inner_text()
    page.keyboard.press("p")
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Leave")).to_be_visible()
    expect_query(page, {"num_hidden_layers": "6", "present": "1"})
    expect(total(page)).to_have_text(before)
    assert top(controls(page)) > 560
    open_page(page, "Explore", "Sweep")
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Leave")).to_be_visible()
    expect(page.get_by_role("slider", name="num_hidden_layers")).to_have_value("6")
    page.reload()
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Leave")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Present")).to_be_visible()
    assert top(controls(page)) == 0
