"""Steps, attempts and links of a model that the user changes."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bertcalc import BertConfig
from bertcalc.config import ConfigError
from bertcalc.controls.chosen_model import NAMES, ChosenModel, read
from bertcalc.controls.model_history import ModelHistory
from bertcalc.controls.stops import SLIDERS, Locks
from bertcalc.families import CLASSES, FAMILIES, family_of, hf_json
from bertcalc.families.presets import PRESETS
from bertcalc.text.problem import InputError
from tests.strategies import chosen_models

CHANGES = st.sampled_from(
    [
        {"num_hidden_layers": 24},
        {"hidden_size": 1024, "num_attention_heads": 16},
        {"is_decoder": True},
        {"add_cross_attention": True},
        {"lock_heads": False},
        {"architecture": "BertForMaskedLM"},
        {"vocab_size": 0},
        {"hidden_size": 785},
    ]
)


@given(chosen_models())
def test_a_link_says_the_whole_model(model: ChosenModel) -> None:
    said = model.link()
    assert said.keys() <= set(NAMES)
    assert read(said) == (model, [])


def test_a_short_link_is_the_preset_and_what_differs() -> None:
    history = ModelHistory(ChosenModel())
    assert history.present.link() == {}
    history.change({"preset": "bert-large-uncased"})
    history.take(history.present.reset("bert-large-uncased").changed({"vocab_size": 21_128}))
    assert history.present.link() == {"preset": "bert-large-uncased", "vocab_size": "21128"}


TEXTS = st.text(max_size=12) | st.integers(-5, 10**15).map(str) | st.sampled_from([*PRESETS, *CLASSES, "1"])


@given(st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=6))
@example({"preset": "roberta-base", "vocab_size": "1", "max_position_embeddings": "1"})  # fewer than its padding needs
@example({"hidden_size": "0", "n_embd": ""})  # two names of one field
def test_any_link_is_a_model_and_what_was_changed_is_said(link: dict[str, str]) -> None:
    model, found = read(link)
    assert model.architecture in CLASSES
    for name, text in link.items():
        if name in SLIDERS and text.isascii() and text.removeprefix("-").isdigit():
            taken = getattr(model.config, name) == int(text)
            assert taken or found, (name, text)
    assert read(model.link()) == (model, [])


@pytest.mark.parametrize(
    ("link", "sizes", "said"),
    [
        ({"hidden_size": "1024"}, (1024, 16), ["hidden_size"]),  # the heads follow
        ({"hidden_size": "1536"}, (1536, 12), []),  # the heads stay if they divide the size, as in older links
        ({"hidden_size": "770"}, (768, 12), ["hidden_size"]),
        ({"num_attention_heads": "13"}, (768, 12), ["num_attention_heads"]),
    ],
)
def test_a_link_to_sizes_that_do_not_fit(link: dict[str, str], sizes: tuple[int, int], said: list[str]) -> None:
    model, found = read(link)
    assert (model.config.hidden_size, model.config.num_attention_heads) == sizes
    assert [problem.field for problem in found] == said


_OF_SOME: dict[str, Any] = {
    "position_embedding_type": "relative_key",
    "type_vocab_size": 4,
    "is_decoder": True,
    "embedding_size": 64,
}


@pytest.mark.parametrize("preset", [next(iter(family.presets)) for family in FAMILIES.values()])
@pytest.mark.parametrize("field", _OF_SOME)
def test_a_link_with_a_field_that_its_family_lacks(preset: str, field: str) -> None:
    """A value that no configuration of the family can have is a problem. The preset is shown instead."""
    start, value = ChosenModel().reset(preset), _OF_SOME[field]
    try:
        config = replace(start.config, **{field: value})
    except ConfigError:
        model, [problem] = read({"preset": preset, field: str(value)})
        assert (model, problem.field) == (start, field)
    else:
        assert read({"preset": preset, field: str(value)}) == (start._replace(config=config), [])


def test_relative_positions_are_refused_in_a_link_as_in_a_file() -> None:
    """Real configurations of ALBERT, ELECTRA and ERNIE have relative positions only in transformers 4."""
    for preset in ("albert-base-v2", "electra-small-discriminator", "ernie-3.0-base-zh"):
        model_type = family_of(PRESETS[preset].config).name
        _model, [problem] = read({"preset": preset, "position_embedding_type": "relative_key"})
        with pytest.raises(InputError) as refusal:
            hf_json.read(json.dumps({"model_type": model_type, "position_embedding_type": "relative_key"}))
        assert str(problem) == str(refusal.value)


@given(st.lists(st.tuples(st.sampled_from(list(SLIDERS)), st.integers(0, 3000))), st.data())
def test_undo_goes_back_through_every_step(moves: list[tuple[str, int]], data: st.DataObject) -> None:
    history = ModelHistory(ChosenModel())
    seen = [history.present]
    for field, value in moves:
        history.move(field, value)
        if history.present != seen[-1]:
            seen.append(history.present)
    history.change({name: history.present.values()[name] for name in history.attempt})  # corrects the attempt
    for model in reversed(seen):
        assert history.present == model
        history.undo()
    assert history.present == seen[0]
    for model in seen:
        assert history.present == model
        history.redo()


def test_a_step_after_undo_forgets_what_was_undone() -> None:
    history = ModelHistory(ChosenModel())
    history.move("num_hidden_layers", 13)
    history.undo()
    history.move("num_hidden_layers", 11)
    history.redo()
    assert history.present.config.num_hidden_layers == 11


@given(st.lists(CHANGES, max_size=8))
def test_what_makes_no_model_leaves_the_last_one_and_is_explained(changes: list[dict[str, Any]]) -> None:
    history = ModelHistory(ChosenModel())
    for change in changes:
        before = history.present
        history.change(change)
        if history.attempt:
            assert history.problems()
        else:
            assert not history.problems()
        if not any(name in history.attempt for name in change):
            assert {name: history.present.values()[name] for name in change} == change
        elif change.keys() <= history.attempt.keys():
            assert history.present == before
    for _mending in range(5):
        if problems := history.problems():
            history.change(problems[0].remedies[0])
    assert not history.attempt


def test_an_attempt_becomes_a_model_with_what_it_needs() -> None:
    history = ModelHistory(ChosenModel())
    history.change({"add_cross_attention": True})
    assert history.attempt == {"add_cross_attention": True}
    history.move("num_hidden_layers", 6)
    assert history.attempt == {"add_cross_attention": True}
    assert history.present.config.num_hidden_layers == 6
    history.change({"is_decoder": True})
    assert history.present.config == BertConfig(num_hidden_layers=6, is_decoder=True, add_cross_attention=True)
    assert not history.attempt


def test_undo_takes_an_attempt_back_before_it_takes_a_step_back() -> None:
    history = ModelHistory(ChosenModel())
    history.move("num_hidden_layers", 6)
    history.change({"add_cross_attention": True})
    history.undo()
    assert (history.attempt, history.present.config.num_hidden_layers) == ({}, 6)
    history.undo()
    assert history.present == ChosenModel()


def test_what_was_typed_stays_until_it_is_mended() -> None:
    history = ModelHistory(ChosenModel())
    history.move("hidden_size", 785)
    history.move("vocab_size", "many")
    assert [problem.field for problem in history.problems()] == ["vocab_size", "hidden_size"]
    history.move("vocab_size", 21_128)
    assert history.attempt == {"hidden_size": 785}
    history.change(history.problems()[0].remedies[1])
    assert (history.present.config.hidden_size, history.present.config.num_attention_heads) == (832, 13)


def test_what_is_offered_can_be_taken() -> None:
    """No control sets the pad_token_id, which is 1 in RoBERTa."""
    history = ModelHistory(ChosenModel().reset("roberta-base"))
    history.move("vocab_size", 1)
    (problem,) = history.problems()
    assert problem.remedies == ({"vocab_size": 2},)
    history.change(problem.remedies[0])
    assert history.present.config.vocab_size == 2


def test_back_and_forward_are_steps_where_they_lead_to_one() -> None:
    history = ModelHistory(ChosenModel())
    history.move("num_hidden_layers", 13)
    history.move("num_hidden_layers", 14)
    back = history.steps[1]
    history.go_to(back)
    assert (history.at, len(history.steps)) == (1, 3)
    history.go_to(ChosenModel().reset("bert-large-uncased"))
    assert (history.at, len(history.steps)) == (2, 3)


def test_back_twice_at_once_is_two_steps() -> None:
    history = ModelHistory(ChosenModel())
    for layers in (13, 12, 14):
        history.move("num_hidden_layers", layers)
    history.go_to(history.steps[1])
    assert (history.at, len(history.steps)) == (1, 4)
    history.go_to(history.steps[3])
    history.go_to(history.steps[0])
    assert (history.at, len(history.steps)) == (2, 4)  # the nearer of two equal steps


def test_reset_leads_to_the_preset_and_keeps_the_class() -> None:
    model = ChosenModel().changed({"architecture": "BertForMaskedLM", "num_hidden_layers": 3, "lock_heads": False})
    assert model.reset() == ChosenModel(architecture="BertForMaskedLM", locks=Locks(heads=False))
    assert ChosenModel(add_pooling_layer=False).reset() == ChosenModel()


def test_steps_are_not_kept_without_limit() -> None:
    history = ModelHistory(ChosenModel())
    for number in range(3 * ModelHistory.LONGEST):
        history.move("num_hidden_layers", 1 + number % 40)
    assert len(history.steps) == ModelHistory.LONGEST
    assert history.at == history.last


def test_a_change_of_nothing_that_can_be_is_refused() -> None:
    with pytest.raises(ConfigError):
        ChosenModel().changed({"hidden_size": 1})


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ({"preset": "EuroBERT-610m", "num_attention_heads": "1"}, {"num_attention_heads": 18}),
        ({"preset": "nomic-embed-text-v1.5", "num_attention_heads": "65536"}, {"num_attention_heads": 384}),
        (
            {"preset": "nomic-embed-text-v1.5", "num_attention_heads": "65536", "hidden_size": "65535"},
            {"num_attention_heads": 1, "hidden_size": 65_534},
        ),
    ],
)
def test_a_link_to_heads_that_fit_nothing_shows_another_model(link: dict[str, str], shown: dict[str, int]) -> None:
    """Regression: a remedy that no link can hold, or a number of heads without a hidden size, raised an exception."""
    model, [*found] = read(link)
    assert found[-1].remedies[0] == shown
    assert {name: getattr(model.config, name) for name in shown} == shown
    assert read(model.link()) == (model, [])


def test_a_link_offers_no_way_twice() -> None:
    _model, [problem] = read({"hidden_size": "1024"})
    assert problem.remedies == ({"num_attention_heads": 16}, {"hidden_size": 1020}, {"hidden_size": 1032})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
WRITTEN = st.fixed_dictionaries(
    {
        "steps": st.lists(st.sampled_from(["", "num_hidden_layers=3", "hidden_size=7&preset=x", "%&="]) | JSON),
        "at": st.integers(-2, 3) | JSON,
        "attempt": st.dictionaries(st.sampled_from(["hidden_size", "vocab_size", "is_decoder", "steps"]), JSON) | JSON,
    }
)


@given(st.lists(CHANGES, max_size=9), st.integers(0, 4))
def test_a_written_history_is_restored(changes: list[dict[str, Any]], undone: int) -> None:
    history = ModelHistory(ChosenModel())
    for change in changes:
        history.change(change)
    for _step in range(undone):
        history.undo()
    restored = ModelHistory.restored(history.present, json.loads(json.dumps(history.written())))
    assert (restored.steps, restored.at, restored.attempt) == (history.steps, history.at, history.attempt)


def test_a_written_history_has_the_nearest_steps() -> None:
    history = ModelHistory(ChosenModel())
    for layers in range(1, 120):
        history.change({"num_hidden_layers": layers})
    for _step in range(50):
        history.undo()
    restored = ModelHistory.restored(history.present, history.written())
    assert restored.present == history.present
    assert (restored.at, restored.last) == (ModelHistory.WRITTEN, 2 * ModelHistory.WRITTEN)


def test_a_history_of_another_model_is_not_restored() -> None:
    history = ModelHistory(ChosenModel())
    history.change({"num_hidden_layers": 24})
    other = ChosenModel().changed({"num_hidden_layers": 6})
    assert ModelHistory.restored(other, history.written()).steps == [other]


@given(WRITTEN | JSON)
def test_whatever_is_written_the_link_decides_on_the_model(written: object) -> None:
    history = ModelHistory.restored(ChosenModel(), written)
    assert history.present == ChosenModel()
    history.problems()
    history.undo()
    history.redo()
