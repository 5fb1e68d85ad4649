"""The Compare page in a browser: the comparison is in the link, and its first screen needs no scrolling."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from bertcalc import BertConfig, Lora, build, forward_flops, load
from bertcalc.discover.results.shipped import shipped
from bertcalc.explore.compare import PAIRS, explain
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.families.presets import PRESETS
from tests.browser.conftest import Look, Open
from tests.browser.look import bottom, boxes, expect_query, held, hold, number, overflow, query, settled
from tests.examples import sampled

TIED = "models=bert-base-uncased~architecture-BertForMaskedLM+bert-base-uncased~architecture-BertForMaskedLM~"


def shows(page: Page, difference: str) -> None:
    """Wait until the large number is ``difference`` and the page is complete."""
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(difference, timeout=20_000)
    expect(page.get_by_test_id("stTextInput")).to_be_visible()
    settled(page)


def test_the_link_of_a_comparison_is_readable_and_opens_it(look: Look) -> None:
    page = look(f"compare?{TIED}tie_word_embeddings-false")
    shows(page, "+23,471,418")
    look("compare")
    shows(page, "+225,659,648")
    expect_query(page, {})
    page.get_by_role("button", name="tied and untied").click()
    shows(page, "+23,471,418")
    page.wait_for_url("**/compare?models=**")
    assert page.url.endswith(f"/compare?{TIED}tie_word_embeddings-false")


def test_pinned_by_keyboard_a_model_stays_while_the_sidebar_changes(look: Look) -> None:
    page = look("compare?models=present&vocab_size=21128")
    expect(page.get_by_text("A difference needs two models")).to_be_visible()
    page.get_by_role("button", name="Models", exact=True).press("Enter")
    page.get_by_role("button", name="Pin the current model").press("Enter")
    expect(page.get_by_test_id("stMetricValue")).to_have_text("0")
    page.keyboard.press("Escape")
    settled(page)  # wait: text that the server sets is lost if the browser sends its own first
    number(page, "vocab_size").fill("21129")
    number(page, "vocab_size").press("Enter")
    expect(page.get_by_test_id("stMetricValue")).to_have_text("−768")
    page.wait_for_url("**vocab_size=21129**")
    assert query(page)["models"] == "present bert-base-uncased~vocab_size-21128"


def test_what_was_chosen_by_hand_gives_way_to_a_pair_for_good(look: Look) -> None:
    page = look("compare")
    shows(page, "+225,659,648")
    page.get_by_role("button", name="Models", exact=True).click()
    page.get_by_role("combobox", name="Models (the first").fill("all-MiniLM-L6-v2")
    page.keyboard.press("Enter")
    page.wait_for_url("**models=present+bert-large-uncased+all-MiniLM-L6-v2")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="uncased and Chinese").click()
    shows(page, "−7,214,592")
    page.get_by_role("radio", name="Table").click()
    page.wait_for_url("**compare=table**")
    expect(page.get_by_test_id("stTable").get_by_text("bert-base-chinese").first).to_be_visible()
    assert query(page)["models"] == PAIRS["vocabulary"].models


def test_enter_takes_the_model_whose_name_is_typed_and_no_others(look: Look) -> None:
    page = look("compare?models=bert-base-uncased")
    page.get_by_role("button", name="Models", exact=True).click()
    page.get_by_role("combobox", name="Models (the first").fill("roberta-b")
    expect(page.get_by_role("option").nth(1)).to_be_visible()  # other options match, too
    page.keyboard.press("Enter")
    page.wait_for_url("**models=bert-base-uncased+roberta-base")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")


def test_a_phone_has_two_models_beside_each_other_and_shows_that_there_is_a_third(look: Look) -> None:
    page = look("compare?compare=table&models=bert-base-uncased+bert-large-uncased+deberta-v3-base")
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    table = page.locator(".st-key-side-by-side").get_by_test_id("stTable")
    first, second, third = boxes(table.locator("th:visible"))
    assert first["x"] < second["x"]
    assert second["x"] + second["width"] < third["x"] + 1 < 370 < third["x"] + third["width"]
    total = table.locator("tr", has_text="parameters in total").first.locator("td")
    label, *figures = boxes(total)
    assert all(box["y"] >= label["y"] + label["height"] - 1 for box in figures)
    assert [round(box["x"]) for box in figures] == [round(box["x"]) for box in (first, second, third)]
    sideways = "element => element.scrollWidth - element.clientWidth"
    assert page.get_by_test_id("stMain").evaluate(sideways) == 0  # only the table scrolls sideways, not the page


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_sum_and_its_bars_need_no_scrolling(look: Look, lang: str) -> None:
    page = look(f"compare?lang={lang}")
    chart = page.get_by_test_id("stVegaLiteChart")
    chart.locator("canvas, svg").first.wait_for()
    assert bottom(chart) <= 720
    for box in boxes(page.locator(".katex-display .katex")):
        assert box["x"] + box["width"] <= 1280
        assert box["y"] + box["height"] <= 720


@pytest.mark.parametrize("view", ["bars", "scatter"])
def test_charts_of_many_models_need_no_scrolling(look: Look, view: str) -> None:
    page = look(f"compare?compare={view}&models={PAIRS['tasks'].models}")
    chart = page.get_by_test_id("stVegaLiteChart")
    chart.locator("canvas, svg").first.wait_for()
    assert bottom(chart) <= 720


def test_billions_of_parameters_and_giga_of_flops_have_letters_of_their_own(look: Look) -> None:
    chart = look("compare?compare=scatter").get_by_test_id("stVegaLiteChart")
    axes = chart.locator(".role-axis-label")
    expect(axes.get_by_text("1B", exact=True)).to_have_count(1)
    expect(axes.get_by_text("10G", exact=True)).to_have_count(1)
    expect(axes.get_by_text("1G", exact=True)).to_have_count(1)


def test_the_bars_keep_their_order_when_another_pair_is_chosen(look: Look) -> None:
    page = look(f"compare?models={PAIRS['heads'].models}")
    names = page.get_by_test_id("stVegaLiteChart").locator(".role-axis-label text")
    expect(names.get_by_text("9 more heads")).to_be_visible()
    page.get_by_role("button", name="tied and untied").click()
    part, together = (names.get_by_text(name) for name in ("decoder with its own matrix", "together"))
    expect(part).to_be_visible()
    assert bottom(part) < bottom(together)


@pytest.mark.parametrize("pair", sampled(["size", "shape", "tasks"], 2))
def test_no_table_is_wider_than_the_page(look: Look, pair: str) -> None:
    page = look(f"compare?compare=table&models={PAIRS[pair].models}")
    table = page.get_by_test_id("stTable")
    expect(table).to_be_visible()
    assert overflow(table) <= 1


def test_at_a_glance_twelve_models_need_no_scrolling_and_a_click_opens_one(look: Look) -> None:
    page = look("compare?compare=glance&order=ascending")
    page.get_by_role("button", name="well-known models").click()
    chart = page.get_by_test_id("stVegaLiteChart")
    names = chart.locator(".role-axis-label text")
    expect(names.get_by_text("albert-base-v2")).to_be_visible()
    assert bottom(chart) <= 720
    models = PAIRS["well-known"].models
    expect_query(page, {"compare": "glance", "models": models, "order": "ascending"})
    smallest, small, largest = map(names.get_by_text, ("albert-base-v2", "distilbert-base", "bert-large-uncased"))
    assert bottom(smallest) < bottom(small) < bottom(largest)
    row, (picture,) = boxes(smallest)[0], boxes(chart)
    page.mouse.click(picture["x"] + picture["width"] / 2, row["y"] + row["height"] / 2)
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("11,683,584")
    page.go_back()
    expect(names.get_by_text("albert-base-v2")).to_be_visible()
    page.wait_for_url("**compare=glance**")


def test_a_phone_shows_the_parameters_of_models_at_a_glance(look: Look) -> None:
    page = look("compare?compare=glance")
    page.set_viewport_size({"width": 390, "height": 844})
    table = page.locator(".st-key-glance table")
    table.scroll_into_view_if_needed()
    settled(page)
    covered = table.evaluate(
        """table => [...table.querySelectorAll("tbody td:nth-child(3)")].filter((cell) => {
            const { left, right, top, bottom } = cell.getBoundingClientRect();
            if (top < 0 || bottom > innerHeight - 160) return false;
            const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
            return right > innerWidth || !(cell.contains(at) || cell === at);
        }).length"""
    )
    assert covered == 0


def test_a_difference_follows_the_hand(look: Look) -> None:
    page = look("compare?models=bert-large-uncased+present")
    shows(page, "−225,659,648")
    layers = hold(page, "num_hidden_layers", 0.6)
    large, present = PRESETS["bert-large-uncased"].config, BertConfig(num_hidden_layers=layers)
    explanation = explain(Case(build(large)), Case(build(present)), QUANTITIES["parameters"])
    amount = f"{explanation.difference:+,}".replace("-", "−")
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(amount)
    first = explanation.parts[0]
    for text in (f"{first.changes[0]}", f"{first.total:,}", f"{build(present).num_parameters():,}"):
        expect(page.get_by_text(text, exact=True).first).to_be_attached()
    expect(page.get_by_role("cell", name=f"num_hidden_layers 24 → {layers}")).to_be_attached()
    assert "num_hidden_layers" not in query(page)
    page.mouse.up()


def test_models_with_steps_follow_the_hand_and_stay_in_the_link(visit: Open) -> None:
    steps, lora = "lora,r=16,target_modules=query+value", Lora(r=16, target_modules=["query", "value"])
    page = visit(f"compare?{urlencode({'models': f'bert-base-uncased~changes-{steps} present', 'changes': steps})}")
    shows(page, "0")
    layers = hold(page, "num_hidden_layers", 0.6)
    base = load("bert-base-uncased").adapted(lora)
    deeper = base.replace(num_hidden_layers=layers)
    amount = f"{deeper.num_parameters() - base.num_parameters():+,}"
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(amount)
    page.mouse.up()
    settled(page)
    page.reload()
    shows(page, amount)
    expect(page.get_by_role("cell", name=f"num_hidden_layers 12 → {layers}")).to_be_attached()


def test_a_row_that_a_drag_adds_has_room_and_stays_when_the_hand_lets_go(look: Look) -> None:
    page = look("compare?models=bert-base-uncased+present")
    shows(page, "0")
    chart, table = page.get_by_test_id("stVegaLiteChart"), page.get_by_test_id("stTable").first
    names = chart.locator(".role-axis-label text")

    def rows() -> list[tuple[int, str]]:
        named = zip(boxes(names), names.all_text_contents(), strict=True)
        return sorted((round(box["y"]), name) for box, name in named)

    expect(names).to_have_count(1)
    with held(page, "hidden_size", 0.6) as hidden:
        more = f"{(hidden - 768) // 64} more heads, {hidden - 768:,} more hidden units"
        in_hand = rows()
        assert len(in_hand) == 2
        assert in_hand[1][0] - in_hand[0][0] > 30
        assert table.evaluate(
            "table => Number(getComputedStyle(table).opacity) < 1 || !!table.closest('.without-value')"
        )
    assert rows() == in_hand
    expect(page.get_by_test_id("stTable").get_by_role("cell", name=more)).to_be_visible()


def test_a_difference_from_a_discovered_model_follows_the_hand(look: Look) -> None:
    page = look("compare?models=present+bloom.BloomForCausalLM")
    formula = shipped("bloom", "BloomForCausalLM")
    assert formula
    shows(page, f"{formula.parameters - build(BertConfig()).num_parameters():+,}".replace("-", "−"))
    with held(page, "num_hidden_layers", 0.6) as layers:
        amount = formula.parameters - build(BertConfig(num_hidden_layers=layers)).num_parameters()
        expect(page.get_by_test_id("stMetricValue").first).to_have_text(f"{amount:+,}".replace("-", "−"))


def test_the_scatter_plot_is_older_while_the_hand_moves(look: Look) -> None:
    page = look("compare?compare=scatter")
    chart = page.get_by_test_id("stVegaLiteChart")
    expect(chart.locator("svg")).to_be_visible()
    opacity = "chart => Number(getComputedStyle(chart.closest('[class*=st-key-older]')).opacity)"
    assert chart.evaluate(opacity) == 1
    with held(page, "num_hidden_layers", 0.6):
        assert chart.evaluate(opacity) < 1
    assert chart.evaluate(opacity) == 1


def test_the_table_follows_the_hand(look: Look) -> None:
    page = look("compare?models=bert-large-uncased+present&compare=table&num_hidden_layers=6")
    expect(page.get_by_test_id("stTable")).to_be_visible(timeout=20_000)
    settled(page)
    model = build(BertConfig(num_hidden_layers=hold(page, "num_hidden_layers", 0.6)))
    for figure in (model.num_parameters(), forward_flops(model, 1, 128)):
        expect(page.get_by_role("cell", name=f"{figure:,}").first).to_be_attached()
    page.mouse.up()


def test_the_list_of_models_stays_where_it_is_while_models_are_chosen(look: Look) -> None:
    page = look("compare")
    shows(page, "+225,659,648")
    page.get_by_role("button", name="Models", exact=True).click()
    popover = page.get_by_test_id("stPopoverBody")
    before = boxes(popover)
    page.get_by_role("combobox", name="Models (the first").fill("albert-base-v2")
    page.keyboard.press("Enter")
    page.wait_for_url("**albert-base-v2")
    assert [(box["x"], box["width"]) for box in boxes(popover)] == [(box["x"], box["width"]) for box in before]
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")


def test_a_preset_is_added_by_typing_its_name(look: Look) -> None:
    page = look("compare")
    shows(page, "+225,659,648")
    page.get_by_role("combobox", name="Add a model").fill("albert-base-v2")
    page.keyboard.press("Enter")
    shows(page, "−97,798,656")
    expect(page.get_by_role("combobox", name="Add a model")).to_have_value("")
    expect_query(page, {"models": "present bert-large-uncased albert-base-v2", "explained": "albert-base-v2"})
