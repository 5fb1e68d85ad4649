"""Formulas as LaTeX with colors: of a module, and sums that are broken into lines that fit a page."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from bertcalc.model.formula import Formula, formula, in_numbers
from bertcalc.model.model import Model
from bertcalc.model.modules import Component
from bertcalc.model.terms import Bracket, component_terms
from bertcalc.text.live_numbers import fill, grouped


def letters_of(model: Model, path: str, color: str = "") -> str:
    """LaTeX of the formula of the module at ``path``, with letters, in ``color`` unless it is empty."""
    component = dict(component_terms(model)).get(cast(Component, path))
    letters = _component_latex(component) if component else formula(model, path=path).latex()
    return rf"\textcolor{{{color}}}{{{letters}}}" if color else letters


def _component_latex(brackets: Sequence[Bracket]) -> str:
    """A component's formula with letters; terms of a LayerNorm have gamma and beta under them."""
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
    """The text of a number of modules: its formula with numbers, and the result, if they differ."""
    if not formula.expression.args:
        return grouped(count)
    return fill("{numbers} = {count:,}", numbers=in_numbers(formula.expression, sizes), count=count)


# Widths in tenths of an em. KaTeX sets operators with space around them; 400 fit beside the sidebar at 1280 pixels.
_LINE = 400
_PLUS = 12
_WIDTHS = {"+": _PLUS, "-": _PLUS, "·": 7, ",": 3}
_DIGIT, _LETTER = 5, 8


def colored_sum(start: str, terms: list[tuple[str, str]]) -> list[str]:
    """The LaTeX lines of a sum of colored terms."""
    lines: list[str] = []
    width = _LINE
    for term, color in terms:
        sign, latex = ("-", term[1:]) if term.startswith("-") else ("+", term)
        width += _PLUS + _width(latex)
        if width > _LINE:
            lines.append(f"&{sign} " if lines else start.removesuffix(" ") + (" -" if sign == "-" else " "))
            width = _width(latex)
        else:
            lines[-1] += f" {sign} "
        lines[-1] += rf"\textcolor{{{color}}}{{{latex}}}"
    return lines


def colored_equation(start: str, terms: Sequence[tuple[str, str, str]], result: str) -> str:
    """LaTeX for a sum of terms, each in its color: with letters, with numbers, and the result."""
    letters = [(latex, color) for latex, _numbers, color in terms]
    numbers = [(latex, color) for _letters, latex, color in terms]
    return aligned([*colored_sum(start, letters), *colored_sum("&= ", numbers), f"&= {result}"])


def _width(latex: str) -> int:
    """The approximate width of a formula in LaTeX, in tenths of an em."""
    text = re.sub(r"\\[a-z]+|[{}^ ]", "", latex.replace(r"\cdot", "·"))
    return sum(_LETTER if sign.isalpha() else _WIDTHS.get(sign, _DIGIT) for sign in text)


def aligned(lines: list[str]) -> str:
    """Lines of LaTeX under one another, each with an & where they are aligned."""
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"
