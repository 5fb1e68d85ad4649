"""The page of other tools in a browser: its link is its state, and its table needs no scrolling."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.browser.look import bottom, expect_query, open_page, overflow, query, ready, settled


def shown(page: Page) -> str:
    """What the sum begins with, once all of the page is drawn."""
    expect(page.get_by_test_id("stTable")).to_have_count(2, timeout=30_000)  # the first page of a server takes long
    settled(page)
    return page.get_by_test_id("stTable").nth(1).locator("tbody tr").first.inner_text()


def test_a_link_shows_the_same_after_other_pages(look: Look) -> None:
    page = look("tools?tool=gpu_poor&architecture=BertForMaskedLM")
    before = shown(page)
    assert "gpu_poor gives" in before
    assert "160,128,000" in before
    page.get_by_role("link", name="Parameters").click()
    ready(page)
    assert "tool" not in query(page)
    open_page(page, "Check", "Other tools")
    page.wait_for_url("**tool=gpu_poor**")
    assert shown(page) == before
    expect_query(page, {"tool": "gpu_poor", "architecture": "BertForMaskedLM"})


def test_tools_are_chosen_with_the_keyboard(look: Look) -> None:
    page = look("tools")
    shown(page)
    page.get_by_role("radio", name="nanoGPT").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.get_by_text("EleutherAI tied gives")).to_be_visible()
    page.wait_for_url("**tool=EleutherAI**tied")
    expect_query(page, {"tool": "EleutherAI tied"})


@pytest.mark.parametrize("link", ["", "?lang=zh", "?preset=bert-large-uncased&architecture=BertForPreTraining"])
def test_the_counts_and_a_formula_need_no_scrolling(look: Look, link: str) -> None:
    page = look(f"tools{link}")
    shown(page)
    assert bottom(page.get_by_test_id("stTable").first) <= 720
    assert bottom(page.locator(".katex-display")) <= 720


@pytest.mark.parametrize("tool", ["gpu_poor", "Narayanan"])
def test_no_table_is_wider_than_the_page(look: Look, tool: str) -> None:
    page = look(f"tools?tool={tool}&architecture=BertForPreTraining&preset=bert-large-uncased&intermediate_size=5000")
    shown(page)
    assert overflow(page.get_by_test_id("stTable")) <= 1
