"""Using a phone. test_every_page.py checks how every page looks at every size."""

import re

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.conftest import Look, Open
from tests.browser.look import boxes, number, overflow, ready, settled, slider, total

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.mark.parametrize(
    "address", ["sweep", "tools", "compute?compute=conventions", "memory", "memory?memory=activations"]
)
def test_on_a_phone_a_formula_wraps_and_its_further_lines_are_indented(look: Look, address: str) -> None:
    page = look(address)
    page.set_viewport_size(PHONE)
    formula = page.locator(".katex-display").first
    expect(formula).to_be_visible()
    settled(page)
    assert overflow(formula) <= 3
    starts = sorted({round(box["x"]) for box in boxes(formula.locator(".base"))})
    assert starts[1] - starts[0] > 20


@pytest.mark.parametrize("address", ["compute?compute=time&lang=zh", "memory?lang=zh", "bring", "compare"])
def test_on_a_phone_the_options_of_a_choice_are_in_one_row(look: Look, address: str) -> None:
    page = look(address)
    page.set_viewport_size(PHONE)
    rows = page.locator("[data-testid=stMain] [data-testid=stButtonGroup] > div")
    expect(rows.first).to_be_visible()
    settled(page)
    for row in rows.all():
        assert len({box["y"] for box in boxes(row.get_by_role("radio"))}) == 1
        assert overflow(row) <= 0


@pytest.mark.parametrize("address", ["?lang=zh", "lecture?screen=attention&lang=zh", "compute"])
def test_on_a_phone_neither_bars_nor_grid_lines_cut_labels(look: Look, address: str) -> None:
    page = look(address)
    page.set_viewport_size(PHONE)
    settled(page)
    chart = page.get_by_test_id("stVegaLiteChart").first
    expect(chart.locator(".role-axis-grid line").first).to_have_attribute("opacity", "0")
    bars = boxes(chart.locator(".mark-rect path[aria-roledescription=bar]:not([opacity='0'])"))
    labels = boxes(chart.locator(".mark-text.role-mark text").filter(has_text="·"))
    assert len(labels) >= 4
    for label in labels:
        top, bottom = label["y"] + 4, label["y"] + label["height"] - 1  # without the space above capitals
        assert not [bar for bar in bars if bar["y"] < bottom and bar["y"] + bar["height"] > top and bar["width"] > 1]


def test_on_a_phone_the_menu_has_a_name_and_closes_after_a_choice(visit: Open, page: Page) -> None:
    page.set_viewport_size(PHONE)
    visit("?lang=zh")
    ready(page)
    button, choice = page.get_by_role("button", name="菜单", exact=True), page.get_by_role("link", name="计算量")
    expect(choice).to_be_hidden()
    button.click()
    expect(page.get_by_role("button", name="关闭", exact=True)).to_be_visible()
    # Below the page, one slider is shown at a time.
    sizes = (slider(page, "hidden_size"), slider(page, "intermediate_size"))
    for thing in (
        page.get_by_role("radio", name="English"),
        choice,
        page.get_by_role("combobox", name="预设模型"),
        *sizes,
    ):
        expect(thing).to_be_visible()
    page.set_viewport_size({"width": PHONE["height"], "height": PHONE["width"]})
    page.goto("about:blank")  # leaves the page with the menu open, after turning the phone
    page.set_viewport_size(PHONE)
    page.go_back()  # returns to the page
    ready(page)
    expect(choice).to_be_hidden()
    button.click()
    choice.click()
    expect(page).to_have_url(re.compile("/compute"))
    expect(choice).to_be_hidden()
    expect(button).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_on_a_phone_a_slider_is_moved_while_the_number_is_seen(visit: Open, page: Page) -> None:
    """The tooltip of a symbol closes when the menu opens. Bars that were narrow get labels when there is room."""
    page.set_viewport_size(PHONE)
    visit()
    ready(page)
    names = page.get_by_test_id("stVegaLiteChart").first.get_by_text(re.compile("^Word embeddings"))
    expect(names).to_have_text(["Word embeddings · 23,440,896 · 21.4 %"] * 2)  # each label twice: first its outline
    expect(slider(page, "hidden_size")).to_be_in_viewport(ratio=1)
    expect(slider(page, "num_hidden_layers")).to_be_hidden()
    expect(page.get_by_role("combobox", name="Start from")).to_be_hidden()  # it is in the menu
    expect(total(page)).to_be_in_viewport(ratio=1)
    letters = page.locator(".panel-tabs")
    letters.get_by_role("button", name="L 12").click()
    expect(slider(page, "hidden_size")).to_be_hidden()
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(number(page, "num_hidden_layers")).to_have_value("13")
    expect(letters.get_by_role("button", name="L 13")).to_be_visible()
    expect(total(page)).to_have_text("116,570,112")
    expect(total(page)).to_be_in_viewport(ratio=1)
    number(page, "num_hidden_layers").fill("0")
    number(page, "num_hidden_layers").press("Enter")
    letters.get_by_role("button", name="H 768").click()
    expect(slider(page, "hidden_size")).to_be_visible()
    # The shortcut to the invalid value stays until the value is corrected.
    page.get_by_role("button", name="L = 1", exact=True).click()
    expect(slider(page, "num_hidden_layers")).to_be_hidden()
    settled(page)
    page.locator(".chip").first.click()
    tip = page.get_by_role("tooltip")
    expect(tip).to_be_visible()
    page.get_by_role("button", name="Menu", exact=True).click()
    expect(tip).to_be_hidden()
    page.get_by_role("button", name="Close", exact=True).click()
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(names).to_have_text(["Word embeddings"])


def test_on_a_phone_a_link_is_aligned_with_the_text_and_no_title_names_a_key(browser: Browser, server: str) -> None:
    with browser.new_context(viewport=PHONE, is_mobile=True, has_touch=True) as phone:
        page = phone.new_page()
        page.goto(f"{server}/structure?num_hidden_layers=6")
        link = page.get_by_role("link", name="How it grows with each size →")
        expect(link).to_be_visible(timeout=30_000)
        settled(page)
        [text], [heading] = boxes(link.locator("p")), boxes(page.get_by_role("heading", level=1))
        assert abs(text["x"] - heading["x"]) <= 1
        assert overflow(link.locator("p")) <= 0
        actions = page.locator(".panel-actions button")  # the menu hides them until it is opened
        titles = [action.get_attribute("title") for action in actions.all()]
        assert titles == ["Undo one step", "Redo one step", "Reset to bert-base-uncased"]
