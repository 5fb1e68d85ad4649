"""Pages while a slider is held show the numbers of the slider's current value, before the server is asked."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from bertcalc import BertConfig, build
from bertcalc.compute.flops import forward_flops, training_flops
from bertcalc.families.presets import PRESETS
from bertcalc.forward.walk import walk
from bertcalc.model.batch import Batch
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from tests.browser.conftest import Look, Open
from tests.browser.look import boxes, held, hold, number, painted, ready, settled, slider, total
from tests.component_data import sent_to

BASE = BertConfig()
WALK = ("layers", "ArrowRight", None)  # holding the key down goes from step to step


def metrics(page: Page) -> list[str]:
    return page.get_by_test_id("stMetricValue").all_inner_texts()


def opened(look: Look, link: str) -> Page:
    page = look(link)
    expect(page.get_by_test_id("stMain").get_by_role("heading").first).to_be_visible()
    settled(page)
    return page


@pytest.mark.parametrize("preset", ["bert-base-uncased", "ModernBERT-base"])
def test_the_forward_pass_of_compute(look: Look, preset: str) -> None:
    page = opened(look, f"compute?preset={preset}&modules=true")
    with held(page, "num_hidden_layers", 0.7) as layers:
        model = Model(replace(PRESETS[preset].config, num_hidden_layers=layers))
        forward, training = forward_flops(model, 1, 128), training_flops(model, 1, 128)
        assert layers != PRESETS[preset].config.num_hidden_layers
        assert metrics(page) == [f"{forward:,}", f"{round(forward / 128):,}", f"{training:,}"]
        assert f"{forward:,} FLOPs" in page.locator(".st-key-total-formula .formula").inner_text()
        expect(page.get_by_test_id("stTable").get_by_role("cell", name=f"{forward:,}", exact=True)).to_be_visible()
        copies = layers - 1 if preset == "ModernBERT-base" else layers  # ModernBERT's first layer has no LayerNorm
        expect(page.get_by_test_id("stTable").get_by_text(f"{copies}\N{NO-BREAK SPACE}×").first).to_be_visible()


def test_crossovers_and_conventions_of_compute(look: Look) -> None:
    page = opened(look, "compute?compute=length")
    with held(page, "hidden_size", 0.7) as hidden:
        expect(page.get_by_text(f"= {2 * hidden + 3072:,}")).to_be_visible()
    page = opened(look, "compute?compute=conventions")
    with held(page, "num_hidden_layers", 0.7) as layers:
        kaplan = 6 * 12 * layers * 768**2 * 128
        expect(page.get_by_test_id("stTable").get_by_role("cell", name=f"{kaplan:,}")).to_be_visible()


def test_the_training_of_compute(look: Look) -> None:
    page = opened(look, "compute?compute=time&steps=1000")
    with held(page, "num_hidden_layers", 0.7) as layers:
        flops = 1000 * training_flops(build(replace(BASE, num_hidden_layers=layers)), 256, 512)
        expect(page.get_by_test_id("stMetricDelta").first).to_have_text(f"{flops:,}")
        seconds = flops / (8 * 125e12 * 0.4)
        expect(page.get_by_test_id("stMetricDelta").nth(1)).to_have_text(f"{seconds:,.0f} s")


def test_the_tree_and_its_counts(look: Look) -> None:
    page = opened(look, "structure?counts=true")
    with held(page, "num_hidden_layers", 0.7) as layers:
        model = build(replace(BASE, num_hidden_layers=layers))
        assert "\n".join(page.locator(".tree code").all_inner_texts()) == f"{model}"
        expect(page.locator(".tree span").first).to_have_text(f"{model.num_parameters():,}")
        expect(page.get_by_text(f"= {layers:,} × 7,087,872")).to_be_visible()


def test_what_is_frozen(look: Look) -> None:
    page = opened(look, "structure?view=freezing&freeze_layers=3")
    with held(page, "num_hidden_layers", 0.7) as layers:
        split = Freezing(layers=3).split(build(replace(BASE, num_hidden_layers=layers)))
        assert metrics(page) == [f"{count:,}" for count in (*split, split.total)]


def test_a_step_of_the_walk(look: Look) -> None:
    page = opened(look, "layers?step=encoder.layer.after&rows=true")
    with held(page, "num_hidden_layers", 0.7) as layers:
        stops = walk(build(replace(BASE, num_hidden_layers=layers)).steps(Batch(1, 128)))
        (stop,) = (stop for stop in stops if stop.name == "encoder.layer.after")
        said = f"So far {stop.so_far:,} of {stops[-1].so_far:,} parameters, {stop.parameters:,} of them in this step"
        expect(page.get_by_text(said)).to_be_visible()
        expect(page.get_by_text(f"{layers - 1} more layers like the opened one")).to_be_visible()
        expect(page.get_by_text(f"encoder.layer.{layers - 1}.output.LayerNorm").first).to_be_visible()
        rows = page.get_by_test_id("stTable").last
        expect(rows.get_by_role("cell", name=f"{stop.parameters:,}", exact=True)).to_be_visible()
        expect(rows.get_by_text(f"Transformer-1 ... Transformer-{layers - 1}")).to_be_visible()


def test_the_answer_of_a_question(look: Look) -> None:
    page = opened(look, "layers?step=embeddings.LayerNorm")
    with held(page, "hidden_size", 0.7) as hidden:
        box = page.get_by_test_id("stAlert")
        expect(box).to_contain_text(f"each of the {hidden:,} units")
        expect(box).to_contain_text(f"So there are {hidden:,} + {hidden:,} = {2 * hidden:,}, however")


def test_a_drag_sends_one_message_at_its_end(page: Page, visit: Open) -> None:
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(len(frame))))
    visit()
    ready(page)
    before = len(sent)
    shown = set()
    layers = hold(page, "num_hidden_layers", 0.3)
    (box,) = boxes(slider(page, "num_hidden_layers"))
    for step in range(30):
        page.mouse.move(box["x"] + (0.3 + 0.02 * step) * box["width"], box["y"] + box["height"] / 2)
        painted(page)
        shown.add(total(page).inner_text())
    layers = int(slider(page, "num_hidden_layers").input_value())
    assert len(shown) > 15
    assert len(sent) == before
    page.mouse.up()
    page.wait_for_url(f"**num_hidden_layers={layers}*")
    settled(page)
    assert len(sent) == before + 1
    expect(total(page)).to_have_text(f"{build(BertConfig(num_hidden_layers=layers)).num_parameters():,}")


def count(layers: int) -> str:
    return f"{build(BertConfig(num_hidden_layers=layers)).num_parameters():,}"


def drag(page: Page, part: float) -> int:
    """Drag the slider for the number of layers to a fraction of its length and release it at once.

    Return the layers.
    """
    (box,) = slider(page, "num_hidden_layers").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(({ x, y, width, height }) => ({ x, y, width, height }))"
    )
    present = int(slider(page, "num_hidden_layers").input_value())
    middle, room = box["y"] + box["height"] / 2, box["width"] - 18
    page.mouse.move(box["x"] + 9 + (present - 1) / 47 * room, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 9 + part * room, middle, steps=4)
    layers = int(slider(page, "num_hidden_layers").input_value())
    assert layers != present
    expect(total(page)).to_have_text(count(layers), timeout=1_000)
    page.mouse.up()
    return layers


def test_quick_drags_back_and_forth_can_be_undone_and_redone(page: Page, visit: Open) -> None:
    visit()
    ready(page)
    reached = [12, *(drag(page, part) for part in (0.8, 0.1, 0.6, 0.3))]
    for key, steps in (("Control+z", reached[-2::-1]), ("Control+Shift+z", reached[1:])):
        for layers in steps:
            page.keyboard.press(key)
            expect(total(page)).to_have_text(count(layers))
            expect(slider(page, "num_hidden_layers")).to_have_js_property("value", f"{layers}")
    page.wait_for_url(f"**num_hidden_layers={reached[-1]}*")
    settled(page)
    expect(page.get_by_role("button", name="Redo", exact=True)).to_be_disabled()


def test_two_tabs_have_a_model_each_and_a_drag_moves_only_its_own(page: Page, visit: Open) -> None:
    visit("?num_hidden_layers=6")
    other = page.context.new_page()
    other.goto(page.url.replace("=6", "=24"))
    for tab in (page, other):
        ready(tab)
    layers = hold(page, "num_hidden_layers", 0.7)
    expect(total(page)).to_have_text(count(layers))
    expect(page.locator("body")).to_have_class("bertcalc-older bertcalc-drag")
    shown = total(other).inner_text(), other.locator("body").get_attribute("class"), other.url
    page.mouse.up()
    page.wait_for_url(f"**num_hidden_layers={layers}*")
    settled(page)
    settled(other)
    assert (total(other).inner_text(), other.locator("body").get_attribute("class"), other.url) == shown
    assert shown[0] == count(24)
    slider(other, "num_hidden_layers").press("ArrowLeft")
    expect(total(other)).to_have_text(count(23))
    other.wait_for_url("**num_hidden_layers=23*")
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text(count(6))
    expect(total(other)).to_have_text(count(23))


def _operations(frame: bytes | str) -> Iterator[Any]:
    """Yield the live program in a server message, or None if the server does not send the program again."""
    message = ForwardMsg.FromString(frame if isinstance(frame, bytes) else frame.encode())
    component = message.delta.new_element.bidi_component
    if component.component_name.endswith("bertcalc_page_end"):
        yield sent_to(component)["live"]["operations"]


def test_a_program_is_sent_once_and_again_when_it_is_asked_for(page: Page, visit: Open) -> None:
    programs: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: programs.extend(_operations(frame))))
    visit()
    ready(page)
    assert programs[0]
    slider(page, "num_hidden_layers").press("ArrowRight")
    page.wait_for_url("**num_hidden_layers=13*")
    settled(page)
    assert programs[1:] == [None]
    page.evaluate("bertcalcLive.programs.clear()")
    slider(page, "num_hidden_layers").press("ArrowRight")
    page.wait_for_url("**num_hidden_layers=14*")
    page.wait_for_function("() => bertcalcLive.programs.size === 1")
    assert programs[2:] == [None, programs[0]]
    with held(page, "num_hidden_layers", 0.7) as layers:
        expect(total(page)).to_have_text(f"{build(BertConfig(num_hidden_layers=layers)).num_parameters():,}")


@pytest.mark.parametrize(("link", "key", "role"), [("", "ArrowRight", slider), ("", "ArrowUp", number), WALK])
def test_a_held_key_sends_at_most_two_messages_a_second(
    page: Page, visit: Open, link: str, key: str, role: Callable[[Page, str], Locator] | None
) -> None:
    sent: list[float] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda _frame: sent.append(monotonic())))
    visit(link)
    settled(page)
    if role:
        role(page, "num_hidden_layers").focus()
    before, began = len(sent), monotonic()
    while monotonic() - began < 3:
        page.keyboard.down(key)  # repeated, as by a keyboard
        page.wait_for_timeout(30)
    page.keyboard.up(key)
    settled(page)
    assert 1 <= len(sent) - before <= 1 + 2 * (monotonic() - began)


_WITHOUT_A_METRIC = """() => {
    const second = document.querySelectorAll("[data-testid=stMetric]")[1].closest("[data-testid=stElementContainer]");
    second.remove();
    for (const place of window.bertcalcLive.data.places) place.element = null;
    window.dispatchEvent(new CustomEvent("bertcalc-sizes", { detail: { sizes: {}, alike: true, drag: false } }));
}"""


def test_while_a_metric_of_a_row_is_missing_the_others_keep_their_texts(look: Look) -> None:
    """React adds the metrics of a row one after another. An index among them is final only when all are there."""
    page = look("")
    ready(page)
    metrics = page.get_by_test_id("stMetric")
    first, _second, *others = metrics.all_inner_texts()
    page.evaluate(_WITHOUT_A_METRIC)
    painted(page)
    assert metrics.all_inner_texts() == [first, *others]
    page.goto("about:blank")  # the page lacks a metric
