"""Freezing compared with the real model, frozen in the usual way: module by module."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, ModernBertConfig, build
from bertcalc.model.freezing import TRAIN, Freezing, Split
from bertcalc.model.totals import totals_by_component
from tests.oracle import Case
from tests.strategies import bert_cases

freezings = st.builds(Freezing, st.booleans(), st.integers(0, 5), st.sampled_from(TRAIN))


def freeze(real: Any, freezing: Freezing) -> None:
    body = getattr(real, "bert", real)
    if freezing.embeddings:
        body.embeddings.requires_grad_(False)
    for layer in body.encoder.layer[: freezing.layers]:
        layer.requires_grad_(False)
    if freezing.train == "head":
        body.requires_grad_(False)
    if freezing.train == "bias+LayerNorm":
        for name, tensor in real.named_parameters():
            if not name.endswith("bias") and "LayerNorm" not in name:
                tensor.requires_grad_(False)


def real_splits(real: Any) -> dict[str, Split]:
    """The trained and frozen elements of each component. A shared tensor counts in the first module that has it."""
    body = getattr(real, "bert", real)
    places = {"embeddings": body.embeddings, "encoder": body.encoder, "pooler": body.pooler, "head": real}
    seen: set[int] = set()
    splits = {}
    for component, module in places.items():
        new = [tensor for tensor in (module.parameters() if module else ()) if id(tensor) not in seen]
        seen |= {id(tensor) for tensor in new}
        if new:
            trained = sum(tensor.numel() for tensor in new if tensor.requires_grad)
            splits[component] = Split(trained, sum(tensor.numel() for tensor in new) - trained)
    return splits


@given(bert_cases(), freezings)
def test_the_same_tensors_are_frozen_as_in_the_real_model(case: Case, freezing: Freezing) -> None:
    freezing = replace(freezing, layers=min(freezing.layers, case.config.num_hidden_layers))
    real = case.real()
    freeze(real, freezing)
    assert [name in freezing.names(case.ours()) for name, _ in case.ours().named_parameters()] == [
        not tensor.requires_grad for tensor in real.parameters()
    ]


@given(bert_cases(), freezings)
def test_trained_and_frozen_parameters_are_the_real_models(case: Case, freezing: Freezing) -> None:
    freezing = replace(freezing, layers=min(freezing.layers, case.config.num_hidden_layers))
    real = case.real()
    freeze(real, freezing)
    model = case.ours()
    assert freezing.by_component(model) == real_splits(real)
    assert freezing.split(model).trainable == sum(each.numel() for each in real.parameters() if each.requires_grad)
    assert freezing.split(model).total == model.num_parameters()


@pytest.mark.parametrize("layers", range(5))
def test_a_first_layer_that_differs_is_one_of_those_that_are_frozen(layers: int) -> None:
    case = Case(ModernBertConfig(num_hidden_layers=4), "ModernBertModel")
    real = case.real()
    for layer in real.layers[:layers]:
        layer.requires_grad_(False)
    trained = sum(each.numel() for each in real.parameters() if each.requires_grad)
    frozen = sum(each.numel() for each in real.parameters() if not each.requires_grad)
    assert Freezing(layers=layers).split(case.ours()) == Split(trained, frozen)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_where_nothing_is_frozen_all_is_trained(architecture: str) -> None:
    model = build(BertConfig(), architecture)
    assert Freezing().split(model) == Split(model.num_parameters(), 0)
    assert {name: split.trainable for name, split in Freezing().by_component(model).items()} == totals_by_component(
        model
    )


def test_a_model_without_a_head_trains_nothing_if_only_the_head_is_trained() -> None:
    assert Freezing(train="head").split(build(BertConfig())) == Split(0, 109_482_240)
    assert Freezing(train="head").split(build(BertConfig(), "BertForSequenceClassification")).trainable == 1_538


def test_a_tied_decoder_is_frozen_with_the_embeddings() -> None:
    tied, untied = (
        Freezing(embeddings=True).by_component(build(BertConfig(tie_word_embeddings=tie), "BertForMaskedLM"))["head"]
        for tie in (True, False)
    )
    assert tied.frozen == untied.frozen == 0
    assert untied.trainable - tied.trainable == 30_522 * 768 + 30_522  # the decoder's own weight and bias


def test_a_thousand_layers_are_not_unfolded() -> None:
    model = build(BertConfig(num_hidden_layers=1_000))
    encoder = Freezing(layers=999).by_component(model)["encoder"]
    assert encoder == Split(7_087_872, 999 * 7_087_872)


@pytest.mark.parametrize(("layers", "nearest"), [(13, 12), (10**15, 12)])
def test_a_number_of_layers_that_the_model_has_not_is_named_with_the_nearest(layers: int, nearest: int) -> None:
    problem = Freezing(layers=layers).problem(BertConfig())
    assert problem is not None
    assert f"freeze_layers {layers:,} is invalid" in str(problem)
    assert problem.remedies[0] == {"freeze_layers": nearest}


@pytest.mark.parametrize("layers", [0, 1, 12])
def test_every_number_of_layers_up_to_all_is_possible(layers: int) -> None:
    assert Freezing(layers=layers).problem(BertConfig()) is None
