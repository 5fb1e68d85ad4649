"""What a person sees on a lecture screen of 1280 x 720."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look, Open
from tests.browser.look import bottom, overflow, ready, total_formula


def test_this_machine_has_a_chinese_font(page: Page) -> None:
    """Where there is none, `make environments` brings it: all that is tested in Chinese has other widths without."""
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
    sliders = page.get_by_test_id("stSidebar").get_by_test_id("stExpander")  # the last of them
    for things in (page.get_by_test_id("stMetric"), total_formula(page), charts, sliders):
        assert 0 < bottom(things) <= 720
    assert overflow(total_formula(page)) <= 0
    if "open" in link:
        assert overflow(page.locator(".katex-display")) <= 3  # italics hang over the edge by a pixel or two


def test_the_language_is_the_sessions_own(look: Look, visit: Open) -> None:
    page = visit("?lang=zh")
    ready(page)
    expect(page.get_by_text("BertModel 的参数量")).to_be_visible()
    expect(look().get_by_text("Parameters in BertModel")).to_be_visible()
    page.get_by_role("radio", name="en").click()
    expect(page.get_by_text("Parameters in BertModel")).to_be_visible()
    expect(page.get_by_role("link", name="Memory")).to_be_visible()
