"""Memory: how much of a batch a device is enough for; weights, training, activations and inference."""

from pages.ui.memory import fit_view, inference, run, saved_view, training, weights
from pages.ui.present import row
from pages.ui.sidebar import choice as current_choice

choice = current_choice()
with row():
    view = run.VIEW.show()
    if view == "fit":
        task, device = run.choose_task()

if view == "weights":
    weights.show_weights(choice)
elif view == "training":
    training.show_training(*run.choose_plan(choice))
elif view == "activations":
    saved_view.show_activations(*run.choose_plan(choice, states=False))
elif view == "inference":
    inference.show_inference(*run.choose_inference(choice))
elif task == "training":
    fit_view.show_training_fit(*run.choose_plan(choice), device)
else:
    fit_view.show_inference_fit(*run.choose_inference(choice), device)
