"""A formula in letters, and below it in numbers that move with the sliders."""

import streamlit as st

from bertcalc.config.fields import is_int
from bertcalc.live.live_formulas import live_size
from bertcalc.model.formula import FIELD_OF, component_terms, formula, in_braces
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import fill
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.widgets.formulas import letters_of


def show_node_formula(model: Model, path: str, count: int, color: str = "") -> None:
    """Show the formula of the module at a path of the tree in letters, in the colour if one is given; and in numbers.

    ``count`` is its number of parameters, which can be live.
    """
    component = dict(component_terms(model)).get(path)
    text = " + ".join(bracket.text for bracket in component) if component else str(formula(model, path=path))
    numbers = fill("= {numbers} = {count:,}", numbers=in_numbers(model, text), count=count)
    if "*" in path:
        words = fill("{words}L = {layers}", words=_("in each layer, "), layers=in_numbers(model, "L"))
        numbers = fill("{numbers}\N{EM SPACE}{words}", numbers=numbers, words=words)
    show_formula(letters_of(model, path, color), numbers, path.replace("*", "n"))


def in_numbers(model: Model, text: str) -> str:
    """The text of a formula, such as 4H², with live numbers instead of letters."""
    sizes = {name: live_size(name, value) for name, value in model.config.shared().items() if is_int(value)}
    return fill(in_braces(text), **{letter: sizes[field] for letter, field in FIELD_OF.items() if field in sizes})


def show_formula(letters: str, numbers: str, name: str) -> None:
    """Show a formula as LaTeX in letters, and below it as live text in numbers; ``name`` is unique on the page."""
    with st.container(key=f"letters of {name}"):
        st.latex(letters)
    with st.container(key=f"numbers of {name}"):
        live.markdown(numbers)
