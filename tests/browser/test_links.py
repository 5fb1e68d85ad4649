"""The link is the state: it can be opened, kept, reloaded, and gone back to."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from bertcalc import BertConfig
from tests.browser.conftest import Look, Open
from tests.browser.look import expect_query, number, open_page, query, ready, settled, slider, total
from tests.oracle import Case


def test_state_survives_page_switches_and_reload(visit: Open) -> None:
    page = visit("?vocab_size=21128&architecture=BertForMaskedLM&lang=zh&max_position_embeddings=1024&is_decoder=true")
    real = Case(BertConfig(vocab_size=21128, max_position_embeddings=1024, is_decoder=True), "BertForMaskedLM").real()
    expected = f"{real.num_parameters():,}"
    expect(total(page)).to_have_text(expected)
    before = query(page)
    open_page(page, "核对", "验证")
    expect(page.get_by_text("与真实的 BertForMaskedLM 完全一致")).to_be_visible(timeout=60_000)
    expect_query(page, before)
    page.get_by_role("link", name="参数量").click()
    expect(total(page)).to_have_text(expected)
    expect_query(page, before)
    page.reload()
    expect(total(page)).to_have_text(expected)
    expect_query(page, before)


def test_back_and_forward_go_through_what_was_seen(visit: Open) -> None:
    page = visit()
    ready(page)
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text("116,570,112")
    open_page(page, "Check", "Verify")
    expect(page.get_by_text("The real BertModel agrees")).to_be_visible(timeout=60_000)
    page.go_back()
    expect(total(page)).to_have_text("116,570,112")
    expect(number(page, "num_hidden_layers")).to_have_value("13")
    page.go_back()
    expect(total(page)).to_have_text("109,482,240")
    expect(number(page, "num_hidden_layers")).to_have_value("12")
    expect_query(page, {})
    page.go_forward()
    expect(total(page)).to_have_text("116,570,112")


def test_a_preset_is_a_short_link_and_fields_come_on_top(look: Look) -> None:
    page = look("?preset=bert-large-uncased&vocab_size=21128")
    expect(total(page)).to_have_text("325,522,432")
    page.get_by_role("combobox", name="Start from").click()
    page.get_by_role("option", name="bert-base-chinese", exact=True).click()
    expect(total(page)).to_have_text("102,267,648")
    page.wait_for_url("**/?preset=bert-base-chinese")


def test_wrong_values_are_named_and_the_rest_counts(visit: Open) -> None:
    page = visit("verify?vocab_size=21128&hidden_size=inf&lng=zh")
    expect(page.get_by_text("hidden_size=inf in the link is not possible")).to_be_visible()
    expect(page.get_by_text("lng in the link is unknown: did you mean lang?")).to_be_visible()
    expect(page.get_by_text("102,267,648 parameters")).to_be_visible(timeout=60_000)
    assert urlsplit(page.url).path == "/verify"
    expect_query(page, {"vocab_size": "21128"})


@pytest.mark.parametrize("address", ["", "verify"])
def test_an_impossible_pair_in_a_link_is_explained_on_every_page(visit: Open, address: str) -> None:
    page = visit(f"{address}?hidden_size=770")
    expect(page.get_by_text("768 or 780 would be")).to_be_visible()
    page.get_by_role("button", name="hidden_size = 780").click()
    expect(page.get_by_text("768 or 780 would be")).to_have_count(0)
    page.wait_for_url(f"**/{address}?hidden_size=780")


def test_back_to_a_link_that_was_wrong_does_no_harm(visit: Open) -> None:
    """Also where no control has said yet what the field is: folded ones are drawn once something holds a value."""
    page = visit("?hidden_size=inf&num_labels=inf&layer_norm_eps=two&vocab_size=21128")
    expect(total(page)).to_have_text("102,267,648")
    page.wait_for_url("**/?vocab_size=21128")
    page.go_back()
    page.wait_for_url(lambda url: "hidden_size" not in url)  # the run that the step back causes is through
    expect(number(page, "hidden_size")).to_have_value("768")
    expect(total(page)).to_have_text("102,267,648")
    expect(page.get_by_text("could not be shown")).to_have_count(0)


def test_back_to_a_link_that_was_wrong_in_a_pages_own_field_does_no_harm(visit: Open) -> None:
    page = visit("layers?batch_size=inf&num_hidden_layers=6")
    expect(page.get_by_text("batch_size=inf in the link is not possible")).to_be_visible()
    page.go_back()
    page.wait_for_url(lambda url: "batch_size" not in url)
    expect(number(page, "Batch size")).to_have_value("1")
    expect(number(page, "num_hidden_layers")).to_have_value("6")
    settled(page)
