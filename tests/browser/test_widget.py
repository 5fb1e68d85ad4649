"""The widget in a browser, drawn as in a notebook: its numbers belong to the real models that its sliders select."""

import json
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import bertcalc
from bertcalc.families import CLASSES
from bertcalc.widget import FormulaWidget
from tests.browser.look import painted
from tests.oracle import Case

# Render a widget in two cells, as anywidget does. ``sent`` collects the kernel's messages.
_RENDER = """async ([script, style, state]) => {
    document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
    const { default: widget } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    const listeners = new Map();
    window.sent = [];
    window.model = {
        get: (name) => state[name],
        set: (name, value) => {
            state[name] = value;
            for (const listener of listeners.get(`change:${name}`) ?? []) listener();
        },
        save_changes: () => window.sent.push(JSON.stringify(state.sizes)),
        on: (name, listener) => listeners.set(name, (listeners.get(name) ?? new Set()).add(listener)),
        off: (name, listener) => listeners.get(name).delete(listener),
    };
    window.leave = await Promise.all(["first", "second"].map(async (id) => {
        const el = document.body.appendChild(Object.assign(document.createElement("div"), { id }));
        return widget.render({ model: window.model, el });
    }));
}"""


def draw(page: Page, widget: FormulaWidget, style: str = "") -> None:
    state = json.loads(json.dumps(widget.get_state(["content", "sizes"])))
    page.goto("data:text/html,<!doctype html><body></body>")  # on about:blank, Chromium's sliders cannot be dragged
    page.evaluate(_RENDER, [widget._esm, f"{widget._css}\n{style}", state])


def real(config: Any, name: str) -> int:
    return sum(tensor.numel() for tensor in Case(config, name).real().parameters())


@pytest.mark.parametrize("name", ["BertModel", "DistilBertForMaskedLM", "GPT2LMHeadModel", "EuroBertModel"])
def test_a_slider_changes_both_cells_and_the_model_in_python(page: Page, name: str) -> None:
    widget = bertcalc.build(CLASSES[name].config.default(), name).widget()
    draw(page, widget)
    config = CLASSES[name].config.default()
    first, second = (page.locator(f"#{cell}") for cell in ("first", "second"))
    expect(first.locator("output")).to_have_text(f"{real(config, name):,}")
    slider = first.get_by_role("slider", name="Layer count")
    # JupyterLab leaves the arrow keys to this element.
    expect(slider).to_have_attribute("data-lm-suppress-shortcuts", "true")
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    count = real(replace(config, num_hidden_layers=config.num_hidden_layers - 2), name)
    for cell in (first, second):
        expect(cell.locator("output")).to_have_text(f"{count:,}")
        expect(cell.locator(".formula > div").last).to_have_text(f"= {count:,}")
    sent = [json.loads(text) for text in page.evaluate("sent")]
    assert len(sent) == 2
    widget.set_state({"sizes": sent[-1]})
    assert widget.model.num_parameters() == count
    first.get_by_role("slider", name="Vocabulary").press("Home")
    widget.set_state({"sizes": json.loads(page.evaluate("sent.at(-1)"))})
    assert first.locator("output").inner_text() == f"{real(widget.model.config, name):,}"


def test_a_drag_tells_python_once_and_a_cell_that_is_gone_no_longer_follows(page: Page) -> None:
    widget = bertcalc.load("bert-base-uncased").widget()
    draw(page, widget)
    slider = page.locator("#first").get_by_role("slider", name="Layer count")
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.evaluate("leave[1]()")
    shown = set()
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] * (0.25 + 0.03 * step), box["y"] + box["height"] / 2)
        painted(page)
        shown.add(page.locator("#first output").inner_text())
    assert page.evaluate("sent.length") == 0
    page.mouse.up()
    assert len(shown) > 15
    assert page.evaluate("sent.length") == 1
    widget.set_state({"sizes": json.loads(page.evaluate("sent[0]"))})
    expect(page.locator("#first output")).to_have_text(f"{widget.model.num_parameters():,}")
    expect(page.locator("#second output")).to_have_text("109,482,240")


@pytest.mark.parametrize(("ink", "paper"), [("rgb(17, 17, 17)", "#fff"), ("rgb(232, 232, 232)", "#111")])
def test_it_has_the_colours_of_the_notebook_and_fits_a_narrow_cell(page: Page, ink: str, paper: str) -> None:
    style = f"body {{ background: {paper}; --jp-content-font-color1: {ink} }} #first {{ width: 380px }}"
    draw(page, bertcalc.load("bert-base-uncased").widget(), style)
    view = page.locator("#first .bertcalc-view")
    assert view.evaluate("view => getComputedStyle(view).color") == ink
    assert view.locator(".ghost").first.evaluate("mark => getComputedStyle(mark).borderRightColor") == ink
    assert view.evaluate("view => view.scrollWidth <= view.clientWidth")
    (slider, label) = (view.locator("label").first.locator(part).bounding_box() for part in ("input", "span >> nth=0"))
    assert slider
    assert label
    assert slider["y"] > label["y"]
