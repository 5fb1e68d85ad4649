"""The In and out page in a browser: its link is its state, and impossible inputs are explained."""

from itertools import combinations
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FloatRect, Page, expect

from tests.browser.conftest import Look
from tests.browser.look import bottom, boxes, overflow, settled

ADDRESS = (
    "outputs?output_attentions=true&output_hidden_states=true&return_dict=false"
    "&is_decoder=true&add_cross_attention=true&encoder_sequence_length=40"
)


def shapes(page: Page) -> list[str]:
    """Return the numeric shapes of the outputs once the page is drawn completely."""
    expect(page.get_by_test_id("stTable")).to_have_count(3)
    settled(page)
    rows = page.get_by_test_id("stTable").nth(1).locator("tbody tr")
    return [row.replace("\N{NO-BREAK SPACE}", " ") for row in rows.locator("td:nth-last-child(3)").all_inner_texts()]


def test_a_switch_here_is_the_one_in_the_sidebar_and_in_the_link(look: Look) -> None:
    page = look("outputs")
    expect(page.get_by_test_id("stTable")).to_have_count(3)
    page.get_by_test_id("stMain").get_by_text("is_decoder", exact=True).click()
    page.wait_for_url("**/outputs?is_decoder=true")
    expect(page.get_by_text("More fields (1 changed)")).to_be_visible()
    expect(page.get_by_test_id("stTable").nth(1)).to_contain_text("DynamicCache")


def test_an_impossible_sequence_is_explained(look: Look) -> None:
    page = look("outputs?sequence_length=513")
    expect(page.get_by_text("Sequence length 513 exceeds max_position_embeddings 512")).to_be_visible()
    page.get_by_role("button", name="Sequence length = 512").click()
    expect(page.get_by_text("is longer than")).to_have_count(0)
    expect(page.get_by_role("spinbutton", name="Sequence length $S$", exact=True)).to_have_value("512")
    page.wait_for_url("**/outputs?sequence_length=512")


def test_the_page_speaks_chinese_and_no_table_is_wider_than_the_page(look: Look) -> None:
    page = look(f"{ADDRESS}&lang=zh")
    expect(page.get_by_text("每个词元对编码器各词元的关注程度")).to_be_visible()
    expect(page.get_by_text("Outputs")).to_have_count(0)
    assert urlsplit(page.url).path == "/outputs"
    assert shapes(page)[-1] == "12 × [1 × 12 × 128 × 40]"
    assert overflow(page.get_by_test_id("stTable")) <= 1


@pytest.mark.parametrize("link", ["", "?architecture=BertForPreTraining&labels=true", "?output_attentions=true"])
def test_what_comes_out_is_on_the_first_screen(look: Look, link: str) -> None:
    page = look(f"outputs{link}")
    expect(page.get_by_test_id("stTable")).to_have_count(3)
    assert bottom(page.get_by_test_id("stTable").nth(1)) <= 720


@pytest.mark.parametrize("address", ["outputs", ADDRESS])
def test_a_phone_shows_every_amount_without_scrolling(look: Look, address: str) -> None:
    page = look(address)
    page.set_viewport_size({"width": 390, "height": 844})
    tables = page.get_by_test_id("stTable")
    expect(tables).to_have_count(3)
    assert overflow(tables) <= 1
    cells = boxes(tables.locator("td p"))
    assert all(cell["x"] >= 0 and cell["x"] + cell["width"] <= 390 for cell in cells)
    rows = tables.locator("tbody tr").all()
    assert not [row.inner_text() for row in rows if _cover_each_other(boxes(row.locator("td p")))]


def _cover_each_other(cells: list[FloatRect]) -> bool:
    return any(
        min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"]) > 1
        and min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"]) > 1
        for one, other in combinations(cells, 2)
    )
