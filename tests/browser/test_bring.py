"""Bring anything in a browser: files, the keyboard and the link. The Hub is in test_own_server.py."""

import json
from math import prod
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertcalc import BertConfig, build
from tests.browser.conftest import Look, Open
from tests.browser.look import bottom, expect_query, overflow, query, ready, settled, total
from tests.discover.real import real
from tests.examples import sampled
from tests.families.test_hf_json import CHINESE
from tests.hub.conftest import models

__all__ = ["models"]  # a fixture that pytest finds by name


def shown(page: Page) -> None:
    expect(page.get_by_test_id("stTable")).to_be_visible(timeout=30_000)
    settled(page)


def nothing_is_cut(page: Page) -> None:
    assert overflow(page.get_by_test_id("stMetricValue")) <= 0
    assert overflow(page.get_by_test_id("stTable")) <= 1


def test_a_pasted_config_is_taken_with_the_keyboard_and_is_the_model_of_every_page(visit: Open) -> None:
    page = visit("bring?bring=config")
    field = page.get_by_role("textbox", name="config.json")
    field.fill(CHINESE)
    field.press("Control+Enter")
    shown(page)
    nothing_is_cut(page)
    page.get_by_role("button", name="Use this model").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**num_labels=3**")
    taken = {"preset": "bert-base-chinese", "architecture": "BertForTokenClassification", "num_labels": "3"}
    expect_query(page, {"bring": "config", **taken})
    page.get_by_role("link", name="Parameters").click()
    ready(page)
    expect(total(page)).to_have_text("101,679,363")


def test_what_is_wrong_is_said_and_no_older_number_stays(visit: Open, tmp_path: Path) -> None:
    page = visit("bring?bring=config")
    chooser = page.locator("input[type=file]")
    good, bad, large = (tmp_path / name for name in ("good.json", "bad.json", "large.json"))
    good.write_text(CHINESE)
    bad.write_text('{"hidden_size": 770}')
    large.write_bytes(b" " * 1_100_000)
    chooser.set_input_files(good)
    shown(page)
    expect(chooser).to_have_value("")  # otherwise the same file could not be chosen again
    chooser.set_input_files(bad)
    expect(page.get_by_text("hidden_size 770 is not a multiple of num_attention_heads 12")).to_be_visible()
    expect(total(page)).to_have_count(0)
    chooser.set_input_files(large)
    expect(page.get_by_text("This file has at least 1,100,000 bytes")).to_be_visible()


def test_a_config_of_another_type_is_counted_with_one_press(visit: Open) -> None:
    page = visit("bring?bring=config")
    field = page.get_by_role("textbox", name="config.json")
    field.fill(CHINESE)
    field.press("Control+Enter")
    expect(total(page)).to_have_text("101,679,363")
    field.fill(
        '{"architectures": ["BloomForCausalLM"], "model_type": "bloom", "hidden_size": 128, "n_layer": 2, "n_head": 4}'
    )
    field.press("Control+Enter")
    link = page.get_by_role("link", name="BloomForCausalLM")
    expect(link).to_be_visible()
    count = real("bloom", "BloomForCausalLM", hidden_size=128, n_layer=2, n_head=4)
    expect(page.get_by_test_id("stMetricValue")).to_have_text(f"{count:,}")
    link.click()
    expect(page.get_by_role("heading", name="What is the formula of any other model?")).to_be_visible()
    page.wait_for_url("**model_class=BloomForCausalLM**")
    assert '"n_layer":2' in query(page)["fields"].replace(" ", "")


@pytest.mark.parametrize(("address", "sliders"), [("bring", 0), ("exercises", 0), ("tools", 5), ("verify", 5)])
def test_sliders_are_where_they_move_something(look: Look, address: str, sliders: int) -> None:
    page = look(address)
    expect(page.get_by_test_id("stSidebar").get_by_role("slider")).to_have_count(sliders)
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def test_a_text_that_is_too_long_for_the_link_is_there_again_after_a_reload(visit: Open) -> None:
    page = visit("bring")
    field = page.get_by_role("textbox", name="Your text")
    text = "\n".join(["BERT-base has 109,482,240 parameters.", *["It reads text from both sides."] * 80])
    field.fill(text)
    field.press("Control+Enter")
    expect(page.get_by_text("only this tab of your browser keeps it")).to_be_visible()
    settled(page)
    page.reload()
    expect(field).to_have_value(text, timeout=30_000)
    expect(page.get_by_text("The text is about bert-base-uncased.")).to_be_visible()
    settled(page)
    visit("bring?lang=en")  # a link shows only its own state, whatever the tab has shown before
    expect(field).to_be_visible(timeout=30_000)
    settled(page)
    expect(field).to_have_value("")
    field.fill(text)
    field.press("Control+Enter")
    expect(page.get_by_text("only this tab of your browser keeps it")).to_be_visible()
    field.fill("")
    field.press("Control+Enter")
    expect(page.get_by_text("only this tab of your browser keeps it")).to_be_hidden()
    settled(page)
    page.reload()
    expect(field).to_be_visible(timeout=30_000)
    settled(page)
    expect(field).to_have_value("")


def test_enter_asks_the_hub(look: Look) -> None:
    page = look("bring?bring=hub")
    field = page.get_by_role("textbox", name="Name on the Hub")
    field.fill("not a name")
    field.press("Enter")
    expect(page.get_by_text("not a name is not a name on the Hub")).to_be_visible()


def test_a_file_of_weights_in_chinese(visit: Open, models: Path) -> None:
    page = visit("bring?bring=file&lang=zh")
    page.locator("input[type=file]").set_input_files(models / "some" / "published" / "model.safetensors")
    shown(page)
    nothing_is_cut(page)
    assert bottom(page.get_by_test_id("stTable")) <= 720
    wrong = models / "wrong.safetensors"
    wrong.write_bytes(b"PK\x03\x04" + bytes(1000))
    page.locator("input[type=file]").set_input_files(wrong)
    expect(page.get_by_text("这是 PyTorch 文件")).to_be_visible()
    expect(page.get_by_test_id("stTable")).to_be_visible()  # the last file that could be read


def checkpoint(path: Path, more_layers: int = 0, cut: int = 0) -> Path:
    """Write a file with the header of bert-base or a larger model, and zeros as data.

    It is sparse: it uses no disk space.
    """
    model = build(BertConfig(num_hidden_layers=12 + more_layers), "BertModel")
    header, at = {}, 0
    for name, shape in model.named_parameters():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at := at + 4 * prod(shape)]}
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + at - cut)
    return path


_PREVENTED = """(place, [event, dataTransfer]) =>
    !place.dispatchEvent(new DragEvent(event, { dataTransfer, bubbles: true, cancelable: true }))"""


def test_a_pickle_is_refused_and_a_file_of_any_size_is_read_and_its_weights_are_not_sent(
    page: Page, server: str, tmp_path: Path
) -> None:
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(len(frame))))
    page.goto(f"{server}/bring?bring=file")
    button = page.get_by_role("button", name="Choose files")
    expect(button).to_be_visible()
    place = page.locator(".chooser")
    dropped = page.evaluate_handle(
        """() => {
            const files = new DataTransfer();
            files.items.add(new File(["pickled"], "pytorch_model.bin"));
            return files;
        }"""
    )
    for event in ("dragover", "drop"):  # without a handler, the browser would open the file
        assert place.evaluate(_PREVENTED, [event, dropped])
        expect(page.locator(".chooser.over")).to_have_count(int(event == "dragover"))
    expect(page.get_by_text("pytorch_model.bin is not a .safetensors file. bertcalc does not open")).to_be_visible()
    expect(place).to_contain_text("or drop them here")
    for more_layers, count in ((0, 109_482_240), (168, 109_482_240 + 168 * 7_087_872)):
        path = checkpoint(tmp_path / f"{more_layers}.safetensors", more_layers)
        with page.expect_file_chooser() as chooser:
            button.focus()
            page.keyboard.press("Enter")
        chooser.value.set_files(path)
        expect(total(page)).to_have_text(f"{199 + 16 * more_layers:,}")
        expect(page.get_by_test_id("stMetricValue").nth(1)).to_have_text(f"{count:,}")
        expect(page.get_by_text("is not a .safetensors file")).to_have_count(0)
    assert path.stat().st_size > 5 * 10**9
    assert sum(sent) < 10**6
    cut = checkpoint(tmp_path / "cut.safetensors", cut=400_000_000)
    with page.expect_file_chooser() as chooser:
        button.click()
    chooser.value.set_files(cut)
    cut_off = "its header announces 437,928,960 bytes of data, but the file has 37,928,960"
    expect(page.get_by_text(cut_off)).to_be_visible()
    expect(page.get_by_text("it has every tensor, in the right shape, and no other")).to_be_visible()


def test_offline_is_said(look: Look) -> None:
    page = look("bring?bring=hub")
    page.get_by_role("button", name="Read it from the Hub").click()
    expect(page.get_by_text("The Hub (huggingface.co) cannot be reached from this server.")).to_be_visible()


@pytest.mark.parametrize("text", sampled(["2,359,296", "85,054,464", "22.4%20GFLOPs", "75,641,856"], 2))
def test_what_explains_a_number_fits_on_a_phone(page: Page, visit: Open, text: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(f"bring?text={text}")
    tables = page.locator(".st-key-number-view table")
    expect(tables.first).to_be_visible(timeout=60_000)
    settled(page)
    wide = "tables => Math.max(...tables.map(table => table.scrollWidth - table.parentElement.clientWidth))"
    assert tables.evaluate_all(wide) <= 1
    torn = "cells => Math.max(...cells.map(cell => cell.scrollWidth - cell.clientWidth))"
    assert tables.locator("td").evaluate_all(torn) <= 2
    low = "rows => Math.max(...rows.map(row => row.clientHeight))"
    assert tables.locator("tbody tr").evaluate_all(low) < 200


@pytest.mark.parametrize(
    ("address", "name", "first", "second"),
    [
        ("bring", "Your text", "109,514,298", "109,482,240"),
        ("bring?bring=config", "config.json", CHINESE, CHINESE.replace("21128", "30522")),
        ("explain?explain=terms", "Your count", "attention = L * 4 * H * H", "feed-forward = L * 2 * H * I"),
    ],
)
def test_an_answer_to_an_older_text_is_pale_until_the_button_has_the_new_one_read(
    look: Look, address: str, name: str, first: str, second: str
) -> None:
    page = look(address)
    field, button = page.get_by_role("textbox", name=name), page.get_by_role("button", name="Read the text")
    answer, old = page.locator(".st-key-text-answer"), page.get_by_text("for the text before your change")
    field.fill(first)
    button.click()
    expect(answer.get_by_test_id("stTable").first).to_be_visible()
    settled(page)
    expect(answer).to_have_css("opacity", "1")
    expect(old).to_be_hidden()
    before = answer.inner_text()
    field.fill(second)
    expect(answer).to_have_css("opacity", "0.3")
    expect(old).to_be_visible()
    assert answer.inner_text() == before
    button.click()
    expect(answer).to_have_css("opacity", "1")
    expect(answer).not_to_have_text(before)
    settled(page)
    assert answer.inner_text() != before
    expect(old).to_be_hidden()
