"""Write a sheet of exercises as Markdown, or as a complete LaTeX document.

Texts are passed already translated, in a subset of Markdown: words, `code`, $formulas$ and **bold**.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bertcalc.export.formats import LATEX_CODE, latex_escaped

_RULE = r"\rule{6cm}{0.4pt}"
_PIECES = re.compile(r"(`[^`]*`|\$[^$]*\$|\*\*[^*]*\*\*)")


class WrittenExercise(NamedTuple):
    """The texts of an exercise. ``options`` are the options to choose from, and ``solution`` has one text per line."""

    title: str
    question: str
    sizes: str
    worked_lines: tuple[str, ...]  # the lines of a worked count
    options: tuple[str, ...]
    answer: str
    solution: tuple[str, ...]


class Sheet(NamedTuple):
    """A whole sheet; ``answer`` is the label before each answer, in the sheet's language."""

    title: str
    note: str
    answer: str
    items: tuple[WrittenExercise, ...]


def markdown(sheet: Sheet, *, solutions: bool) -> str:
    """Write the sheet in Markdown. Without ``solutions``, it has blanks in place of the answers."""
    blocks = [f"# {sheet.title}", sheet.note]
    for number, item in enumerate(sheet.items, 1):
        blocks += [f"## {number}. {item.title}", item.question, item.sizes]
        blocks += _list("- {}", item.worked_lines) + _list("- [ ] {}", item.options)
        blocks.append(f"{sheet.answer}{item.answer if solutions else '____________'}")
        blocks += _list("- {}", item.solution) if solutions else []
    return "\n\n".join(blocks) + "\n"


def _list(form: str, lines: Sequence[str]) -> list[str]:
    return ["\n".join(map(form.format, lines))] if lines else []


def latex(sheet: Sheet, *, solutions: bool, chinese: bool) -> str:
    """Write the sheet as a LaTeX document. Without ``solutions``, it has blanks in place of the answers.

    A ``chinese`` sheet needs XeLaTeX for its characters.
    """
    lines = ["% !TEX program = xelatex"] if chinese else []
    lines += [r"\documentclass[11pt,a4paper]{article}", r"\usepackage[margin=2.5cm]{geometry}"]
    lines += [r"\usepackage{amsmath,amssymb}", *([r"\usepackage{ctex}"] if chinese else [])]
    lines += [r"\setlength{\emergencystretch}{4em}", r"\begin{document}"]
    lines += [rf"\section*{{{_tex(sheet.title)}}}", _tex(sheet.note), r"\begin{enumerate}"]
    for item in sheet.items:
        lines += [rf"\item \textbf{{{_tex(item.title)}}} \par", rf"{_tex(item.question)} \par", _tex(item.sizes)]
        lines += _itemize(r"\item", item.worked_lines) + _itemize(r"\item[$\square$]", item.options)
        lines.append(rf"\par {_tex(sheet.answer)}{_tex(item.answer) if solutions else _RULE}")
        lines += _itemize(r"\item", item.solution) if solutions else []
    return "\n".join([*lines, r"\end{enumerate}", r"\end{document}", ""])


def _itemize(item: str, lines: Iterable[str]) -> list[str]:
    inside = [f"{item} {_tex(line)}" for line in lines]
    return [r"\begin{itemize}", *inside, r"\end{itemize}"] if inside else []


def _tex(text: str) -> str:
    """Convert Markdown to LaTeX. Formulas are kept unchanged. In code, lines may break after dots and underscores."""
    return "".join(map(_piece, _PIECES.split(text)))


def _piece(text: str) -> str:
    if text.startswith("$") and text.endswith("$") and len(text) > 1:
        return text
    if text.startswith("`") and text.endswith("`") and len(text) > 1:
        code = re.sub(r"\.|\\_", lambda sign: rf"{sign[0]}\allowbreak{{}}", latex_escaped(text[1:-1], LATEX_CODE))
        return rf"\texttt{{{code}}}"
    if text.startswith("**") and text.endswith("**") and len(text) > 4:
        return rf"\textbf{{{_tex(text[2:-2])}}}"
    return latex_escaped(text)
