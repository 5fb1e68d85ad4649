"""Charts as a user reads them: by the length of bars, and by pointing at them."""

from io import BytesIO
from itertools import groupby

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Look
from tests.browser.look import boxes, expect_query, misplaced, number, overflow, raw, ready, said, settled
from tests.examples import sampled

# A link for each chart that no page shows initially. test_every_page.py checks the initial charts.
CHARTS = (
    "?open=embeddings&lang=zh",
    "structure?view=freezing",
    "compute?compute=length",
    "memory?memory=activations",
    "memory?memory=training",
    "compare?compare=bars",
    "compare?compare=scatter",
    "sweep?sweep=map",
    "design?nearby=true",
    "lecture?screen=one-layer",
)
NAMED = ("compute?compute=length", "memory?memory=training")  # charts whose names contain names of models
BLUE = (0, 114, 178)  # color of the embeddings in the light theme
ORANGE = (179, 71, 0)  # color of the encoder in the light theme


def longest(chart: Locator, color: tuple[int, int, int]) -> int:
    """Return the length in pixels of the longest unbroken line of a colour in the chart."""
    image = Image.open(BytesIO(chart.screenshot())).convert("RGB")
    pixels = image.load()
    assert pixels is not None
    lines = ([pixels[x, y] == color for x in range(image.width)] for y in range(image.height))
    return max(len(list(run)) for line in lines for same, run in groupby(line) if same)


@pytest.mark.parametrize("address", ["compute", "sweep"])
def test_every_number_of_an_axis_is_under_its_tick(look: Look, address: str) -> None:
    page = look(address)
    settled(page)
    axes = page.get_by_test_id("stVegaLiteChart").first.locator(".role-axis-label").all()
    anchors = [
        axis.locator("text").evaluate_all("all => all.map((one) => one.getAttribute('text-anchor'))") for axis in axes
    ]
    assert ["middle"] in [sorted({*axis}) for axis in anchors]
    assert all(len({*axis}) <= 1 for axis in anchors)


def test_a_bar_its_label_and_its_piece_say_name_figure_share_and_formula(look: Look) -> None:
    page = look("?num_hidden_layers=18")
    ready(page)
    charts = page.get_by_test_id("stVegaLiteChart")
    # The label of the longest bar is to its right.
    box = charts.last.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 120, box["y"] + 22 * 6.5)
    tooltip = page.locator("#vg-tooltip-element.visible")
    expect(tooltip).to_contain_text("Feed-forward")
    text = tooltip.inner_text()
    for part in ("85,003,776", "55.9 %", "L·(2 H·I + H + I)", "56,669,184"):
        assert part in text
    for chart in (charts.first, charts.last):
        found = said(chart)
        assert found["Feed-forward"] == {"Parameters", "Share", "Formula", "Preset"}
        assert len(found) == (9 if chart == charts.last else len(found))
    assert raw(page) == []


def test_bars_grow_and_what_does_not_change_keeps_its_length(look: Look) -> None:
    page = look("?num_hidden_layers=24")
    drawn = {}
    for layers in (24, 6, 12):
        field = number(page, "num_hidden_layers")
        field.fill(f"{layers}")
        field.press("Enter")
        expect_query(page, {} if layers == 12 else {"num_hidden_layers": f"{layers}"})
        ready(page)
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)
        chart = page.get_by_test_id("stVegaLiteChart").last
        drawn[layers] = longest(chart, BLUE), longest(chart, ORANGE)
    blues = [blue for blue, _orange in drawn.values()]
    assert max(blues) - min(blues) <= 3  # the preset's mark covers the end of the bar
    # Only the part that the preset has, too, is solid.
    assert drawn[6][1] == pytest.approx(drawn[12][1] / 2, abs=4)
    assert drawn[24][1] == pytest.approx(drawn[12][1], abs=4)


@pytest.mark.parametrize(
    "link", ["?num_hidden_layers=48&hidden_size=2048&num_attention_heads=16", "?hidden_size=12288"]
)
def test_no_label_is_cut(look: Look, link: str) -> None:
    page = look(link)
    ready(page)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 2400})  # tall, so that a phone's sliders cover nothing
        settled(page)
        chart = page.get_by_test_id("stVegaLiteChart").last
        page.mouse.move(0, 0)
        image = Image.open(BytesIO(chart.screenshot())).convert("RGB")
        paper = image.getpixel((image.width - 1, image.height // 2))
        edge = [image.getpixel((image.width - 2, y)) for y in range(image.height)]
        assert set(edge) == {paper}, width


def test_a_click_on_a_bar_opens_it(look: Look) -> None:
    page = look()
    ready(page)
    (box,) = boxes(page.get_by_test_id("stVegaLiteChart").first)
    axis = 24  # pixels below the eight bars; the longest bar is the feed-forward network
    page.mouse.click(box["x"] + 0.35 * box["width"], box["y"] + 6.5 * (box["height"] - axis) / 8)
    page.wait_for_url("**/?open=encoder.layer*")
    expect(page.get_by_text("intermediate.dense")).to_be_visible()


# Last, since a phone leaves the sidebar closed.
@pytest.mark.parametrize("link", sampled(CHARTS, 2))
def test_no_tooltip_shows_a_field_of_the_data_and_on_a_phone_nothing_is_cut(look: Look, link: str) -> None:
    page = look(link)
    page.get_by_test_id("stVegaLiteChart").last.locator("canvas, svg").first.wait_for(timeout=60_000)
    assert raw(page) == []
    page.mouse.move(0, 0)
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    assert overflow(page.get_by_test_id("stMetricValue").locator("div")) <= 1
    if link in NAMED:
        assert misplaced(page.get_by_test_id("stVegaLiteChart")) == []
