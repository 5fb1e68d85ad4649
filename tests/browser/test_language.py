"""The language of a page comes from the link, or else from the browser. Streamlit's own texts are translated, too."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from pages.ui.shell.navigation import SECTIONS
from tests.browser.conftest import Look, Open
from tests.browser.look import query, settled

CHINESE, ENGLISH = "BERT 为什么有 1.1 亿个参数？", "Why does BERT have 110 million parameters?"


@pytest.fixture(scope="module")
def chinese(browser: Browser) -> Iterator[Page]:
    """A window of a browser that is set to Chinese."""
    with browser.new_context(locale="zh-CN", viewport={"width": 1280, "height": 720}) as context:
        yield context.new_page()


def test_a_link_without_a_language_has_that_of_the_browser_and_is_not_changed(chinese: Page, server: str) -> None:
    chinese.goto(f"{server}/?preset=roberta-base")
    expect(chinese.get_by_role("heading", name=CHINESE)).to_be_visible(timeout=60_000)
    settled(chinese)
    assert chinese.locator("html").get_attribute("lang") == "zh"
    assert query(chinese) == {"preset": "roberta-base"}


def test_the_language_of_a_link_stays_in_it_on_every_page_and_after_a_reload(chinese: Page, server: str) -> None:
    chinese.goto(f"{server}/?lang=en")
    expect(chinese.get_by_role("heading", name=ENGLISH)).to_be_visible()
    settled(chinese)
    assert query(chinese) == {"lang": "en"}
    chinese.get_by_role("link", name="Memory").click()
    expect(chinese.get_by_role("heading", name="How much memory")).to_be_visible()
    chinese.wait_for_url("**/memory?**lang=en**")
    chinese.reload()
    expect(chinese.get_by_role("heading", name="How much memory")).to_be_visible()


def test_a_choice_goes_into_the_link_and_back_takes_it_out(chinese: Page, server: str) -> None:
    chinese.goto(f"{server}/")
    expect(chinese.get_by_role("heading", name=CHINESE)).to_be_visible()
    settled(chinese)
    chinese.get_by_text("English", exact=True).click()
    expect(chinese.get_by_role("heading", name=ENGLISH)).to_be_visible()
    chinese.wait_for_url("**lang=en**")
    settled(chinese)
    chinese.get_by_text("中文", exact=True).click()
    expect(chinese.get_by_role("heading", name=CHINESE)).to_be_visible()
    chinese.wait_for_url("**lang=zh**")
    settled(chinese)
    chinese.go_back()
    expect(chinese.get_by_role("heading", name=ENGLISH)).to_be_visible()


@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "zh-TW"])
def test_another_browser(page: Page, visit: Open, locale: str) -> None:
    """Override the browser's language. A new browser context would compile all scripts again."""
    hand = page.context.new_cdp_session(page)
    agent = page.evaluate("navigator.userAgent")
    hand.send("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": locale})
    visit()
    expect(page.get_by_role("heading", name=CHINESE if locale == "zh-TW" else ENGLISH)).to_be_visible()
    hand.detach()


def test_on_a_phone_the_language_is_in_the_bar_at_the_top(look: Look) -> None:
    page = look("")
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    switch = page.get_by_text("中文", exact=True)
    box = switch.bounding_box()
    assert box
    assert box["y"] + box["height"] < 60
    switch.click()
    expect(page.get_by_role("heading", name=CHINESE)).to_be_visible()
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_role("heading", name=ENGLISH)).to_be_visible()


def test_what_streamlit_writes_is_chinese_too(look: Look) -> None:
    page = look("exercises?lang=zh")
    field = page.get_by_role("textbox").first
    field.fill("12")
    expect(page.get_by_test_id("InputInstructions").first).to_have_text("按 Enter 提交")
    page.get_by_test_id("stMainMenu").get_by_role("button").click()
    menu = page.get_by_test_id("stMainMenuPopover")
    expect(menu.get_by_text("打印")).to_be_visible()
    expect(menu.get_by_text("深色")).to_be_visible()
    page.keyboard.press("Escape")
    page = look("bring?bring=config&lang=zh")
    page.get_by_role("textbox", name="config.json").fill("{")
    expect(page.get_by_test_id("InputInstructions").first).to_contain_text("按 Ctrl+Enter 应用")
    page = look("?lang=zh")
    page.get_by_role("combobox").first.fill("no such preset")
    expect(page.get_by_text("没有结果")).to_be_visible()
    page.keyboard.press("Escape")
    page = look("exercises?lang=en")
    page.get_by_role("textbox").first.fill("12")
    expect(page.get_by_test_id("InputInstructions").first).to_have_text("Press Enter to submit form")


def test_every_section_has_room_in_the_navigation(look: Look) -> None:
    for language in ("en", "zh"):
        page = look(f"?lang={language}")
        sections = page.get_by_test_id("stTopNavSection")
        expect(sections.filter(visible=True)).to_have_count(len([name for name in SECTIONS if name]))
