"""Bringing models in, in a browser: files, the keyboard, the link, and a server that speaks the Hub's protocol."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.bring.conftest import models
from tests.bring.hub_server import Server, serving
from tests.browser.conftest import Open
from tests.browser.launch import running_server
from tests.browser.look import bottom, expect_query, open_page, overflow, query, ready, settled, total
from tests.test_config_json import CHINESE

__all__ = ["models"]  # a fixture
HUB = "bring?bring=hub&repo_id=some/published"


@pytest.fixture(scope="module")
def hub(models: Path) -> Iterator[Server]:
    with serving(models) as server:
        yield server


@pytest.fixture(scope="module")
def asking(hub: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app with another Hub."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", hub.url)
        patch.delenv("HF_HUB_OFFLINE")
        with running_server(tmp_path_factory.mktemp("asking") / "log") as (url, _process):
            yield url


def shown(page: Page) -> None:
    expect(page.get_by_test_id("stTable")).to_be_visible(timeout=30_000)
    settled(page)


def nothing_is_cut(page: Page) -> None:
    assert overflow(page.get_by_test_id("stMetricValue")) <= 0
    assert overflow(page.get_by_test_id("stTable")) <= 1


def test_a_pasted_config_is_taken_with_the_keyboard_and_is_the_model_of_every_page(visit: Open) -> None:
    page = visit("bring")
    field = page.get_by_role("textbox", name="config.json")
    field.fill(CHINESE)
    field.press("Control+Enter")
    shown(page)
    nothing_is_cut(page)
    page.get_by_role("button", name="Take this model").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**num_labels=3**")
    expect_query(page, {"preset": "bert-base-chinese", "architecture": "BertForTokenClassification", "num_labels": "3"})
    page.get_by_role("link", name="Parameters").click()
    ready(page)
    expect(total(page)).to_have_text("101,679,363")
    page.reload()
    expect(total(page)).to_have_text("101,679,363")


def test_what_is_wrong_is_said_and_the_last_stays(visit: Open, tmp_path: Path) -> None:
    page = visit("bring")
    chooser = page.locator("input[type=file]")
    good, bad, large = (tmp_path / name for name in ("good.json", "bad.json", "large.json"))
    good.write_text(CHINESE)
    bad.write_text('{"hidden_size": 770}')
    large.write_bytes(b" " * 1_100_000)
    chooser.set_input_files(good)
    shown(page)
    chooser.set_input_files(bad)
    expect(page.get_by_text("hidden_size 770 is not a multiple of num_attention_heads 12")).to_be_visible()
    expect(page.get_by_text("Shown is the last that could be read.")).to_be_visible()
    expect(total(page)).to_have_text("101,679,363")
    chooser.set_input_files(large)
    expect(page.get_by_text("File must be 1.0MB or smaller.")).to_be_visible()


def test_a_file_of_weights_in_chinese(visit: Open, models: Path) -> None:
    page = visit("bring?bring=file&lang=zh")
    page.locator("input[type=file]").set_input_files(models / "some" / "published" / "model.safetensors")
    shown(page)
    nothing_is_cut(page)
    assert bottom(page.get_by_test_id("stTable")) <= 720
    wrong = models / "wrong.safetensors"
    wrong.write_bytes(b"PK\x03\x04" + bytes(1000))
    page.locator("input[type=file]").set_input_files(wrong)
    expect(page.get_by_text("67,324,752")).to_be_visible()
    expect(page.get_by_test_id("stTable")).to_be_visible()  # the last that could be read


def test_a_model_of_the_hub_is_read_on_request(page: Page, asking: str, hub: Server) -> None:
    page.goto(f"{asking}/{HUB}")
    button = page.get_by_role("button", name="Read it from the Hub")
    expect(button).to_be_visible(timeout=30_000)
    assert hub.asked == []
    button.focus()
    page.keyboard.press("Enter")
    shown(page)
    nothing_is_cut(page)
    expect(page.get_by_text("has all of BertForMaskedLM, and more tensors beside it")).to_be_visible()
    expect(page.get_by_text("head of another class")).to_be_in_viewport()
    assert len(hub.asked) == 2
    page.get_by_role("link", name="Parameters").click()
    ready(page)
    assert "repo_id" not in query(page)
    open_page(page, "Check", "Your model")
    page.wait_for_url("**repo_id=some**published**")
    assert query(page)["bring"] == "hub"
    shown(page)
    page.get_by_role("textbox", name="Name on the Hub").fill("some/sharded")
    page.keyboard.press("Enter")
    page.wait_for_url("**repo_id=some**sharded**")
    button.click()
    expect(page.get_by_text("is BertForSequenceClassification: every tensor is there")).to_be_visible()
    page.get_by_role("textbox", name="Name on the Hub").fill("some/nothing")
    page.keyboard.press("Enter")
    page.wait_for_url("**repo_id=some**nothing**")
    button.click()
    expect(page.get_by_text("some/nothing is not on the Hub, or it is not public.")).to_be_visible()
    expect(page.get_by_text("is BertForSequenceClassification: every tensor is there")).to_be_visible()


def test_offline_is_said(visit: Open) -> None:
    page = visit("bring?bring=hub")
    page.get_by_role("button", name="Read it from the Hub").click()
    expect(page.get_by_text("The Hub (huggingface.co) cannot be reached from this server.")).to_be_visible()
