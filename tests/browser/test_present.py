"""The presentation view in a lecture room: a key, and nothing that needs scrolling."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.look import PAGES, bottom, boxes, expect_query, open_page, ready, small_texts, total

VIEWS = (
    "structure?view=parts",
    "structure?view=freezing",
    "compute?compute=length",
    "compute?compute=conventions",
    "compute?compute=time",
    "memory?memory=training",
    "memory?memory=activations",
    "memory?memory=inference",
    "memory?memory=fit",
    "compute?architecture=BertForPreTraining",
    "compute?architecture=BertLMHeadModel&is_decoder=true&add_cross_attention=true",
    "compare?architecture=BertForPreTraining",
    "?architecture=BertForPreTraining",
    "compare?compare=bars",
    "sweep?sweep=map",
    "explain?explain=terms",
)


def controls(page: Page) -> Locator:
    """The row below the page."""
    return page.get_by_test_id("stSidebar")


def top(thing: Locator) -> float:
    """Its first line, in pixels."""
    (box,) = boxes(thing)
    return box["y"]


@pytest.mark.parametrize(("lang", "address"), [*(("en", page) for page in PAGES), *(("zh", view) for view in VIEWS)])
def test_nothing_needs_scrolling_and_nothing_is_small(visit: Open, lang: str, address: str) -> None:
    page = visit(f"{address}{'&' if '?' in address else '?'}present=1&lang={lang}")
    expect(controls(page).get_by_role("slider").last).to_be_visible()
    for width, height in ((1920, 1080), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        assert small_texts(page) == []
        shown = page.get_by_test_id("stMain").locator("[data-testid=stElementContainer]:not(:has(style)):visible")
        assert bottom(shown) <= top(controls(page)) + 3
        assert bottom(controls(page).get_by_role("slider")) <= height


def test_the_structure_is_a_tree(visit: Open) -> None:
    page = visit("structure?present=1")
    for module in ("word_embeddings", "BertLayer", "intermediate", "BertPooler"):
        expect(page.locator(".tree").get_by_text(module).first).to_be_in_viewport()


def test_tooltips_and_clicks_are_where_the_pointer_is(visit: Open) -> None:
    page = visit("?present=1")
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


def test_the_key_switches_and_pages_keep_it(visit: Open) -> None:
    page = visit("?num_hidden_layers=6")
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
