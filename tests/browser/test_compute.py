"""The Compute page in a browser: its link is its state, and its first screen needs no scrolling."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.browser.look import bottom, boxes, expect_query, overflow, settled


def figures(page: Page) -> list[str]:
    """Return the large numbers once the page is drawn completely."""
    expect(page.get_by_test_id("stMetricValue")).to_have_count(3)
    settled(page)
    return page.get_by_test_id("stMetricValue").all_inner_texts()


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


def test_growth_leaves_the_figures_in_one_row(look: Look) -> None:
    page = look("compute?hidden_size=1536")
    assert len(figures(page)) == 3
    expect(page.get_by_text("mostly H²")).to_have_count(2)
    assert len({box["y"] for box in boxes(page.get_by_test_id("stMetricValue"))}) == 1


def test_an_impossible_utilisation_is_explained(look: Look) -> None:
    page = look("compute?compute=time&utilisation=400")
    expect(page.get_by_text("Utilization 400 is invalid")).to_be_visible()
    page.get_by_role("button", name="Utilization = 100").click()
    expect(page.get_by_text("is invalid")).to_have_count(0)
    page.wait_for_url("**utilisation=100**")


@pytest.mark.parametrize(
    "link",
    [
        "",
        "lang=zh&preset=bert-large-uncased",
        "architecture=BertForPreTraining",
        "architecture=BertForPreTraining&operations=all&modules=true",
        "compute=length",
        "architecture=BertForPreTraining&operations=all&compute=conventions&rule=ELECTRA",
        "architecture=BertForPreTraining&operations=all&compute=time",
    ],
)
def test_the_chart_needs_no_scrolling_and_no_table_is_wider_than_the_page(look: Look, link: str) -> None:
    page = look(f"compute?{link}")
    table = page.get_by_test_id("stTable")
    if "compute=" not in link:
        figures(page)
    if "compute=conventions" in link or "compute=time" in link:
        expect(table.first).to_be_visible()
    elif "modules" not in link:
        expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
        assert bottom(page.get_by_test_id("stVegaLiteChart")) <= 720
    else:
        expect(table.first).to_be_visible()
    assert overflow(table) <= 1
