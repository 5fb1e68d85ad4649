"""The Any model page in a browser: its link, its sliders, and the progress of a discovery."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from bertcalc.discover.results.shipped import shipped
from tests.browser.conftest import Look, Open
from tests.browser.look import PYTORCH, bottom, boxes, crowded, number, settled, slider, total, total_formula
from tests.examples import sampled


def count(**sizes: int) -> str:
    found = shipped("gpt2", "GPT2LMHeadModel")
    assert found is not None
    return f"{found.count(**sizes):,}"


def shown(page: Page) -> str:
    """Return the total once the page is drawn completely."""
    expect(total_formula(page)).to_have_count(3, timeout=PYTORCH)
    settled(page)
    return total(page).inner_text()


def test_keys_move_a_slider_and_steps_go_back(look: Look) -> None:
    page = look("any_model?model_type=gpt2")
    shown(page)
    slider(page, "n_layer").focus()
    page.keyboard.press("ArrowRight")
    expect(total(page)).to_have_text(count(n_layer=13))
    page.wait_for_url("**sizes=n_layer-13")
    expect(page).to_have_title("Any model · GPT2LMHeadModel, n_layer = 13 · bertcalc")
    feed_forward = 13 * (2 * 768 * 3072 + 768 + 3072)
    expect(page.get_by_test_id("stVegaLiteChart")).to_contain_text(f"{feed_forward:,}")
    page.keyboard.press("Control+z")
    expect(total(page)).to_have_text(count())
    page.wait_for_url(lambda url: "sizes" not in url)
    page.keyboard.press("Control+y")
    expect(total(page)).to_have_text(count(n_layer=13))
    page.wait_for_url("**sizes=n_layer-13")
    page.go_back()
    expect(total(page)).to_have_text(count())
    page.go_forward()
    expect(total(page)).to_have_text(count(n_layer=13))


def test_a_size_that_is_refused_is_mended_where_it_stands(look: Look) -> None:
    page = look("any_model?model_type=gpt2")
    shown(page)
    field = number(page, "n_embd, exact value")
    field.fill("770")
    field.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="n_embd is a multiple of n_head")).to_be_visible()
    expect(total(page)).to_have_text(count())
    page.get_by_role("button", name="n_embd = 780").click()
    expect(total(page)).to_have_text(count(n_embd=780))
    expect(page.get_by_role("alert").filter(has_text="multiple")).to_have_count(0)


def test_a_type_is_found_as_one_types_and_back_leads_back(look: Look) -> None:
    page = look("any_model?model_type=gpt2&lang=zh")
    shown(page)
    box = page.get_by_role("combobox").first
    box.click()
    box.fill("deepseek_v3")
    page.keyboard.press("Enter")
    expect(total(page)).to_have_text("671,026,404,352")
    page.wait_for_url("**model_type=deepseek_v3**")
    assert "公式" in page.get_by_role("heading", level=1).inner_text()
    page.go_back()
    expect(total(page)).to_have_text("124,439,808")


def test_a_link_of_another_page_leads_to_its_model_and_not_to_the_last_one(look: Look) -> None:
    look("any_model?model_type=gpt2")
    page = look("compare?compare_by=forward&models=bert-base-uncased albert.AlbertModel")
    page.get_by_role("link", name="Find the FLOPs of AlbertModel").click()
    page.wait_for_url("**/any_model?**model_type=albert**")
    expect(total(page)).to_have_text("222,595,584")


def test_a_bar_opens_its_part(look: Look) -> None:
    page = look("any_model?model_type=gpt2")
    shown(page)
    [label] = boxes(page.get_by_text("h.*.mlp", exact=True))
    page.mouse.click(label["x"] + 200, label["y"] + label["height"] / 2)
    page.wait_for_url("**part=transformer.h.*.mlp")
    expect(page.get_by_text("c_fc", exact=True)).to_be_visible()


def test_a_config_is_pasted_and_its_formula_is_found_while_others_are_served(
    visit: Open, page: Page, server: str
) -> None:
    page = visit("any_model?any_bring=true")
    shown(page)
    config = page.get_by_role("textbox", name="config.json")
    config.press("0")
    expect(config).to_have_value("0")  # in this field, the key 0 does not reset the model
    config.fill('{"model_type": "gpt2", "architectures": ["GPT2Model"], "n_embd": 96, "n_head": 4, "n_layer": 3}')
    page.get_by_role("button", name="Find its formula").click()
    expect(page.get_by_role("progressbar").or_(page.get_by_text("Parameters in GPT2Model")).first).to_be_visible()
    other = page.context.new_page()
    other.goto(f"{server}/")
    expect(total(other)).to_have_text("109,482,240")
    other.close()
    expect(page.get_by_text("Parameters in GPT2Model")).to_be_visible(timeout=PYTORCH)
    found = shown(page)
    assert "fields=" in page.url
    page.reload()
    assert shown(page) == found


def test_flops_are_found_at_a_press_and_who_leaves_ends_it(visit: Open) -> None:
    small = '{"hidden_size":32,"num_attention_heads":4,"ffn_dim":64,"num_hidden_layers":2}'
    page = visit(f"any_model?model_type=opt&fields={quote(small)}")
    expect(total_formula(page)).to_have_count(3, timeout=PYTORCH)
    button = page.get_by_role("button", name="Find the FLOPs")
    button.click()
    expect(page.get_by_text("Searching for the FLOPs").or_(page.get_by_role("progressbar")).first).to_be_visible()
    page.get_by_role("link", name="Parameters").click()
    expect(total(page)).to_have_text("109,482,240")
    page.go_back()
    button.click()
    expect(page.get_by_text("FLOPs of a forward pass", exact=True)).to_be_visible(timeout=PYTORCH)
    expect(button).to_have_count(0)


def test_on_a_phone_a_slider_and_the_total_are_on_one_screen(visit: Open, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit("any_model?model_type=gpt2")
    shown(page)
    assert bottom(total(page)) < bottom(slider(page, "vocab_size")) <= 844
    page.get_by_role("button", name="L 12").click()
    slider(page, "n_layer").focus()
    page.keyboard.press("ArrowLeft")
    expect(total(page)).to_have_text(count(n_layer=11))


@pytest.mark.parametrize(
    ("kind", "lang"), sampled([("deepseek_v3", "zh"), ("deepseek_v3", "en"), ("bart", "zh"), ("bert", "zh")], 2)
)
def test_long_formulas_fit_on_a_projector(look: Look, lang: str, kind: str) -> None:
    page = look(f"any_model?present=1&model_type={kind}&lang={lang}")
    for width, height in ((1920, 1080), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        settled(page)
        assert crowded(page) == []


@pytest.mark.parametrize("kind", ["llama", "bloom", "gpt2"])
def test_a_first_step_moves_nothing(look: Look, kind: str) -> None:
    page = look(f"any_model?model_type={kind}")
    formula = total_formula(page).first
    (before,) = boxes(formula)
    page.get_by_role("slider").nth(1).press("ArrowRight")
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    (after,) = boxes(formula)
    assert after["y"] == before["y"]


def test_a_name_that_is_no_type_says_where_it_can_be_entered(look: Look) -> None:
    page = look("any_model")
    shown(page)
    box = page.get_by_role("combobox").first
    box.click()
    box.fill("t5-small")
    hint = page.get_by_text("Enter a model's name, such as t5-small, or its config.json below")
    expect(hint).to_be_visible()
    (said,) = boxes(hint)
    (list_box,) = boxes(page.get_by_role("listbox").or_(page.get_by_role("dialog")).filter(has=hint).first)
    assert said["width"] <= list_box["width"]
    page.keyboard.press("Escape")
    page.goto("about:blank")  # the field keeps its text otherwise


def test_the_answer_to_a_config_is_below_it_in_sight(look: Look) -> None:
    page = look("any_model")
    shown(page)
    page.get_by_text("Your own config.json, or a name on the Hub").click()
    page.get_by_role("textbox", name="config.json").fill('{"model_type": "gpt2", "n_layer": 13}')
    page.get_by_role("button", name="Find its formula").click()
    expect(page.get_by_text("n_layer = 13").first).to_be_visible()
    expect(total(page)).to_have_text(count(n_layer=13))
    shown(page)
    pressed, answer = (
        boxes(place)[0]["y"] for place in (page.get_by_role("button", name="Find its formula"), total(page))
    )
    assert pressed < answer < 640


@pytest.mark.parametrize("address", ["any_model", "any_model?model_type=t5", "any_model?model_type=llama&lang=zh"])
def test_figures_are_in_a_row_also_after_a_step(look: Look, address: str) -> None:
    page = look(address)
    shown(page)
    figures = page.locator(".st-key-any-figures").get_by_test_id("stMetricLabel")
    before = boxes(figures)
    assert len({round(figure["y"]) for figure in before}) == 1
    slider(page, "num_").first.press("ArrowRight")
    expect(page.locator(".st-key-any-figures")).to_contain_text("×")
    assert boxes(figures) == before
