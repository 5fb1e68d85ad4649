"""Every page as a user sees it: in each language, at each size, light and dark, and on a projector.

One visit checks all of this.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, WebError, expect

from pages.ui.shell.i18n import LANGUAGES
from pages.ui.shell.navigation import PAGES as ENTRIES
from tests.browser.conftest import Look
from tests.browser.look import PAGES, bottom, crowded, raw, settled
from tests.examples import sampled


class Size(NamedTuple):
    """The size of a window, in pixels."""

    width: int
    height: int


# A lecture screen, a phone in landscape, a tablet, and a phone in portrait. The widest comes first: Streamlit closes
# the sidebar when a window becomes narrow, and does not open it again.
SIZES = (Size(1280, 720), Size(844, 390), Size(820, 1180), Size(390, 844))
SCREEN, LYING, TABLET, PHONE = SIZES
PROJECTORS = (Size(1920, 1080), SCREEN)

# Views with other tables, bars and pictures. They are shown on a projector in Chinese, whose text is wider.
VIEWS = (
    "structure?view=parts",
    "compute?compute=length",
    "memory?memory=training",
    "compare?architecture=BertForPreTraining",
    "structure?view=freezing",
    "compute?compute=conventions",
    "memory?memory=activations",
    "compute?compute=time",
    "memory?memory=inference",
    "compare?compare=bars",
    "compare?compare=scatter",
    "compute?architecture=BertForPreTraining",
    "memory?memory=fit",
    "compute?architecture=BertLMHeadModel&is_decoder=true&add_cross_attention=true",
    "?architecture=BertForPreTraining",
    "sweep?sweep=map",
    "explain?explain=terms",
)

# Measurable layout faults: the page scrolls sideways, text is cut off, or text overlaps text. Formulas, pictures and
# elements that scroll are exempt.
_FAULTS = """() => {
    const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const name = (element) => element.textContent.trim().slice(0, 40);
    const [main, ...others] = ["stMain", "stSidebar", "stHeader"].map((id) =>
        document.querySelector(`[data-testid=${id}]`));
    const faults = [];
    for (const wide of [document.scrollingElement, main]) {
        if (wide.scrollWidth > wide.clientWidth) faults.push(`sideways by ${wide.scrollWidth - wide.clientWidth}`);
    }
    const own = ".katex, .formula, svg, .tree, [data-testid=stDataFrame], [data-testid=stTable], .stVegaLiteChart,"
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
    for (const cell of main.querySelectorAll("[data-testid=stTable] td")) {
        if (cell.scrollWidth > cell.clientWidth + 1) faults.push(`out of its cell: ${name(cell)}`);
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


# What readers open a page for.
ON_THE_FIRST_SCREEN = {"verify": re.compile("BertModel.*199.*109,482,240")}

# Rules for headings, by which screen reader users navigate.
HEADINGS = ("page-has-heading-one", "heading-order", "empty-heading")

# Only contrast is different in dark mode, and it is the same in each language.
APPEARANCES: dict[str, Literal["light", "dark"]] = {"en": "light", "zh": "dark"}

# axe-core's rules for each language and size. The contrast check takes longer than all other rules together, and its
# result is the same at every size. A page has the same elements in each language and in narrow windows, so they are
# checked again only on some pages. One phone is enough. Chromium lets the keyboard focus scrollable elements, which axe
# does not know.
EVERYTHING: dict[str, Any] = {"rules": {"scrollable-region-focusable": {"enabled": False}}}
CONTRAST: dict[str, Any] = {"runOnly": ["color-contrast"]}
AT_ANOTHER_SIZE: dict[str, Any] = {"rules": {**EVERYTHING["rules"], "color-contrast": {"enabled": False}}}
AXE: dict[str, dict[Size, dict[str, Any]]] = {
    "en": {SCREEN: EVERYTHING, PHONE: AT_ANOTHER_SIZE},
    "zh": {SCREEN: CONTRAST},
}
MORE: dict[str, dict[Size, dict[str, Any]]] = {
    "en": {SCREEN: EVERYTHING, LYING: AT_ANOTHER_SIZE, PHONE: EVERYTHING},
    "zh": {SCREEN: EVERYTHING, TABLET: AT_ANOTHER_SIZE, PHONE: EVERYTHING},
}
LOOKED_AT_AGAIN = sampled(PAGES, 5)
TURNS = [[*LANGUAGES], [*LANGUAGES][::-1]]

# Most words of a page look alike. Unless all words are checked, contrast is checked for the first two words of each
# look: text colour, size, weight and background. Words that are disabled or too small to be seen do not stand for
# others.
_MARK = """(all) => {
    axe.configure({ rules: [{ id: "color-contrast", selector: all ? "*" : "[data-contrast]" }] });
    if (all) return;
    const looks = new Map([[null, ""]]);
    const behind = (element) => {
        if (!looks.has(element)) {
            const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(element);
            const own = `/${backgroundColor} ${backgroundImage} ${opacity} ${filter}`;
            const around = behind(element.parentElement ?? element.getRootNode().host ?? null);
            looks.set(element, own === "/rgba(0, 0, 0, 0) none 1 none" ? around : around + own);
        }
        return looks.get(element);
    };
    const found = {};
    const within = (root) => [...root.querySelectorAll("*")]
        .flatMap((one) => one.shadowRoot ? [one, ...within(one.shadowRoot)] : [one]);
    for (const element of within(document)) {
        const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
        const words = texts.map(({ data }) => data.trim()).join("");
        const { width, height } = element.getBoundingClientRect();
        const typed = element.matches("input, select, textarea");
        const shown = words && width > 2 && height > 2
            && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
        let marked = typed;
        if (shown && !marked) {
            const { color, fill, fontSize, fontWeight, position } = getComputedStyle(element);
            const unused = element.closest("[disabled], [aria-disabled=true], [inert], .katex-mathml, .spoken");
            const own = [color, fill, fontSize, fontWeight, position, unused === null, words.length > 1];
            const look = `${behind(element)} ${own}`;
            marked = (found[look] = (found[look] ?? 0) + 1) <= 2;
        }
        element.toggleAttribute("data-contrast", marked);
    }
}"""

# Wait for animations first, since half-transparent text has no contrast. Only violations are reported.
_AXE = """async (options) => {
    const ends = document.getAnimations().filter(({ effect, playState }) =>
        playState === "running" && effect.getComputedTiming().endTime < 2000);
    await Promise.race([
        Promise.allSettled(ends.map(({ finished }) => finished)),
        new Promise((late) => setTimeout(late, 2000)),
    ]);
    const { violations } = await axe.run(document, { resultTypes: ["violations"], ...options });
    return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ html }) => ({ id, impact, html })));
}"""


def serious(page: Page, options: dict[str, Any], every_word: bool = False) -> list[tuple[str, str]]:
    """Return the serious faults for users with low vision, a screen reader, or only a keyboard."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    page.evaluate(_MARK, every_word)
    found = page.evaluate(_AXE, options)
    return [
        (node["id"], node["html"])
        for node in found
        if node["impact"] in ("serious", "critical") or node["id"] in HEADINGS
    ]


@pytest.fixture
def told(context: BrowserContext, server: str) -> Iterator[list[str]]:
    """The errors in the console, and requests to hosts other than the server."""
    said: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            said.append(message.text)

    def ask(request: Request) -> None:
        if urlsplit(request.url.removeprefix("blob:")).netloc != urlsplit(server).netloc:
            said.append(f"asks {request.url}")

    def fail(error: WebError) -> None:
        said.append(str(error.error))

    context.on("console", note)
    context.on("request", ask)
    context.on("weberror", fail)
    yield said
    context.remove_listener("console", note)
    context.remove_listener("request", ask)
    context.remove_listener("weberror", fail)


@pytest.mark.parametrize(
    ("address", "language"),
    # Each page is checked in one language by turns, and in both in `make test-thorough`.
    sampled([(page, language) for at, page in enumerate(PAGES) for language in TURNS[at % 2]], 2),
)
def test_a_page_can_be_read_by_everybody(told: list[str], look: Look, address: str, language: str) -> None:
    page = look(f"{address}?lang={language}", APPEARANCES[language])
    assert page.locator("html").get_attribute("lang") == language
    if address in ON_THE_FIRST_SCREEN:
        assert 0 < bottom(page.get_by_text(ON_THE_FIRST_SCREEN[address]).first) <= SCREEN.height
    again = address in LOOKED_AT_AGAIN
    rules = MORE if again else AXE
    found: list[tuple[object, ...]] = [("a tooltip says", name) for name in raw(page)]
    page.mouse.move(0, 0)
    for size in SIZES:
        if size != SCREEN:
            page.set_viewport_size({"width": size.width, "height": size.height})
            settled(page)
        if page.evaluate(_FAULTS):  # on a busy machine, Streamlit's navigation adapts to the window late
            page.wait_for_timeout(1000)
        found += [(size, fault) for fault in page.evaluate(_FAULTS)]
        if (options := rules[language].get(size)) is not None:
            found += [(size, *fault) for fault in serious(page, options, every_word=again and size == SCREEN)]
    assert (found, told) == ([], [])


# Two views with other tables and bars, and the views made for projectors.
OTHERS = ("structure?view=parts", "memory?memory=fit", "lecture", "?present=1")
IN_THE_DARK = OTHERS[2:]  # views with colours of their own


@pytest.mark.parametrize(
    ("lang", "address"), sampled([*(("en", page) for page in PAGES), *(("zh", view) for view in VIEWS)], 3)
)
def test_on_a_projector_nothing_needs_scrolling_and_nothing_is_small(look: Look, lang: str, address: str) -> None:
    page = look(f"{address}{'&' if '?' in address else '?'}present=1&lang={lang}")
    expect(page.get_by_test_id("stSidebar").locator(".panel-actions button").last).to_be_visible()
    if address not in ENTRIES or ENTRIES[address].follows_sliders:
        expect(page.get_by_test_id("stSidebar").get_by_role("slider").last).to_be_visible()
    for size in PROJECTORS:
        page.set_viewport_size({"width": size.width, "height": size.height})
        settled(page)
        assert crowded(page) == []


@pytest.mark.parametrize(
    ("appearance", "address"),
    [*(("light", address) for address in OTHERS), *(("dark", address) for address in IN_THE_DARK)],
)
def test_a_view_has_no_serious_fault(
    told: list[str], look: Look, address: str, appearance: Literal["light", "dark"]
) -> None:
    page = look(address, appearance)
    assert (serious(page, EVERYTHING if appearance == "light" else CONTRAST), told) == ([], [])
