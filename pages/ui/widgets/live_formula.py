"""Show a formula with letters and, on the line below, with the model's numbers, which update while a slider moves."""

import streamlit as st

from bertcalc.live.live_formulas import live_sizes
from bertcalc.model.formula import formula_text
from bertcalc.model.formula_latex import letters_of
from bertcalc.model.letters import filled
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import fill
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.widgets.numbers import unbroken


def show_node_formula(model: Model, path: str, count: int, color: str = "") -> None:
    """Show the parameter count of the module at ``path`` as a formula, with letters (in ``color``) and with numbers.

    ``count`` is the module's parameter count, which can be live.
    """
    sizes = live_sizes(model.config)
    numbers = fill("= {numbers} = {count:,}", numbers=filled(formula_text(model, path), sizes), count=count)
    if "*" in path:
        words = fill("{words}L = {layers:,}", words=_("in each layer, "), layers=sizes["num_hidden_layers"])
        numbers = fill("{numbers}\N{EM SPACE}{words}", numbers=numbers, words=unbroken(words))
    show_formula(letters_of(model, path, color), numbers, path.replace("*", "n"))


def show_formula(letters: str, numbers: str, name: str) -> None:
    """Show ``letters`` as LaTeX and, below it, ``numbers`` as live text; ``name`` must be unique on the page."""
    with st.container(key=f"letters of {name}"):
        st.latex(letters)
    with st.container(key=f"numbers of {name}"):
        live.markdown(numbers)
