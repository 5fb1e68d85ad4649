"""Sliders and number fields, with the keyboard alone."""

import pytest
from playwright.sync_api import expect

from bertcalc import BertConfig
from tests.browser.conftest import Open
from tests.browser.look import boxes, number, ready, slider, total
from tests.oracle import Case


@pytest.mark.parametrize(
    ("field", "after"),
    [
        ("vocab_size", {"vocab_size": 32_000}),  # from 30,522 to the next thousand but one
        ("hidden_size", {"hidden_size": 832, "num_attention_heads": 4}),
        ("num_hidden_layers", {"num_hidden_layers": 13}),
        ("intermediate_size", {"intermediate_size": 3_328}),
    ],
)
def test_arrow_keys_move_every_slider(visit: Open, field: str, after: dict[str, int]) -> None:
    page = visit("?num_attention_heads=4" if "num_attention_heads" in after else "")
    ready(page)
    slider(page, field).press("ArrowRight")
    expect(total(page)).to_have_text(f"{Case(BertConfig(**after)).real().num_parameters():,}")  # type: ignore[arg-type]


def test_heads_change_nothing_but_have_to_divide(visit: Open) -> None:
    page = visit()
    ready(page)
    slider(page, "num_attention_heads").press("ArrowRight")
    expect(page.get_by_text("is not a multiple of num_attention_heads 13")).to_be_visible()
    expect(
        page.get_by_text("Shown is the last or the nearest that is possible: num_attention_heads = 12")
    ).to_be_visible()
    expect(total(page)).to_have_text("109,482,240")
    page.get_by_role("button", name="num_attention_heads = 12").click()
    expect(page.get_by_text("is not a multiple")).to_have_count(0)
    expect(total(page)).to_have_text("109,482,240")


@pytest.mark.parametrize("value", ["21128", "30523", "119547"])
def test_every_value_can_be_typed(visit: Open, value: str) -> None:
    page = visit()
    ready(page)
    number(page, "vocab_size").fill(value)
    number(page, "vocab_size").press("Enter")
    page.wait_for_url(f"**/?vocab_size={value}")
    expect(total(page)).to_have_text(f"{109_482_240 + (int(value) - 30_522) * 768:,}")


def test_the_keyboard_alone_reaches_the_controls_and_opens_a_part(visit: Open) -> None:
    page = visit()
    ready(page)
    page.wait_for_timeout(1000)  # while charts are still being drawn, the browser drops the focus
    reached = set()
    for _press in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    for field in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
        assert f"{field}, exact value" in reached
        assert any(name and name.startswith(field) and "exact" not in name for name in reached), (field, reached)
    page.get_by_role("combobox", name="Open").focus()
    page.keyboard.type("pooler")
    page.keyboard.press("Enter")
    expect(page.get_by_text("dense.weight")).to_be_visible()


def test_a_click_on_a_bar_opens_it(visit: Open) -> None:
    page = visit()
    ready(page)
    (box,) = boxes(page.get_by_test_id("stVegaLiteChart").nth(1))
    page.mouse.click(
        box["x"] + 0.35 * box["width"], box["y"] + 6.5 * box["height"] / 8
    )  # the longest bar: feed-forward
    page.wait_for_url("**/?open=encoder.layer*")
    expect(page.get_by_text("intermediate.dense")).to_be_visible()
