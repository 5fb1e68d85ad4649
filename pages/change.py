"""Change: adapters, vocabulary, layers, heads, quantization and files, one step after the other."""

import streamlit as st

from bertcalc.change_steps.effects import effects, possible
from bertcalc.memory.plan import Plan
from pages.ui.change import effects_view, step_controls
from pages.ui.change.step_words import summary
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
    step_controls.show_recipes()
    steps, unreadable = step_controls.steps_in(text)
    made, impossible = possible(choice.model, steps)
    step_controls.show_steps(steps, len(made), impossible)
    if unreadable:
        show_problem(unreadable)
    if not presenting():
        step_controls.offer_steps(steps)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = choose_batch(choice.config)
        plan = Plan(TRAINING_DTYPE.show(), OPTIMIZER.show())
    figures = effects(choice.model, made, batch, plan)
    names = [choice.architecture, *map(summary, made)]
    effects_view.show_headline(figures)
    effects_view.show_table(names, figures)
    if len(figures) > 1:
        effects_view.show_waterfalls(names, figures)
        effects_view.show_details(choice.model, made, figures)
