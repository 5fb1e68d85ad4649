"""The interactive HTML page in a browser, without a server: its numbers match the models that its sliders select."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from bertcalc import BertConfig, build
from bertcalc.charts.colors import COLORS
from bertcalc.controls.stops import moved
from bertcalc.discover.results.discovered_page import discovered_page, independent_fields
from bertcalc.discover.results.shipped import shipped
from bertcalc.export.formula_page import interactive_page
from bertcalc.export.report import html
from bertcalc.families import CLASSES
from bertcalc.model.totals import breakdown
from bertcalc.proofreading.proofread import proofread
from tests.export.test_report import report_of

NAMES = ("BertModel", "DistilBertForMaskedLM", "AlbertForPreTraining", "GPT2LMHeadModel", "ModernBertForMaskedLM")


@pytest.mark.parametrize("name", NAMES)
def test_its_numbers_are_those_of_the_model_at_every_stop(page: Page, tmp_path: Path, name: str) -> None:
    config = CLASSES[name].config.default()
    file = tmp_path / "page.html"
    file.write_text(interactive_page(build(config, name), COLORS["light"]), encoding="utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    for field, label in (("num_hidden_layers", "Layer count"), ("hidden_size", "Hidden size"), ("vocab_size", "Voc")):
        slider = page.get_by_role("slider", name=label)
        before = f"{getattr(config, field):,}"
        expect(slider).to_have_attribute("aria-valuetext", before)
        slider.press("ArrowLeft")
        expect(slider).not_to_have_attribute("aria-valuetext", before)
        shown = slider.get_attribute("aria-valuetext") or ""
        config = moved(config, field, int(shown.replace(",", "")))
        model = build(config, name)
        expect(page.locator("output")).to_have_text(f"{model.num_parameters():,}")
        expect(page.locator(".formula > div").last).to_have_text(f"= {model.num_parameters():,}")
        for bar, text in zip(breakdown(model), page.locator(".text").all(), strict=True):
            expect(text).to_contain_text(f"{bar.parameters:,}")
    assert asked == [file.as_uri()]


@pytest.mark.parametrize("field", ["n_embd", "n_layer"])
def test_the_page_of_a_discovered_class_shows_its_count(page: Page, tmp_path: Path, field: str) -> None:
    gpt2 = shipped("gpt2", "GPT2LMHeadModel")
    assert gpt2
    file = tmp_path / f"{field}.html"  # a new file per field: a browser restores the sliders of a page that it knows
    file.write_text(discovered_page(gpt2, {}, COLORS["light"]), encoding="utf-8")
    page.goto(file.as_uri())
    expect(page.locator("output")).to_have_text("124,439,808")
    expect(page.locator(".change")).to_have_text("")
    slider = page.get_by_role("slider").nth(independent_fields(gpt2).index(field))
    before = slider.get_attribute("aria-valuetext") or ""
    slider.press("End")
    expect(slider).not_to_have_attribute("aria-valuetext", before)  # the slider moves in the next frame
    shown = slider.get_attribute("aria-valuetext") or ""
    total = gpt2.count(**{field: int(shown.replace(",", ""))})
    expect(page.locator("output")).to_have_text(f"{total:,}")
    expect(page.locator(".formula > div").last).to_have_text(f"= {total:,}")


def test_the_dark_page_and_the_phone_show_all_of_it(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(interactive_page(build(CLASSES["BertModel"].config.default()), COLORS["light"]), encoding="utf-8")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(file.as_uri())
    expect(page.locator("output")).to_have_text("109,482,240")
    page.get_by_role("slider", name="Hidden").press("End")  # long labels
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    model = build(moved(CLASSES["BertModel"].config.default(), "hidden_size", 2048))
    counts = [bar.parameters for bar in breakdown(model)]
    page.wait_for_timeout(250)  # until the bars have reached their lengths
    widths = page.locator(".fill").evaluate_all("bars => bars.map((bar) => bar.getBoundingClientRect().width)")
    for width, count in zip(widths, counts, strict=True):
        assert abs(width / max(widths) - count / max(counts)) < 0.01
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 17, 23)"


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """A phone: like a real one, it widens the page until everything fits."""
    with browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True) as context:
        yield context.new_page()


def test_a_page_and_a_report_fit_a_phone_and_names_are_beside_their_bars(phone: Page, tmp_path: Path) -> None:
    model = build(BertConfig(num_labels=3), "BertForSequenceClassification")
    for text in (html(report_of(model.config, model.architecture)), interactive_page(model, COLORS["light"])):
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        phone.goto(file.as_uri())
        assert phone.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [390, 390]
    expect(phone.locator(".legend")).to_have_text("Without a slider: P 512 positions · T 2 token types · C 3 labels")
    names, bars = (
        phone.locator(place).evaluate_all("all => all.map((one) => one.getBoundingClientRect())")
        for place in (".row > span", ".fill")
    )
    for name, own, next_name in zip(names, bars, names[1:], strict=False):
        assert next_name["top"] - own["bottom"] > 2 * (own["top"] - name["bottom"])


def test_a_report_and_a_marked_text_are_read_in_a_narrow_window(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.set_content(html(report_of(BertConfig(), "BertModel")))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    beyond = page.locator("td math").evaluate_all(
        """all => all.filter((math) => {
            const cell = math.closest("td").getBoundingClientRect();
            return math.getBoundingClientRect().right > cell.right + 1;
        }).length"""
    )
    assert beyond == 0
    page.set_content(proofread("BERT-base has 109,482,240 parameters.").page())
    text = page.locator("pre").bounding_box()
    assert text
    assert text["x"] >= 16
    assert text["x"] + text["width"] <= 390 - 16


def test_bars_glide_after_a_key_and_not_in_a_drag(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(interactive_page(build(CLASSES["BertModel"].config.default()), COLORS["light"]), encoding="utf-8")

    def duration() -> str:
        return str(page.locator(".fill").first.evaluate("bar => getComputedStyle(bar).transitionDuration"))

    page.goto(file.as_uri())
    slider = page.get_by_role("slider", name="Layer count")
    slider.press("ArrowRight")
    assert duration() == "0.2s"
    expect(page.locator("output")).to_have_text("116,570,112", timeout=100)  # the number does not wait for the bars
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    assert duration() == "0.2s"
    page.mouse.move(box["x"] + box["width"] / 2 + 40, box["y"] + box["height"] / 2, steps=3)
    assert duration() == "0s"
    page.mouse.up()
    page.emulate_media(reduced_motion="reduce")
    slider.press("ArrowRight")
    assert duration() == "0s"
    page.emulate_media(reduced_motion="no-preference")
