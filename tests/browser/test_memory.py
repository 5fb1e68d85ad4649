"""The Memory page in a browser: the first screen, the link, and PyTorch's verdict."""

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.browser.look import bottom, expect_query, overflow, settled

LINK = {
    "memory": "training",
    "optimizer": "adafactor",
    "training_dtype": "mixed-16",
    "recompute": "full",
    "fused_dropout": "true",
    "freeze_layers": "3",
    "batch_size": "4",
}


@pytest.mark.parametrize(
    ("view", "things"),
    [
        ("weights", ("stMetric", "stTable", "stAlert")),
        ("training", ("stMetric", "stVegaLiteChart")),
        ("activations", ("stMetric", "stVegaLiteChart", "stExpander")),
        ("inference", ("stMetric", "stVegaLiteChart")),
        ("fit", ("stMetric", "stVegaLiteChart", "stAlert")),
    ],
)
# Below the views, so that it changes once: what is dark begins anew.
@pytest.mark.parametrize(("language", "appearance"), [("en", "light"), ("zh", "dark")])
def test_the_first_screen_has_it_all(
    look: Look, view: str, things: tuple[str, ...], language: str, appearance: Literal["light", "dark"]
) -> None:
    page = look(f"memory?memory={view}&lang={language}", appearance)
    expect(page.get_by_test_id("stMetric").first).to_be_visible()
    settled(page)
    for thing in things:
        found = page.get_by_test_id("stMain").get_by_test_id(thing)
        expect(found.first).to_be_visible()
        assert 0 < bottom(found) <= 720, thing
    assert overflow(page.locator('[data-testid="stMetricValue"] div, [data-testid="stMetricLabel"] p')) <= 1
    assert overflow(page.locator(".katex-display")) <= 3


def figures(page: Page) -> list[str]:
    expect(page.get_by_test_id("stMetric")).to_have_count(2)
    settled(page)
    return page.get_by_test_id("stMetricValue").all_inner_texts()


def test_a_link_shows_the_same_after_other_views_and_other_pages(look: Look) -> None:
    page = look("memory?" + "&".join(f"{name}={value}" for name, value in LINK.items()))
    expected = figures(page)
    page.get_by_role("radio", name="Weights").click()
    expect(page.get_by_test_id("stMetric")).to_have_count(1)
    page.get_by_role("radio", name="Training").click()
    assert figures(page) == expected
    page.get_by_role("link", name="Parameters").click()
    expect(page.get_by_text("Parameters in BertModel")).to_be_visible()
    page.get_by_role("link", name="Memory").click()
    assert figures(page) == expected
    expect_query(page, LINK)


def test_pytorch_is_asked(look: Look) -> None:
    page = look("memory?memory=activations&recompute=selective")
    page.get_by_text("Check with PyTorch").click()
    expect(page.get_by_text("PyTorch counts the same: ")).to_be_visible(timeout=60_000)
    page.wait_for_url("**hooks=true**")


def test_an_impossible_layer_is_explained_where_it_was_entered(look: Look) -> None:
    page = look("memory?memory=training&freeze_layers=99")
    sentence = page.get_by_text("Frozen layers 99 is not possible")
    expect(sentence.first).to_be_visible()
    page.get_by_role("button", name="More (1)").click()
    page.get_by_role("button", name="Frozen layers = 12").click()
    expect(sentence).to_have_count(0)
