"""On a phone, in both languages: amounts and verdicts are visible, and controls keep their places."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from bertcalc.reading.examples import EXAMPLES
from pages.ui.shell.i18n import LANGUAGES
from tests.browser.conftest import Look, Open
from tests.browser.look import number, settled
from tests.examples import crossed

PHONE: ViewportSize = {"width": 390, "height": 844}
PAGES = (
    "explain?number=75641856",
    "compare?models=bert-base-uncased+albert-base-v2",
    "design?budget_of=parameters",
    "outputs?batch_size=2",
    "verify?preset=bert-base-uncased",
)
# For each table, how far its last cells or its verdict cells reach beyond the screen.
BEYOND = """tables => tables.flatMap(table => {
  const published = table.closest(".st-key-published");
  return [...table.querySelectorAll("tbody tr")].map(row => {
    const cell = published ? row.cells[2] : row.cells[row.cells.length - 1];
    const box = cell.getBoundingClientRect();
    return Math.max(box.right - innerWidth, -box.left);
  });
})"""


def amounts(page: Page) -> Locator:
    return page.locator('[class*="st-key-amounts-"] table, .st-key-published table')


@pytest.mark.parametrize(("address", "language"), crossed(2, PAGES, LANGUAGES))
def test_the_amounts_of_a_table_are_on_a_phone(look: Look, address: str, language: str) -> None:
    page = look(f"{address}&lang={language}")
    page.set_viewport_size(PHONE)
    expect(amounts(page).first).to_be_attached(timeout=60_000)
    settled(page)
    beyond = amounts(page).evaluate_all(BEYOND)
    assert beyond
    assert max(beyond) <= 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_numbers_that_are_compared_are_whole_on_a_phone(page: Page, visit: Open, language: str) -> None:
    """Neither number is broken or covered by the column of verdicts, which stays in view."""
    page.set_viewport_size(PHONE)
    visit(f"verify?architecture=BertForSequenceClassification&lang={language}")
    table = page.locator('[class*="st-key-amounts-"] table').first
    expect(table).to_be_attached(timeout=60_000)
    settled(page)
    ends = """table => [...table.rows].map(row => {
      const text = document.createRange();
      text.selectNodeContents(row.cells[2]);
      return text.getBoundingClientRect().right - row.cells[3].getBoundingClientRect().left;
    })"""
    assert max(table.evaluate(ends)) <= 0
    heights = "table => [...table.rows].flatMap(row => [1, 2, 3].map(at => row.cells[at].firstChild.clientHeight))"
    assert max(table.evaluate(heights)) < 40  # one line each


def test_the_default_of_a_field_is_whole_on_a_phone(page: Page, visit: Open) -> None:
    page.set_viewport_size(PHONE)
    visit("configuration")
    cell = page.get_by_test_id("stTable").get_by_role("cell", name="30,522").first
    expect(cell).to_be_visible(timeout=60_000)
    settled(page)
    on_top = """cell => {
      const { right, top, height } = cell.querySelector("p").getBoundingClientRect();
      return cell.contains(document.elementFromPoint(right - 2, top + height / 2));
    }"""
    assert cell.evaluate(on_top)


@pytest.mark.parametrize(("name", "language"), crossed(2, ["an article", "a hand count"], LANGUAGES))
def test_what_is_read_in_a_text_is_on_a_phone(look: Look, name: str, language: str) -> None:
    page = look(f"bring?lang={language}&text={quote(EXAMPLES[name]())}")
    page.set_viewport_size({"width": 360, "height": 800})
    tables = page.locator('[data-testid="stTable"] table')
    expect(tables.first).to_be_attached(timeout=60_000)
    settled(page)
    assert max(tables.evaluate_all(BEYOND)) <= 1


@pytest.mark.parametrize(("width", "language"), crossed(2, [1280, 390], LANGUAGES))
def test_the_controls_stay_when_the_answer_changes(look: Look, language: str, width: int) -> None:
    tops = []
    for batch in (8, 4096):  # a batch that fits, and one that does not
        page = look(f"memory?preset=bert-large-uncased&batch_size={batch}&lang={language}")
        page.set_viewport_size({"width": width, "height": 844})
        expect(page.get_by_test_id("stAlert").first).to_be_visible()
        settled(page)
        tops.append(page.locator(".st-key-task").bounding_box())
    assert tops[0] == tops[1]


@pytest.mark.parametrize("address", ["?hidden_size=1536", "any_model?model_type=gpt_neox&sizes=hidden_size-1024"])
def test_what_a_total_is_compared_with_is_not_cut_on_a_phone(look: Look, address: str) -> None:
    page = look(address)
    page.set_viewport_size(PHONE)
    compared = page.get_by_test_id("stMetricDeltaDescription")
    expect(compared).to_be_visible(timeout=60_000)
    settled(page)
    cut = "box => Math.max(...[box, ...box.querySelectorAll('*')].map(it => it.scrollWidth - it.clientWidth))"
    assert compared.locator("div").evaluate(cut) <= 1


def test_two_models_stand_beside_their_fields_on_a_tablet(look: Look) -> None:
    page = look("compare?compare=table&models=bert-base-uncased+deberta-v3-base")
    page.set_viewport_size({"width": 820, "height": 1180})
    table = page.locator(".st-key-side-by-side table")
    expect(table).to_be_visible(timeout=60_000)
    settled(page)
    beyond = "table => table.getBoundingClientRect().right - table.parentElement.getBoundingClientRect().right"
    assert table.evaluate(beyond) <= 1
    names = "cells => Math.max(...cells.map(cell => cell.scrollWidth - cell.clientWidth))"
    assert table.locator("td:first-child").evaluate_all(names) <= 1


def test_the_published_runs_are_no_screen_high_on_a_phone(look: Look) -> None:
    page = look("compute?compute=time")
    page.set_viewport_size(PHONE)
    rows = page.locator("table:has(th:nth-child(7)) tbody tr")
    expect(rows.first).to_be_attached(timeout=60_000)
    settled(page)
    assert rows.evaluate_all("rows => Math.max(...rows.map(row => row.clientHeight))") < 120


def test_the_published_counts_are_no_wall(look: Look) -> None:
    page = look("verify")
    expect(page.locator(".st-key-published table")).to_be_attached(timeout=60_000)
    settled(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollHeight") < 2500
    wrapped = page.locator(".st-key-published tbody tr").evaluate_all(
        "rows => Math.max(...rows.map(row => row.cells[1].getBoundingClientRect().height))"
    )
    assert wrapped < 130


def test_the_picker_keeps_the_focus(page: Page, visit: Open) -> None:
    visit("compare")
    page.get_by_role("button", name="Models").click()
    field = page.get_by_test_id("stMultiSelect").locator("input")
    field.click()
    for name in ("roberta-base", "gpt2"):
        page.keyboard.type(name)
        expect(page.get_by_role("option", name=name, exact=True)).to_be_visible()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(rf"models=.*{name}"))
        settled(page)
        expect(field).to_be_focused()


@pytest.mark.parametrize("file", ["LaTeX", "Report, Markdown"])  # a file made at once, and a file that takes seconds
def test_escape_closes_the_dialog_during_and_after_a_download(page: Page, visit: Open, file: str) -> None:
    visit("compare")
    button = page.get_by_role("button", name=file)
    for is_made in (False, True):
        page.get_by_role("button", name="Export").click()
        expect(button).to_be_visible()
        settled(page)
        with page.expect_download(timeout=60_000) as download:
            button.click()
            if not is_made:
                page.keyboard.press("Escape")
                expect(page.get_by_role("dialog")).to_have_count(0)
        assert download.value.suggested_filename.endswith((".tex", ".md"))
        if is_made:
            settled(page)
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_have_count(0)
        settled(page)


def test_a_table_stays_where_its_reader_scrolled_it(visit: Open, page: Page) -> None:
    page.set_viewport_size(PHONE)
    visit("configuration")
    settled(page)
    scrolled = page.locator(".stHtml:has(> .text-table)").first
    scrolled.evaluate("element => { element.scrollLeft = 90; }")
    assert scrolled.evaluate("element => element.scrollLeft") == 90
    before = page.get_by_test_id("stTable").inner_text()
    number(page, "hidden_size").fill("1024")
    number(page, "hidden_size").press("Enter")
    page.wait_for_url("**hidden_size=1024**")
    settled(page)
    assert page.get_by_test_id("stTable").inner_text() != before
    assert scrolled.evaluate("element => element.scrollLeft") == 90
