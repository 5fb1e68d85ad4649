"""The steps of the link on another page than Change: the model after them, and a line that names them."""

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel, changed_models
from bertcalc.model.model import Model
from pages.ui.change.exported_steps import note_made
from pages.ui.change.step_controls import show_impossible, show_wrong, steps_of_link
from pages.ui.change.step_words import brief
from pages.ui.shell.i18n import _, listed


def after_steps(model: Model) -> ChangedModel:
    """The model after the steps of the link; draw a line that names them, or why one is not possible."""
    steps, wrong = steps_of_link()
    models, impossible = changed_models(model, steps)
    made = steps[: len(models) - 1]
    show_wrong(wrong)
    if impossible:
        show_impossible(steps, len(made), impossible)
    if made:
        label = _("With the steps {steps} →").format(steps=listed(map(brief, made)))
        st.page_link("change.py", label=label)
    note_made(made, models[-1])
    return models[-1]
