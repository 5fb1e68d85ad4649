"""The Change page in a browser: its link is its state, Undo knows the steps, and the effect needs no scrolling."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look, Open
from tests.browser.look import bottom, boxes, expect_query, overflow, settled
from tests.examples import crossed

LORA = "architecture=BertForSequenceClassification&changes=lora,target_modules%3Dquery%2Bvalue,task_type%3DSEQ_CLS"
STEPS = "changes=vocabulary,new_num_tokens%3D20000;layers,layers%3D1%2B3%2B5;lora,target_modules%3Dquery%2Bvalue"


def test_settings_go_into_the_link_beside_the_steps(visit: Open) -> None:
    page = visit("change")
    page.get_by_role("button", name="LoRA for classification on 8 GB", exact=True).click()
    expect(page.get_by_text("trainable params: 296,450")).to_be_visible()
    page.get_by_role("spinbutton", name="Batch size").fill("16")
    page.keyboard.press("Enter")
    page.wait_for_url("**batch_size=16**")
    expect(page.get_by_test_id("stMetricValue").last).not_to_have_text("528.9 MB")  # the peak with a batch size of 1
    peak = page.get_by_test_id("stMetricValue").last.inner_text()
    steps = "lora,target_modules=query+value,task_type=SEQ_CLS"
    wanted = {"architecture": "BertForSequenceClassification", "changes": steps, "device_memory": "RTX-4060-8GB"}
    expect_query(page, wanted | {"batch_size": "16"})
    page.reload()
    expect(page.get_by_test_id("stMetricValue").last).to_have_text(peak)


def test_undo_takes_an_example_back_in_one_step(visit: Open) -> None:
    page = visit("change")
    page.get_by_role("button", name="LoRA for classification on 8 GB", exact=True).click()
    expect(page.get_by_text("trainable params: 296,450")).to_be_visible()
    settled(page)
    page.keyboard.press("Control+z")
    expect(page.get_by_text("trainable params")).to_have_count(0)
    expect_query(page, {})
    page.get_by_role("button", name="Redo").click()
    expect(page.get_by_text("trainable params: 296,450")).to_be_visible()


@pytest.mark.parametrize(("link", "lang", "present"), crossed(2, [LORA, STEPS], ["en", "zh"], ["", "&present=1"]))
def test_the_effect_needs_no_scrolling(look: Look, link: str, lang: str, present: str) -> None:
    page = look(f"change?{link}&lang={lang}{present}")
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    settled(page)
    end = bottom(page.get_by_test_id("stVegaLiteChart"))
    assert end <= (590 if present else 720)
    assert len({box["y"] for box in boxes(page.get_by_test_id("stMetricValue")) if box["y"] < end}) == 1
    assert overflow(page.get_by_test_id("stTable").first) <= 1


def test_a_chart_is_as_wide_as_the_view_for_the_projector(page: Page, visit: Open) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    visit(f"change?{LORA}")
    chart = page.get_by_test_id("stVegaLiteChart").locator("svg.marks")
    expect(chart).to_be_visible()
    settled(page)
    page.keyboard.press("p")
    page.wait_for_url("**present=1*")
    settled(page)
    (box,) = boxes(chart)
    assert 1_600 < box["x"] + box["width"] <= 1_920


def test_a_menu_closes_once_a_step_is_added(visit: Open) -> None:
    page = visit("change")
    page.get_by_role("button", name="Train fewer parameters").click()
    page.get_by_role("button", name="LoRA", exact=True).click()
    expect(page.get_by_text("trainable params: 294,912")).to_be_visible()
    expect(page.get_by_role("button", name="BitFit")).to_be_hidden()
