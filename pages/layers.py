"""Layers: a walk through the model, a step at a time, from the token ids to the last output."""

import streamlit as st

from bertcalc.forward.outputs import problems
from bertcalc.forward.walk import keras_rows
from pages.ui.batch import choose_batch
from pages.ui.controls import show_problem
from pages.ui.sidebar import choice as current_choice
from pages.ui.walk import walk_steps
from pages.ui.walk.picture import show_picture

choice = current_choice()

words, aside = st.columns([0.6, 0.4], gap="medium")
with aside:
    picture = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="walk-call"):
        batch = choose_batch(choice.config)
        layer = walk_steps.choose_layer(choice.config)
for problem in problems(choice.subject, walk_steps.call_of(batch)):
    show_problem(problem)
stops = walk_steps.stops_of(choice, batch, layer)
rows = keras_rows(stops)
with words:
    at = walk_steps.choose_stop(stops)
    walk_steps.show_stop(choice, stops, at, rows, batch, layer)
with picture:
    show_picture(stops, at, choice.config, layer)

if heads := walk_steps.HEADS.unfolded():
    with heads:
        walk_steps.show_heads(choice)
if table := walk_steps.ROWS.unfolded():
    with table:
        walk_steps.show_keras_rows(rows)
