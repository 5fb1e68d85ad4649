"""Names and titles of the quantities, for all pages that compare models."""

from bertcalc.discover.results.comparable import DiscoveredCase, figure
from bertcalc.explore.quantities import Case, Quantity
from bertcalc.text import N_
from bertcalc.text.problem import InputError
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _

# Short names of the quantities, as options of controls.
QUANTITY_NAMES: dict[str, str] = {
    "parameters": N_("Parameters"),
    "embeddings": N_("Embeddings"),
    "encoder": N_("Encoder"),
    "pooler": N_("Pooler"),
    "head": N_("Head"),
    "forward": N_("Forward FLOPs"),
    "training": N_("Training FLOPs"),
    "weights": N_("Weights"),
    "activations": N_("Activations"),
    "training_memory": N_("Training memory"),
    "inference_memory": N_("Inference memory"),
    "file": N_("File"),
    "trainable": N_("Trained"),
}


def reason(measure: str, case: Case | DiscoveredCase) -> str:
    """The reason why a quantity of a model cannot be computed, as a sentence; empty if it can."""
    try:
        figure(measure, case)
    except InputError as error:
        return sentence(error.problem)
    return ""


def title_of(quantity: Quantity) -> str:
    """The meaning of a quantity as a title, followed by "(B)" if its unit is bytes."""
    return _(quantity.meaning) + (" (B)" if quantity.unit == "bytes" else "")
