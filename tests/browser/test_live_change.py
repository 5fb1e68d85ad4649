"""The Change page while a slider is held: a slider of the sidebar, or the rank of an adapter on the page."""

import re

from playwright.sync_api import Page, expect

from bertcalc import BertConfig, Lora, build, forward_flops, training_peak_bytes
from bertcalc.model.model import Model
from pages.ui.widgets.numbers import short
from tests.browser.conftest import Look, Open
from tests.browser.look import boxes, held, painted, settled, slider

RANK = "LoRA: r"
CLASSIFIER = "BertForSequenceClassification"
LINK = f"change?architecture={CLASSIFIER}&changes=lora,target_modules=query%2Bvalue,task_type=SEQ_CLS"


def adapted(rank: int, layers: int = 12) -> Model:
    lora = Lora(r=rank, target_modules=["query", "value"], task_type="SEQ_CLS")
    return build(BertConfig(num_hidden_layers=layers), CLASSIFIER).changed(changes=(lora,))


def metrics(page: Page) -> list[str]:
    return page.get_by_test_id("stMetricValue").all_inner_texts()


def expect_figures(page: Page, model: Model) -> None:
    trained, whole = model.num_parameters(only_trainable=True), model.num_parameters()
    peak = training_peak_bytes(model, 1, 128, keep_outputs=False, fused_dropout=True)
    assert {f"{whole:,}", f"{trained:,}", short(peak, "bytes")} <= set(metrics(page))
    line = f"trainable params: {trained:,} || all params: {whole:,} || trainable%: {100 * trained / whole:.4f}"
    assert page.get_by_test_id("stCode").first.inner_text().strip() == line
    after = page.get_by_test_id("stTable").locator("tbody tr td:last-child").all_inner_texts()
    flops = forward_flops(model, 1, 128)
    assert {f"{whole:,}", f"{trained:,}", f"{4 * whole:,} B", f"{peak:,} B", f"{flops:,}"} <= set(after)


def test_a_slow_drag_of_the_rank_shows_every_stop_and_sends_one_message(page: Page, visit: Open) -> None:
    sent: list[bytes] = []
    page.on(
        "websocket",
        lambda socket: socket.on(
            "framesent", lambda frame: sent.append(frame if isinstance(frame, bytes) else frame.encode())
        ),
    )
    visit(LINK)
    rank = slider(page, RANK)
    expect(rank).to_be_visible()
    settled(page)
    stops = int(rank.get_attribute("max") or "0")
    (box,) = boxes(rank)
    middle, room = box["y"] + box["height"] / 2, box["width"] - 18
    before, shown = len(sent), list[str]()
    place = int(rank.input_value())
    page.mouse.move(box["x"] + 9 + place / stops * room, middle)
    page.mouse.down()
    for stop in range(place + 1, place + 30):
        page.mouse.move(box["x"] + 9 + stop / stops * room, middle)
        painted(page)
        shown.append(metrics(page)[1])
    ranks = [*range(9, 32), *range(32, 43, 2)]
    assert shown == [f"{4 * 768 * 12 * r + 1538:,}" for r in ranks]
    expect_figures(page, adapted(ranks[-1]))
    assert len(sent) == before
    page.mouse.up()
    page.wait_for_url(f"**r%3D{ranks[-1]}*")
    settled(page)
    # A message without an answer would be repeated.
    assert {number for frame in sent[before:] for number in re.findall(rb'"number\\?":(\d+)', frame)} == {b"1"}
    expect_figures(page, adapted(ranks[-1]))


def test_the_figures_move_with_the_sidebar_and_the_file_is_older(look: Look) -> None:
    page = look(LINK)
    expect(slider(page, RANK)).to_be_visible()
    settled(page)
    with held(page, "num_hidden_layers", 0.7) as layers:
        expect_figures(page, adapted(8, layers))
        expect(page.locator(".without-value").get_by_text("439.2 MB")).to_be_visible()
    settled(page)
    expect_figures(page, adapted(8, layers))
    expect(page.locator(".without-value")).to_have_count(0)


def test_the_rank_stays_while_another_slider_is_moved_before_the_server_answers(page: Page, visit: Open) -> None:
    visit(LINK)
    expect(slider(page, RANK)).to_be_visible()
    settled(page)
    rank, layers = slider(page, RANK), slider(page, "num_hidden_layers")
    rank.press("ArrowRight")
    layers.press("ArrowRight")
    painted(page)
    expect(page.get_by_test_id("stMetricValue").nth(1)).to_have_text(f"{4 * 9 * 768 * 13 + 1538:,}")
    page.wait_for_url("**num_hidden_layers=13*")
    settled(page)
    expect_figures(page, adapted(9, 13))


def test_sizes_at_which_a_step_is_impossible_have_no_figures(look: Look) -> None:
    """Python refuses to widen a feed-forward network. While the slider is held, its figures are marked as outdated."""
    page = look("change?changes=heads,heads=8;feed_forward,intermediate_size=2048")
    expect(slider(page, "A narrower feed-forward: intermediate_size")).to_be_visible()
    settled(page)
    expect(page.get_by_text("The number of heads does not change the count.")).to_have_count(0)
    before = metrics(page)
    parameters = page.get_by_test_id("stMetricValue").first
    with held(page, "I, intermediate_size", 0.1) as units:
        assert units < 2048
        assert metrics(page) == before
        expect(parameters).to_have_class(re.compile("without-value"))
        expect(page.locator(".without-value")).not_to_have_count(0)
    expect(page.get_by_test_id("stAlert").get_by_text("2 · A narrower feed-forward")).to_be_visible()
    expect(page.locator(".without-value")).to_have_count(0)
