"""What the page says of a discovery: its progress, where a formula holds, and why sizes are refused."""

from bertcalc.discover.conditions import Condition
from bertcalc.discover.steps import Outside
from bertcalc.text import N_
from pages.ui.controls import sentence
from pages.ui.i18n import _, listed

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


def condition(one: Condition) -> str:
    """One condition of the regime."""
    message, values = one.sentence()
    return _(message).format(**values)


def refusal(outside: Outside) -> str:
    """Why sizes have no count, in plain text."""
    if outside.condition is None:
        return sentence(outside.problem, str) if outside.problem else ""
    here = listed(f"{name} = {outside.values[name]:,}" for name in sorted(outside.condition.fields()))
    return _("The formula holds where {condition}; here, {here}.").format(
        condition=condition(outside.condition), here=here
    )
