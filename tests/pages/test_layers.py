"""The Step by step page: the walk to the real total, with shapes, formulas and explanations."""

import re

import pytest

from bertcalc import ARCHITECTURES, BertConfig, build
from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS
from bertcalc.forward.walk import walk
from bertcalc.model.batch import Batch
from bertcalc.teach.lessons import lesson
from pages.ui.walk.walk_steps import values_of
from tests.examples import sampled
from tests.model.test_formula import value
from tests.oracle import Case
from tests.pages.apptest import open_app, progress, tables, without_marks


def headline(app: object) -> str:
    return str(app.markdown[1].value).splitlines()[0]  # type: ignore[attr-defined]  # AppTest has no types


@pytest.mark.parametrize("architecture", sampled(ARCHITECTURES, 5))
def test_next_leads_to_the_end_and_the_real_total(architecture: str) -> None:
    app = open_app("layers.py", architecture=architecture)
    stops = walk(Case(BertConfig(), architecture).ours().steps(Batch(1, 128)))
    total = f"{Case(BertConfig(), architecture).real().num_parameters():,}"
    for number in range(1, len(stops) + 1):
        assert headline(app).startswith(f"## {number} / {len(stops)} · ")
        assert app.selectbox(key="step").value == stops[number - 1].name
        assert any(f" of {total} parameters, " in text for text in progress(app))
        if number < len(stops):
            app.button(key="forward step").click().run()
            assert not app.exception
    assert f"So far {total} of {total}" in progress(app)[0]
    assert app.button(key="forward step").disabled
    assert not app.button(key="back step").disabled


def test_the_layer_has_a_total_of_its_own_while_one_walks_through_it() -> None:
    said = [
        progress(open_app("layers.py", step=step, layer="3"))
        for step in ("encoder.layer.*.attention.self.key", "pooler.dense")
    ]
    assert said[0][0] == f"Layer 4 of 12, all identical: {2 * 590_592:,} of 7,087,872"
    assert [len(bars) for bars in said] == [2, 1]


def test_shapes_have_letters_and_the_numbers_of_the_link() -> None:
    app = open_app("layers.py", step="encoder.layer.*.attention.self.scores", batch_size="2", sequence_length="64")
    table = tables(app)[0]
    assert list(table["In symbols"].str.replace("\xa0", " "))[-1] == "B × A × S × S"
    assert list(table["In numbers"].str.replace("\xa0", " "))[-1] == "2 × 12 × 64 × 64"


def test_the_formula_has_letters_numbers_and_the_count() -> None:
    app = open_app("layers.py", step="encoder.layer.*.intermediate.dense")
    assert app.latex[0].value.replace("$", "").strip() == "H I + I"
    assert "= 768 · 3,072 + 3,072 = 2,362,368" in [without_marks(str(text.value)) for text in app.markdown]


def test_an_opened_layer_has_its_own_number_and_the_others_stand_around_it() -> None:
    app = open_app("layers.py", layer="3", step="encoder.layer.*.attention.self.query")
    assert tables(app)[0]["Name"][0] == "encoder.layer.2.output.LayerNorm"
    names = app.selectbox(key="step").options
    assert "encoder.layer.before" in names
    assert "encoder.layer.after" in names
    app.selectbox(key="step").set_value("encoder.layer.before").run()
    assert "3 layers like the opened one" in without_marks(app.markdown[1].value)


@pytest.mark.parametrize("layer", [0, 3, 10])
def test_the_formula_of_the_layers_after_the_opened_one_is_their_count(layer: int) -> None:
    app = open_app("layers.py", layer=f"{layer}", step="encoder.layer.after")
    layers = [*Case(BertConfig(), "BertModel").real().encoder.layer][layer + 1 :]
    letters = re.sub(r"(?<=[\w}]) (?=[A-Z])", "", app.latex[0].value.strip("$\n"))
    assert value(letters, BertConfig()) == sum(tensor.numel() for module in layers for tensor in module.parameters())


def test_a_layer_that_is_not_there_is_explained_and_the_nearest_shown() -> None:
    app = open_app("layers.py", layer="12")
    assert app.error[0].value == ("Layer 12 is invalid: it must be a whole number from 0 to 11; the nearest is 11.")
    assert "encoder.layer.before" in app.selectbox(key="step").options
    assert "encoder.layer.after" not in app.selectbox(key="step").options
    app.button(key="remedy layer = 11").click().run()
    assert not app.error
    assert app.number_input(key="layer").value == 11


def test_a_sequence_that_is_too_long_is_explained_and_the_longest_shown() -> None:
    app = open_app("layers.py", sequence_length="600")
    assert app.error[0].value == "Sequence length 600 exceeds max_position_embeddings 512: use at most 512."
    assert not app.exception
    app.button(key="remedy max_position_embeddings = 600").click().run()
    assert not app.error
    assert tables(app)[0]["In numbers"][0].replace("\xa0", " ") == "1 × 600"


def test_the_write_up_in_the_keras_manner() -> None:
    app = open_app(
        "layers.py", preset="bert-large-chinese", add_pooling_layer="false", sequence_length="512", rows="true"
    )
    table = tables(app)[-1]
    assert len(table) == 17
    assert list(table["So far"])[-1] == "324,472,832"
    assert list(table["Parameters"])[8] == "4,198,400"
    assert PRESETS["bert-large-chinese"].config.num_hidden_layers == 24


def test_heads_one_by_one_and_as_one_matrix() -> None:
    table = tables(open_app("layers.py", heads="true"))[-1]
    assert list(table.iloc[:, 1]) == [
        "A × 3 × H/A × H = 12 × 3 × 64 × 768 = 1,769,472",
        "A × 3 × H/A = 12 × 3 × 64 = 2,304",
        "1,771,776",
    ]
    assert list(table.iloc[:, 2])[-1] == "1,771,776"


def test_a_step_that_another_model_lacks_leads_to_the_one_most_like_it() -> None:
    app = open_app("layers.py", architecture="BertForMaskedLM", step="cls.predictions.decoder")
    app.selectbox(key="architecture").set_value("BertForQuestionAnswering").run()
    assert not app.exception
    assert headline(app).split(" / ")[0] != "## 1"


def test_heads_whose_matrix_has_no_bias() -> None:
    table = tables(open_app("layers.py", heads="true", preset="deberta-base"))[-1]
    assert list(table.iloc[:, 0]) == ["weights", "together"]
    assert list(table.iloc[:, 2])[-1] == "1,769,472"


@pytest.mark.parametrize("architecture", CLASSES)
def test_every_lesson_has_its_numbers(architecture: str) -> None:
    model = build(CLASSES[architecture].fullest(), architecture)
    for stop in walk(model.steps(Batch(1, 16))):
        assert "{" not in lesson(stop).text.format(**values_of(model, stop, Batch(1, 16)))


def test_keys_pressed_faster_than_pages_are_drawn_all_count() -> None:
    app = open_app("layers.py")
    app.session_state["step"] = "embeddings.LayerNorm"  # a press that the page has not been drawn for
    app.button(key="forward step").click().run()
    assert app.selectbox(key="step").value == "embeddings.dropout"


def test_a_cross_attention_that_the_class_cannot_use_is_said_to_be_idle() -> None:
    link = {"is_decoder": "true", "add_cross_attention": "true"}
    options = open_app("layers.py", architecture="BertForSequenceClassification", **link).selectbox(key="step").options
    assert "encoder.layer.*.crossattention" in options
    assert "encoder.layer.*.crossattention.self.softmax" in open_app("layers.py", **link).selectbox(key="step").options


def test_question_answering_with_three_scores_is_explained() -> None:
    app = open_app("layers.py", architecture="BertForQuestionAnswering", num_labels="3")
    assert "num_labels 2" in app.error[0].value


def test_a_question_stands_where_it_arises() -> None:
    app = open_app("layers.py", step="embeddings.LayerNorm", hidden_size="1024", num_attention_heads="16")
    assert "1,024 + 1,024 = 2,048" in app.info[0].value
    assert not open_app("layers.py", step="embeddings.dropout").info


def test_chinese() -> None:
    app = open_app("layers.py", lang="zh", step="encoder.layer.*.attention.output.dense")
    assert "为什么" in app.info[0].value
