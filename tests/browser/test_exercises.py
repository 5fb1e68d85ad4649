"""Exercises in a browser: keyboard, link, download, and the first screen."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Look, Open
from tests.browser.look import bottom, boxes, expect_query, open_page, overflow, settled, total


def ready(page: Page, heading: str) -> None:
    """Wait until an exercise is shown and the page is drawn completely."""
    expect(page.get_by_role("heading", name=heading)).to_be_visible(timeout=15_000)
    expect(page.get_by_test_id("stCaptionContainer").last).to_be_visible()
    settled(page)


def test_a_sheet_is_done_with_the_keyboard(look: Look) -> None:
    page = look("exercises?level=easy&seed=1")
    ready(page, "1 · A tensor")
    field = page.get_by_label("Your answer")
    field.fill("50")
    field.press("ArrowRight")  # moves the cursor, but does not turn the sheet
    field.press("Enter")
    expect(page.get_by_text("Not yet")).to_be_visible()
    ready(page, "1 · A tensor")
    field.fill("10^2")
    field.press("Enter")
    expect(page.get_by_text("1 of 10 right")).to_be_visible()
    ready(page, "1 · A tensor")
    page.keyboard.press("Escape")  # removes the focus from the field
    page.keyboard.press("ArrowRight")
    ready(page, "2 · The shape of a tensor")
    page.wait_for_url("**exercise=2**")
    page.get_by_label("Your answer").fill("12 x 4")
    page.get_by_label("Your answer").press("Enter")
    expect(page.get_by_text("in the wrong order")).to_be_visible()
    expect(page.get_by_text("✓ 1 · ✗ 2")).to_be_visible()


def test_a_link_opens_the_same_sheet_again_in_both_languages(look: Look) -> None:
    link = {"level": "medium", "seed": "7", "exercise": "4", "solutions": "true"}
    address = "exercises?" + "&".join(f"{name}={value}" for name, value in link.items())
    page = look(address)
    ready(page, "4 · The whole model")
    formulas = page.locator("li:not(.st-key-sheet li) .katex-mathml annotation")
    expect(formulas).to_have_count(9)
    shown = formulas.all_text_contents()
    expect_query(page, link)
    look(f"{address}&lang=zh")
    expect(page.get_by_role("heading", name="4 · ")).to_be_visible()
    expect(formulas).to_have_text(shown)
    expect_query(page, link | {"lang": "zh"})
    with page.expect_download() as download:
        page.get_by_role("button", name="LaTeX").click()
    assert "ctex" in Path(download.value.path()).read_text(encoding="utf-8")  # the package that typesets Chinese


def test_the_sheet_can_be_downloaded(look: Look, tmp_path: Path) -> None:
    page = look("exercises?seed=3&solutions=true")
    ready(page, "1 · A tensor")
    for label, name, start in (("LaTeX", "tex", "\\documentclass"), ("Markdown", "md", "# Counting BERT: worksheet 3")):
        with page.expect_download() as download:
            page.get_by_role("button", name=label).click()
        assert download.value.suggested_filename == f"bertcalc-easy-3-solutions.{name}"
        download.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert "127.0.0.1" not in (tmp_path / "md").read_text(encoding="utf-8")  # others cannot open it
    expect(page.locator(".st-key-sheet")).to_contain_text("Version ")
    expect(page.locator(".st-key-sheet")).not_to_contain_text("127.0.0.1")
    page.set_viewport_size({"width": 390, "height": 844})
    numbers = boxes(page.locator(".st-key-exercise-row [role=radio]"))
    assert len(numbers) == 10
    assert len({box["y"] for box in numbers}) == 1  # all in one row on a phone


@pytest.mark.parametrize(
    ("number", "link"), [(9, ""), (10, "&lang=zh"), (9, "&level=hard&seed=4"), (10, "&level=hard&seed=4")]
)
def test_question_and_field_need_no_scrolling(look: Look, link: str, number: int) -> None:
    page = look(f"exercises?exercise={number}{link}")
    expect(page.get_by_role("heading", name=f"{number} · ")).to_be_visible()
    settled(page)
    assert bottom(page.get_by_test_id("stFormSubmitButton")) <= 720
    assert overflow(page.get_by_test_id("stTable")) <= 1


def test_the_model_of_an_exercise_opens_on_the_other_pages(look: Look) -> None:
    page = look("exercises?exercise=5")
    ready(page, "5 · An architecture")
    page.get_by_role("button", name="Use this model").click()
    page.wait_for_url("**num_labels=5**")
    ready(page, "5 · An architecture")
    page.get_by_role("link", name="Parameters").click()
    expect(page.get_by_text("Parameters in BertForTokenClassification")).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("4,285")
    open_page(page, "Teach", "Exercises")
    ready(page, "5 · An architecture")


def test_undo_right_after_a_button_undoes_it(look: Look) -> None:
    page = look("exercises?seed=3")
    undo, redo = (page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    page.get_by_role("button", name="Use this model").click()
    page.keyboard.press("Control+z")  # before the page has answered
    expect(redo).to_be_enabled()
    expect(undo).to_be_disabled()
    page.get_by_role("link", name="Parameters").click()
    expect(total(page)).to_have_text("109,482,240")


def test_back_from_a_new_sheet_shows_the_old_exercise_at_once(look: Look) -> None:
    page = look("exercises?seed=3")
    ready(page, "1 · A tensor")
    page.get_by_role("radio", name="2", exact=True).click()
    ready(page, "2 · The shape of a tensor")
    expect_query(page, {"seed": "3", "exercise": "2"})
    page.get_by_role("button", name="New worksheet").click()
    ready(page, "1 · A tensor")
    page.wait_for_url(lambda url: "seed=3&" not in f"{url}&" and "exercise=" not in url)
    settled(page)
    page.go_back()
    ready(page, "2 · The shape of a tensor")
    expect_query(page, {"seed": "3", "exercise": "2"})


def test_an_opened_model_is_one_press_from_its_count(look: Look) -> None:
    page = look("exercises?exercise=5")
    ready(page, "5 · An architecture")
    page.get_by_role("button", name="Use this model").click()
    expect(page.get_by_text("This is now the current model")).to_be_visible()
    page.get_by_role("link", name="See how it is counted").click()
    expect(page.get_by_text("Parameters in BertForTokenClassification")).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("4,285")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_letters_of_the_fields_are_whole(look: Look, width: int) -> None:
    page = look("exercises?level=easy&seed=1")
    page.set_viewport_size({"width": width, "height": 844})
    ready(page, "1 · A tensor")
    letters = page.locator("[data-testid=stTable] td i")
    expect(letters.first).to_be_visible()
    missing = letters.evaluate_all(
        """async (all) => {
            await document.fonts.load("17px KaTeX_Math");
            const pen = document.createElement("canvas").getContext("2d");
            return all.map((letter) => {
                const { fontSize, fontFamily } = getComputedStyle(letter);
                pen.font = `${fontSize} ${fontFamily}`;
                const ink = pen.measureText(letter.textContent).actualBoundingBoxRight;
                const room = letter.closest("div").getBoundingClientRect().right - letter.getBoundingClientRect().left;
                return ink - room;
            });
        }"""
    )
    assert len(missing) == 7
    assert max(missing) <= 0


def test_answers_are_there_again_after_a_reload(visit: Open) -> None:
    page = visit("exercises?level=easy&seed=1")
    ready(page, "1 · A tensor")
    field = page.get_by_label("Your answer")
    field.fill("100")
    field.press("Enter")
    expect(page.get_by_text("1 of 10 right")).to_be_visible()
    settled(page)
    page.reload()
    expect(page.get_by_text("1 of 10 right")).to_be_visible()
    expect(field).to_have_value("100")


@pytest.mark.parametrize("address", ["exercises", "compute"])
def test_labels_of_a_row_are_at_one_height(look: Look, address: str) -> None:
    page = look(address)
    settled(page)
    row = page.get_by_test_id("stMain").get_by_test_id("stHorizontalBlock").first
    labels = row.locator(":is(.stNumberInput, .stButtonGroup, .stSelectbox) > [data-testid=stWidgetLabel]")
    heights = [box["y"] for box in boxes(labels)]
    assert len(heights) >= 2
    assert max(heights) - min(heights) <= 1.5


def test_a_term_of_a_hand_count_has_no_last_line_of_one_letter(look: Look) -> None:
    page = look("lecture?screen=hand-count")
    settled(page)
    terms = page.locator(".st-key-lecture-screen td:first-child p:has(> code:only-child) code")
    lines = terms.evaluate_all("all => all.map((one) => [...one.getClientRects()].map((line) => line.width))")
    assert len([line for line in lines if len(line) > 1]) == 4
    assert all(min(widths) > max(widths) / 2 for widths in lines)


@pytest.mark.parametrize("address", ["exercises?exercise=2", "layers?step=2", "lecture?screen=attention"])
def test_arrows_point_outward(look: Look, address: str) -> None:
    page = look(address)
    for name, by in (("Previous", -1), ("Next", 1)):
        button = page.get_by_role("button", name=name)
        [word], [arrow] = boxes(button.get_by_text(name, exact=True)), boxes(button.get_by_test_id("stIconMaterial"))
        assert (arrow["x"] - word["x"]) * by > 0
    assert page.locator(".st-key-exercise-row kbd").filter(visible=True).count() == 0


@pytest.mark.parametrize(("address", "text"), [("exercises", "Printing this page"), ("lecture", "A word is a vector")])
def test_a_touch_screen_shows_no_keys(browser: Browser, server: str, address: str, text: str) -> None:
    with browser.new_context(viewport={"width": 1180, "height": 820}, is_mobile=True, has_touch=True) as tablet:
        page = tablet.new_page()
        page.goto(f"{server}/{address}")
        expect(page.get_by_text(text).filter(visible=True).first).to_be_visible()
        expect(page.locator("kbd").filter(visible=True)).to_have_count(0)
        shown = page.get_by_test_id("stMain").inner_text()
        assert "Ctrl" not in shown
        assert "sidebar" not in shown
