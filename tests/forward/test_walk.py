"""The walk: every stop occurs once, totals grow to the model's total, and a public write-up agrees row by row."""

import re
from dataclasses import replace
from math import prod
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, Config, DebertaV2Config, build
from bertcalc.families import CLASSES
from bertcalc.families.presets import PRESETS
from bertcalc.forward.walk import AFTER, BEFORE, factors, in_layer, keras_rows, per_head, walk
from bertcalc.model.batch import Batch
from bertcalc.model.modules import Attention
from bertcalc.model.totals import submodule
from bertcalc.teach.lessons import lesson, questions
from tests.oracle import Case, owned
from tests.strategies import cases


def test_002_row_by_row() -> None:
    """The write-up's figures. Its configuration is bert-large with 21,128 word pieces, without the pooler."""
    model = build(PRESETS["bert-large-chinese"].config, add_pooling_layer=False)
    rows = keras_rows(walk(model.steps(Batch(1, 512))))
    assert [(row.keras, row.parameters) for row in rows] == [
        ("Input-Token", 0),
        ("Input-Segment", 0),
        ("Embedding-Token", 21_635_072),
        ("Embedding-Segment", 2_048),
        ("Embedding-Token-Segment", 0),
        ("Embedding-Position", 524_288),
        ("Embedding-Norm", 2_048),
        ("Embedding-Dropout", 0),
        ("Transformer-0-MultiHeadSelfAttention", 4_198_400),
        ("Transformer-0-MultiHeadSelfAttention-Dropout", 0),
        ("Transformer-0-MultiHeadSelfAttention-Add", 0),
        ("Transformer-0-MultiHeadSelfAttention-Norm", 2_048),
        ("Transformer-0-FeedForward", 8_393_728),
        ("Transformer-0-FeedForward-Dropout", 0),
        ("Transformer-0-FeedForward-Add", 0),
        ("Transformer-0-FeedForward-Norm", 2_048),
        ("Transformer-1 ... Transformer-23", 23 * 12_596_224),
    ]
    assert [row.number for row in rows] == list(range(1, 18))
    assert rows[7].stops[-1].so_far == 22_163_456
    assert rows[-1].stops[-1].so_far == 324_472_832
    assert {row.stops[-1].gives[-1].shape for row in rows[2:]} == {(1, 512, 1024)}


@given(cases(), st.data())
def test_any_layer_can_be_opened_and_the_walk_ends_at_the_real_total(case: Case, data: st.DataObject) -> None:
    layer = data.draw(st.integers(0, case.config.num_hidden_layers - 1))
    seen = 3 if case.config.add_cross_attention else None
    stops = walk(case.ours().steps(Batch(1, 1, encoder_sequence_length=seen)), layer)
    assert stops[-1].so_far == sum(stop.parameters for stop in stops) == case.real().num_parameters()
    assert len({stop.name for stop in stops}) == len(stops)
    skipped = {stop.key: stop.layers for stop in stops if stop.layers}
    assert skipped.get(BEFORE, 0) == layer
    assert skipped.get(AFTER, 0) == case.config.num_hidden_layers - 1 - layer


@given(cases(), st.data())
def test_inside_a_layer_its_count_grows_to_that_of_the_real_layer(case: Case, data: st.DataObject) -> None:
    layer = data.draw(st.integers(0, case.config.num_hidden_layers - 1))
    seen = 3 if case.config.add_cross_attention else None
    stops = walk(case.ours().steps(Batch(1, 1, encoder_sequence_length=seen)), layer)
    inside = [found for at in range(len(stops)) if (found := in_layer(stops, at))]
    real = {name: tensor.numel() for name, tensor in case.real().named_parameters()}
    total = sum(
        size for name, size in real.items() if re.search(rf"(^|\.)(layers?|h|albert_layer_groups)\.{layer}\.", name)
    )
    assert {found.total for found in inside} == {inside[-1].so_far} == {total}
    assert [found.so_far for found in inside] == sorted(found.so_far for found in inside)
    assert in_layer(stops, 0) is None


@given(cases())
@example(
    Case(
        DebertaV2Config(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, conv_kernel_size=1), "DebertaV2Model"
    )
)
def test_names_of_tensors_on_the_walk_are_the_real_ones(case: Case) -> None:
    layer = case.config.num_hidden_layers - 1
    seen = 3 if case.config.add_cross_attention else None
    walked = {
        (tensor.name, tensor.shape)
        for stop in walk(case.ours().steps(Batch(1, 1, encoder_sequence_length=seen)), layer)
        for tensor in stop.tensors
    }
    real = {(name, tuple(tensor.shape)) for name, tensor in owned(case.real()).items()}
    elsewhere = rf"(^|\.)(layers?|h)\.(?!{layer}\.)[0-9]"
    if layer:  # DeBERTa's convolution runs after the first layer, and belongs to it unless that layer is opened
        elsewhere += r"|encoder\.conv\."
    assert walked == {(name, shape) for name, shape in real if not re.search(elsewhere, name)}


def test_what_goes_in_came_out_before() -> None:
    """Each stop takes the output of an earlier stop, or an input from outside, by name."""
    outside = {"position_ids", "attention_mask"}
    stops = walk(build(BertConfig(num_hidden_layers=5)).steps(Batch(1, 8)), 2)
    for at, stop in enumerate(stops):
        given = {value.name for earlier in stops[: at + 1] for value in earlier.gives}
        assert {value.name for value in stop.takes} <= given | outside, stop.name


def test_a_layer_that_does_not_exist_is_refused() -> None:
    with pytest.raises(IndexError, match="layer 12 is out of range: it must be from 0 to 11"):
        walk(build(BertConfig()).steps(Batch(1, 8)), 12)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("relative", [False, True])
def test_every_stop_has_something_to_say(architecture: str, relative: bool) -> None:
    config = BertConfig(
        position_embedding_type="relative_key_query" if relative else "absolute",
        is_decoder=True,
        add_cross_attention=True,
    )
    stops = walk(build(config, architecture).steps(Batch(1, 8, encoder_sequence_length=8)), 1)
    assert all(lesson(stop).text for stop in stops)


@pytest.mark.parametrize("architecture", CLASSES)
def test_no_two_stops_of_a_walk_have_one_name_and_say_different_things(architecture: str) -> None:
    family = CLASSES[architecture]
    for config in (family.config.default(), family.fullest()):
        for seen in (None, 8):
            steps = build(config, architecture).steps(Batch(1, 8, encoder_sequence_length=seen))
            said: dict[str, str] = {}
            for stop in (stop for layer in (0, 1) for stop in walk(steps, layer) if not stop.layers):
                name, text = lesson(stop)
                assert said.setdefault(name, text) == text, name


def test_a_convolution_comes_once_between_the_first_layer_and_the_others() -> None:
    config = PRESETS["deberta-v2-xlarge"].config
    steps = build(config).steps(Batch(1, 8))
    (convolution,) = (at for at, stop in enumerate(walk(steps)) if stop.key == "convolution.convolution")
    assert walk(steps)[convolution].parameters == 3 * 1536**2 + 1536
    assert all(stop.in_layer for stop in walk(steps)[convolution - 9 : convolution - 1])
    assert walk(steps)[-1].name.endswith("layer.after")
    for layer in (1, 23):
        before = next(stop for stop in walk(steps, layer) if stop.key == BEFORE)
        assert "The convolution runs once, after the first layer" in lesson(before).text
        assert before.parameters == layer * 28_331_520 + 3 * 1536**2 + 3 * 1536
    without: dict[str, Any] = {"conv_kernel_size": 0}
    assert not any(stop.between for stop in walk(build(replace(config, **without)).steps(Batch(1, 8)), 1))


def test_questions_are_asked_where_they_arise() -> None:
    def asked(config: Config, architecture: str = "BertForMaskedLM") -> dict[str, list[str]]:
        stops = walk(build(config, architecture).steps(Batch(1, 8)))
        return {stop.inside: [question.question for question in questions(stop, config)] for stop in stops}

    base = asked(BertConfig())
    assert base["embeddings.word_embeddings"] == ["Does padding_idx save parameters?"]
    assert base["attention.output.LayerNorm"] == ["What do gamma and beta act on, and why are there 2H of them?"]
    assert base["attention.self.heads"] == ["Why does the number of heads not change the count?"]
    assert base["attention.output.dense"] == ["Why is there another dense layer after attention?"]
    assert base["cls.predictions.decoder"] == ["Why is the decoder free?"]
    assert asked(BertConfig(), "BertModel")["pooler.dense"] == ["What is the pooler for?"]
    # A single head has nothing to exchange.
    assert asked(BertConfig(num_attention_heads=1))["attention.output.dense"] == []
    relative = asked(BertConfig(position_embedding_type="relative_key", tie_word_embeddings=False))
    assert relative["attention.self.heads"] == ["Does the number of heads change the count?"]
    assert relative["cls.predictions.decoder"] == ["What does an untied decoder cost?"]


def test_004_heads_one_by_one_are_one_matrix() -> None:
    """The write-up counts (768 x 64) x 3 x 12 for query, key and value, without biases."""
    attention = submodule(build(BertConfig()), "encoder.layer.*.attention.self")
    assert isinstance(attention, Attention)
    assert factors(per_head(attention)) == {"weight": (12, 3, 64, 768), "bias": (12, 3, 64)}
    assert factors(attention) == {"weight": (3, 768, 768), "bias": (3, 768)}
    assert prod(factors(per_head(attention))["weight"]) == (768 * 64) * 3 * 12


@given(cases())
def test_heads_do_not_change_the_count(case: Case) -> None:
    attention = case.ours().first_attention()
    assert isinstance(attention, Attention)
    assert per_head(attention).num_parameters() == sum(map(prod, factors(attention).values()))
