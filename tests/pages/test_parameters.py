"""The Parameters page: its figures equal the real model's."""

import pytest
from hypothesis import given
from streamlit.testing.v1 import AppTest
from torch import Tensor

from bertcalc.controls.chosen_model import ChosenModel
from bertcalc.families import CLASSES, PRESETS
from tests.examples import examples, sampled
from tests.oracle import Case
from tests.pages.apptest import drawn_formula, move, open_app, total, total_formula
from tests.strategies import chosen_models


@pytest.mark.parametrize("architecture", sampled(CLASSES, 6))
def test_total_is_the_real_models(architecture: str) -> None:
    app = open_app(architecture=architecture)
    preset = next(iter(CLASSES[architecture].presets.values()))
    assert total(app) == f"{Case(preset.config, architecture).real().num_parameters():,}"


@examples(10)
@given(chosen_models())
def test_any_link_shows_the_real_models_total(model: ChosenModel) -> None:
    app = open_app(**model.link())
    real = Case(model.config, model.architecture, model.add_pooling_layer).real()
    assert total(app) == f"{real.num_parameters():,}"


def test_moving_a_slider_moves_total_formula_and_differences() -> None:
    app = open_app()
    move(app, num_hidden_layers=13)
    assert total(app) == "116,570,112"  # one layer of 7,087,872 parameters more
    assert app.metric[0].delta == "+7,087,872 · × 1.06"
    assert "Yours has 1 more layer, +7,087,872." in app.markdown[0].value
    assert total_formula(app)["label"].endswith(" = 116,570,112")
    assert "L (4H² + 2HI + 9H + I) = 13 · 7,087,872 = 92,142,336" in total_formula(app)["tips"]["encoder L"]


def test_components_are_shares_of_the_total() -> None:
    app = open_app()
    assert [metric.value for metric in app.metric[1:]] == ["21.8 %", "77.7 %", "0.5 %"]
    assert [metric.delta for metric in app.metric[1:]] == ["23,837,184", "85,054,464", "590,592"]


def test_a_preset_sets_the_fields_and_is_what_differences_are_taken_from() -> None:
    app = open_app()
    app.selectbox(key="preset").select("bert-large-uncased").run()
    assert total(app) == "335,141,888"
    assert app.metric[0].delta == "±0"
    move(app, vocab_size=21128)
    assert total(app) == "325,522,432"
    assert app.metric[0].delta == "−9,619,456 · × 0.97"


def test_a_preset_has_its_pooler_and_brings_it_back() -> None:
    app = open_app(add_pooling_layer="false")
    assert app.metric[0].delta == "−590,592 · × 0.99"
    app.selectbox(key="preset").select("bert-large-uncased").run()
    assert total(app) == "335,141,888"
    assert app.metric[0].delta == "±0"


def markdown(app: AppTest) -> str:
    return "\n".join(str(text.value) for text in app.markdown)


def test_opening_one_layer_shows_its_formula() -> None:
    app = open_app()
    app.selectbox(key="open").select("encoder.layer.*").run()
    written = drawn_formula(app, "part-formula")["label"]
    assert written.startswith("4H² + 2HI + 9H + I = 4 · 768² + 2 · 768 · 3,072 + ")
    assert written.endswith(" = 7,087,872")
    subtotals = markdown(app)
    layer = Case(PRESETS["bert-base-uncased"].config, "BertModel").real().encoder.layer[0]
    inside = {name: sum(map(Tensor.numel, part.parameters())) for name, part in layer.named_modules()}
    norms = inside["attention.output.LayerNorm"] + inside["output.LayerNorm"]
    attention = inside["attention"] - inside["attention.output.LayerNorm"]
    forward = inside["intermediate"] + inside["output"] - inside["output.LayerNorm"]
    assert f"attention {attention:,} · LayerNorm {norms:,} · feed-forward {forward:,}" in subtotals


@pytest.mark.parametrize("part", ["embeddings", "pooler", "encoder.layer.*.attention.self.query"])
def test_a_part_whose_bars_are_its_subtotals_has_no_others(part: str) -> None:
    assert "LayerNorm 1,536" not in markdown(open_app(open=part))


def test_what_is_open_survives_an_architecture_without_it() -> None:
    app = open_app(open="pooler")
    app.selectbox(key="architecture").select("BertForMaskedLM").run()
    assert not app.exception
    assert app.selectbox(key="open").value == "model"


@pytest.mark.parametrize(("unfold", "rows"), [("false", 23), ("true", 199)])
def test_tensor_table_sums_to_the_total(unfold: str, rows: int) -> None:
    app = open_app(tensors="true", unfold=unfold)
    frame = app.dataframe[0].value
    assert len(frame) == rows
    assert f"{frame['parameters'].sum():,}" == total(app)
    assert frame["share"].sum() == pytest.approx(100)
    assert app.caption[-1].value == f"{rows} rows, 109,482,240 parameters"


def test_tensor_table_names_are_the_real_models() -> None:
    frame = open_app(tensors="true", unfold="true").dataframe[0].value
    real = Case(PRESETS["bert-base-uncased"].config).real()
    shapes = [" × ".join(f"{side:,}" for side in tensor.shape) for _name, tensor in real.named_parameters()]
    assert list(frame["name"]) == [name for name, _tensor in real.named_parameters()]
    assert list(frame["shape"]) == shapes


def test_a_closed_table_is_not_computed() -> None:
    assert not open_app().dataframe
