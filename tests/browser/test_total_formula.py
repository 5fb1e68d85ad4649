"""The total's formula in a browser: each term and symbol has a tooltip, by mouse, keyboard and touch."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Look
from tests.browser.look import boxes, ready, settled, slider, total_formula

WINDOWS = ({"width": 1280, "height": 720}, {"width": 390, "height": 844})


def term(page: Page, label: str) -> Locator:
    """A term, symbol or number of the formula, by its accessible name."""
    return page.locator(".st-key-total-formula").get_by_role("button", name=label, exact=True).first


def tip(page: Page) -> Locator:
    """The visible tooltip."""
    return page.get_by_role("tooltip")


def test_the_mouse_the_keyboard_and_escape(look: Look) -> None:
    page = look()
    ready(page)
    expect(tip(page)).to_be_hidden()
    term(page, "9H").hover()
    expect(tip(page)).to_contain_text("9H = 9 · 768 = 6,912")
    expect(tip(page)).to_contain_text("Biases: query, key, value, attention output, feed-forward output, 5 × [768]")
    tip(page).hover()  # the pointer can enter the tooltip, to read or to copy
    page.wait_for_timeout(400)
    expect(tip(page)).to_be_visible()
    page.mouse.move(5, 5)
    expect(tip(page)).to_be_hidden()

    term(page, "4H²").focus()
    expect(tip(page)).to_contain_text("4H² = 4 · 768² = 2,359,296")
    page.keyboard.press("Tab")
    expect(tip(page)).to_contain_text("2HI = 2 · 768 · 3,072 = 4,718,592")
    assert term(page, "2HI").get_attribute("aria-describedby") == tip(page).get_attribute("id")
    page.keyboard.press("Escape")
    expect(tip(page)).to_be_hidden()
    assert term(page, "2HI").get_attribute("aria-describedby") is None


def test_the_whole_bracket_and_the_sum_say_what_they_are(look: Look) -> None:
    page = look()
    ready(page)
    page.locator(".formula .open").nth(1).hover()
    expect(tip(page)).to_contain_text("L (4H² + 2HI + 9H + I) = 12 · 7,087,872 = 85,054,464")
    term(page, "590,592").hover()
    expect(tip(page)).to_contain_text("pooler: H² + H = 590,592")
    term(page, "T 2 token types").hover()
    expect(tip(page)).to_contain_text("type_vocab_size T = 2")
    expect(page.get_by_role("math")).to_have_accessible_name(
        "N = H (V + P + T) + 2H + L (4H² + 2HI + 9H + I) + H² + H = 109,482,240"
    )


def test_what_was_clicked_stays_open_and_follows_a_slider(look: Look) -> None:
    page = look()
    ready(page)
    page.mouse.move(5, 5)  # the previous test left the pointer on a symbol whose tooltip covers this term
    expect(tip(page)).to_be_hidden()
    node = term(page, "9H").element_handle()
    term(page, "9H").click()
    slider(page, "num_hidden_layers").focus()
    slider(page, "num_hidden_layers").press("ArrowUp")
    expect(tip(page)).to_contain_text("In each layer: 13 · 6,912 = 89,856")
    assert node.evaluate("node => node.isConnected")  # the element was not replaced
    page.mouse.move(5, 5)
    page.wait_for_timeout(400)
    expect(tip(page)).to_be_visible()
    page.get_by_test_id("stMetric").first.click()
    expect(tip(page)).to_be_hidden()


def test_it_stays_open_when_there_is_more_of_the_term(look: Look) -> None:
    page = look("?is_decoder=true")
    ready(page)
    term(page, "9H").click()
    page.get_by_text("More fields").click()
    page.get_by_text("add_cross_attention", exact=True).click()
    expect(tip(page)).to_contain_text("15H = 15 · 768 = 11,520")
    expect(tip(page)).to_be_visible()


def test_on_a_phone_it_wraps_and_a_tap_is_enough(look: Look) -> None:
    for link in ("", "?architecture=BertForPreTraining&lang=zh"):
        page = look(link)
        page.set_viewport_size(WINDOWS[1])  # type: ignore[arg-type]
        ready(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, link
        for box in boxes(page.locator(".formula .unit, .formula .chip")):
            assert box["x"] >= 0, link
            assert box["x"] + box["width"] <= 390, link
        tap(term(page, "2HI"))
        expect(tip(page)).to_contain_text("2HI = 2 · 768 · 3,072 = 4,718,592")
        assert outside(page, focused=False) == []
        tap(page.get_by_test_id("stMetric").first)
        expect(tip(page)).to_be_hidden()


def tap(thing: Locator) -> None:
    """Tap with a finger, by protocol messages.

    Playwright's taps need a new context, which compiles all scripts again.
    """
    thing.scroll_into_view_if_needed()
    (box,) = boxes(thing)
    hand = thing.page.context.new_cdp_session(thing.page)
    point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    hand.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    hand.detach()


@pytest.mark.parametrize("address", ["", "lecture?screen=whole-model", "?architecture=BertForPreTraining&present=1"])
def test_every_tip_is_inside_the_window(look: Look, address: str) -> None:
    page = look(address)
    for size in WINDOWS:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        expect(total_formula(page)).to_have_count(3)
        settled(page)
        assert outside(page, focused=True) == []


# The tooltips that cannot be seen in full: of the tooltip shown, or of each button when it has the focus.
_OUTSIDE = """async (formula, focused) => {
    const found = [];
    const buttons = focused ? [...formula.querySelectorAll("[role=button]")] : [null];
    for (const button of buttons) {
        button?.focus();
        await new Promise(requestAnimationFrame);
        const tip = formula.getRootNode().querySelector("[role=tooltip]");
        const { left, top, right, bottom } = tip.getBoundingClientRect();
        const seen = tip.checkVisibility() && tip.innerText && left < right && top < bottom;
        if (seen && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight) continue;
        found.push([button?.ariaLabel, tip.innerText, left, top, right, bottom]);
    }
    return buttons.length ? found : ["nothing to point at"];
}"""


def outside(page: Page, *, focused: bool) -> list[object]:
    """Return the tooltips that cannot be seen in full.

    With ``focused``, each button gets the focus in turn. Otherwise, only the tooltip shown is checked.
    """
    found: list[object] = page.locator(".formula").evaluate(_OUTSIDE, focused)
    return found
