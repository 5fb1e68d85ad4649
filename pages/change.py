"""Change: adapters, vocabulary, layers, heads, quantization and files, one step after the other."""

import streamlit as st

from bertcalc.change_steps.effects import changed_models
from bertcalc.memory.plan import Plan
from pages.ui.change import effects_view, live_steps, step_controls
from pages.ui.change.step_words import title
from pages.ui.memory.run import OPTIMIZER, TRAINING_DTYPE
from pages.ui.shell.controls import show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets.batch import choose_batch

choice = current_choice()

page, end = st.container(), st.container()
with end:  # the steps in the link, which decide everything above
    text = step_controls.CHANGES.show(help=_("Steps separated by semicolons: lora,r=16;bitfit"))
with page:
    if not presenting():
        step_controls.show_recipes()
    headline = st.container()
    steps, unreadable = step_controls.steps_in(text)
    models, impossible = changed_models(choice.model, steps)
    made = steps[: len(models) - 1]
    if presenting():
        step_controls.say_steps(steps)
    else:
        step_controls.show_steps(steps, models, impossible)
    if unreadable:
        show_problem(unreadable)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if not presenting():
            step_controls.offer_steps(steps)
        batch = choose_batch(choice.config)
        plan = Plan(TRAINING_DTYPE.show(width=180), OPTIMIZER.show())
    figures = live_steps.live_effects(models, batch, plan)
    with headline:
        effects_view.show_headline(figures)
    effects_view.show_table([choice.architecture, *live_steps.summaries(made)], figures)
    if len(figures) > 1:
        effects_view.show_waterfalls([choice.architecture, *map(title, made)], figures)
        effects_view.show_details(choice.model, made, figures)
