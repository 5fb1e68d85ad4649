"""Lecture screens of 1280 x 720, and the presentation view with its key and pointer.

test_every_page.py checks how each page looks there.
"""

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.ui.shell.i18n import LANGUAGES
from tests.browser.conftest import Look, Open
from tests.browser.look import (
    bottom,
    boxes,
    crowded,
    expect_query,
    open_page,
    overflow,
    ready,
    slider,
    total,
    total_formula,
)


def test_this_machine_has_a_chinese_font(page: Page) -> None:
    """`make environments` installs a Chinese font if there is none. Without it, all Chinese text has other widths."""
    drawn = page.evaluate("""() => [..."池化层"].map(character => {
        const canvas = document.createElement("canvas");
        Object.assign(canvas.getContext("2d"), { font: "40px sans-serif" }).fillText(character, 5, 45);
        return canvas.toDataURL();
    })""")
    assert len(set(drawn)) == 3, "every character is the same box: install a Chinese font, such as fonts-noto-cjk"


@pytest.mark.parametrize(
    "link",
    [
        "",
        "?lang=zh",
        "?architecture=BertForPreTraining",
        "?architecture=BertForSequenceClassification&vocab_size=21128",
        "?open=encoder.layer.*",
        "?open=encoder.layer.*&lang=zh",
    ],
)
def test_total_formula_and_chart_need_no_scrolling_and_are_no_wider_than_the_page(look: Look, link: str) -> None:
    page = look(link)
    ready(page)
    charts = page.get_by_test_id("stVegaLiteChart")
    charts.locator("canvas, svg").first.wait_for()
    sliders = page.get_by_test_id("stSidebar").get_by_test_id("stExpander")  # the last element of the sidebar
    for things in (page.get_by_test_id("stMetric"), total_formula(page), charts, sliders):
        assert 0 < bottom(things) <= 720
    assert overflow(total_formula(page)) <= 0
    if "open" in link:
        assert overflow(page.locator(".katex-display")) <= 3  # italics exceed the edge by a pixel or two


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_change_of_a_size_moves_no_number(look: Look, language: str, width: int, height: int) -> None:
    page = look(f"?lang={language}")
    page.set_viewport_size({"width": width, "height": height})
    ready(page)
    before = boxes(page.get_by_test_id("stMetric"))
    slider(page, "hidden_size").press("ArrowRight")
    expect(total(page)).to_have_text("121,211,840")
    after = boxes(page.get_by_test_id("stMetric"))
    assert [box["x"] for box in after] == [box["x"] for box in before]
    assert [box["y"] for box in after] == pytest.approx([box["y"] for box in before], abs=1)


def test_the_language_is_the_sessions_own(look: Look, visit: Open) -> None:
    page = visit("?lang=zh")
    ready(page)
    expect(page.get_by_text("BertModel 的参数量")).to_be_visible()
    expect(look().get_by_text("Parameters in BertModel")).to_be_visible()
    page.get_by_role("radio", name="English").click()
    expect(page.get_by_text("Parameters in BertModel")).to_be_visible()
    expect(page.get_by_role("link", name="Memory")).to_be_visible()


def controls(page: Page) -> Locator:
    """The row of controls below the page."""
    return page.get_by_test_id("stSidebar")


def top(thing: Locator) -> float:
    """The upper edge of an element, in pixels."""
    (box,) = boxes(thing)
    return box["y"]


def test_the_structure_is_a_tree(look: Look) -> None:
    page = look("structure?present=1")
    for module in ("word_embeddings", "BertLayer", "intermediate", "BertPooler"):
        expect(page.locator(".tree").get_by_text(module).first).to_be_in_viewport()


def test_tooltips_and_clicks_are_where_the_pointer_is(look: Look) -> None:
    page = look("?present=1")
    page.set_viewport_size({"width": 1920, "height": 1080})
    chart = page.get_by_test_id("stVegaLiteChart")
    assert bottom(chart.locator("svg")) <= bottom(chart) + 1  # the chart has room to grow
    (row,) = boxes(chart.get_by_text("Feed-forward", exact=True))
    middle = (960, row["y"] + row["height"] / 2)
    page.mouse.move(*middle)
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text("Feed-forward")
    (said,) = boxes(tooltip)
    assert abs(said["x"] - middle[0]) < 60
    page.mouse.click(*middle)
    expect(page.get_by_role("combobox", name="Open")).to_have_value("encoder.layer.*")


def test_the_key_switches_and_pages_keep_it(look: Look) -> None:
    page = look("?num_hidden_layers=6")
    ready(page)
    before = total(page).inner_text()
    page.keyboard.press("p")
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Exit")).to_be_visible()
    expect_query(page, {"num_hidden_layers": "6", "present": "1"})
    expect(total(page)).to_have_text(before)
    assert top(controls(page)) > 560
    open_page(page, "Explore", "Sweep")
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Exit")).to_be_visible()
    expect(page.get_by_role("slider", name="num_hidden_layers")).to_have_value("6")
    page.reload()
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Exit")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Present")).to_be_visible()
    assert top(controls(page)) == 0


@pytest.mark.parametrize("address", ["bring", "exercises"])
def test_a_phone_has_no_empty_strip_where_there_are_no_sliders(look: Look, address: str) -> None:
    page = look(address)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    page.get_by_role("radio", name="中文").click()
    expect(page.get_by_role("radio", name="中文")).to_be_checked()
    page.get_by_role("radio", name="English").click()
    expect(page.get_by_role("radio", name="English")).to_be_checked()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_projector_shows_both_formulas_of_what_fits(look: Look, language: str) -> None:
    page = look(f"memory?memory=fit&training_dtype=amp-fp16&present=1&lang={language}")
    formulas = page.locator(".katex-display")
    expect(formulas).to_contain_text("B≤176")
    assert crowded(page) == []


def test_labels_and_marks_on_the_projector_are_in_line(look: Look) -> None:
    page = look("memory?memory=fit&present=1")
    page.set_viewport_size({"width": 1920, "height": 1080})
    labels = page.get_by_test_id("stMain").get_by_test_id("stWidgetLabel")
    (precision,), (optimizer,) = (boxes(labels.filter(has_text=text)) for text in ("Training precision", "Optimizer"))
    assert precision["y"] == optimizer["y"]
    page = look("sweep?present=1")
    page.set_viewport_size({"width": 1920, "height": 1080})
    tie = page.get_by_test_id("stCheckbox").filter(has_text="4H")
    (mark,), (label,) = boxes(tie.locator("label > div").first), boxes(tie.get_by_test_id("stWidgetLabel"))
    assert abs(mark["y"] + mark["height"] / 2 - label["y"] - label["height"] / 2) < 2
