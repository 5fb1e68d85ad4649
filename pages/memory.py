"""Memory: weights, training, activations, inference, and what fits into a device."""

import streamlit as st

from pages.ui.controls import choose_view
from pages.ui.memory import remembering
from pages.ui.sidebar import choice as current_choice

choice = current_choice()
with st.container(horizontal=True, vertical_alignment="top"):
    view = choose_view("memory", remembering.VIEWS)
    if view == "fit":
        task, device = remembering.choose_task()

if view == "weights":
    remembering.show_weights(choice)
elif view == "training":
    remembering.show_training(*remembering.choose_plan(choice))
elif view == "activations":
    remembering.show_activations(*remembering.choose_plan(choice, states=False))
elif view == "inference":
    remembering.show_inference(*remembering.choose_inference(choice))
elif task == "training":
    remembering.show_training_fit(*remembering.choose_plan(choice), device)
else:
    remembering.show_inference_fit(*remembering.choose_inference(choice), device)
