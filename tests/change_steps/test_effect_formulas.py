"""The live figures of changed models at other sizes and arguments equal the figures of the model that has them."""

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from bertcalc import DropLayers, FactorizeEmbeddings, InputError, NarrowFeedForward, PruneHeads, load
from bertcalc.change_steps.argument_stops import sliding_arguments
from bertcalc.change_steps.effect_formulas import argument_size, argument_sizes, live_effect
from bertcalc.change_steps.effects import StepEffect, changed_models, effect
from bertcalc.change_steps.first_steps import first_step
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.controls.stops import SLIDERS, alike, moved, stops
from bertcalc.families import CLASSES
from bertcalc.memory.peak import changes_of, peak
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import OutsideError, evaluated, node_of
from tests.adapters import adapters
from tests.changes.resized import small
from tests.changes.test_resizing import resizings
from tests.examples import examples

BATCH, PLAN = Batch(2, 16), Plan()
Drawn = tuple[Model, list[ChangeStep], Model, list[ChangeStep]]
FIGURES = ("parameters", "trained", "memory_bytes", "file_bytes", "flops", "peak")


def figures_at(live: StepEffect, sizes: dict[str, Any]) -> dict[str, int | None]:
    """Return the figures at other sizes, or None for a figure without a value there."""
    values: dict[str, int | None] = {}
    for figure in FIGURES:
        try:
            values[figure] = evaluated(node_of(getattr(live, figure)), sizes)
        except OutsideError:
            values[figure] = None
    return values


@st.composite
def steps_and_others(draw: st.DrawFn) -> Drawn:
    """Draw steps for a model, and the same steps with other arguments for a model that is a few slider moves away."""
    name = draw(st.sampled_from(list(CLASSES)))
    case = draw(st.sampled_from([small(name), small(name, num_hidden_layers=9)]))
    steps: list[ChangeStep] = draw(st.lists(resizings(case, 4), max_size=2))
    if draw(st.booleans()):
        steps.append(draw(adapters(case.model)).ours())
    config, others = case.config, list[ChangeStep]()
    for field in draw(st.lists(st.sampled_from([field for field in SLIDERS if config.has(field)]), max_size=2)):
        value = draw(st.sampled_from([stop for stop in stops(config, field) if stop < 3000]))
        assume(alike(config, field, value))
        config = moved(config, field, value)
    for step in steps:
        arguments = [name for name in step.letters if isinstance(getattr(step, name), int)]  # type: ignore[union-attr]
        others.append(replace(step, **{name: draw(st.integers(1, 300)) for name in arguments}))  # type: ignore[type-var]
    return case.model, steps, case.model.changed(config=config), others


@examples(16)
@given(steps_and_others())
def test_live_figures_are_those_of_the_model_that_has_the_sizes(drawn: Drawn) -> None:
    """Where a step is impossible, figures have no value: a browser marks them as outdated."""
    model, steps, other, others = drawn
    before, impossible = changed_models(model, steps)
    after, _refused = changed_models(other, others)
    assume(not impossible)
    sizes = {**other.config.shared(), **BATCH._asdict()}
    for number, change in enumerate(cast(list[Change], others)):
        sizes |= {argument_size(number, argument): value for argument, value in sliding_arguments(change).items()}
    for at, changed in enumerate(before):
        try:
            now = effect(changed, BATCH, PLAN)
            there = effect(after[at], BATCH, PLAN) if at < len(after) else None
        except InputError:
            continue
        lively = live_effect(changed, BATCH, PLAN)
        assert lively == now
        for figure, value in figures_at(lively, sizes).items():
            if getattr(now, figure) is None:
                continue
            if there is None:
                assert value is None, figure
                event(f"{figure} impossible")
            elif (expected := getattr(there, figure)) is not None:
                assert value in (expected, None), figure
                event(f"{figure} {'older' if value is None else 'live'}")


@pytest.mark.parametrize("kind", ["prompt_tuning", "p_tuning"])
@pytest.mark.parametrize(
    "preset", ["distilbert-base-uncased", "albert-base-v2", "google/electra-small-discriminator", "bert-base-uncased"]
)
def test_virtual_tokens_with_a_width_of_their_own_have_live_figures(preset: str, kind: str) -> None:
    """peft does not find DistilBERT's hidden size, and the word embeddings of ALBERT and ELECTRA have another width."""
    model = load(preset)
    [_before, changed], _problem = changed_models(model, [first_step(kind, model)])
    live, now = live_effect(changed, BATCH, PLAN), effect(changed, BATCH, PLAN)
    assert live == now
    assert now.peak == peak(changes_of(changed.model, PLAN, *BATCH.shape)).live
    sizes = {**model.config.shared(), **argument_sizes(changed.model), **BATCH._asdict()}
    assert figures_at(live, sizes) == {figure: getattr(now, figure) for figure in FIGURES}


@pytest.mark.parametrize(
    ("steps", "field", "possible"),
    [
        ([PruneHeads(8)], "num_attention_heads", 16),
        ([PruneHeads({0: [0, 7]})], "num_attention_heads", 16),
        ([DropLayers([5, 7])], "num_hidden_layers", 24),
        ([NarrowFeedForward(2048)], "intermediate_size", 4096),
        ([FactorizeEmbeddings(512)], "hidden_size", 1536),
        ([NarrowFeedForward(2048), NarrowFeedForward(1024)], "0 intermediate_size", 3072),
    ],
)
def test_an_impossible_step_has_no_live_figure(steps: list[ChangeStep], field: str, possible: int) -> None:
    bert = load("bert-base-uncased")
    [*_before, changed], _problem = changed_models(bert, steps)
    live = live_effect(changed, BATCH, PLAN)
    sizes = {**bert.config.shared(), **BATCH._asdict(), **argument_sizes(changed.model)}
    there = figures_at(live, sizes | {field: possible})
    assert there["parameters"]
    assert set(figures_at(live, sizes | {field: possible // 4 if " " not in field else 1000}).values()) == {None}
