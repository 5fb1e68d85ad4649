"""Taking results away in a browser: by keyboard, on paper, and as a printed report."""

import json
import re
from pathlib import Path

import pytest
import transformers
from playwright.sync_api import Download, Locator, Page, expect

from bertcalc import BertConfig
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from pages.ui.shell.i18n import LANGUAGES, catalogue
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.export.files import model_files
from pages.ui.widgets.export.shown import Origin
from tests.browser.conftest import Look, Open
from tests.browser.look import PYTORCH, boxes, number, ready, settled, slider, total_formula
from tests.examples import sampled

REPORTED = ("BertModel", "BertForPreTraining", "BertLMHeadModel")
TURNS = [[*LANGUAGES], [*LANGUAGES][::-1]]


def downloaded(page: Page, button: Locator) -> Download:
    """Press a button with the keyboard, and return the download that it starts."""
    page.keyboard.press("Shift")  # a key press first: focus that only a script sets would be taken back
    button.focus()
    with page.expect_download(timeout=PYTORCH) as waiting:  # the report asks the real model
        page.keyboard.press("Enter")
    download = waiting.value
    expect(button).to_be_enabled()
    settled(page)  # when the download's run ends, the dialog is drawn again
    expect(button).to_be_focused()  # focused again: otherwise the next key would have no effect
    return download


def text(download: Download) -> str:
    return Path(download.path()).read_text(encoding="utf-8-sig")


def pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def test_everything_is_taken_with_the_keyboard(visit: Open, tmp_path: Path) -> None:
    page = visit("?architecture=BertForMaskedLM&vocab_size=21128&tie_word_embeddings=false")
    ready(page)
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(number(page, "num_hidden_layers")).to_have_value("13")
    page.wait_for_url("**num_hidden_layers=13**")
    settled(page)
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("t")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(page.url, exact=True)).to_be_visible()
    page.go_back()  # the page runs again, and the dialog stays open
    expect(number(page, "num_hidden_layers")).to_have_value("12")
    expect(dialog.get_by_text(page.url, exact=True)).to_be_visible()
    page.emulate_media(media="print")
    expect(dialog).to_be_hidden()
    page.emulate_media(media="screen")
    buttons = {name: dialog.get_by_role("button", name=name, exact=True) for name in ("config.json", "CSV", "SVG")}

    config = downloaded(page, buttons["config.json"])
    assert config.suggested_filename == "config.json"
    loaded = transformers.BertConfig.from_json_file(config.path())
    assert (loaded.vocab_size, loaded.tie_word_embeddings) == (21128, False)
    assert json.loads(text(config))["architectures"] == ["BertForMaskedLM"]
    assert "Attention" in text(downloaded(page, buttons["CSV"]))
    drawn = text(downloaded(page, buttons["SVG"]))
    assert drawn.startswith("<svg")
    assert "Attention" in drawn
    png = downloaded(page, dialog.get_by_role("button", name="PNG", exact=True))
    assert Path(png.path()).read_bytes().startswith(b"\x89PNG")

    report = downloaded(page, dialog.get_by_role("button", name="Report, HTML to print"))
    assert "The real BertForMaskedLM agrees" in text(report)
    page.keyboard.press("Shift")  # as in downloaded: Close keeps the focus
    dialog.get_by_role("button", name="Close").press("Enter")
    expect(dialog).to_be_hidden()
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(number(page, "num_hidden_layers")).to_have_value("13")
    settled(page)
    expect(dialog).to_be_hidden()

    asked: list[str] = []
    paper = page.context.new_page()
    paper.on("request", lambda request: asked.append(request.url))
    path = tmp_path / "report.html"
    path.write_text(text(report), encoding="utf-8")
    paper.goto(path.as_uri())
    assert asked == [path.as_uri()]
    formula = paper.locator("math").first
    assert formula.evaluate("element => element.getBoundingClientRect().height") > 5
    paper.close()


@pytest.mark.parametrize(
    ("architecture", "language"),
    # Each class is checked in one language by turns, and in both in `make test-thorough`.
    sampled([(one, said) for at, one in enumerate(REPORTED) for said in TURNS[at % 2]], 2, 1),
)
def test_a_report_is_one_page_of_paper(page: Page, tmp_path: Path, architecture: str, language: str) -> None:
    decodes = architecture == "BertLMHeadModel"
    config = BertConfig(is_decoder=decodes, add_cross_attention=decodes, tie_word_embeddings=not decodes)
    choice = Choice(Model(config, architecture), "bert-base-uncased")
    place = Origin("https://bertcalc.test/?is_decoder=true&add_cross_attention=true", language)
    files = model_files(choice, Batch(32, 512), place, catalogue(language).gettext)
    path = tmp_path / "report.html"
    path.write_bytes(next(file for file in files if file.mime == "text/html").make())
    page.goto(path.as_uri())
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 without its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    page.emulate_media(media="print")
    assert pages(page.pdf(prefer_css_page_size=True)) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    lines = page.locator("math").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert lines
    assert max(lines) <= 703


def test_a_printed_page_has_what_is_read_and_nothing_that_is_pressed(visit: Open, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    visit()
    ready(page)
    page.emulate_media(color_scheme="dark", media="print")
    page.set_viewport_size({"width": 703, "height": 1000})
    for part in ("stSidebar", "stHeader"):
        expect(page.get_by_test_id(part)).to_be_hidden()
    for kind in ("stButton", "stExpander"):
        expect(page.get_by_test_id(kind).filter(visible=True)).to_have_count(0)
    expect(page.get_by_test_id("stMetricValue").first).to_be_visible()
    expect(total_formula(page).first).to_be_visible()
    settled(page)
    for box in boxes(page.locator(".formula .unit, .formula .chip, canvas").filter(visible=True)):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 703
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert "invert(1)" in page.get_by_test_id("stApp").evaluate("element => getComputedStyle(element).filter")
    assert pages(page.pdf(prefer_css_page_size=True)) == 1


def test_a_printed_page_says_its_name_its_view_and_its_model(look: Look) -> None:
    page = look("sweep?preset=bert-base-chinese&num_hidden_layers=24&sweep=map")
    views = page.get_by_role("radiogroup", name="View")
    expect(views.get_by_role("radio", name="Contour map")).to_be_visible()
    settled(page)
    model = page.locator(".on-paper")
    expect(model).to_be_hidden()
    pressed = [page.get_by_test_id("stMain").get_by_test_id(kind).first for kind in ("stButton", "stCheckbox")]
    for one in pressed:
        expect(one).to_be_visible()
    page.emulate_media(media="print")
    expect(model).to_be_visible()
    for said in ("Sweep", "BertModel · bert-base-chinese", "vocab_size V = 21,128", "Changed: num_hidden_layers = 24"):
        expect(model).to_contain_text(said)
    expect(views.get_by_role("radio", name="Contour map")).to_be_visible()
    expect(views.get_by_role("radio", name="One dimension")).to_be_hidden()
    for one in pressed:
        expect(one).to_be_hidden()


def test_printed_exercises_are_the_whole_sheet(look: Look) -> None:
    page = look("exercises?seed=3")
    shown = page.get_by_role("heading", name="1 · A tensor")
    expect(shown).to_be_visible()
    settled(page)
    exercises = page.get_by_role("heading", level=2)
    expect(exercises).to_have_count(1)
    page.emulate_media(media="print")
    expect(exercises).to_have_count(10)
    expect(shown).to_be_hidden()
    expect(page.get_by_role("heading", name="Counting BERT: worksheet 3, easy")).to_be_visible()
    expect(page.get_by_label("Your answer")).to_be_hidden()
    assert pages(page.pdf(prefer_css_page_size=True)) > 1


# Checked in each frame, since a worker that has the model makes the report in a fraction of a second.
_NOTE_SIGN = """() => {
  const look = () => {
    window.sawSign = document.querySelector(".st-key-making").checkVisibility();
    if (!window.sawSign) requestAnimationFrame(look);
  };
  look();
}"""


def test_a_report_that_takes_its_time_says_so(look: Look) -> None:
    page = look("?lang=zh")
    page.keyboard.press("t")
    dialog = page.get_by_role("dialog")
    sign = dialog.get_by_text("正在生成文件")
    expect(dialog.get_by_role("button", name="Markdown").first).to_be_visible()
    expect(sign).to_be_hidden()
    page.evaluate(_NOTE_SIGN)
    with page.expect_download(timeout=PYTORCH):
        dialog.get_by_test_id("stDownloadButton").filter(has_text="报告").first.get_by_role("button").click()
    assert page.evaluate("window.sawSign")
    expect(sign).to_be_hidden()


def test_a_download_button_keeps_the_focus(look: Look) -> None:
    page = look()
    ready(page)
    page.keyboard.press("t")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(page.url, exact=True)).to_be_visible()
    settled(page)  # the dialog is drawn completely and has the focus
    page.wait_for_function("() => document.activeElement.closest('[role=dialog]')")
    for name in ("CSV", "SVG", "PNG", "CSV", "PNG"):
        button = dialog.get_by_role("button", name=name, exact=True)
        downloaded(page, button)
    page.keyboard.press("Tab")
    expect(button).not_to_be_focused()
    assert dialog.evaluate("dialog => dialog.contains(document.activeElement)")
