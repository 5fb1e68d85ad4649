"""The Design page in a browser: its link is its state, keys select designs, and the answer needs no scrolling."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look, Open
from tests.browser.look import bottom, boxes, number, overflow, settled

CONSTRAINED = (
    "budget_of=memory&target_memory=24 GiB&batch_size=32&sequence_length=512&training_dtype=mixed-16"
    "&head_size=32&intermediate_ratio=8/3&multiple_of=128&layers_to=12&pad_vocab=true"
)


def table(page: Page) -> list[str]:
    """Return the texts of the table's cells once the page is drawn completely."""
    expect(page.get_by_test_id("stMain").get_by_role("button", name="Shortcut")).to_have_count(8, timeout=30_000)
    expect(page.get_by_role("cell")).to_have_count(8 * 11)
    settled(page)
    return page.get_by_role("cell").all_inner_texts()


def test_typing_a_budget_goes_into_the_link(look: Look) -> None:
    page = look("design")
    table(page)
    field = page.get_by_role("textbox", name="Budget")
    field.fill("110 million")
    field.press("Enter")
    expect(page.get_by_role("heading", name="110,000,000 parameters")).to_be_visible()
    page.wait_for_url("**/design?target_parameters=110+million")
    page.get_by_role("radio", name="FLOPs").click()
    expect(page.get_by_role("heading", name="5,000,000,000 FLOPs")).to_be_visible()
    page.wait_for_url("**budget_of=FLOPs**")


def test_at_most_is_in_line_with_the_heading_and_stays_in_its_place(look: Look) -> None:
    page = look("design")
    places = set()
    for budget in ("30M", "109,482,240"):
        field = page.get_by_role("textbox", name="Budget")
        field.fill(budget)
        field.press("Enter")
        expect(page.get_by_role("heading", level=2)).to_contain_text("30,000,000" if budget == "30M" else budget)
        (heading,) = boxes(page.get_by_role("heading", level=2))
        (switch,) = boxes(page.get_by_test_id("stCheckbox").filter(has_text="At most").locator("label"))
        middles = [box["y"] + box["height"] / 2 for box in (heading, switch)]
        assert middles[1] == pytest.approx(middles[0], abs=3)
        places.add(round(switch["x"]))
    assert len(places) == 1


def test_a_key_takes_a_design(look: Look) -> None:
    page = look("design?batch_size=2")
    table(page)
    hidden_size = page.get_by_role("row").nth(3).get_by_role("cell").nth(1).inner_text()
    page.get_by_role("heading", name="30,000,000").click()  # leaves the field, in which a digit would be typed
    page.keyboard.press("3")
    expect(page.get_by_role("cell", name="3 ✓")).to_be_visible()
    expect(number(page, "hidden_size")).to_have_value(hidden_size)
    page.wait_for_url(f"**hidden_size={hidden_size}**")
    page.get_by_role("button", name="Use Shortcut 1").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name="1 ✓")).to_be_visible()


def test_digits_in_fields_take_nothing(look: Look) -> None:
    page = look("design")
    table(page)
    page.get_by_role("textbox", name="Budget").press("3")
    number(page, "Min. layers").press("2")
    page.wait_for_timeout(500)
    expect(page.get_by_role("cell", name="✓")).to_have_count(0)
    expect(number(page, "hidden_size")).to_have_value("768")


def test_an_amount_that_cannot_be_read_is_explained(visit: Open) -> None:
    page = visit("design")
    before = table(page)
    field = page.get_by_role("textbox", name="Budget")
    field.fill("**many**")
    field.press("Enter")
    expect(page.get_by_text('"**many**" is not a valid amount')).to_be_visible()
    expect(page.get_by_role("cell")).to_have_text(before)
    page.get_by_role("button", name="Budget = 30M").click()
    expect(page.get_by_text("cannot be read")).to_have_count(0)
    expect(field).to_have_value("30M")


def test_an_impossible_budget_is_explained_in_a_link_too(look: Look) -> None:
    page = look("design?target_parameters=30")
    expect(page.get_by_text("No model within these constraints has 30 parameters")).to_be_visible()


@pytest.mark.parametrize(
    ("link", "count"),
    [("", 8), ("lang=zh", 8), ("present=1", 5), ("budget_of=FLOPs&target_FLOPs=1T", 8), (CONSTRAINED, 8)],
)
def test_the_table_needs_no_scrolling_and_every_button_stands_in_its_row(look: Look, link: str, count: int) -> None:
    page = look(f"design?{link}")
    buttons = page.locator(".st-key-designs-take button")
    expect(buttons).to_have_count(count, timeout=30_000)
    if not link.startswith("present"):  # test_every_page.py checks the presentation view
        shown = page.get_by_test_id("stTable")
        assert overflow(shown) <= 1
        assert bottom(shown) <= bottom(page.locator(".st-key-take_8, .st-key-take-8")) + 1 <= 721
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        rows = boxes(page.locator(".st-key-designs tbody tr"))
        for button, row in zip(boxes(buttons), rows, strict=True):
            assert row["y"] - 2 <= button["y"], width
            assert button["y"] + button["height"] <= row["y"] + row["height"] + 2, width
