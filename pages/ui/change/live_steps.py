"""The live parts of the Change page: the figures, and sliders for step sizes, such as the LoRA rank."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from bertcalc.change_steps.argument_stops import argument_stops, sliding_arguments
from bertcalc.change_steps.effect_formulas import argument_size, argument_sizes, live_effect
from bertcalc.change_steps.effects import ChangedModel, StepEffect
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.change import Change
from pages.ui.change.step_words import title
from pages.ui.shell import live, page_slider
from pages.ui.shell.i18n import with_colon

_WIDTH, _FIELD, _LETTER = 230, 150, 9  # in pixels: minimum width of a slider; widths of its number field and a letter


def live_effects(models: Sequence[ChangedModel], batch: Batch, plan: Plan) -> list[StepEffect]:
    """The figures of each model as live numbers."""
    live.note_sizes({**batch.sizes(), **argument_sizes(models[-1].model)})
    return [live_effect(changed, batch, plan) for changed in models]


def show_slider(
    steps: Sequence[ChangeStep], at: int, argument: str, models: Sequence[ChangedModel], take: Callable[[str], None]
) -> bool:
    """Draw the slider for an argument of the step at index ``at``; return whether it was drawn.

    There is a slider only if the argument is a size and the step is possible. ``models`` holds the model before the
    first step and the model after each possible step. The slider calls ``take`` with the text of a new value.
    """
    step: Any = steps[at]
    if not (isinstance(step, Change) and at + 1 < len(models) and argument in sliding_arguments(step)):
        return False
    stops = argument_stops(step, argument, models[at].model)
    number = sum(isinstance(before, Change) for before in steps[:at])  # quantizations are not changes
    name = argument_size(number, argument)
    with st.container(width=max(_WIDTH, _FIELD + _LETTER * len(argument))):
        page_slider.show(name, argument, with_colon(title(step), argument), getattr(step, argument), stops, take)
    return True
