"""The effects of fields: each equals the difference of two real models."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
import transformers
from hypothesis import given

from bertcalc import BertConfig, Config, RobertaConfig, build, forward_flops
from bertcalc.config import DIMENSIONS, ConfigError
from bertcalc.config.fields import MEANINGS
from bertcalc.explore.field_effects import effect
from bertcalc.families import FAMILIES
from bertcalc.model.family import Family
from bertcalc.model.model import Model
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import SPLIT_IN_TWO, cases


def test_every_field_is_explained() -> None:
    assert sorted(MEANINGS) == sorted(field.name for field in fields(BertConfig))


def test_every_field_that_bert_adds_is_there() -> None:
    declared = set(transformers.BertConfig.__annotations__) - {"model_type", "keys_to_ignore_at_inference"}
    assert declared <= set(MEANINGS)


@pytest.mark.parametrize(
    ("field", "parameters"),
    [
        ("vocab_size", 768),
        ("num_hidden_layers", 7_087_872),
        ("num_attention_heads", 0),
        ("intermediate_size", 12 * (2 * 768 + 1)),
        ("hidden_act", 12),  # prelu has one parameter in each layer
        ("max_position_embeddings", 768),
        ("position_embedding_type", 785_664),
        ("add_cross_attention", 12 * (4 * (768 * 768 + 768) + 2 * 768)),
        ("hidden_dropout_prob", 0),
        ("tie_word_embeddings", 0),
        ("num_labels", 0),
    ],
)
def test_effects_on_bert_base(field: str, parameters: int) -> None:
    assert effect(field, Model(BertConfig()), 1, 128).parameters == parameters


def test_what_costs_neither_parameters_nor_compute_nor_memory() -> None:
    silent = {field for field in MEANINGS if not any(effect(field, Model(BertConfig()), 1, 128)[2:])}
    assert silent == {
        "initializer_range",
        "layer_norm_eps",
        "pad_token_id",
        "use_cache",
        "classifier_dropout",
        "bos_token_id",
        "eos_token_id",
        "tie_word_embeddings",
        "num_labels",
    }


def test_a_cross_attention_that_never_runs_computes_nothing() -> None:
    """Sequence classification takes no encoder_hidden_states, as FlopCounterMode shows on the real classes."""
    for architecture, runs in (("BertForSequenceClassification", False), ("BertLMHeadModel", True)):
        found = effect("add_cross_attention", Model(BertConfig(is_decoder=True), architecture), 1, 128)
        assert found.parameters == 12 * (4 * (768 * 768 + 768) + 2 * 768)
        assert bool(found.flops) == runs


def test_some_fields_cost_memory_alone() -> None:
    for field in ("hidden_dropout_prob", "attention_probs_dropout_prob", "num_attention_heads"):
        found = effect(field, Model(BertConfig()), 1, 128)
        assert (found.parameters, found.flops) == (0, 0)
        assert found.memory
    decoder = BertConfig(is_decoder=True)
    # Keys and values of 12 layers, 128 tokens, 768 elements of 4 bytes.
    assert effect("use_cache", Model(decoder), 1, 128).memory == -2 * 12 * 128 * 768 * 4


def test_a_change_that_a_family_never_allows_is_no_change() -> None:
    """sqrtsoftplus needs transformers 5, and relative positions need transformers 4 and BERT."""
    model = Model(RobertaConfig(hidden_act="sqrtsoftplus"), "RobertaModel")
    assert effect("position_embedding_type", model, 1, 4) == ("absolute", "absolute", 0, 0, 0)


def test_with_fewer_positions_a_sequence_as_long_as_all_of_them_is_shorter() -> None:
    most = DIMENSIONS["max_position_embeddings"][1]
    config = BertConfig(max_position_embeddings=most)
    found = effect("max_position_embeddings", Model(config), 1, most)
    shorter, longer = (forward_flops(build(config), 1, length) for length in (most - 1, most))
    assert (found.after, found.flops) == (most - 1, shorter - longer)


def possible(base: Config, changes: dict[str, Any]) -> bool:
    try:
        replace(base, **changes)
    except ConfigError:
        return False
    return True


def along(base: Config, changes: dict[str, Any]) -> dict[str, Any]:
    """The further changes that both models need before a field can change.

    DeBERTa's fields depend on each other.
    """
    with pytest.raises(ConfigError) as caught:
        replace(base, **changes)
    return next(remedy for remedy in caught.value.problem.remedies if not remedy.keys() & changes.keys())


@examples(8)
@given(cases())
def test_parameters_are_the_difference_of_two_real_models(case: Case) -> None:
    @cache
    def real(config: Config) -> int:
        return int(case._replace(config=config).real().num_parameters())

    for field in case.config.shared():
        if field == "num_labels" and case.architecture in SPLIT_IN_TWO:
            continue
        found = effect(field, case.model, 1, min(4, case.config.longest))
        changes: dict[str, Any] = {field: found.after}
        if field == "position_embedding_type":  # needs transformers 4: test_transformers4 compares it
            continue
        base = case.config
        if field == "add_cross_attention" and found.after:
            base = replace(base, is_decoder=True)
        if field == "is_decoder" and not found.after:
            base = replace(base, add_cross_attention=False)
        also: dict[str, Any] = {}  # the further changes, in both models
        while not possible(base, {**also, **changes}):
            also |= along(base, {**also, **changes})
        base = replace(base, **also)
        if field == "vocab_size":
            changes["vocab_size"] = found.after
        assert found.parameters == real(replace(base, **changes)) - real(base), field


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_every_field_of_every_preset_has_an_effect_to_show(family: Family) -> None:
    """Regression: a field had no effect if it can change only with another field, and that only with a third."""
    for preset in list(family.presets.values())[:2]:
        model = Model(preset.config, family.base.name)
        for field in vars(preset.config):
            effect(type(preset.config).shared_name(field), model, 1, 8)
