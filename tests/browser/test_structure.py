"""The Modules page in a real browser: folding, copying, links."""

from functools import partial
from itertools import cycle

import pytest
from playwright.sync_api import Locator, Page, expect

from bertcalc import BertConfig
from tests.browser.conftest import Look, Open
from tests.browser.look import bottom, boxes, crowded, expect_query, settled, smallest
from tests.oracle import Case


def tree(page: Page) -> Locator:
    return page.locator(".tree").first


def lines(page: Page) -> list[str]:
    return tree(page).inner_text().splitlines()


@pytest.mark.parametrize("architecture", ["BertModel", "BertForPreTraining"])
def test_the_open_tree_reads_line_for_line_as_print_gives_it(look: Look, architecture: str) -> None:
    page = look(f"structure?architecture={architecture}")
    expect(tree(page)).to_be_visible()
    assert lines(page) == str(Case(BertConfig(), architecture).real()).splitlines()


def test_every_node_folds_and_unfolds_with_the_keyboard_and_the_mouse(look: Look) -> None:
    """Keys and the mouse take turns."""
    page = look("structure")
    nodes = tree(page).locator("summary")
    expect(nodes).to_have_count(11)  # the model, and all modules with submodules
    before = lines(page)
    for node, key in zip(nodes.all(), cycle(("Enter", "Space", "click")), strict=False):
        toggle = node.click if key == "click" else partial(node.press, key)
        below = node.locator("xpath=following-sibling::*").first
        toggle()
        expect(below).to_be_hidden()
        toggle()
        expect(below).to_be_visible()
    assert lines(page) == before


def test_the_text_can_be_copied_as_it_is(look: Look) -> None:
    page = look("structure")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_text("The text of print(model), to copy").click()
    code = page.get_by_test_id("stCode")
    code.hover()
    code.get_by_role("button", name="Copy").first.click()
    # A click does not wait for the clipboard.
    copied = "text => navigator.clipboard.readText().then((now) => now === text)"
    page.wait_for_function(copied, arg=str(Case(BertConfig()).real()))


def test_counts_stand_in_one_column_at_the_right_end(look: Look) -> None:
    page = look("structure?counts=true&architecture=BertForPreTraining")
    counts = tree(page).locator("span")
    expect(counts.first).to_have_text("110,106,428")
    ends = {round(box["x"] + box["width"]) for box in boxes(counts)}
    assert len(ends) == 1
    assert ends.pop() <= 1280


def test_a_view_and_its_choices_are_in_the_link(look: Look) -> None:
    page = look("structure")
    expect(tree(page)).to_be_visible()
    settled(page)
    page.get_by_role("radio", name="Freezing").click()
    page.get_by_role("spinbutton", name="Frozen layers").fill("12")
    page.get_by_role("spinbutton", name="Frozen layers").press("Enter")
    frozen = page.get_by_test_id("stMetricValue").nth(1)
    expect(frozen).to_have_text("85,054,464")
    expect_query(page, {"view": "freezing", "freeze_layers": "12"})


def test_two_architectures_stand_side_by_side_with_signs_on_what_differs(look: Look) -> None:
    page = look("structure?beside=BertForSequenceClassification&lang=zh")
    expect(page.locator(".tree")).to_have_count(2)
    here, there = boxes(page.locator(".tree"))
    assert here["y"] == there["y"]
    assert here["x"] + here["width"] <= there["x"]
    assert page.locator(".tree .marked").all_inner_texts() == [
        "+\n  (dropout): Dropout(p=0.1, inplace=False)",
        "+\n  (classifier): Linear(in_features=768, out_features=2, bias=True)",
    ]
    expect(page.get_by_text("BertForSequenceClassification：+1,538 个参数")).to_be_visible()


@pytest.mark.parametrize("link", ["view=parts&architecture=BertForPreTraining", "view=notebook", "view=parts&lang=zh"])
def test_the_first_table_needs_no_scrolling(look: Look, link: str) -> None:
    page = look(f"structure?{link}")
    table = page.get_by_test_id("stTable").first
    expect(table).to_be_visible()
    assert bottom(table) <= 720


def test_on_a_touch_screen_the_toolbar_of_a_table_covers_no_other_table(look: Look) -> None:
    page = look("structure")
    hand = page.context.new_cdp_session(page)
    hand.send("Emulation.setTouchEmulationEnabled", {"enabled": True})  # Streamlit looks for it when it draws a table
    look("structure?view=notebook")
    page.set_viewport_size({"width": 390, "height": 844})
    toolbar, rows = page.get_by_test_id("stElementToolbarButton"), page.get_by_test_id("stTable").locator("tr")
    expect(toolbar.first).to_be_visible()
    assert min(button["y"] for button in boxes(toolbar)) >= bottom(rows)
    hand.detach()


@pytest.mark.parametrize("link", ["train=head", "freeze_layers=99", "architecture=BertForPreTraining&lang=zh"])
def test_metrics_and_chart_of_freezing_need_no_scrolling(look: Look, link: str) -> None:
    page = look(f"structure?view=freezing&{link}")
    page.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first.wait_for()
    for things in (page.get_by_test_id("stMetric"), page.get_by_test_id("stVegaLiteChart")):
        assert 0 < bottom(things) <= 720


def test_back_and_forward_go_through_the_views(look: Look) -> None:
    """Streamlit does not bind this choice to the link: the page writes and reads it."""
    page = look("structure")
    expect(page.locator(".tree")).to_be_visible()
    page.get_by_role("radio", name="Module types").click()
    page.wait_for_url("**/structure?view=parts")
    expect(page.locator(".tree")).to_have_count(0)
    page.go_back()
    expect(page.locator(".tree")).to_be_visible()
    expect_query(page, {})
    page.go_forward()
    expect(page.locator(".tree")).to_have_count(0)
    expect_query(page, {"view": "parts"})


def test_the_tensors_are_as_large_on_a_projector_as_other_tables(visit: Open, page: Page) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    visit("structure?view=notebook&present=1")  # loaded anew, since the style may arrive after the table
    names = page.locator("[class*=st-key-scrolling] td:first-child code")
    expect(names).to_have_count(199)
    assert crowded(page) == []
    assert smallest(names) >= 1080 / 45
    names.last.scroll_into_view_if_needed()
    expect(names.last).to_be_in_viewport()
