"""Names and titles of the quantities, for all pages that compare models."""

from bertcalc.explore.quantities import Quantity
from bertcalc.text import N_
from pages.ui.i18n import _

# What quantities are called where they are chosen.
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
}


def title_of(quantity: Quantity) -> str:
    """The meaning of a quantity, with its unit if the words lack it."""
    return _(quantity.meaning) + (" (B)" if quantity.unit == "bytes" else "")
