"""The lecture in a browser: keyboard and link, live sliders, and that no screen needs scrolling."""

import re

import pytest
from playwright.sync_api import Page, expect

from bertcalc.lecture import read
from pages.ui.lecture.files import DEFAULT, FOLDER
from pages.ui.lecture.parts import VOCABULARY
from tests.browser.conftest import Open
from tests.browser.look import bottom, boxes, expect_query, overflow, settled, slider, total

NAMES = [screen.name for screen in read((FOLDER / f"{DEFAULT}.toml").read_bytes(), VOCABULARY).screens]


def ready(page: Page, number: int) -> None:
    """Wait until a screen is there, and drawn to its end."""
    position = re.compile(f"^{number} / {len(NAMES)} · ")
    expect(page.locator(".st-key-jump input")).to_have_value(position, timeout=30_000)
    settled(page)


def test_keys_lead_from_screen_to_screen_and_each_is_a_link(visit: Open) -> None:
    page = visit("lecture")
    ready(page, 1)
    page.keyboard.press("ArrowRight")
    ready(page, 2)
    page.wait_for_url(f"**screen={NAMES[1]}")
    page.keyboard.press("n")
    notes = page.get_by_text("A fifth of the model")
    expect(notes).to_be_visible()
    page.wait_for_url("**notes=true**")
    page.reload()
    ready(page, 2)
    expect(notes).to_be_visible()
    expect_query(page, {"screen": NAMES[1], "notes": "true"})
    page.keyboard.press("ArrowLeft")
    ready(page, 1)


def test_the_slider_of_a_screen_moves_its_numbers_and_stays_in_the_link(visit: Open) -> None:
    page = visit("lecture?screen=all-layers")
    ready(page, 8)
    layers = slider(page, "num_hidden_layers")
    expect(page.get_by_role("slider")).to_have_count(1)
    expect(total(page)).to_have_text("85,054,464")
    layers.focus()
    layers.press("ArrowUp")
    expect(total(page)).to_have_text("92,142,336")
    expect(page.get_by_role("heading", name="13 such layers")).to_be_visible()
    expect_query(page, {"screen": "all-layers", "num_hidden_layers": "13"})


@pytest.mark.parametrize(("language", "appearance"), [("en", "light"), ("zh", "dark")])
def test_no_screen_needs_scrolling(visit: Open, page: Page, language: str, appearance: str) -> None:
    page.emulate_media(color_scheme=appearance)  # type: ignore[arg-type]  # parametrize gives str
    visit(f"lecture?lang={language}&notes=true")
    for number, name in enumerate(NAMES, 1):
        ready(page, number)
        (controls,) = boxes(page.get_by_test_id("stSidebar"))
        assert bottom(page.locator(".st-key-lecture-notes")) <= controls["y"], name
        assert controls["y"] + controls["height"] <= 720, name
        main = page.get_by_test_id("stMain")
        assert main.evaluate("element => element.scrollHeight - element.clientHeight") <= 0, name
        assert overflow(page.locator(".katex-display")) <= 3, name
        assert overflow(page.get_by_test_id("stTable")) <= 1, name
        page.keyboard.press("ArrowRight")
