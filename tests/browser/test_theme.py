"""The theme that one reader chooses, and the pages of other readers."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from bertcalc.charts.colors import BACKGROUND, COLORS
from tests.browser.conftest import Look, Open
from tests.browser.look import ready, slider, total, total_formula


def rgb(color: str) -> str:
    return "rgb({}, {}, {})".format(*(int(color[at : at + 2], 16) for at in (1, 3, 5)))


def terms(page: Page, look: str) -> Locator:
    """The parts of the total's formula in the encoder's colour of the light or dark theme."""
    return page.locator(f'.st-key-total-formula .formula [style*="{rgb(COLORS[look]["encoder"])}"]')


@pytest.mark.parametrize(("appearance", "color"), [("light", "rgb(0, 114, 178)"), ("dark", "rgb(86, 180, 233)")])
def test_terms_and_lines_have_the_colours_of_the_system(
    look: Look, appearance: Literal["light", "dark"], color: str
) -> None:
    expect(total_formula(look("", appearance)).locator(".term").first).to_have_css("color", color)
    line = look("structure", appearance).locator(".tree").first.get_by_text("(embeddings): BertEmbeddings(")
    expect(line).to_have_css("color", color)


@pytest.fixture
def forgotten(page: Page, server: str) -> Iterator[None]:
    """Clear the browser's local storage after the test."""
    yield
    page.goto(f"{server}/favicon.png")
    page.evaluate("() => localStorage.clear()")


@pytest.mark.usefixtures("forgotten")
def test_a_reader_chooses_dark_and_the_page_is_drawn_in_its_colors(look: Look, visit: Open) -> None:
    other = look()
    page = visit()
    ready(page)
    expect(terms(page, "light")).not_to_have_count(0)
    expect(page.get_by_test_id("stHeader").get_by_text("Teach")).to_be_in_viewport()  # the menu leaves room for it
    page.get_by_test_id("stMainMenuButton").click()
    page.get_by_role("menuitemradio", name="Dark").click()
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", rgb(BACKGROUND["dark"]))
    expect(terms(page, "dark")).not_to_have_count(0)
    expect(terms(page, "light")).to_have_count(0)
    for address in ("lecture", ""):  # also on pages where no theme was chosen
        visit(address)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", rgb(BACKGROUND["dark"]))
    expect(terms(page, "dark")).not_to_have_count(0)
    slider(other, "num_hidden_layers").press("ArrowRight")  # another reader's page is not dark
    expect(total(other)).to_have_text("116,570,112")
    expect(terms(other, "light")).not_to_have_count(0)
    expect(terms(other, "dark")).to_have_count(0)
