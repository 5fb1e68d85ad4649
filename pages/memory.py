"""Memory: the largest batch that fits into a device; the bytes of weights, training, activations and inference."""

import streamlit as st

from bertcalc.memory.peak import unknown_peaks
from pages.ui.memory import fit_view, peak_view, run, saved_view, weights
from pages.ui.shell.controls import show_problem
from pages.ui.shell.present import presenting, row
from pages.ui.shell.sidebar import choice as current_choice

choice = current_choice()
top = row()
with top:
    view = run.VIEW.show()
if view == "fit" and not unknown_peaks(choice.model):
    # The answer is above the controls, because a phone stacks them. On the projector, where the controls take up
    # few lines, the answer is below.
    answer = None if presenting() else st.container(key="fit-answer").empty()
    with top if presenting() else st.container():
        task, device = run.choose_task()

if view not in ("weights", "activations") and (problem := unknown_peaks(choice.model)):
    show_problem(problem)  # without controls, because none of them would help
elif view == "weights":
    weights.show_weights(choice)
elif view == "training":
    peak_view.show_peak(*run.choose_plan(choice))
elif view == "activations":
    saved_view.show_activations(*run.choose_plan(choice, states=False))
elif view == "inference":
    peak_view.show_peak(*run.choose_inference(choice))
elif task == "training":
    fit_view.show_fit(*run.choose_plan(choice), device, answer or st.container())
else:
    fit_view.show_fit(*run.choose_inference(choice), device, answer or st.container())
