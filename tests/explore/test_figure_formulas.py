"""Comparisons that follow the sliders equal comparisons that are computed for the new sizes."""

import random

import pytest

from bertcalc.change_steps.effects import with_steps
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.config import Config
from bertcalc.controls.stops import SLIDERS, moved, stops
from bertcalc.explore.compare import Breakdown, explain
from bertcalc.explore.figure_formulas import LiveCase, live_components, live_explanation, live_figure, live_shapes
from bertcalc.explore.model_values import model_of_preset
from bertcalc.explore.quantities import EVERY_QUANTITY, QUANTITIES, Case, components
from bertcalc.families import FAMILIES
from bertcalc.families.presets import PRESETS
from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import OutsideError, evaluated, node_of
from bertcalc.text.problem import InputError
from tests.examples import crossed

ALL = frozenset(SLIDERS)
BASE = Case(model_of_preset("bert-base-uncased"))
_FIRST = [next(iter(family.presets)) for family in FAMILIES.values()]


def _moved(model: Model, rng: random.Random) -> Model:
    """Return a model of the same structure after one or two slider moves."""
    while True:
        config = model.config
        for field in rng.sample(list(SLIDERS), rng.randrange(1, 3)):
            config = moved(config, field, rng.choice(stops(config, field)))
        other = Model(config, model.architecture)
        if symbolic_model(other) is symbolic_model(model):
            return other


def _sizes(model: Model) -> dict[str, int]:
    return {field: value for field, value in model.config.shared().items() if type(value) is int}


@pytest.mark.parametrize("preset", _FIRST)
@pytest.mark.parametrize("measure", QUANTITIES)
def test_a_figure_is_that_of_the_moved_model(preset: str, measure: str) -> None:
    rng = random.Random(f"{preset} {measure}")
    model = model_of_preset(preset)
    try:
        figure = live_figure(measure, LiveCase(Case(model), ALL))
    except InputError:  # memory that is not simulated
        return
    assert figure == QUANTITIES[measure].of(Case(model))
    for _move in range(4):
        other = _moved(model, rng)
        try:
            value = evaluated(node_of(figure), _sizes(other))
        except OutsideError:  # a browser waits for the server there
            continue
        assert value == QUANTITIES[measure].of(Case(other))


STEPS = (
    "lora,r=4,target_modules=all-linear",
    "vocabulary,pad_to_multiple_of=64;lora",
    "layers,layers=1+;ia3",
    "feed_forward,intermediate_size=64;bitfit",
    "bitsandbytes,load_in_4bit=true,bnb_4bit_quant_type=nf4;lora,r=4",
    "gguf",
)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("measure", EVERY_QUANTITY)
def test_a_figure_of_a_model_with_steps_is_that_of_the_moved_model(steps: str, measure: str) -> None:
    """A figure without a formula has a value only at the current sizes."""
    model, made = model_of_preset("bert_uncased_L-4_H-256_A-4"), read_steps(steps)
    changed = with_steps(model, made)
    case = Case(changed.model, base=changed.base)
    try:
        figure = live_figure(measure, LiveCase(case, ALL))
    except InputError:
        assert EVERY_QUANTITY[measure].known(case) is None
        return
    assert figure == EVERY_QUANTITY[measure].of(case)
    rng, moved_on = random.Random(f"{steps} {measure}"), 0
    for _move in range(6):
        other = _moved(model, rng)
        try:
            value = evaluated(node_of(figure), _sizes(other))
            there = with_steps(other, made)
        except (InputError, OutsideError):
            continue
        assert value == EVERY_QUANTITY[measure].of(Case(there.model, base=there.base))
        moved_on += 1
    assert moved_on or changed.base or measure in ("file", "activations")


@pytest.mark.parametrize("preset", sorted(PRESETS)[::3])
def test_components_and_shapes_are_those_of_the_moved_model(preset: str) -> None:
    rng = random.Random(preset)
    model = model_of_preset(preset)
    other = _moved(model, rng)
    for name, count in live_components(LiveCase(Case(model), ALL)).items():
        assert evaluated(node_of(count), _sizes(other)) == components(other)[name]
    shapes = live_shapes(LiveCase(Case(model), ALL))
    there = live_shapes(LiveCase(Case(other)))
    assert {name: evaluated(node_of(shape), _sizes(other)) for name, shape in shapes.items()} == there


@pytest.mark.parametrize(
    ("preset", "measure", "moves"),
    crossed(4, _FIRST, ["parameters", "forward", "weights", "training_memory"], [0, 1]),
)
def test_a_difference_adds_up_to_that_of_the_moved_model(preset: str, measure: str, moves: int) -> None:
    """Each running total is the core's total, except after a change of only the heads or the embeddings."""
    rng = random.Random(f"{preset} {measure} {moves}")
    pair = [BASE, Case(model_of_preset(preset))]
    sides = [LiveCase(case, ALL if at == moves else frozenset()) for at, case in enumerate(pair)]
    try:
        explanation = live_explanation(sides[0], sides[1], measure)
        plain = explain(pair[0], pair[1], QUANTITIES[measure])
    except InputError:
        return
    assert {part.total for part in explanation.parts} <= {plain.before, *(part.total for part in plain.parts)}
    other = _moved(pair[moves].model, rng)
    pair[moves] = Case(other)
    there = explain(pair[0], pair[1], QUANTITIES[measure])
    sizes = _sizes(other)
    try:
        totals = [evaluated(node_of(part.total), sizes) for part in explanation.parts]
        ends = [evaluated(node_of(end), sizes) for end in (explanation.before, explanation.after)]
        difference = sum(evaluated(node_of(part.difference), sizes) for part in explanation.parts)
    except OutsideError:
        return
    assert ends == [there.before, there.after]
    assert difference == there.difference
    if not any("embedding_size" in fields for fields in fields_of(there)):
        alone = ("num_attention_heads",)
        expected = {part.total for part, fields in zip(there.parts, fields_of(there), strict=True) if fields != alone}
        assert expected <= {there.before, *totals}


def fields_of(explanation: Breakdown) -> list[tuple[str, ...]]:
    return [tuple(change.field for change in part.changes) for part in explanation.parts]


@pytest.mark.parametrize("other", ["bert-base-uncased", "bert-large-uncased", "albert-base-v2", "all-MiniLM-L6-v2"])
@pytest.mark.parametrize("start", ["bert-base-uncased", "bert-large-uncased"])
@pytest.mark.parametrize("moves", [0, 1])
def test_the_parts_of_a_difference_are_the_same_fields_at_every_stop(start: str, other: str, moves: int) -> None:
    """The page's rows therefore keep their order when a slider is released."""
    rng = random.Random(f"{start} {other} {moves}")
    config, still = PRESETS[start].config, LiveCase(Case(model_of_preset(other)))

    def rows(config: Config) -> list[tuple[str, ...]]:
        sides = [still, LiveCase(Case(Model(config)), ALL)][:: 1 if moves else -1]
        return fields_of(live_explanation(sides[0], sides[1], "parameters"))

    before = rows(config)
    for field in SLIDERS:
        for stop in rng.sample(stops(config, field), 4):
            assert rows(moved(config, field, stop)) == before


def test_a_size_that_a_model_of_the_comparison_sets_does_not_follow() -> None:
    fixed = LiveCase(BASE, ALL - {"num_hidden_layers"})
    figure = live_figure("parameters", fixed)
    wide = moved(BASE.model.config, "hidden_size", 1024)
    sizes = {**_sizes(Model(wide)), "num_hidden_layers": 30}
    assert evaluated(node_of(figure), sizes) == Model(wide).num_parameters()
