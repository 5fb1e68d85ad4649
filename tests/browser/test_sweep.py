"""The Sweep page in a browser: its link is its state, a click on the map selects a model, and one screen suffices."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from bertcalc import BertConfig, build
from bertcalc.config import DIMENSIONS
from tests.browser.conftest import Look
from tests.browser.look import (
    bottom,
    boxes,
    expect_query,
    held,
    hold,
    misplaced,
    number,
    overflow,
    query,
    settled,
    slider,
    smallest,
)
from tests.examples import sampled

SIDEBAR = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")


def chart(page: Page) -> Locator:
    """Return the chart once the page is drawn completely."""
    drawn = page.get_by_test_id("stVegaLiteChart")
    drawn.locator("canvas, svg").first.wait_for()
    settled(page)
    return drawn


def expect_sizes(page: Page, *sizes: int) -> None:
    for field, size in zip(SIDEBAR, sizes, strict=True):
        expect(number(page, field).first).to_have_value(f"{size:,}")


def test_choices_go_into_the_link(look: Look) -> None:
    page = look("sweep")
    chart(page)
    page.get_by_test_id("stCheckbox").filter(has_text="4H").locator("label").click()
    page.wait_for_url("**tie_intermediate=false**")
    page.get_by_role("radio", name="Contour map").click()
    page.wait_for_url("**sweep=map**")
    expect(page.get_by_text("Click to use the model at that point")).to_be_visible()
    expect_query(page, {"tie_intermediate": "false", "sweep": "map"})


def test_a_click_takes_a_model_that_there_is(look: Look) -> None:
    page = look("sweep?sweep=map")
    picture = chart(page)
    picture.click(position={"x": 500, "y": 90})
    expect(number(page, "hidden_size").first).not_to_have_value("768")
    hidden = int(slider(page, "hidden_size").input_value())
    layers = int(slider(page, "num_hidden_layers").input_value())
    assert layers > 12
    expect_sizes(page, hidden, layers, hidden // 64, 4 * hidden)
    page.wait_for_url(f"**hidden_size={hidden}**")
    expect(page.get_by_text("The sidebar makes no model")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect_sizes(page, 768, 12, 12, 3072)
    chart(page).click(position={"x": 500, "y": 90})  # again at the same place
    expect_sizes(page, hidden, layers, hidden // 64, 4 * hidden)


def test_a_click_on_a_published_model_takes_it(look: Look) -> None:
    page = look("sweep?sweep=map&log=true&vocab_size=21128&x_to=1024&y_to=24")
    picture = chart(page)
    (box,) = boxes(picture)
    # bert-large is in the top right corner of this map. The pointer moves there until the model's tooltip appears.
    found = page.get_by_text("bert-large-uncased, bert-large-cased")
    for across in range(int(box["width"]) - 100, int(box["width"]), 3):
        page.mouse.move(box["x"] + across, box["y"] + 17)
        if found.count() and found.is_visible():
            page.mouse.click(box["x"] + across, box["y"] + 17)
            break
    page.wait_for_url("**preset=bert-large-uncased**")
    expect_sizes(page, 1024, 24, 16, 4096)
    expect(number(page, "vocab_size").first).to_have_value("30,522")


MAPS = ("", "&present=1", "&present=1&lang=zh", "&num_hidden_layers=20&hidden_size=512", "&preset=gpt2", "&logs=true")


@pytest.mark.parametrize(
    ("turn", "link"),
    [*enumerate(MAPS)],
)
def test_names_on_the_map_do_not_lie_on_each_other(look: Look, link: str, turn: int) -> None:
    """Each map is checked at two of four sizes in `make test`, by turns."""
    page = look(f"sweep?sweep=map{link}")
    for width, height in sampled(((1920, 1080), (1280, 720), (820, 1180), (390, 844)), 2, begin=turn % 2):
        page.set_viewport_size({"width": width, "height": height})
        assert [fault for fault in misplaced(chart(page)) if fault.startswith("on each other")] == [], width


@pytest.mark.parametrize("link", ["x=num_labels", "x=type_vocab_size", "x=batch_size&measure=forward", "x=hidden_size"])
def test_texts_of_the_two_marked_models_do_not_lie_on_each_other(look: Look, link: str) -> None:
    architecture = "BertForSequenceClassification" if "num_labels" in link else "BertModel"
    page = look(f"sweep?{link}&architecture={architecture}")
    for width, height in ((1280, 720), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        marked = boxes(chart(page).locator(".role-mark text").filter(has_text=re.compile("[A-Z] = [0-9,]+: ")))
        assert len(marked) == 4  # two texts, each with its outline
        one, other = marked[:2]
        across = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
        along = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
        assert min(across, along) < 3


def test_a_step_on_the_map_is_a_key_press(look: Look) -> None:
    page = look("sweep?sweep=map")
    chart(page)
    page.get_by_role("button", name="→ H = 832").press("Enter")
    expect(page.get_by_role("button", name="→ H = 896")).to_be_visible()
    page.wait_for_url("**hidden_size=832**")
    expect_sizes(page, 832, 12, 13, 3328)


def test_what_is_swept_is_chosen_of_every_dimension_with_the_keyboard(look: Look) -> None:
    page = look("sweep")
    chart(page)
    box = page.get_by_role("combobox", name="x axis")
    box.click()
    for field in DIMENSIONS:
        expect(page.get_by_role("option", name=field, exact=True)).to_have_count(1)
    box.fill("num_hidden_layers")
    box.press("Enter")
    page.wait_for_url("**x=num_hidden_layers**")
    expect(page.get_by_text("Linear in num_hidden_layers")).to_be_visible()


@pytest.mark.parametrize(
    "link",
    [
        "",
        "sweep=map",
        "x=num_hidden_layers",
        "measure=training_memory&architecture=BertForPreTraining&growths=true",
        "x=num_attention_heads&measure=training_memory&architecture=BertForPreTraining&growths=true",
        "sweep=map&measure=training&lang=zh",
    ],
)
def test_formula_and_chart_need_no_scrolling_and_nothing_is_cut(look: Look, link: str) -> None:
    page = look(f"sweep?{link}")
    assert 0 < bottom(chart(page)) <= 720
    assert overflow(page.locator(".katex-display")) <= 3
    assert smallest(page.locator(".katex-display .katex")) >= 17  # not smaller than words
    if "growths" in link:
        expect(page.get_by_test_id("stTable")).to_be_visible()
        assert overflow(page.get_by_test_id("stTable")) <= 1


@pytest.mark.parametrize("address", ["sweep", "sweep?present=1&lang=zh"])
def test_names_at_the_ends_of_curves_do_not_lie_on_each_other(look: Look, address: str) -> None:
    page = look(address)
    page.set_viewport_size({"width": 1920, "height": 1080})
    names = boxes(page.locator("[data-testid=stVegaLiteChart] text").filter(has_text=re.compile("^parameters|参数量$")))
    tops = sorted({box["y"] for box in names})  # each name is drawn twice: as an outline, and as text
    assert len(tops) == 4
    assert all(below - above > 0.8 * names[0]["height"] for above, below in pairwise(tops))


def test_the_words_and_the_mark_move_in_the_hand(look: Look) -> None:
    page = look("sweep?x=num_hidden_layers")
    settled(page)
    layers = hold(page, slider(page, "num_hidden_layers"), 0.4)
    assert layers > 16
    one, two = (build(BertConfig(num_hidden_layers=count)).num_parameters() for count in (layers, 2 * layers))
    expect(page.get_by_text("Doubled to")).to_contain_text(f"Doubled to {2 * layers}: {one:,} → {two:,} parameters")
    expect(page.locator(".stVegaLiteChart").first).to_contain_text(f"L = {layers}: ")
    assert "num_hidden_layers" not in query(page)  # the server does not know the value yet
    page.mouse.up()
    page.wait_for_url(f"**num_hidden_layers={layers}*")
    expect(page.get_by_text("Doubled to")).to_contain_text(f"{one:,} → {two:,} parameters")


@pytest.mark.parametrize("link", ["x=sequence_length&measure=forward", "x=hidden_size", "x=hidden_size&lang=zh"])
def test_the_growth_in_words_is_on_one_line(look: Look, link: str) -> None:
    page = look(f"sweep?{link}")
    chart(page)
    words = boxes(page.locator(".st-key-growth p"))
    assert len(words) == 2
    assert overflow(page.locator(".st-key-growth p")) <= 0
    assert max(word["height"] for word in words) < 35


@pytest.mark.parametrize("link", ["", "&x=max_position_embeddings&y=num_attention_heads", "&y=max_position_embeddings"])
def test_names_in_the_boxes_of_the_map_are_whole_and_all_of_them_in_one_row(look: Look, link: str) -> None:
    page = look(f"sweep?sweep=map{link}")
    assert 0 < bottom(chart(page)) <= 720
    chosen = page.locator(":is(.st-key-x, .st-key-y) input")
    expect(chosen).to_have_count(2)
    assert chosen.evaluate_all("all => all.map(one => one.scrollWidth - one.clientWidth)") == [0, 0]
    ends = boxes(page.locator(":is(.st-key-x_from, .st-key-y_to)"))
    assert ends[0]["y"] == ends[1]["y"]


def test_a_ratio_that_a_drag_changes_is_pale(look: Look) -> None:
    page = look("sweep")
    chart(page)
    ties = page.get_by_test_id("stCheckbox")
    opacity = "label => getComputedStyle(label.closest('[class*=st-key-live]')).opacity"
    with held(page, "hidden_size", 0.75):
        assert ties.filter(has_text="H/64").evaluate(opacity) == "1"  # the heads follow the hidden size
        assert ties.filter(has_text="4H").evaluate(opacity) == "0.45"


@pytest.mark.parametrize(("link", "text"), [("sweep", "H = 768: 109.5M"), ("sweep?sweep=map", "109.5M")])
def test_a_dot_stays_on_the_curves_that_do_not_move(look: Look, link: str, text: str) -> None:
    page = look(link)
    dot = chart(page).locator(".role-mark text").filter(has_text=re.compile(f"^{text}$")).first
    with held(page, "hidden_size", 0.75):  # intermediate_size is fixed in the model, but grows along the curves
        expect(dot).to_be_attached()
        assert dot.evaluate(_OPACITY) == 0.45


_OPACITY = """element => {
    let opacity = 1;
    for (let one = element; one; one = one.parentElement) opacity *= getComputedStyle(one).opacity;
    return opacity;
}"""
