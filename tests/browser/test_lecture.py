"""The lecture in a browser: keyboard, link and live sliders. No screen needs scrolling."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from bertcalc import BertConfig, build
from bertcalc.families.presets import PRESETS
from bertcalc.model.totals import totals_by_component
from bertcalc.teach.lecture_screens import read
from pages.ui.lecture.screen_files import DEFAULT, FOLDER
from pages.ui.lecture.screen_parts import VOCABULARY
from pages.ui.shell.i18n import LANGUAGES
from tests.browser.conftest import Look, Open
from tests.browser.look import (
    boxes,
    crowded,
    expect_query,
    hold,
    misplaced,
    query,
    query_of,
    settled,
    slider,
    smallest,
    total,
)
from tests.examples import sampled

SECOND = "same-layers"
SCREENS = {
    lecture: [screen.name for screen in read((FOLDER / f"{lecture}.toml").read_bytes(), VOCABULARY).screens]
    for lecture in (DEFAULT, SECOND)
}
NAMES = SCREENS[DEFAULT]
PROJECTORS = ((1280, 720), (1920, 1080), (1440, 900))


def ready(page: Page, number: int, lecture: str = DEFAULT) -> None:
    """Wait until a lecture screen is drawn completely."""
    position = re.compile(f"^{number} / {len(SCREENS[lecture])} · ")
    expect(page.locator(".st-key-jump input")).to_have_value(position, timeout=30_000)
    settled(page)


def test_keys_lead_from_screen_to_screen_and_each_is_a_link(look: Look) -> None:
    page = look("lecture")
    ready(page, 1)
    for name in ("Export", "Reset"):
        expect(page.get_by_role("button", name=name)).to_be_visible()
    for _press in range(5):  # faster than pages are drawn
        page.keyboard.press("ArrowRight")
    ready(page, 6)
    page.wait_for_url(f"**screen={NAMES[5]}")
    page.keyboard.press("PageUp")
    ready(page, 5)
    page.get_by_role("link", name="Exit").click()
    expect(page.get_by_role("heading", name="Why does BERT have")).to_be_visible()


@pytest.mark.parametrize("address", ["lecture", "?present=1"])
def test_escape_closes_a_tip_and_then_leaves_the_projector(look: Look, address: str) -> None:
    page = look(address)
    leave = page.locator(".st-key-leave")
    expect(leave).to_be_visible()
    settled(page)
    if address != "lecture":
        page.get_by_role("button", name="9H", exact=True).hover()
        expect(page.get_by_role("tooltip")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("tooltip")).to_be_hidden()
        expect(leave).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-present-switch")).to_be_visible()
    expect(leave).to_be_hidden()
    assert not {"present", "lecture"} & query(page).keys()


def test_keys_lead_on_after_a_screen_or_a_lecture_is_chosen_in_its_box(look: Look) -> None:
    """The focus stays in the box, which would otherwise keep arrow keys to itself."""
    page = look("lecture?screen=word-table")
    ready(page, 2)
    for box, option, lecture, number in (("jump", "^4 . 15", DEFAULT, 4), ("choose-lecture", "same layers", SECOND, 1)):
        page.locator(f".st-key-{box} input").click()
        page.get_by_role("option", name=re.compile(option)).click()
        ready(page, number, lecture)
        for key in ("ArrowRight", "PageDown"):
            page.keyboard.press(key)
            number += 1
            ready(page, number, lecture)


def test_the_tour_begins_at_its_first_screen_with_the_model_of_the_page_and_back_leads_to_it(look: Look) -> None:
    page = look(f"lecture?lecture={SECOND}&screen={SCREENS[SECOND][2]}")
    ready(page, 3, SECOND)
    page.get_by_role("link", name="Exit").click()
    expect(page.get_by_role("link", name="Take the tour")).to_be_visible()
    settled(page)
    layers = slider(page, "num_hidden_layers")
    layers.press("ArrowRight")
    page.wait_for_url("**num_hidden_layers=13**")
    settled(page)
    count = total(page).inner_text()
    page.get_by_role("link", name="Take the tour").click()
    ready(page, 1)
    expect(layers).to_have_count(0)
    assert query(page)["num_hidden_layers"] == "13"
    page.go_back()
    expect(layers).to_have_value("13")
    expect(total(page)).to_have_text(count)


def test_each_screen_of_the_second_lecture_brings_its_model_and_back_brings_the_last(look: Look) -> None:
    page = look("?num_hidden_layers=18")
    page = look(f"lecture?lecture={SECOND}")
    model = page.get_by_role("combobox", name="Start from")
    ready(page, 1, SECOND)
    for _press in range(2):
        page.keyboard.press("ArrowRight")
    ready(page, 3, SECOND)
    expect(model).to_have_value("roberta-base")
    expect_query(page, {"lecture": SECOND, "screen": "roberta"})  # the screen determines the model
    layers = slider(page, "vocab_size")
    layers.focus()
    layers.press("ArrowUp")
    expect(model).to_have_value("roberta-base (changed)")
    page.wait_for_url("**vocab_size=**")
    for number in (4, 5):
        page.get_by_role("button", name="Next").click()
        ready(page, number, SECOND)
    expect(model).to_have_value("xlm-roberta-base")
    expect_query(page, {"lecture": SECOND, "screen": "xlm-roberta"})
    page.keyboard.press("ArrowRight")
    ready(page, 6, SECOND)
    page.go_back()
    ready(page, 5, SECOND)
    expect(model).to_have_value("xlm-roberta-base")
    page.get_by_role("link", name="Exit").click()
    expect(total(page)).to_have_text("152,009,472")  # total of the model before the lecture
    page.wait_for_url("**/?num_hidden_layers=18**")
    page.go_back()
    ready(page, 5, SECOND)
    expect(model).to_have_value("xlm-roberta-base")
    page.go_forward()
    expect(total(page)).to_have_text("152,009,472")


def test_notes_are_in_a_window_of_their_own_that_follows(visit: Open) -> None:
    page = visit("lecture?screen=word-table&hidden_size=512")
    ready(page, 2)
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    expect(notes.get_by_text("A fifth of the model")).to_be_visible()
    expect(notes.get_by_text("Next: 3 / 15 · The position of a word")).to_be_visible()
    expect(page.get_by_text("A fifth of the model")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(notes.get_by_text("There are 512 positions")).to_be_visible()
    for key, number in (("PageDown", 4), ("PageUp", 3), ("ArrowRight", 4)):
        notes.keyboard.press(key)
        ready(page, number)
    expect(notes.get_by_role("heading", name="4 / 15")).to_be_visible()
    expect(notes.get_by_text("Double the hidden size")).to_be_visible()
    notes.close()
    page.evaluate("() => { window.open = (address) => { window.opened = address.href; }; }")
    page.get_by_role("button", name="Notes").click()
    asked = query_of(page.evaluate("opened"))
    assert asked == query(page) | {"screen": NAMES[3], "notes": "true"}
    assert asked["hidden_size"] == "512"


def test_the_slider_of_a_screen_moves_its_numbers_and_stays_in_the_link(look: Look) -> None:
    page = look("lecture?screen=all-layers")
    ready(page, 8)
    layers = slider(page, "num_hidden_layers")
    expect(page.get_by_role("slider")).to_have_count(1)
    expect(total(page)).to_have_text("85,054,464")
    layers.focus()
    layers.press("ArrowUp")
    expect(total(page)).to_have_text("92,142,336")
    expect(page.get_by_role("heading", name="13 layers of this kind")).to_be_visible()
    expect_query(page, {"screen": "all-layers", "num_hidden_layers": "13"})


# How far down the parts of a screen reach, as a share of the space between the buttons and the controls; how many texts
# touch the part below them; and the smallest label of the picture, in pixels.
_LOOK = """() => {
    const screen = document.querySelector('.st-key-lecture-screen');
    const shown = (selector) => [...screen.querySelectorAll(selector)]
        .filter((one) => one.checkVisibility() && !one.closest('.st-key-lecture-place'))
        .map((one) => one.getBoundingClientRect());
    const top = screen.getBoundingClientRect().top;
    const end = document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().top;
    const drawn = ['squares-of', 'heads-of', 'so-far'].map((name) => `[class*="st-key-${name}"]`);
    const parts = ['td', 'p', '.katex-html', 'svg.marks', '[data-testid=stMetricValue]', ...drawn].join(', ');
    const bottom = Math.max(...shown(parts).map((box) => box.bottom));
    const texts = [...screen.querySelectorAll('[data-testid=stElementContainer]:has(h2)')];
    const touching = texts.filter((one) => {
        const words = Math.max(...[...one.querySelectorAll('p')].map((text) => text.getBoundingClientRect().bottom));
        return one.nextElementSibling && words > one.nextElementSibling.getBoundingClientRect().top;
    });
    const labels = [...document.querySelectorAll('.st-key-lecture-place svg text')].map((text) => {
        const { c, d } = text.getScreenCTM();
        return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(c, d);
    });
    return { filled: (bottom - top) / (end - top), touching: touching.length, label: Math.min(...labels) };
}"""


@pytest.mark.parametrize("lecture", SCREENS)
@pytest.mark.parametrize(("language", "appearance"), [*zip(LANGUAGES, ("light", "dark"), strict=True)])
def test_a_screen_is_filled_needs_no_scrolling_and_is_readable_from_the_back(
    look: Look, lecture: str, language: str, appearance: Literal["light", "dark"]
) -> None:
    """Screens alternate between the languages; `make test` checks one size per screen, by turns.

    The last row of a lecture hall can read type that is 1/32 of the screen's height.
    """
    for name in sampled(SCREENS[lecture], 2, begin=LANGUAGES.index(language)):
        page = look(f"lecture?lang={language}&lecture={lecture}&screen={name}", appearance)
        at = SCREENS[lecture].index(name)
        ready(page, at + 1, lecture)
        found = page.evaluate(_LOOK)
        assert found["touching"] == 0, name
        assert found["filled"] > 0.6, name
        assert found["label"] is None or found["label"] >= 720 / 32, name
        for width, height in sampled(PROJECTORS, 2, begin=at // 2):  # everything scales with the window
            page.set_viewport_size({"width": width, "height": height})
            assert crowded(page) == [], (name, width)


def test_what_a_brace_names_is_above_the_numbers_and_words_after_them_stay_together(look: Look) -> None:
    page = look(f"lecture?screen={NAMES[2]}")
    ready(page, 3)
    numbers = page.locator("[class*=st-key-numbers-of] p")
    (brace,), (line,) = boxes(page.locator(".munder .mord").filter(has_text=re.compile("^β$")).last), boxes(numbers)
    assert brace["y"] + brace["height"] <= line["y"] + 4
    for language, words in (("en", "in each layer"), ("zh", "每层，")):
        look(f"lecture?screen={NAMES[6]}&lang={language}")
        ready(page, 7)
        ends = """(line, words) => {
            const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
            for (let text; (text = texts.nextNode());) {
                const at = text.data.replaceAll("\u00a0", " ").indexOf(words);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(text, at);
                range.setEnd(text, at + words.length);
                return range.getClientRects().length;
            }
        }"""
        assert numbers.evaluate(ends, words) == 1


def test_the_notes_have_a_clock(visit: Open, page: Page) -> None:
    page.clock.install(time="2026-11-25T10:15:00")
    visit("lecture?screen=word-table&notes=true&lang=en")
    clock = page.get_by_role("button", name=re.compile(r"^\d\d:\d\d · "))
    expect(clock).to_have_text(re.compile(r"^10:1\d · 00:\d\d$"))
    page.clock.fast_forward("12:30")
    expect(clock).to_have_text(re.compile(r"^10:2\d · 12:\d\d$"))
    clock.click()
    expect(clock).to_have_text(re.compile(r"^10:2\d · 00:0\d$"))


@pytest.mark.parametrize(
    ("lecture", "name"), [(DEFAULT, "all-layers"), (SECOND, "albert-embeddings"), (SECOND, "albert-layers")]
)
def test_an_old_projector_has_room_for_the_longest_formula_and_the_longest_name(
    look: Look, lecture: str, name: str
) -> None:
    """At 1024 x 768, type is as large as in a wider window."""
    page = look(f"lecture?lecture={lecture}&screen={name}")
    ready(page, SCREENS[lecture].index(name) + 1, lecture)
    page.set_viewport_size({"width": 1024, "height": 768})
    assert crowded(page) == []


def test_a_table_of_three_rows_fills_a_tablet(look: Look) -> None:
    """On a tablet, the row of buttons has two lines, and the page still needs no scroll bar."""
    page = look("lecture?screen=110-million&lang=en")
    ready(page, NAMES.index("110-million") + 1)
    page.set_viewport_size({"width": 820, "height": 1180})
    settled(page)
    assert page.evaluate(_LOOK)["filled"] > 0.8
    assert (
        page.evaluate("(main => main.scrollHeight - main.clientHeight)(document.querySelector('[data-testid=stMain]'))")
        < 2
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_table_of_three_rows_fills_the_screen(look: Look, language: str) -> None:
    """The row of buttons needs no scroll bar on an old projector, either."""
    page = look(f"lecture?screen=110-million&lang={language}")
    ready(page, NAMES.index("110-million") + 1)
    for width, height in ((1280, 720), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        settled(page)
        assert page.evaluate(_LOOK)["filled"] > 0.9
        middles = [box["y"] + box["height"] / 2 for box in boxes(page.locator(".st-key-lecture-row :is(button, a)"))]
        assert max(middles) - min(middles) < 4
        assert crowded(page) == []


@pytest.mark.parametrize("address", ["lecture?screen=heads", "layers", "layers?lang=zh", "layers?preset=deberta-base"])
def test_no_label_of_the_picture_leaves_its_box_on_a_tablet(look: Look, address: str) -> None:
    page = look(address)
    for width, height in ((1100, 800), (820, 1180), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        assert [fault for fault in crowded(page) if fault.startswith("out of its box")] == [], width


def test_on_a_phone_all_can_be_read_and_stepped(visit: Open, page: Page) -> None:
    """The test covers portrait and landscape."""
    page.set_viewport_size({"width": 390, "height": 844})
    visit("lecture?screen=one-layer")
    readable(page, 7, 390, 844)
    page.set_viewport_size({"width": 844, "height": 390})
    readable(page, 8, 844, 390)


@pytest.mark.parametrize("name", ["embeddings", "one-layer", "all-layers"])
def test_on_a_phone_a_formula_is_as_large_as_its_numbers_and_whole(look: Look, name: str) -> None:
    page = look(f"lecture?screen={name}")
    ready(page, NAMES.index(name) + 1)
    page.set_viewport_size({"width": 390, "height": 844})
    letters, numbers = page.locator(".katex-display .katex"), page.locator("[class*=st-key-numbers-of] p")
    (box,) = boxes(letters)
    assert box["x"] + box["width"] <= 390
    assert smallest(letters) == smallest(numbers)


def readable(page: Page, number: int, width: int, height: int) -> None:
    ready(page, number)
    (controls,) = boxes(page.get_by_test_id("stSidebar"))
    assert controls["width"] * controls["height"] <= 0.36 * width * height
    for thing in (total(page), page.get_by_test_id("stVegaLiteChart").last):
        thing.evaluate("element => element.scrollIntoView({block: 'center'})")
        (box,) = boxes(thing)
        middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        on_top = "({x, y}) => !document.elementFromPoint(x, y).closest('[data-testid=stSidebar], .st-key-lecture-row')"
        assert page.evaluate(on_top, middle)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Next").click()  # visible at every scroll position
    ready(page, number + 1)


def test_notes_follow_the_lecture_that_opened_them_and_no_other(visit: Open, look: Look) -> None:
    other = look("lecture?screen=word-table")
    page = visit("lecture?screen=word-table")
    ready(page, 2)
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    expect(notes.get_by_text("A fifth of the model")).to_be_visible()
    notes.keyboard.press("ArrowRight")
    ready(page, 3)
    expect(notes.get_by_role("heading", name="3 / 15")).to_be_visible()
    other.keyboard.press("ArrowLeft")  # the key pressed in the notes did not move this lecture
    ready(other, 1)
    expect(notes.get_by_role("heading", name="3 / 15")).to_be_visible()


@pytest.mark.parametrize("screen", ["all", "albert-difference", "albert-costs", "electra"])
def test_charts_have_room_for_their_words_on_a_tablet(look: Look, screen: str) -> None:
    page = look(f"lecture?lecture={SECOND}&screen={screen}")
    charts = page.get_by_test_id("stVegaLiteChart")
    for width, height in ((820, 1180), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        expect(charts.first).to_be_visible()
        for chart in charts.all():
            assert misplaced(chart) == []
            assert chart.evaluate(_ON_BARS) == []


# The words on bars.
_ON_BARS = """(chart) => {
    const bars = [...chart.querySelectorAll(".mark-rect path")]
        .filter((one) => one.checkVisibility({ opacityProperty: true }) && one.getAttribute("opacity") !== "0")
        .filter((one) => getComputedStyle(one).opacity !== "0")
        .map((one) => one.getBoundingClientRect());
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6;
    return [...chart.querySelectorAll(".role-mark text")]
        .filter((one) => one.textContent.trim() && bars.some((bar) => over(bar, one.getBoundingClientRect())))
        .map((one) => one.textContent);
}"""


def test_the_numbers_of_a_screen_are_those_of_the_model_in_the_hand(look: Look) -> None:
    page = look("lecture?screen=all-layers")
    ready(page, 8)
    expect(page.get_by_text("11 × the same layer").first).to_be_attached()
    layers = hold(page, "num_hidden_layers", 0.6)
    model = build(BertConfig(num_hidden_layers=layers))
    encoder = totals_by_component(model)["encoder"]
    expect(page.get_by_role("heading", name=f"{layers} layers of this kind")).to_be_visible()
    expect(page.get_by_test_id("stMetricValue")).to_have_text(f"{encoder:,}")
    formula = f"= {layers} · (4 · 768² + 2 · 768 · 3,072 + 9 · 768 + 3,072) = {encoder:,}"
    expect(page.get_by_text(formula)).to_be_visible()
    whole = model.num_parameters()
    so_far = whole - totals_by_component(model)["pooler"]
    expect(page.get_by_text(f"So far {so_far:,} of {whole:,}")).to_be_visible()
    expect(page.get_by_text(f"{layers - 1} × the same layer").first).to_be_attached()
    assert "num_hidden_layers" not in query(page)  # the server has not been asked
    page.mouse.up()
    expect_query(page, {"screen": "all-layers", "num_hidden_layers": str(layers)})


def test_a_comparison_on_a_screen_follows_the_hand(look: Look) -> None:
    page = look("lecture?screen=base-and-large")
    ready(page, 12)
    layers = hold(page, "num_hidden_layers", 0.8)
    count = build(BertConfig(num_hidden_layers=layers)).num_parameters()
    large = PRESETS["bert-large-uncased"].config
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(f"{count:,}")
    expect(page.get_by_text(f"bert-base-uncased, L {layers}").first).to_be_visible()
    expect(page.get_by_text(f"{layers - large.num_hidden_layers} fewer layers").first).to_be_attached()
    page.mouse.up()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_counted_so_far_stays_in_sight_when_a_size_was_moved(look: Look, language: str) -> None:
    page = look(f"lecture?screen=embeddings&hidden_size=384&lang={language}")
    ready(page, NAMES.index("embeddings") + 1)
    for width, height in PROJECTORS:
        page.set_viewport_size({"width": width, "height": height})
        assert crowded(page) == [], width
