"""The live figures of changed models at other sizes and arguments: those of the model that has them."""

from dataclasses import replace

from hypothesis import assume, event, given
from hypothesis import strategies as st

from bertcalc import InputError
from bertcalc.change_steps.effect_formulas import argument_sizes, live_effect
from bertcalc.change_steps.effects import StepEffect, changed_models, effect
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.controls.stops import SLIDERS, alike, moved, stops
from bertcalc.families import CLASSES
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from bertcalc.model.steps import Batch
from bertcalc.text.live_numbers import OutsideError, evaluated, node_of
from tests.adapters import adapters
from tests.changes.resized import small
from tests.changes.test_resizing import resizings
from tests.examples import examples

BATCH, PLAN = Batch(2, 16), Plan()
Drawn = tuple[Model, list[ChangeStep], Model, list[ChangeStep]]
FIGURES = ("parameters", "trained", "memory_bytes", "file_bytes", "flops", "peak")


def figures_at(live: StepEffect, model: Model) -> dict[str, int | None]:
    """The figures at the sizes of another model; None for what has no value there."""
    values: dict[str, int | None] = {}
    sizes = {**model.config.shared(), **argument_sizes(model), **BATCH._asdict()}
    for figure in FIGURES:
        try:
            values[figure] = evaluated(node_of(getattr(live, figure)), sizes)
        except OutsideError:
            values[figure] = None
    return values


@st.composite
def steps_and_others(draw: st.DrawFn) -> Drawn:
    """Steps for a model, and for one that is sliders away the same steps with other arguments."""
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


@examples(30)
@given(steps_and_others())
def test_live_figures_are_those_of_the_model_that_has_the_sizes(drawn: Drawn) -> None:
    model, steps, other, others = drawn
    before, impossible = changed_models(model, steps)
    after, _wrong = changed_models(other, others)
    assume(not impossible and len(before) == len(after))
    for changed, changed_other in zip(before, after, strict=True):
        try:
            now, there = effect(changed, BATCH, PLAN), effect(changed_other, BATCH, PLAN)
        except InputError:
            continue
        lively = live_effect(changed, BATCH, PLAN)
        assert lively == now
        for figure, value in figures_at(lively, changed_other.model).items():
            expected = getattr(there, figure)
            if None not in (getattr(now, figure), expected):
                assert value in (expected, None), figure
                event(f"{figure} {'older' if value is None else 'live'}")
