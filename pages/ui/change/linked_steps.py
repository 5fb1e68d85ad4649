"""Apply the steps in the link on pages other than Change, and record them for exported files."""

from collections.abc import Sequence

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel, changed_models
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.export.report import Settings
from bertcalc.memory.plan import Plan
from bertcalc.model.model import Model
from pages.ui.change.step_controls import show_impossible, show_wrong, steps_of_link
from pages.ui.change.step_words import brief, summary
from pages.ui.memory.run import OPTIMIZER, TRAINING_DTYPE
from pages.ui.shell.controls import assignments
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.navigation import page_at
from pages.ui.widgets.export.shown import ShownSteps, note_results, notes, shown_elements


def note_made(steps: Sequence[ChangeStep], changed: ChangedModel) -> None:
    """Record the steps and the model after them for the export; without steps, do nothing."""
    if steps:
        notes().steps = ShownSteps(steps, [*map(summary, steps)], changed)


def note_changes(steps: Sequence[ChangeStep], changed: ChangedModel, plan: Plan) -> None:
    """Record the training settings for the export and, if there are steps, the steps and the page's last table."""
    settings = assignments({TRAINING_DTYPE.name: plan.precision, OPTIMIZER.name: plan.optimizer})
    notes().settings = Settings(settings, plan)
    if steps:
        note_results(shown_elements()[-1].table())
    note_made(steps, changed)


def after_steps(model: Model) -> ChangedModel:
    """The model after the steps in the link, up to the first impossible step.

    A line on the page names the applied steps, and messages explain invalid and impossible steps.
    """
    steps, wrong = steps_of_link()
    models, impossible = changed_models(model, steps)
    made = steps[: len(models) - 1]
    show_wrong(wrong)
    if impossible:
        show_impossible(steps, len(made), impossible)
    if made:
        label = _("With the steps {steps} →").format(steps=listed(map(brief, made)))
        st.page_link(page_at("change"), label=label)
    note_made(made, models[-1])
    return models[-1]
