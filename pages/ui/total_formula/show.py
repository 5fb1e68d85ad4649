"""The total's formula on a page: each term and letter says what it is, on hover, tap and keyboard focus."""

from pages.ui.component import component
from pages.ui.sidebar import Choice
from pages.ui.theme import colors
from pages.ui.total_formula.parts import total_formula

_component = component("total_formula", "total_formula/formula.css", "total_formula/formula.js")


def show_total_formula(choice: Choice) -> None:
    """Draw it."""
    _component(data=total_formula(choice, colors()), key="total-formula")
