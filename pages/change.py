"""Change: adapters, vocabulary, layers, heads, quantization and files, one step after the other."""

import streamlit as st

from bertcalc.change_steps.effects import changed_models
from bertcalc.memory.plan import Plan, checkpointed
from pages.ui.change import effects_view, live_steps, recipe_buttons, step_controls
from pages.ui.change.fits import show_fits
from pages.ui.change.linked_steps import note_changes
from pages.ui.change.step_words import title
from pages.ui.memory.run import ATTENTION, OPTIMIZER, RECOMPUTATION, TRAINING_DTYPE, recompute_options, show_unfused
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets.batch_controls import choose_batch

choice = current_choice()
steps, wrong = step_controls.steps_of_link()
models, impossible = changed_models(choice.model, steps)
made = steps[: len(models) - 1]

# Each section has a fixed container, so that no control moves: Streamlit drops the link parameter of a control that
# has moved.
menus = st.container(horizontal=True, gap="small")
problems, headline, start, chart, cards, settings, fits, details = (st.container() for _part in range(8))
with menus:
    step_controls.offer_steps(steps, models[-1].model)
    if steps:
        recipe_buttons.offer(steps)
with problems:
    step_controls.show_wrong(wrong)
    if impossible:
        step_controls.show_impossible(steps, len(made), impossible)
with start:
    if not (steps or wrong):
        recipe_buttons.show()
with cards:
    if presenting():
        step_controls.say_steps(steps, models)
    else:
        step_controls.show_steps(steps, models, impossible)
with settings, st.container(horizontal=True, vertical_alignment="bottom"):
    batch = choose_batch(choice.config)
    recompute = RECOMPUTATION.show(recompute_options(choice.model))
    precision, optimizer, attention = TRAINING_DTYPE.show(width=180), OPTIMIZER.show(), ATTENTION.show()
    # Dropout masks as on a GPU, because the device chosen below is a GPU.
    plan = checkpointed(Plan(precision, optimizer, attention, fused_dropout=True), recompute)
with settings:
    show_unfused(choice.model)
figures = live_steps.live_effects(models, batch, plan)
names = [choice.architecture, *map(title, made)]
with headline:
    effects_view.show_headline(figures)
if len(figures) > 1:
    if not presenting():
        with fits:
            show_fits(figures[0], figures[-1], batch, plan)
    with chart:
        effects_view.show_waterfall(names, figures)
    with details:
        effects_view.show_table(names, figures)
        note_changes(made, models[-1], plan)
        effects_view.show_details(choice.model, made, figures)
if not presenting():
    step_controls.show_text()
