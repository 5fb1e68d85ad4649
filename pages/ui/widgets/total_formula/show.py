"""Draw the formula of a parameter count; its terms and letters have tooltips on hover, tap and keyboard focus."""

from typing import Any

from bertcalc.model.model import Model
from pages.ui.session.component import component
from pages.ui.shell import live
from pages.ui.shell.theme import colors
from pages.ui.widgets.total_formula.formula_parts import part_formula, total_formula

_component = component(
    "total_formula",
    "session/dom.js",
    "shell/live/parts.js",
    "widgets/total_formula/formula.css",
    "widgets/total_formula/formula.js",
)


def show_total_formula(model: Model) -> None:
    """Show the formula of a model's parameter count, in the colors of its components."""
    draw_formula(total_formula(model, colors()))


def show_part_formula(model: Model, path: str, count: int) -> None:
    """Show the formula of the module at ``path``; its result is ``count``, the module's parameter count."""
    draw_formula(part_formula(model, path, count), "part-formula")


def draw_formula(data: dict[str, Any], key: str = "total-formula") -> None:
    """Draw a formula from the data of formula_parts.py."""
    _component(data={"key": key, "run": live.run_number(), **live.with_arguments(data)}, key=key)
