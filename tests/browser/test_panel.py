"""Moving the sliders by mouse, key and touch; typing numbers; dependent fields; Undo, Redo, Back and Forward."""

import math
from collections.abc import Iterable
from contextlib import suppress

import pytest
from playwright.sync_api import Locator, Page, Route, TimeoutError, expect

from bertcalc import BertConfig, build
from tests.browser.conftest import Look, Open
from tests.browser.look import boxes, expect_query, number, query_of, ready, settled, slider, total
from tests.examples import sampled
from tests.oracle import Case

# Record each new total in the order in which it is drawn.
_NOTE = """() => {
    window.totals = [];
    const look = () => {
        const total = document.querySelector('[data-testid=stMetricValue]')?.textContent;
        if (total && total !== window.totals.at(-1)) window.totals.push(total);
    };
    window.noting = new MutationObserver(look);
    window.noting.observe(document.body, { subtree: true, childList: true, characterData: true });
    look();
}"""
_NOTED = "() => { window.noting.disconnect(); return window.totals; }"

# Record the links of new history entries, and all links that are written there. The history's length stops at 50.
_LINKS = """() => {
    window.entries = [];
    window.links = [];
    if (window.written) return;
    window.written = { pushState: history.pushState, replaceState: history.replaceState };
    for (const [name, own] of Object.entries(window.written)) {
        history[name] = (...said) => {
            own.apply(history, said);
            window.links.push(location.href);
            if (name === "pushState") window.entries.push(location.href);
        };
    }
}"""


def drag(page: Page, handle: Locator, parts: Iterable[float], enough: float = math.inf) -> list[str]:
    """Drag a slider to these fractions of its length, one after the other. Return the totals shown before its release.

    The slider is released early once ``enough`` different totals have been shown.
    """
    (box,) = boxes(handle)
    page.evaluate(_NOTE)
    for at, part in enumerate(parts):
        page.mouse.move(box["x"] + 9 + part * (box["width"] - 18), box["y"] + box["height"] / 2)
        if not at:
            page.mouse.down()
        page.wait_for_timeout(100)
        if len(set(page.evaluate("() => window.totals"))) >= enough:
            break
    seen: list[str] = page.evaluate(_NOTED)
    page.mouse.up()
    return seen


def layers(count: int) -> str:
    return f"{build(BertConfig(num_hidden_layers=count)).num_parameters():,}"


# For each slider, a key and the sizes after it is pressed at the first model.
KEYS: list[tuple[str, str, dict[str, int]]] = [
    ("vocab_size", "ArrowRight", {"vocab_size": 31_000}),
    ("hidden_size", "ArrowRight", {"hidden_size": 832, "num_attention_heads": 13}),
    ("num_hidden_layers", "ArrowUp", {"num_hidden_layers": 13}),
    ("vocab_size", "ArrowLeft", {"vocab_size": 30_000}),
    ("num_hidden_layers", "Home", {"num_hidden_layers": 1}),
    ("num_attention_heads", "ArrowRight", {"num_attention_heads": 16}),
    ("num_hidden_layers", "PageUp", {"num_hidden_layers": 17}),
    ("intermediate_size", "ArrowLeft", {"intermediate_size": 2_816}),
]
ROUNDS = (KEYS[:3], KEYS[3:6], KEYS[6:])  # within a round, each key changes different fields


def test_a_key_moves_a_slider_to_the_next_model(look: Look) -> None:
    page = look()
    ready(page)
    for keys in ROUNDS:
        moved: dict[str, int] = {}
        for field, key, after in keys:
            slider(page, field).press(key)
            moved |= after
            config = BertConfig(**moved)  # type: ignore[arg-type]
            expect(total(page)).to_have_text(f"{Case(config).real().num_parameters():,}")
            expect_query(page, {name: str(value) for name, value in moved.items()})
            expect(slider(page, field)).to_have_value(str(after[field]))
            expect(slider(page, field)).to_have_attribute("aria-valuetext", f"{after[field]:,}")
            expect(slider(page, field)).to_be_focused()
        page.keyboard.press("0")
        expect(total(page)).to_have_text("109,482,240")
        expect_query(page, {})


def test_the_page_follows_a_drag_and_the_last_value_stays(look: Look) -> None:
    page = look()
    ready(page)
    page.evaluate(_LINKS)
    way = (0.5 - 0.5 * math.cos(step / 6) for step in range(300))
    seen = drag(page, slider(page, "num_hidden_layers"), way, enough=7)
    assert len(set(seen)) >= 7
    assert set(seen) <= {layers(count) for count in range(1, 49)}
    settled(page)
    count = int(slider(page, "num_hidden_layers").input_value())
    expect(total(page)).to_have_text(layers(count))
    expect_query(page, {"num_hidden_layers": str(count)})
    assert page.evaluate("entries.length") == 1  # one drag is one step of the history
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text("109,482,240")


def test_a_held_key_is_one_step_and_quick_presses_all_count(look: Look) -> None:
    page = look()
    ready(page)
    slider(page, "num_hidden_layers").focus()
    for _repeat in range(12):
        page.keyboard.down("ArrowRight")
        page.wait_for_timeout(60)
    page.keyboard.up("ArrowRight")
    expect(total(page)).to_have_text(layers(24))
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text(layers(12))
    for _press in range(12):
        slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text(layers(24))
    expect_query(page, {"num_hidden_layers": "24"})


_SCRIPT = "**/bertcalc_panel-*.js"


def test_keys_work_if_another_run_came_while_the_panel_was_loaded(page: Page, visit: Open) -> None:
    kept: list[Route] = []
    page.route(_SCRIPT, lambda route: kept.append(route))
    visit()
    expect(total(page)).to_have_text(layers(12), timeout=60_000)
    page.get_by_role("button", name="中文").or_(page.get_by_role("radio", name="中文")).first.click()
    expect(page.get_by_role("heading", name="为什么")).to_be_visible()
    for route in kept:
        route.continue_()
    page.unroute(_SCRIPT)  # other tests use the same window
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text(layers(13))
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text(layers(12))


def test_a_finger_moves_a_slider(look: Look) -> None:
    page = look()
    ready(page)
    (box,) = boxes(slider(page, "num_hidden_layers"))
    y, left, width = box["y"] + box["height"] / 2, box["x"] + 9, box["width"] - 18
    hand = page.context.new_cdp_session(page)
    page.evaluate(_NOTE)
    for step in range(7):
        kind = "touchMove" if step else "touchStart"
        point = {"x": left + (11 + 5 * step) / 47 * width, "y": y}
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
        seen = page.evaluate("window.totals.length")
        with suppress(TimeoutError):  # the finger may not have reached another number
            page.wait_for_function("(seen) => window.totals.length > seen", arg=seen, timeout=1_000)
    during = page.evaluate(_NOTED)
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert len(during) > 3
    settled(page)
    count = int(slider(page, "num_hidden_layers").input_value())
    assert count > 30
    expect(total(page)).to_have_text(layers(count))


def test_what_is_typed_may_be_impossible_and_is_mended_where_it_stands(look: Look) -> None:
    page = look("?num_hidden_layers=6")
    ready(page)
    field = page.locator(".st-key-hidden_size_slider")
    number(page, "hidden_size").fill("785")
    number(page, "hidden_size").press("Enter")
    expect(field.get_by_text("hidden_size 785 cannot be split into heads of 64")).to_be_visible()
    expect(number(page, "hidden_size")).to_have_value("785")
    expect(total(page)).to_have_text(layers(6))
    expect_query(page, {"num_hidden_layers": "6"})
    field.get_by_role("button", name="H = 832, A = 13").click()
    expect(field.get_by_role("alert")).to_be_empty()
    expect_query(page, {"num_hidden_layers": "6", "hidden_size": "832", "num_attention_heads": "13"})
    number(page, "hidden_size").fill("many")
    number(page, "hidden_size").press("Enter")
    expect(field.get_by_text("it must be a whole number from 1 to 65,536")).to_be_visible()
    slider(page, "hidden_size").press("ArrowLeft")
    expect(field.get_by_role("alert")).to_be_empty()
    expect(number(page, "hidden_size")).to_have_value("768")


def test_every_value_can_be_typed(look: Look) -> None:
    page = look()
    ready(page)
    for typed, value in (("21128", 21_128), ("119,547", 119_547), ("３０ ５２３", 30_523)):
        number(page, "vocab_size").fill(typed)
        number(page, "vocab_size").press("Enter")
        expect_query(page, {"vocab_size": str(value)})
        expect(total(page)).to_have_text(f"{109_482_240 + (value - 30_522) * 768:,}")
        expect(number(page, "vocab_size")).to_have_value(f"{value:,}")
    for key, value in (("ArrowDown", 30_522), ("ArrowUp", 31_000)):
        number(page, "vocab_size").press(key)
        expect_query(page, {} if value == 30_522 else {"vocab_size": str(value)})
        settled(page)  # until the page is drawn, the slider also stops at the typed value
        expect(number(page, "vocab_size")).to_have_value(f"{value:,}")
        expect(total(page)).to_have_text(f"{109_482_240 + (value - 30_522) * 768:,}")


@pytest.mark.parametrize("place", ["", "?present=1", "lecture?screen=base-and-large"])
def test_locks_are_worked_everywhere_and_are_in_the_link(look: Look, place: str) -> None:
    page = look(place)
    expect(slider(page, "hidden_size")).to_be_visible()
    settled(page)
    own = query_of(place)
    page.get_by_role("button", name="A follows H: 64 per head").click()
    page.get_by_role("button", name="I is fixed: currently 4 H").click()
    expect(page.get_by_role("button", name="A is fixed: H is a multiple of 12")).to_be_visible()
    expect(page.get_by_role("button", name="I follows H: 4 H")).to_be_visible()
    locks = {"lock_heads": "false", "lock_intermediate": "true"}
    expect_query(page, {**own, **locks})
    slider(page, "hidden_size").press("ArrowRight")
    expect_query(page, {**own, **locks, "hidden_size": "780", "intermediate_size": "3120"})
    if not place:
        page.reload()
    expect(number(page, "hidden_size")).to_have_value("780")
    expect(page.get_by_role("button", name="A is fixed: H is a multiple of 12")).to_be_visible()


# The link is checked again when a run ends. The pauses vary around the time at which the next answer arrives.
PAUSES = sampled(range(380, 560, 10), 3)


def test_the_link_never_goes_back_while_moves_follow_each_other(look: Look) -> None:
    page = look()
    ready(page)
    page.evaluate(_LINKS)
    for pause in PAUSES:
        slider(page, "num_hidden_layers").press("ArrowRight")
        page.wait_for_timeout(pause)
    expect_query(page, {"num_hidden_layers": f"{12 + len(PAUSES)}"})
    # A link without the number of layers means the preset's number.
    layers = [int(query_of(link).get("num_hidden_layers", 12)) for link in page.evaluate("links")]
    assert layers == sorted(layers)


def test_a_field_in_which_the_same_is_typed_again_follows_the_model(look: Look) -> None:
    page = look()
    ready(page)
    for leave in ("Tab", "Enter"):
        number(page, "hidden_size").fill("")
        number(page, "hidden_size").press_sequentially("768")
        number(page, "hidden_size").press(leave)
        slider(page, "hidden_size").press("ArrowRight")
        expect_query(page, {"hidden_size": "832", "num_attention_heads": "13"})
        expect(number(page, "hidden_size")).to_have_value("832")
        page.keyboard.press("0")
        expect_query(page, {})
        expect(number(page, "hidden_size")).to_have_value("768")


def _press_thrice(page: Page) -> None:
    slider(page, "num_hidden_layers").focus()
    page.keyboard.down("ArrowRight")
    page.wait_for_timeout(130)  # held long enough that a move is still on its way to the server at the release
    page.keyboard.up("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")


def test_quick_presses_are_steps_of_their_own(look: Look) -> None:
    page = look()
    ready(page)
    _press_thrice(page)
    expect(total(page)).to_have_text(layers(15))
    for count in (14, 13, 12):
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(total(page)).to_have_text(layers(count))
    _press_thrice(page)
    expect_query(page, {"num_hidden_layers": "15"})
    for back in ({"num_hidden_layers": "14"}, {"num_hidden_layers": "13"}, {}):
        page.go_back()
        expect_query(page, back)
        expect(total(page)).to_have_text(layers(int(back.get("num_hidden_layers", 12))))


def test_undo_redo_and_reset_by_button_and_by_key(visit: Open) -> None:
    page = visit()
    ready(page)
    undo, redo, reset = (page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo", "Reset"))
    expect(undo).to_be_disabled()
    expect(reset).to_be_disabled()
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text(layers(13))
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text(layers(14))
    undo.click()
    expect(total(page)).to_have_text(layers(13))
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text(layers(12))
    expect(undo).to_be_disabled()
    page.keyboard.press("Control+y")
    expect(total(page)).to_have_text(layers(13))
    redo.click()
    expect(total(page)).to_have_text(layers(14))
    page.keyboard.press("0")
    expect(total(page)).to_have_text(layers(12))
    expect_query(page, {})
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text(layers(14))


def test_a_press_that_an_answer_comes_into_is_a_click(look: Look) -> None:
    """The pressed button must still exist when the mouse button is released."""
    page = look("?num_hidden_layers=6")
    ready(page)
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text(layers(7))
    settled(page)
    undo = page.get_by_role("button", name="Undo", exact=True)
    (box,) = boxes(undo)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text(layers(8))
    settled(page)
    page.mouse.up()
    expect(total(page)).to_have_text(layers(7))


def _choose(page: Page, preset: str) -> None:
    page.get_by_role("combobox", name="Start from").click()
    page.get_by_role("option", name=preset, exact=True).click()
    expect_query(page, {"preset": preset})


def test_back_takes_one_step_and_never_passes_what_nobody_chose(visit: Open) -> None:
    page = visit()
    ready(page)
    page.evaluate(_LINKS)
    slider(page, "hidden_size").press("ArrowRight")  # changes two fields
    expect_query(page, {"hidden_size": "832", "num_attention_heads": "13"})
    number(page, "vocab_size").fill("21128")
    number(page, "vocab_size").press("Enter")
    expect_query(page, {"hidden_size": "832", "num_attention_heads": "13", "vocab_size": "21128"})
    _choose(page, "bert-large-uncased")
    assert page.evaluate("entries.length") == 3
    page.go_back()
    expect(number(page, "vocab_size")).to_have_value("21,128")
    expect(number(page, "hidden_size")).to_have_value("832")
    page.go_back()
    expect(number(page, "vocab_size")).to_have_value("30,522")
    expect(number(page, "hidden_size")).to_have_value("832")
    page.go_back()
    expect(total(page)).to_have_text("109,482,240")
    expect_query(page, {})
    page.go_forward()
    expect(number(page, "hidden_size")).to_have_value("832")
    settled(page)
    page.get_by_role("button", name="Redo", exact=True).click()  # Back is an undo step, so Redo reverts it
    expect(number(page, "vocab_size")).to_have_value("21,128")

    # Quick presses of Back go back as many steps, and Redo returns. The second press comes before the page of the first
    # is drawn, so the list does not show its preset yet.
    slider(page, "num_hidden_layers").press("ArrowRight")
    page.wait_for_url("**num_hidden_layers=13*")
    settled(page)
    _choose(page, "bert-large-uncased")
    page.evaluate("history.back(), setTimeout(() => history.back(), 30)")
    expect(number(page, "vocab_size")).to_have_value("21,128")
    expect(number(page, "num_hidden_layers")).to_have_value("12")
    expect_query(page, {"hidden_size": "832", "num_attention_heads": "13", "vocab_size": "21128"})
    settled(page)
    page.get_by_role("button", name="Redo", exact=True).click()
    expect(number(page, "num_hidden_layers")).to_have_value("13")


def test_opening_a_page_is_one_entry_that_says_the_model(look: Look) -> None:
    page = look("?lang=zh")
    ready(page)
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect_query(page, {"lang": "zh", "num_hidden_layers": "13"})
    page.evaluate(_LINKS)
    page.get_by_role("link", name="显存").click()
    expect_query(page, {"lang": "zh", "num_hidden_layers": "13"})
    settled(page)
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect_query(page, {"lang": "zh", "num_hidden_layers": "14"})
    assert len(page.evaluate("entries")) == 2, page.evaluate("links")
    page.go_back()
    expect(number(page, "num_hidden_layers")).to_have_value("13")
    page.go_back()
    expect(total(page)).to_have_text(layers(13))
    assert page.url.split("?")[0].endswith("/")


# A key press on a slider and a click in the same browser task, as on a busy machine.
_KEY_AND_CLICK = """([field, text]) => {
    const sliders = [...document.querySelectorAll("input[type=range]")];
    const slider = sliders.find(({ ariaLabel }) => ariaLabel.includes(field));
    const link = [...document.querySelectorAll("a")].find(({ innerText }) => innerText.trim() === text);
    for (const type of ["keydown", "keyup"]) {
        slider.dispatchEvent(new KeyboardEvent(type, { key: "ArrowRight", bubbles: true, cancelable: true }));
    }
    link.click();
}"""


def test_a_page_can_be_opened_right_after_a_move(look: Look) -> None:
    """Streamlit sends the new page first, and then the move together with the page that was left."""
    page = look("")
    for count in (13, 14):
        ready(page)
        page.evaluate(_KEY_AND_CLICK, ["num_hidden_layers", "Modules"])
        page.wait_for_url("**/structure?*")
        expect_query(page, {"num_hidden_layers": f"{count}"})
        expect(number(page, "num_hidden_layers")).to_have_value(f"{count}")
        page.get_by_role("link", name="Parameters").click()
        expect(total(page)).to_have_text(layers(count))


def test_a_typed_number_is_kept_when_another_page_is_tapped(look: Look) -> None:
    """A tap leaves the field at the moment of the click. Streamlit used to send the page first, and then came back."""
    page = look("memory")
    batch_size = page.get_by_role("spinbutton", name="Batch size")
    batch_size.fill("32")
    page.get_by_role("link", name="Compute").hover()
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/compute?batch_size=32")
    settled(page)
    expect(batch_size).to_have_value("32")


def test_keys_of_a_screen_are_free_after_a_drag(look: Look) -> None:
    page = look("lecture?screen=all-layers")
    expect(slider(page, "num_hidden_layers")).to_be_visible()
    settled(page)
    drag(page, slider(page, "num_hidden_layers"), [0.2, 0.5])
    settled(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**screen=pooler**")


def test_the_keyboard_alone_reaches_the_controls_and_opens_a_part(visit: Open) -> None:
    page = visit()
    ready(page)
    page.wait_for_timeout(1000)  # while charts are being drawn, the browser drops the focus
    reached = set()
    for _press in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    for field in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
        names = [name for name in reached if name and field in name]
        assert [name.endswith(", exact value") for name in sorted(names)] == [False, True], (field, reached)
    page.get_by_role("combobox", name="Open").focus()
    page.keyboard.type("pooler")
    page.keyboard.press("Enter")
    expect(page.get_by_text("dense.weight")).to_be_visible()
