"""Formulas as the pages show them: one line with letters, the same terms with numbers, the total."""

from bertcalc.formula import component_formulas, latex_number
from bertcalc.totals import Component
from pages.ui.sidebar import Choice


def total_formula(choice: Choice, colors: dict[Component, str], total: int) -> str:
    """LaTeX for the number of parameters, each term in the colour of its component."""
    formulas = component_formulas(choice.config, choice.architecture, **choice.options)
    letters = [_term(formula.latex(), colors[component]) for component, formula in formulas]
    numbers = [_term(formula.latex(choice.config), colors[component]) for component, formula in formulas]
    lines = ["N &= " + " + ".join(letters), "&= " + " \\\\\n&+ ".join(numbers), "&= " + latex_number(total)]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _term(latex: str, color: str) -> str:
    return rf"\textcolor{{{color}}}{{{latex}}}"
