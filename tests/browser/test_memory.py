"""The Memory page in a browser: the first screen, its views, and what is not possible."""

import pytest
from playwright.sync_api import Page, expect

from pages.ui.shell.i18n import LANGUAGES
from tests.browser.conftest import Look
from tests.browser.look import bottom, expect_query, overflow, settled
from tests.examples import sampled

# By view, what is on the first screen.
SHOWN = {
    "weights": ("stMetric", "stTable", "stAlert"),
    "training": ("stMetric", "stVegaLiteChart"),
    "activations": ("stMetric", "stVegaLiteChart", "stExpander"),
    "inference": ("stMetric", "stVegaLiteChart"),
    "fit": ("stMetric", "stVegaLiteChart", "stAlert"),
}
TURNS = [[*LANGUAGES], [*LANGUAGES][::-1]]


@pytest.mark.parametrize(
    ("language", "view"),
    # By turns: a view is looked at in one language, in `make test-all` in each.
    sampled([(language, view) for at, view in enumerate(SHOWN) for language in TURNS[at % 2]], 2),
)
def test_the_first_screen_has_it_all(look: Look, language: str, view: str) -> None:
    page = look(f"memory?memory={view}&lang={language}")
    expect(page.get_by_test_id("stMetric").first).to_be_visible()
    settled(page)
    for thing in SHOWN[view]:
        found = page.get_by_test_id("stMain").get_by_test_id(thing)
        expect(found.first).to_be_visible()
        assert 0 < bottom(found) <= 720, thing
    assert overflow(page.locator('[data-testid="stMetricValue"] div, [data-testid="stMetricLabel"] p')) <= 1
    assert overflow(page.locator(".katex-display")) <= 3


def figures(page: Page) -> list[str]:
    expect(page.get_by_test_id("stMetric")).to_have_count(2)
    settled(page)
    return page.get_by_test_id("stMetricValue").all_inner_texts()


def test_an_impossible_layer_is_explained_where_it_was_entered(look: Look) -> None:
    page = look("memory?memory=training&freeze_layers=99")
    sentence = page.get_by_text("Frozen layers 99 is not possible")
    expect(sentence.first).to_be_visible()
    page.get_by_role("button", name="More (1)").click()
    page.get_by_role("button", name="Frozen layers = 12").click()
    expect(sentence).to_have_count(0)


def test_a_view_shows_the_same_after_another(look: Look) -> None:
    page = look("memory?memory=training&optimizer=adafactor&training_dtype=mixed-16&recompute=full&freeze_layers=3")
    expected = figures(page)
    page.get_by_role("radio", name="Weights").click()
    expect(page.get_by_test_id("stMetric")).to_have_count(1)
    expect_query(page, {"memory": "weights"})  # what this view does not draw is no part of its link
    page.get_by_role("radio", name="Training").click()
    assert figures(page) == expected
