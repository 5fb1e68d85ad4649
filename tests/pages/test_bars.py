"""The charts of parts: their data and their texts."""

import json
import re
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, FactorizeEmbeddings, Lora, build
from bertcalc.charts.bar_charts import ranked_bars
from bertcalc.charts.columns import Columns
from bertcalc.compute.flop_formulas import letters, plain_formulas
from bertcalc.compute.flops import PYTORCH, by_part
from bertcalc.config import letters as letters_of
from bertcalc.families import CLASSES
from bertcalc.model.batch import Batch
from bertcalc.model.formula import bar_formulas
from bertcalc.model.model import Model
from bertcalc.model.names import PART_NAMES
from bertcalc.model.totals import breakdown, openable, place_of
from pages.ui.widgets.bars import Bars, bars_frame, proportions_frame
from tests.oracle import Case
from tests.pages.apptest import move, open_app
from tests.pages.test_take import PAGES, noted
from tests.strategies import cases

RANKED = "Parameters of each part of {}"
_SIGNS = str.maketrans({"·": "*", **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))})


def value(formula: str, config: Any, **sizes: int) -> int:
    """Evaluate a formula in plain text with the sizes of a configuration.

    Its signs are replaced by Python's operators.
    """
    text = re.sub(r"([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", r"**\1", formula).translate(_SIGNS)
    text = re.sub(r"(\d) (?=[A-Z(])", r"\1*", re.sub(r"(?<=\d),(?=\d)", "", text))
    found: int = eval(text, letters_of(config) | sizes)
    return found


def chart(app: AppTest, title: str) -> Columns:
    """The data of the page's first chart with such a title."""
    return next(one.data for one in noted(app) if one.title.startswith(title))


def ranked(app: AppTest, opened: str = "the whole model") -> dict[str, dict[str, Any]]:
    """The bars of the Parameters page, keyed by name."""
    columns = chart(app, RANKED.format(opened))
    return {name: {key: cells[at] for key, cells in columns.items()} for at, name in enumerate(columns["name"])}


def lengths(app: AppTest) -> dict[str, float]:
    """The length of each bar as a share of the axis."""
    return {name: bar["end"] / bar["limit"] for name, bar in ranked(app).items()}


@given(cases())
def test_the_formula_of_each_bar_gives_its_figure(case: Case) -> None:
    model = case.ours()
    for path in openable(model):
        bars = breakdown(model, path)
        written = bar_formulas(case.model, path=path)
        assert [value(one, case.config) for one in written] == [bar.parameters for bar in bars]


@given(cases())
def test_the_formula_of_each_part_of_compute_gives_its_figure(case: Case) -> None:
    length = min(5, case.config.longest)
    costs = by_part(case.ours().steps(Batch(3, length, num_choices=2)))
    written = plain_formulas(letters(case.model, PYTORCH), PYTORCH)
    assert {part: value(one, case.config, B=3, S=length, N=2) for part, one in written.items()} == costs


def test_every_part_of_a_model_has_a_name_of_its_own() -> None:
    models: list[Model] = [build(family.fullest(), name) for name, family in CLASSES.items()]
    names = ["word_embeddings", "query", "pooler.dense", "classifier"]
    models.append(Model(BertConfig(), "BertForSequenceClassification", changes=(Lora(target_modules=names),)))
    models.append(Model(BertConfig(), "BertForMaskedLM", changes=(FactorizeEmbeddings(64),)))
    assert set(PART_NAMES) == {place_of(tensor) for model in models for tensor in model.tensors()}
    assert len(set(PART_NAMES.values())) == len(PART_NAMES)


def test_what_does_not_change_keeps_its_length_and_what_grows_is_longer() -> None:
    app = open_app(num_hidden_layers="24")
    drawn = {}
    for layers in (24, 6, 12):
        move(app, num_hidden_layers=layers)
        drawn[layers] = lengths(app)
    assert drawn[6]["Word embeddings"] == drawn[12]["Word embeddings"] == drawn[24]["Word embeddings"]
    for part in ("Attention", "Feed-forward", "LayerNorms (layers)"):
        assert 4 * drawn[6][part] == pytest.approx(2 * drawn[12][part]) == pytest.approx(drawn[24][part])
    app.session_state["open"] = "encoder.layer.*"
    app.run()
    app.session_state["open"] = "model"
    app.run()
    # Another part was opened in between, so the axis begins anew.
    assert lengths(app)["Feed-forward"] > drawn[12]["Feed-forward"]


def test_the_preset_stands_behind_the_bars() -> None:
    app = open_app()
    assert all(isnan(bar["mark"]) and not bar["more"] for bar in ranked(app).values())
    assert not any("Mark: " in caption.value for caption in app.caption)
    app = open_app(num_hidden_layers="18", vocab_size="20000", add_pooling_layer="false")
    bars = ranked(app)
    assert "Pooler" not in bars
    grown, less, same = bars["Feed-forward"], bars["Word embeddings"], bars["Position embeddings"]
    assert (grown["label"], grown["share"]) == ("85,003,776", "59.3 %")
    assert grown["brief"] == "Feed-forward · 85,003,776"  # on a phone
    assert grown["more"] == grown["more_brief"] == "+28,334,592 · × 1.50 with L"
    assert grown["solid"] == grown["mark"] == 56_669_184
    assert less["more"] == "−8,080,896 · × 0.66 with V"
    assert (less["solid"], less["mark"]) == (15_360_000, 23_440_896)
    assert same["more"] == ""
    assert isnan(same["mark"])  # an unchanged part has no mark
    assert any("Mark: bert-base-uncased" in caption.value for caption in app.caption)


def test_the_preset_has_the_head_of_the_class() -> None:
    bars = ranked(open_app(architecture="BertForMaskedLM", vocab_size="30000"))
    assert 30_522 in [bar["mark"] for bar in bars.values()]  # the decoder's bias


def test_a_part_that_the_preset_lacks_is_all_added() -> None:
    link = {"architecture": "BertLMHeadModel", "is_decoder": "true", "add_cross_attention": "true"}
    bar = ranked(open_app(**link))["Cross-attention"]
    assert (bar["mark"], bar["solid"]) == (0, 0)
    assert bar["more"] == f"+{bar['figure']:,}"


@pytest.mark.parametrize(
    ("page", "link", "title"),
    [
        ("compute.py", {}, "Share of each part in the forward pass"),
        ("memory.py", {"memory": "activations"}, "Bytes saved for each module"),
    ],
)
def test_other_charts_of_parts_have_the_preset_behind_them_too(page: str, link: dict[str, str], title: str) -> None:
    twice = chart(open_app(page, num_hidden_layers="24", **link), title)
    ratios = {figure / mark for figure, mark in zip(twice["figure"], twice["mark"], strict=True) if not isnan(mark)}
    assert ratios == {2}
    # A sequence that is too long for the preset has no comparison.
    longer = chart(open_app(page, max_position_embeddings="1024", sequence_length="1024", **link), title)
    assert all(map(isnan, longer["mark"]))


@pytest.mark.parametrize(
    ("view", "title"),
    [
        ("training", "Live memory over the step"),
        ("inference", "Live memory over the step"),
        ("fit", "The parts in proportion"),
    ],
)
def test_a_chart_of_memory_keeps_its_scale_and_marks_the_preset(view: str, title: str) -> None:
    app = open_app("memory.py", memory=view, num_hidden_layers="24", device_memory="RTX-4060-8GB")
    ends = []
    for layers in (24, 6, 12):
        move(app, num_hidden_layers=layers)
        data = chart(app, title)
        ends.append(data["axis"][-1])
        marks = [count for count in data.get("was", []) if count is not None and not isnan(count)]
        assert len(marks) == (layers != 12)
    assert len(set(ends)) == 1


def test_a_label_is_drawn_on_a_scale_that_data_alone_change() -> None:
    bars = Bars({"a": 5, "b": 1}, {"a": 3}, ["A", "B"], ["#111111", "#222222"], ["H", "1"])
    frame = bars_frame(bars, 10)
    assert frame["limit"] == [10, 10]
    assert frame["far"] == [5, 1]
    assert list(proportions_frame(bars)["end"]) == [5, 6]
    words = ("Parameters", "Share", "Formula", "Preset")
    assert ranked_bars("light", 2, "parameters", words) is ranked_bars("light", 2, "parameters", words)


@pytest.mark.parametrize(
    ("page", "link"),
    [*PAGES, ("compute.py", {}), ("memory.py", {"memory": "fit"}), ("compare.py", {"compare": "glance"})],
)
def test_no_chart_says_the_fields_that_it_is_drawn_from(page: str, link: dict[str, str]) -> None:
    for one in noted(open_app(page, **link)):
        if one.spec is None:
            continue
        assert one.spec["config"]["mark"] == {"tooltip": None}
        said = re.findall(r'"tooltip": (\[.*?\]|\{.*?\})', json.dumps(dict(one.spec), default=repr))
        shown = [entry for text in said for entry in ([json.loads(text)] if text[0] == "{" else json.loads(text))]
        assert any("field" in entry for entry in shown)
        for entry in shown:
            if "field" in entry:
                assert entry["title"] != entry["field"]
