"""Colored LaTeX for the formula of a module, and for sums broken into lines that fit a page."""

import re
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


# Widths in tenths of an em. KaTeX puts space around operators. A line of 400 fits beside the sidebar at 1280 pixels.
_LINE = 400
_PLUS = 12
_WIDTHS = {"+": _PLUS, "-": _PLUS, "·": 7, ",": 3}
_DIGIT, _LETTER = 5, 8


def colored_sum(start: str, terms: list[tuple[str, str]]) -> list[str]:
    """Break a sum into LaTeX lines that fit the page.

    ``start`` is the LaTeX in front of the sum; ``terms`` are (LaTeX, color) pairs.
    """
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
    """LaTeX for a colored sum: with letters, with numbers, and the result.

    ``start`` is the LaTeX in front of the sum; ``terms`` are (LaTeX with letters, LaTeX with numbers, color) triples.
    """
    letters = [(latex, color) for latex, _numbers, color in terms]
    numbers = [(latex, color) for _letters, latex, color in terms]
    return aligned([*colored_sum(start, letters), *colored_sum("&= ", numbers), f"&= {result}"])


def _width(latex: str) -> int:
    """The approximate width of a formula in LaTeX, in tenths of an em."""
    text = re.sub(r"\\[a-z]+|[{}^ ]", "", latex.replace(r"\cdot", "·"))
    return sum(_LETTER if sign.isalpha() else _WIDTHS.get(sign, _DIGIT) for sign in text)


def aligned(lines: list[str]) -> str:
    """Stack lines of LaTeX in an ``aligned`` environment; each line has an & at the alignment point."""
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"
