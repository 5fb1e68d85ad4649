"""Every stop of every slider makes a valid model. The real class is built at some stops."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, build
from bertcalc.config import DIMENSIONS, ConfigError
from bertcalc.controls.stops import SLIDERS, Locks, moved, stops
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from tests.examples import sampled
from tests.oracle import Case

LOCKS = st.builds(Locks, st.booleans(), st.booleans())
FIELDS = st.sampled_from(list(SLIDERS))


@st.composite
def starts(draw: st.DrawFn) -> Config:
    """Draw a preset, or sizes that a user might type."""
    if draw(st.booleans()):
        return draw(st.sampled_from([preset.config for preset in PRESETS.values()]))
    size, heads = draw(st.integers(1, 300)), draw(st.integers(1, 200))
    return BertConfig(
        vocab_size=draw(st.integers(1, 10_000_000)),
        hidden_size=size * heads,
        num_attention_heads=heads,
        num_hidden_layers=draw(st.integers(1, 1_000)),
        intermediate_size=draw(st.integers(1, 1_000_000)),
    )


@given(starts(), LOCKS, FIELDS, st.sampled_from([30_522, 768, 12, 3_072]))
def test_every_stop_is_a_model(config: Config, locks: Locks, field: str, also: int) -> None:
    found = stops(config, field, locks, also)
    assert found == sorted(set(found))
    assert getattr(config, field) in found
    for stop in found:
        model = moved(config, field, stop, locks)  # raises ConfigError if the stop makes no model
        assert getattr(model, field) == stop


@pytest.mark.parametrize("preset", PRESETS)
def test_the_sliders_of_a_preset_stop_at_models_alone_and_have_many_stops(preset: str) -> None:
    config = PRESETS[preset].config
    for field in SLIDERS:
        found = stops(config, field)
        assert len(found) >= (3 if field in ("num_attention_heads", "hidden_size") else 32)
        for stop in found[:: max(1, len(found) // 16)]:
            assert getattr(moved(config, field, stop), field) == stop


@given(starts(), st.lists(st.tuples(FIELDS, st.floats(0, 1), LOCKS), max_size=12))
def test_no_way_through_the_stops_leads_out(config: Config, moves: list[tuple[str, float, Locks]]) -> None:
    for field, part, locks in moves:
        found = stops(config, field, locks)
        config = moved(config, field, found[round(part * (len(found) - 1))], locks)
        replace(config)  # checks all fields again


@pytest.mark.parametrize(
    ("preset", "locks"), sampled(product(PRESETS, (Locks(), Locks(heads=False), Locks(intermediate=True))), 5)
)
def test_the_stops_beside_a_preset_are_built_by_transformers(preset: str, locks: Locks) -> None:
    config = PRESETS[preset].config
    found = stops(config, "hidden_size", locks)
    beside = found[(found.index(config.hidden_size) + 1) % len(found)]
    model = moved(config, "hidden_size", beside, locks)
    real = Case(model, family_of(model).base.name).real()
    assert real.num_parameters() == build(model).num_parameters()


@given(starts(), LOCKS)
def test_what_follows_the_hidden_size(config: Config, locks: Locks) -> None:
    for stop in stops(config, "hidden_size", locks)[-3:]:
        model = moved(config, "hidden_size", stop, locks)
        if locks.heads:
            assert model.attention_head_size == config.attention_head_size
        else:
            assert model.num_attention_heads == config.num_attention_heads
        if not locks.intermediate:
            assert model.intermediate_size == config.intermediate_size
        elif model.intermediate_size not in (1, DIMENSIONS["intermediate_size"][1]):
            exactly = config.intermediate_size * stop / config.hidden_size
            assert abs(model.intermediate_size - exactly) <= 0.5


def test_heads_are_the_divisors_of_the_hidden_size() -> None:
    assert stops(BertConfig(), "num_attention_heads") == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    assert stops(BertConfig(hidden_size=97, num_attention_heads=1), "num_attention_heads") == [1, 97]


def test_with_open_heads_the_hidden_size_is_a_multiple_of_them() -> None:
    assert stops(BertConfig(), "hidden_size", Locks(heads=False))[:3] == [12, 24, 36]


def test_a_locked_intermediate_size_offers_multiples_of_the_hidden_size() -> None:
    found = stops(BertConfig(), "intermediate_size", Locks(intermediate=True))
    assert found == [768 * multiple for multiple in range(1, 9)]


@given(starts(), LOCKS, FIELDS, st.integers(-10, 3_000) | st.integers(-10, 2**60) | st.text(max_size=5) | st.booleans())
def test_what_is_typed_makes_a_model_or_says_which_would(config: Config, locks: Locks, field: str, value: Any) -> None:
    try:
        model = moved(config, field, value, locks)
    except ConfigError as error:
        problem = error.problem
    else:
        assert getattr(model, field) == value
        return
    assert problem.field == field
    assert problem.remedies
    for remedy in problem.remedies:
        replace(config, **remedy)  # raises ConfigError if the remedy makes no model


@pytest.mark.parametrize(("field", "value"), [("hidden_size", "abc"), ("hidden_size", 0), ("num_attention_heads", "x")])
def test_remedies_are_different_models(field: str, value: Any) -> None:
    config = PRESETS["bert-base-uncased"].config
    with pytest.raises(ConfigError) as raised:
        moved(config, field, value)
    results = [replace(config, **remedy) for remedy in raised.value.problem.remedies]
    assert results
    assert all(results.count(result) == 1 for result in results)


def test_a_size_that_the_head_size_does_not_divide_is_taken_where_the_heads_do() -> None:
    model = moved(BertConfig(), "hidden_size", 780)
    assert (model.hidden_size, model.num_attention_heads) == (780, 12)
    with pytest.raises(ConfigError, match="hidden_size 785 cannot be split into heads of 64: use 768"):
        moved(BertConfig(), "hidden_size", 785)


def test_the_padding_is_the_last_word_of_a_vocabulary_that_had_none_left_for_it() -> None:
    eurobert = PRESETS["EuroBERT-210m"].config
    assert moved(eurobert, "vocab_size", 50_000).pad_token_id == 49_999
    assert moved(eurobert, "vocab_size", eurobert.vocab_size - 1_000).vocab_size == eurobert.vocab_size - 1_000
