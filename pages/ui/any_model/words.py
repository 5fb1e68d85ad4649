"""What the page says while a formula is looked for."""

from bertcalc.text import N_
from pages.ui.i18n import _

# What the discovery says that it does; anything else is a field that is changed.
DOING = {
    "": N_("Waiting until the model of another reader is done"),
    "imports": N_("Starting PyTorch"),
    "formulas": N_("Fitting formulas"),
    "fresh configurations": N_("Building the class at sizes that no formula has seen"),
    "conditions": N_("Looking for sizes at which the formula ends"),
}


def doing(what: str) -> str:
    """What is being done."""
    return _(DOING[what]) if what in DOING else _("Changing {field}").format(field=what[:60])
