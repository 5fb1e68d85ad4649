"""Colored LaTeX for the formula of a module, and for colored sums."""

from collections.abc import Mapping, Sequence
from typing import cast

from bertcalc.model.formula import Formula, formula, in_numbers
from bertcalc.model.model import Model
from bertcalc.model.modules import Component
from bertcalc.model.terms import Bracket, component_terms
from bertcalc.text.live_numbers import fill, grouped


def letters_of(model: Model, path: str, color: str = "") -> str:
    """LaTeX for the formula of the module at ``path``, with letters, in ``color`` unless it is empty."""
    component = dict(component_terms(model)).get(cast(Component, path))
    letters = _component_latex(component) if component else formula(model, path=path).latex()
    return rf"\textcolor{{{color}}}{{{letters}}}" if color else letters


def _component_latex(brackets: Sequence[Bracket]) -> str:
    """LaTeX for a component's formula; the terms of LayerNorms are labeled with gamma and beta."""
    return " + ".join(
        rf"\underbrace{{{_text_latex(bracket.text)}}}_{{\gamma, \, \beta}}"
        if all(term.norm for term in bracket.terms)
        else _text_latex(bracket.text)
        for bracket in brackets
    )


def _text_latex(text: str) -> str:
    """LaTeX for a formula in plain text, such as 4H² + 4H."""
    for sign, latex in {"²": "^{2}", "·": r"\cdot", ",": "{,}", "−": "-", "(": r"\left(", ")": r"\right)"}.items():
        text = text.replace(sign, latex)
    return text


def count_in_numbers(formula: Formula, sizes: Mapping[str, int], count: int) -> str:
    """The number of modules of a kind as text: its formula with numbers, and the result ``count``.

    ``sizes`` is keyed by field. If the formula is a single number or letter, the text contains only the count.
    """
    if not formula.expression.args:
        return grouped(count)
    return fill("{numbers} = {count:,}", numbers=in_numbers(formula.expression, sizes), count=count)


def colored_sum(terms: Sequence[tuple[str, str]]) -> str:
    """LaTeX for a sum; ``terms`` are (LaTeX, color) pairs.

    It can be wrapped inside brackets, because they are plain, but not inside a product.
    """
    signed = [("-", term[1:], color) if term.startswith("-") else ("+", term, color) for term, color in terms]
    text = " ".join(rf"{sign} \textcolor{{{color}}}{{{latex}}}" for sign, latex, color in signed).removeprefix("+ ")
    return text.replace(r"\left(", "(").replace(r"\right)", ")").replace(r"\cdot", r"\cdot \nobreak")


def colored_equation(name: str, terms: Sequence[tuple[str, str, str]], result: str) -> str:
    """LaTeX for a colored sum: with letters, with numbers, and the result.

    ``name`` is the LaTeX on the left; ``terms`` are (LaTeX with letters, LaTeX with numbers, color) triples.
    """
    letters = colored_sum([(latex, color) for latex, _numbers, color in terms])
    numbers = colored_sum([(latex, color) for _letters, latex, color in terms])
    return equation(name, [letters, numbers, result])


def equation(name: str, sides: Sequence[str]) -> str:
    """LaTeX for ``name`` and the ``sides`` that it equals, each on a line, with one = below the other."""
    first, *others = sides
    return lines([f"{name} = {first}", *(rf"\phantom{{{name}}} = {side}" for side in others)])


def lines(formulas: Sequence[str]) -> str:
    """LaTeX for formulas below each other. A page wraps a long one, unlike those in an environment (style.css)."""
    return " \\\\\n".join(formulas)
