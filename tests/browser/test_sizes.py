"""Every page at the size of a lecture screen, a tablet, and a phone that stands or lies: it can be read and used."""

import re
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from pages.ui.i18n import LANGUAGES
from tests.browser.conftest import Open
from tests.browser.look import PAGES, bottom, number, ready, settled, slider, total


class Size(NamedTuple):
    """Of a window, in pixels."""

    width: int
    height: int


# From the widest, as Streamlit closes the sidebar where a window becomes narrow, and does not open it again.
SIZES = (Size(1280, 720), Size(844, 390), Size(820, 1180), Size(390, 844))
PHONE = SIZES[-1]

# What a person would see as a fault, by what can be measured: the page goes sideways; words are cut off; words lie on
# words. Formulas, pictures and what scrolls within itself have their own ways.
_FAULTS = """() => {
    const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const name = (element) => element.textContent.trim().slice(0, 40);
    const [main, ...others] = ["stMain", "stSidebar", "stHeader"].map((id) =>
        document.querySelector(`[data-testid=${id}]`));
    const faults = [];
    for (const wide of [document.scrollingElement, main]) {
        if (wide.scrollWidth > wide.clientWidth) faults.push(`sideways by ${wide.scrollWidth - wide.clientWidth}`);
    }
    const own = ".katex, .formula, svg, .tree, [data-testid=stDataFrame], [data-testid=stTable], .vega-embed,"
        + " .spoken, [popover], [data-testid=stIconMaterial], [data-testid=stHeader] [inert]";
    const words = [];
    for (const place of [main, ...others]) {
        const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const { parentElement, data } = walker.currentNode;
            if (!data.trim() || parentElement.closest(own) || !shown(parentElement)) continue;
            const range = document.createRange();
            range.selectNodeContents(walker.currentNode);
            const box = range.getBoundingClientRect();
            for (let around = parentElement; around !== place; around = around.parentElement) {
                const { overflowX, overflowY } = getComputedStyle(around);
                const { right, bottom } = around.getBoundingClientRect();
                const cut = (overflowX === "hidden" && box.right > right + 2)
                    || (overflowY === "hidden" && box.bottom > bottom + 4);
                if (cut) faults.push(`cut: ${name(parentElement)}`);
            }
            if (place === main && box.right > innerWidth + 1) faults.push(`outside: ${name(parentElement)}`);
            words.push([place, parentElement, ...[...range.getClientRects()].filter((one) => one.width > 1)]);
        }
    }
    words.forEach(([place, element, ...boxes], at) => {
        for (const [otherPlace, other, ...otherBoxes] of words.slice(at + 1)) {
            if (place !== otherPlace || element === other) continue;
            const on = boxes.some((a) => otherBoxes.some((b) =>
                Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
                && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 8));
            if (on) faults.push(`on each other: ${name(element)} and ${name(other)}`);
        }
    });
    return [...new Set(faults)];
}"""


# Chromium gives the keyboard's focus to what scrolls, which axe does not know; contrast is the same at every size, and
# measured once here, for what only a phone has (test_axe.py has the rest), as it takes longer than all other rules.
_OPTIONS = {
    size: {"rules": {"scrollable-region-focusable": {"enabled": False}, "color-contrast": {"enabled": size == PHONE}}}
    for size in SIZES
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("address", PAGES)
def test_a_page_can_be_read_at_every_size(visit: Open, page: Page, address: str, language: str) -> None:
    visit(f"{address}?lang={language}")
    expect(page.get_by_role("slider").last).to_be_attached()
    found: list[tuple[object, ...]] = []
    for size in SIZES:
        page.set_viewport_size({"width": size.width, "height": size.height})
        settled(page)
        found += [(size, fault) for fault in page.evaluate(_FAULTS)]
        found += [
            (size, rule["id"], node["html"])
            for rule in Axe().run(page, options=_OPTIONS[size]).response["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]
    assert not found


@pytest.mark.parametrize(
    ("language", "menu", "close", "chosen"), [("en", "Menu", "Close", "Compute"), ("zh", "菜单", "关闭", "计算量")]
)
def test_on_a_phone_the_menu_has_a_name_and_closes_after_a_choice(
    visit: Open, page: Page, language: str, menu: str, close: str, chosen: str
) -> None:
    page.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    visit(f"?lang={language}")
    ready(page)
    button, choice = page.get_by_role("button", name=menu, exact=True), page.get_by_role("link", name=chosen)
    expect(choice).to_be_hidden()
    button.click()
    expect(page.get_by_role("button", name=close, exact=True)).to_be_visible()
    page.set_viewport_size({"width": PHONE.height, "height": PHONE.width})
    page.goto("about:blank")  # left while it is turned, with the menu open
    page.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    page.go_back()  # whoever comes again comes to the page
    ready(page)
    expect(choice).to_be_hidden()
    button.click()
    choice.click()
    expect(page).to_have_url(re.compile("/compute"))
    expect(choice).to_be_hidden()
    expect(button).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_on_a_phone_a_slider_is_moved_while_the_number_is_seen(visit: Open, page: Page) -> None:
    page.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    visit()
    ready(page)
    expect(slider(page, "hidden_size")).to_be_in_viewport(ratio=1)
    expect(slider(page, "num_hidden_layers")).to_be_hidden()
    expect(total(page)).to_be_in_viewport(ratio=1)
    letters = page.locator(".panel-tabs")
    letters.get_by_role("button", name="L 12").click()
    expect(slider(page, "hidden_size")).to_be_hidden()
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(number(page, "num_hidden_layers")).to_have_value("13")
    expect(letters.get_by_role("button", name="L 13")).to_be_visible()
    expect(total(page)).to_have_text("116,570,112")
    expect(total(page)).to_be_in_viewport(ratio=1)


def test_the_tip_of_a_letter_goes_when_the_menu_opens(visit: Open, page: Page) -> None:
    page.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    visit()
    ready(page)
    page.locator(".chip").first.click()
    tip = page.get_by_role("tooltip")
    expect(tip).to_be_visible()
    page.get_by_role("button", name="Menu", exact=True).click()
    expect(tip).to_be_hidden()


def test_a_lecture_screen_shows_the_whole_sidebar(visit: Open) -> None:
    page = visit()
    ready(page)
    assert 0 < bottom(page.get_by_test_id("stSidebar").get_by_test_id("stExpander")) <= 720
