"""The Memory page in a browser: the first screen, its views, and impossible settings."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from bertcalc import BertConfig, build
from bertcalc.memory.devices import DEVICES, Device, kept_free
from bertcalc.memory.fit import most
from bertcalc.memory.peak import inference_peak_bytes, training_peak_bytes
from bertcalc.memory.peak.peak_formulas import growths
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import saved_activation_bytes
from bertcalc.model.model import Model
from bertcalc.text.digits import size
from pages.ui.shell.i18n import LANGUAGES
from tests.browser.conftest import Look
from tests.browser.look import bottom, boxes, expect_query, held, hold, overflow, query, settled, slider
from tests.examples import sampled

# The elements of the first screen in each view.
SHOWN = {
    "weights": ("stMetric", "stTable"),
    "training": ("stMetric", "stVegaLiteChart"),
    "activations": ("stMetric", "stVegaLiteChart", "stExpander"),
    "inference": ("stMetric", "stVegaLiteChart"),
    "fit": ("stMetric", "stVegaLiteChart", "stAlert"),
}
TURNS = [[*LANGUAGES], [*LANGUAGES][::-1]]


@pytest.mark.parametrize(
    ("language", "view"),
    # Each view is checked in one language by turns, and in both in `make test-thorough`.
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
    sentence = page.get_by_text("Frozen layers 99 is invalid")
    expect(sentence.first).to_be_visible()
    page.get_by_role("button", name="More (1)").click()
    page.get_by_role("button", name="Frozen layers = 12").click()
    expect(sentence).to_have_count(0)


def test_a_view_shows_the_same_after_another(look: Look) -> None:
    page = look("memory?memory=training&optimizer=adafactor&training_dtype=mixed-16&recompute=full&freeze_layers=3")
    expected = figures(page)
    page.get_by_role("radio", name="Weights").click()
    expect(page.get_by_test_id("stMetric")).to_have_count(1)
    expect_query(page, {"memory": "weights"})  # settings that this view does not use are not in its link
    page.get_by_role("radio", name="Training").click()
    assert figures(page) == expected


def model_of(layers: int) -> Model:
    return build(BertConfig(num_hidden_layers=layers), "BertForMaskedLM")


MOVING: dict[str, Callable[[Model], int]] = {
    "training": lambda model: training_peak_bytes(model, 8, 128, keep_outputs=False, fused_dropout=True),
    "inference": lambda model: inference_peak_bytes(model, 8, 128),
    "activations": lambda model: saved_activation_bytes(model, 8, 128, fused_dropout=True),
}


@pytest.mark.parametrize("view", list(MOVING))
def test_memory_moves_in_the_hand(look: Look, view: str) -> None:
    page = look(f"memory?memory={view}&batch_size=8&architecture=BertForMaskedLM")
    figure = page.get_by_test_id("stMetricValue").first
    expect(figure).to_have_text(size(MOVING[view](model_of(12))))
    settled(page)
    layers = hold(page, slider(page, "num_hidden_layers"), 0.7)
    assert layers > 24
    expect(figure).to_have_text(size(MOVING[view](model_of(layers))))
    assert "num_hidden_layers" not in query(page)  # the server does not know the value yet
    page.mouse.up()
    settled(page)
    page.wait_for_url(f"**num_hidden_layers={layers}*")
    expect(figure).to_have_text(size(MOVING[view](model_of(layers))))


def test_what_fits_moves_in_the_hand_and_few_layers_are_older(look: Look) -> None:
    page = look("memory?memory=fit&batch_size=8&architecture=BertForMaskedLM")
    largest = page.get_by_test_id("stMetricValue").nth(1)
    room = kept_free(Device("T4", DEVICES["T4-16GB"]), 1.5)
    assert isinstance(room, Device)
    settled(page)

    def most_of(layers: int) -> str:
        polynomials = growths(model_of(layers), Plan(fused_dropout=True), "batch_size", 8, 128)
        return f"{most(polynomials, room.for_tensors).number:,}"

    expect(largest).to_have_text(most_of(12))
    layers = hold(page, slider(page, "num_hidden_layers"), 0.7)
    expect(largest).to_have_text(most_of(layers))
    page.mouse.up()
    settled(page)
    expect(largest).to_have_text(most_of(layers))
    assert hold(page, slider(page, "num_hidden_layers"), 0.01) < 4
    expect(largest).to_have_css("opacity", "0.45")
    page.mouse.up()
    settled(page)
    expect(largest).to_have_css("opacity", "1")


def test_a_verdict_that_changes_in_the_hand_has_no_icon_of_the_other_one(look: Look) -> None:
    page = look("memory?memory=fit&hidden_size=1536&num_attention_heads=24")
    verdict = page.locator(".st-key-verdict")
    icon = verdict.get_by_test_id("stAlertDynamicIcon")
    expect(icon).to_have_text("check")
    with held(page, "num_hidden_layers", 0.96):
        expect(verdict).to_contain_text("Does not fit")
        expect(verdict).to_contain_text("Not even one sequence of 128 tokens fits")
        expect(verdict).not_to_contain_text("At most")
        expect(icon).to_be_hidden()
        expect(verdict.get_by_test_id("stAlertContainer")).to_have_css("background-color", "rgba(128, 128, 128, 0.15)")
    expect(icon).to_have_text("close")
    with held(page, "num_hidden_layers", 0.3):
        expect(verdict).to_contain_text("At most: batches of 47 with 128 tokens")
        expect(icon).to_be_hidden()


def test_the_numbers_of_training_stay_in_one_row_during_a_change_and_after_it(look: Look) -> None:
    page = look("memory?memory=training")
    numbers = page.get_by_test_id("stMetric")
    before = boxes(numbers)
    assert len({box["y"] for box in before}) == 1
    with held(page, "hidden_size", 0.75):
        below = page.get_by_test_id("stMetricDelta").first
        expect(below).to_contain_text("vs. bert-base-uncased")
        assert overflow(below.locator("*")) == 0
    assert [(box["x"], box["y"]) for box in boxes(numbers)] == [(box["x"], box["y"]) for box in before]
