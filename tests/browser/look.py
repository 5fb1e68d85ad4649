"""Locate elements by role and name, as a user does, and measure where they are."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import FloatRect, Locator, Page, TimeoutError, expect

from pages.ui.shell.navigation import PAGES as ENTRIES
from pages.ui.shell.present import SCREENS

# The addresses of the pages with a sidebar.
PAGES = tuple(path for path in ENTRIES if path not in SCREENS)

# Timeout for PyTorch's answer in milliseconds: its process has a low priority, and other tests keep every core busy.
PYTORCH = 180_000


def total(page: Page) -> Locator:
    """The large number of the page."""
    return page.get_by_test_id("stMetricValue").first


def slider(page: Page, field: str) -> Locator:
    """The slider of a field."""
    return page.get_by_role("slider", name=field)


def number(page: Page, field: str) -> Locator:
    """The number field of a field."""
    return page.get_by_role("spinbutton", name=field)


def total_formula(page: Page) -> Locator:
    """The lines of the total's formula, and the legend of its symbols."""
    return page.locator(".st-key-total-formula .formula > *")


def ready(page: Page) -> None:
    """Wait until the Parameters page is drawn completely."""
    expect(page.get_by_text("Tensors: name, shape").or_(page.get_by_text("张量：名称"))).to_be_visible()
    expect(total_formula(page)).to_have_count(3)
    settled(page)


def settled(page: Page) -> None:
    """Wait until the script has run, KaTeX's fonts are loaded, and nothing moves.

    An element may be visible before it has its final position: content that appears above moves it, and KaTeX's fonts
    are narrower than the fallback fonts. A grey skeleton does not move, either, while the code that draws its element
    is loading.
    """
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=60_000)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=60_000)
    page.evaluate(_STILL)


_STILL = """async () => {
    await document.fonts.ready;
    const places = () => [...document.querySelectorAll('[data-testid=stElementContainer]')]
        .map(element => element.getBoundingClientRect())
        .map(({x, y, width, height}) => [x, y, width, height]).join();
    const glides = () => document.getAnimations().some(({ id }) => id === "glide");
    for (let before = null, now = places(); now !== before || glides(); ) {
        await new Promise(later => setTimeout(later, 150));
        [before, now] = [now, places()];
    }
}"""


def painted(page: Page) -> None:
    """Wait until the last changes are painted on the screen."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def boxes(things: Locator) -> list[FloatRect]:
    """Return the position and size in pixels of all visible elements, measured together once nothing moves."""
    settled(things.page)
    shown: list[FloatRect] = things.evaluate_all(
        """all => all.filter(element => element.getClientRects().length).map(element => {
            const {x, y, width, height} = element.getBoundingClientRect();
            return {x, y, width, height};
        })"""
    )
    return shown


def bottom(things: Locator) -> float:
    """Return the lowest edge of the elements, in pixels."""
    return max(box["y"] + box["height"] for box in boxes(things))


def overflow(things: Locator) -> float:
    """Return by how many pixels the widest content exceeds its element; 0 if all content fits."""
    settled(things.page)
    widest: float = things.evaluate_all(
        """all => Math.max(0, ...all.map(
            element => (element.querySelector("table") ?? element).scrollWidth - element.clientWidth
        ))"""
    )
    return widest


def smallest(things: Locator) -> float:
    """Return the smallest font size of the elements, in pixels."""
    size: float = things.evaluate_all("all => Math.min(...all.map(one => parseFloat(getComputedStyle(one).fontSize)))")
    return size


def query(page: Page) -> dict[str, str]:
    """The query parameters of the page's link."""
    return query_of(page.url)


def expect_query(page: Page, wanted: dict[str, str]) -> None:
    """Wait until the link has exactly these query parameters."""
    with suppress(TimeoutError):
        page.wait_for_url(lambda url: query_of(url) == wanted, timeout=20_000)
    assert query(page) == wanted


def query_of(url: str) -> dict[str, str]:
    """The query parameters of a URL. The last value of each name counts."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}


def crowded(page: Page) -> list[str]:
    """Return the faults of a page on a projector: small type, and content that does not fit into its place.

    Type is small if it is lower than 1/45 of a 16:9 window, also in charts and formulas. Content must end above the row
    of controls, and the controls at the lower edge of the window; the page must not scroll. Formulas and tables of a
    lecture screen must not be cut, and text in a box of the picture must stay inside the box. KaTeX's italics may
    exceed the edge by a pixel or two.
    """
    settled(page)
    found: list[str] = page.evaluate(_CROWDED)
    return found


_CROWDED = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    const least = Math.min(innerHeight, innerWidth * 9 / 16) / 45;
    for (let text; (text = walker.nextNode());) {
        const element = text.parentElement;
        const range = document.createRange();
        range.selectNodeContents(text);
        const {width, height} = range.getBoundingClientRect();
        const hidden = element.closest('script, style, .katex-mathml, .st-key-heading:has(~ * .st-key-lecture-row)');
        if (!text.data.trim() || width < 2 || height < 2 || hidden || !element.checkVisibility()) continue;
        const drawn = element.ownerSVGElement && element.getScreenCTM();
        const zoom = drawn ? Math.hypot(drawn.c, drawn.d) : element.currentCSSZoom;
        const size = parseFloat(getComputedStyle(element).fontSize) * zoom;
        if (size < least) found.push(`small: ${size.toFixed(1)}px ${text.data.trim()}`);
    }
    const bottoms = (selector) => [...document.querySelectorAll(selector)]
        .filter((one) => one.checkVisibility({ visibilityProperty: true }))
        .map((one) => one.getBoundingClientRect()).filter(({ width, height }) => width && height)
        .map(({ bottom }) => bottom);
    const sidebar = '[data-testid=stSidebar]';
    const controls = document.querySelector(sidebar).getBoundingClientRect();
    const pressed = bottoms(`${sidebar} :is(button, input)`);
    const shown = bottoms('[data-testid=stMain] [data-testid=stElementContainer]:not(:has(style))');
    const screen = '.st-key-lecture-screen';
    const [lecture] = bottoms(screen);
    const below = (what, bottom, end) => bottom <= end || found.push(`${what} ends at ${bottom}, not at ${end}`);
    below('controls', Math.max(...pressed), innerHeight);
    const main = document.querySelector('[data-testid=stMain]');
    below('page with the space below it', main.scrollHeight, main.clientHeight);
    if (lecture === undefined) {
        below('page', Math.max(...shown), controls.top + 3);
    } else {
        below('screen', lecture, controls.top + 1);
        below('their row', controls.bottom, innerHeight + 1);
        for (const [selector, spare] of [['.katex-display', 3], ['[data-testid=stTable]', 1]]) {
            for (const one of document.querySelectorAll(selector)) {
                const cut = (one.querySelector('table') ?? one).scrollWidth - one.clientWidth;
                if (cut > spare) found.push(`${selector} is cut by ${cut}`);
            }
        }
    }
    const charts = [...document.querySelectorAll('[data-testid=stVegaLiteChart] svg.marks')];
    if (charts.some((one) => getComputedStyle(one).overflow !== 'visible')) found.push('a chart cuts its words');
    const picture = ':is(.st-key-lecture-place, [class*=st-key-picture])';
    const areas = [...document.querySelectorAll(`${picture} .mark-rect path`)]
        .map((one) => one.getBoundingClientRect());
    for (const text of document.querySelectorAll(`${picture} .mark-text text`)) {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        const [x, y] = [(left + right) / 2, (top + bottom) / 2];
        const [around] = areas.filter((one) => one.left < x && x < one.right && one.top < y && y < one.bottom)
            .sort((one, other) => one.width * one.height - other.width * other.height);
        if (left < around.left || right > around.right) found.push(`out of its box: ${text.textContent}`);
    }
    if (!shown.length || !pressed.length) found.push('nothing is shown');
    return found;
}"""


def open_page(page: Page, section: str, name: str) -> None:
    """Choose a page in a section of the navigation."""
    page.get_by_test_id("stHeader").get_by_text(section, exact=True).click()
    page.get_by_role("menuitem", name=name).click()


# Field names of the charts' data, which no tooltip may show.
_RAW = {
    *("name", "label", "short", "brief", "more", "text", "tip", "mark", "kind", "part", "component", "color", "order"),
    *("start", "end", "middle", "room", "limit", "far", "at", "x0", "x1", "y0", "y1", "edge_x", "edge_y", "height"),
    *("solid", "width", "exact", "figure", "step", "line", "inside", "rank", "side", "difference", "percent", "head"),
}

# Point once at each element drawn in a chart. This runs in the browser, since a thousand pointer moves through
# Playwright take half a minute.
_POINT = """(chart) => {
    const { left, top, width, height } = chart.getBoundingClientRect();
    const found = {};
    const done = new Set();
    for (let y = 4; y < height; y += 14) {
        for (let x = 4; x < width; x += 61) {
            const at = { clientX: left + x, clientY: top + y, bubbles: true };
            const under = document.elementFromPoint(at.clientX, at.clientY);
            if (done.has(under)) continue;
            done.add(under);
            under?.dispatchEvent(new PointerEvent("pointermove", at));
            under?.dispatchEvent(new MouseEvent("mousemove", at));
            const shown = document.querySelector("#vg-tooltip-element.visible");
            const texts = (selector) => [...(shown?.querySelectorAll(selector) ?? [])].map((one) => one.textContent);
            const names = (found[texts("h2").join()] ??= []);
            names.push(...texts("td.key").map((text) => text.replace(":", "").trim()));
        }
    }
    document.querySelector("#vg-tooltip-element")?.classList.remove("visible");
    return found;
}"""


def said(chart: Locator) -> dict[str, set[str]]:
    """Return all tooltips of a chart: the names in each tooltip, keyed by its heading."""
    chart.scroll_into_view_if_needed()
    return {heading: set(names) for heading, names in chart.evaluate(_POINT).items()}


# Axis labels and labels above the plot area may extend beyond it.
_MISPLACED = """(chart) => {
    const area = chart.querySelector(".mark-group path.background").getBoundingClientRect();
    const words = [...chart.querySelectorAll(".role-mark text")]
        .filter((one) => one.textContent.trim() && one.checkVisibility({ opacityProperty: true }))
        .map((one) => ({ said: one.textContent, box: one.getBoundingClientRect() }));
    const outside = words.filter(({ box }) => box.top > area.top - 1
        && (box.left < area.left - 2 || box.right > area.right + 2));
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6;
    const pairs = words.flatMap((one, at) => words.slice(at + 1)
        .filter((other) => one.said !== other.said && over(one.box, other.box))
        .map((other) => `on each other: ${one.said} and ${other.said}`));
    return [...outside.map(({ said }) => `outside: ${said}`), ...pairs];
}"""


def misplaced(chart: Locator) -> list[str]:
    """Return the labels of a chart that overlap, and the labels that leave the plot area sideways."""
    settled(chart.page)
    found: list[str] = chart.evaluate(_MISPLACED)
    return found


def raw(page: Page) -> list[str]:
    """Return the data fields that tooltips of the page's charts show, and charts without tooltips."""
    settled(page)
    found = [said(chart) for chart in page.get_by_test_id("stVegaLiteChart").all()]
    silent = [f"nothing is said: {one}" for one in found if len(one) < 2 and not any(one.values())]
    return [*silent, *(set().union(*(names for one in found for names in one.values())) & _RAW)]


def hold(page: Page, field: Locator | str, part: float) -> int:
    """Drag a slider to a fraction of its length without releasing it. Return its value there.

    ``field`` is the slider or the name of its field.
    """
    handle = slider(page, field) if isinstance(field, str) else field
    handle.scroll_into_view_if_needed()
    (box,) = boxes(handle)
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 9 + part * (box["width"] - 18), middle, steps=3)
    return int(handle.input_value())


@contextmanager
def held(page: Page, field: str, part: float) -> Iterator[int]:
    """Drag the slider of a field to a fraction of its length, and yield the field's value. Release it at the end.

    Fails if the server then shows other values than the browser has computed.
    """
    faults: list[str] = []
    expect(slider(page, field)).to_be_visible()
    page.on("console", lambda message: faults.append(message.text) if message.text.startswith("bertcalc") else None)
    (box,) = boxes(slider(page, field))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 9 + part * (box["width"] - 18), box["y"] + box["height"] / 2)
    older = re.compile(r"(^|\s)bertcalc-older(\s|$)")  # set while the page is ahead of the server
    expect(page.locator("body")).to_have_class(older)
    painted(page)
    yield int(slider(page, field).input_value())
    page.mouse.up()
    expect(page.locator("body")).not_to_have_class(older)
    settled(page)
    assert faults == []
