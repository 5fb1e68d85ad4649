"""The Other tools page in a browser: its link is its state, and its table needs no scrolling."""

from itertools import combinations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.browser.look import bottom, boxes, expect_query, overflow, settled


def shown(page: Page) -> str:
    """Return the first line of the sum once the page is drawn completely."""
    expect(page.get_by_test_id("stTable")).to_have_count(2)
    settled(page)
    return page.get_by_test_id("stTable").nth(1).locator("tbody tr").first.inner_text()


def test_tools_are_chosen_with_the_keyboard(look: Look) -> None:
    page = look("tools")
    shown(page)
    page.get_by_role("radio", name="nanoGPT").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.get_by_text("EleutherAI tied gives")).to_be_visible()
    page.wait_for_url("**tool=EleutherAI**tied")
    expect_query(page, {"tool": "EleutherAI tied"})


@pytest.mark.parametrize(
    "link",
    [
        "",
        "lang=zh&tool=Narayanan&architecture=BertForPreTraining&preset=bert-large-uncased&intermediate_size=5000",
        "tool=gpu_poor&architecture=BertForPreTraining&preset=bert-large-uncased&intermediate_size=5000",
    ],
)
def test_the_counts_and_a_formula_need_no_scrolling_and_no_table_is_wider_than_the_page(look: Look, link: str) -> None:
    page = look(f"tools?{link}")
    shown(page)
    assert bottom(page.get_by_test_id("stTable").first) <= 720
    if "gpu_poor" not in link:
        assert bottom(page.locator(".katex-display")) <= 720
    assert overflow(page.get_by_test_id("stTable")) <= 1


@pytest.mark.parametrize("link", ["tools", "tools?lang=zh", "compare"])
def test_on_a_phone_a_step_of_a_sum_is_stacked_and_nothing_is_hidden(look: Look, link: str) -> None:
    page = look(link)
    page.set_viewport_size({"width": 390, "height": 844})
    table = page.locator("[class*=st-key-stacked-]").get_by_test_id("stTable")
    expect(table).to_have_count(1)
    cells = boxes(table.locator("tr:nth-child(2) td"))
    assert len(cells) == (4 if link == "compare" else 5)
    assert all(cell["x"] >= 0 and cell["x"] + cell["width"] <= 390 for cell in cells)
    assert overflow(table.locator("td")) == 0
    for one, other in combinations(cells, 2):
        across = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
        along = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
        assert min(across, along) <= 0
