"""Step by step: a walk through the model, one step at a time, from the token ids to the last output."""

from itertools import islice

import streamlit as st

from bertcalc.explore.factor_formulas import total_growth
from bertcalc.forward.outputs import problems
from bertcalc.forward.step_formulas import call_sizes
from bertcalc.forward.walk import keras_rows
from bertcalc.teach.lessons import lesson, questions
from bertcalc.text.live_numbers import fill
from pages.ui.shell import live
from pages.ui.shell.controls import show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.walk import walk_steps
from pages.ui.walk.picture import show_picture
from pages.ui.widgets.bars import preset_of
from pages.ui.widgets.batch_controls import choose_batch
from pages.ui.widgets.growth import show_growth

choice = current_choice()
model = choice.model

words, aside = st.columns([0.6, 0.4], gap="medium")
with aside:
    picture = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="walk-call"):
        batch = choose_batch(model.config)
        layer = walk_steps.LAYER.show_within(0, model.config.num_hidden_layers - 1)
call = walk_steps.call_of(model, batch)
live.note_sizes(call_sizes(call))
for problem in problems(model, call):
    show_problem(problem)
stops = walk_steps.stops_of(model, batch, layer)
rows = keras_rows(stops)
with words:
    position = walk_steps.choose_stop(stops)
    stop = stops[position]
    values = walk_steps.values_of(model, stop, batch)
    heading = walk_steps.heading(stops, position, rows)
    live.markdown(fill("{heading}{text}", heading=heading, text=fill(_(lesson(stop).text), **values)))
    letters, formulas = walk_steps.in_letters(model, stop, batch)
    walk_steps.show_shapes(stop, letters, layer, model)
    if stop.parameters:
        walk_steps.show_stop_formula(model, stop, layer, formulas)
    walk_steps.show_progress(model.config, stops, position, layer)
    show_growth(total_growth(preset_of(choice).model, model), _("Parameters"), choice.preset)
    for question in islice(questions(stop, model.config), 1 if presenting() else None):
        walk_steps.show_question(question, values)
with picture:
    show_picture(stops, position, model.config, layer)

walk_steps.HEADS.around(walk_steps.show_heads, model)
walk_steps.ROWS.around(walk_steps.show_keras_rows, rows)
