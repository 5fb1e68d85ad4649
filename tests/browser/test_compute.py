"""The Compute page in a browser: its link is its state, and its first screen needs no scrolling."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.browser.look import bottom, expect_query, overflow, settled

LINK = {
    "compute": "time",
    "architecture": "BertForMaskedLM",
    "logits": "masked",
    "training": "4x",
    "device": "H100",
    "utilisation": "35",
    "batch_size": "256",
}
ADDRESS = "compute?" + "&".join(f"{name}={value}" for name, value in LINK.items())


def figures(page: Page) -> list[str]:
    """The large numbers, once all of the page is drawn."""
    expect(page.get_by_test_id("stMetricValue")).to_have_count(3)
    settled(page)
    return page.get_by_test_id("stMetricValue").all_inner_texts()


def test_a_link_shows_the_same_after_other_pages(look: Look) -> None:
    page = look(ADDRESS)
    before = figures(page)
    expect_query(page, LINK)
    page.get_by_role("link", name="Parameters").click()
    expect(page.get_by_text("Parameters in BertForMaskedLM")).to_be_visible()
    page.get_by_role("link", name="Compute").click()
    page.wait_for_url("**utilisation=35**")
    expect(page.get_by_test_id("stMetricValue")).to_have_text(before)
    expect_query(page, LINK)


def test_choices_go_into_the_link(look: Look) -> None:
    page = look("compute")
    assert figures(page)[0] == "22,348,431,360"
    page.get_by_role("radio", name="MACs").click()
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("11,174,215,680")
    page.wait_for_url("**/compute?unit=MACs")
    page.get_by_role("radio", name="Sequence length").click()
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    page.wait_for_url("**compute=length**")
    expect_query(page, {"unit": "MACs", "compute": "length"})


def test_pytorch_counts_on_request(look: Look) -> None:
    page = look("compute?num_hidden_layers=2")
    figures(page)
    page.get_by_text("Let PyTorch count too").click()
    expect(page.get_by_text("PyTorch counts the same")).to_be_visible(timeout=60_000)
    page.wait_for_url("**pytorch=true**")


def test_an_impossible_utilisation_is_explained(look: Look) -> None:
    page = look("compute?compute=time&utilisation=400")
    expect(page.get_by_text("Utilisation 400 is not possible")).to_be_visible()
    page.get_by_role("button", name="Utilisation = 100").click()
    expect(page.get_by_text("is not possible")).to_have_count(0)
    page.wait_for_url("**utilisation=100**")


@pytest.mark.parametrize("link", ["", "?lang=zh", "?architecture=BertForPreTraining", "?preset=bert-large-uncased"])
def test_figures_formula_and_chart_need_no_scrolling(look: Look, link: str) -> None:
    page = look(f"compute{link}")
    figures(page)
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    assert bottom(page.get_by_test_id("stVegaLiteChart")) <= 720


def test_the_chart_over_the_length_needs_no_scrolling(look: Look) -> None:
    page = look("compute?compute=length")
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    assert bottom(page.get_by_test_id("stVegaLiteChart")) <= 720


@pytest.mark.parametrize("view", ["forward&modules=true", "conventions&rule=ELECTRA", "time"])
def test_no_table_is_wider_than_the_page(look: Look, view: str) -> None:
    page = look(f"compute?architecture=BertForPreTraining&operations=all&compute={view}")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    assert overflow(page.get_by_test_id("stTable")) <= 1
