"""Write tables as CSV, Markdown, LaTeX and HTML.

All text is escaped and cannot contain markup. Pass untrusted text as Code.
"""

import csv
import re
from collections.abc import Callable, Mapping
from html import escape
from io import StringIO

from bertcalc.export.table import Cell, Code, Math, Table
from bertcalc.text import code, visible
from bertcalc.text.digits import brief

_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})*")
_ON_ONE_PAGE = 40  # maximum number of rows that fit on an A4 page in LaTeX
_SIGNED = re.compile(r"[+-][0-9.,]+( [A-Za-z%]+)?")
# Matches 109,482,240; -97,798,656 (-89.3 %); 1.5 GB; 30,522 × 768; and –, which stands for an unknown amount.
_AMOUNT = re.compile(r"–|[<>≈]?[+\-−]?[0-9][0-9.,]*(?: ?[^\W\d_]{0,8}%?)?(?: [(×·].*)?")
# Full-width signs start formulas in Japanese spreadsheets; semicolons separate cells where the decimal sign is a comma.
_FORMULA = re.compile(r"(^|[;\t\r\n])(?=\s*[=+@＝＋＠－-])")
_SHAPE = re.compile(r"[0-9,]+(?: × [0-9,]+)+")


def csv_text(table: Table) -> str:
    """Write a table as CSV: numbers without separators, formulas as LaTeX, and texts that no spreadsheet evaluates."""
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(map(_guarded, table.columns))
    writer.writerows([_value(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def markdown_text(table: Table) -> str:
    """Write a table in GitHub's Markdown, with formulas between dollar signs."""
    align = ["---:" if _numeric(table, column) else "---" for column in range(len(table.columns))]
    lines = [[markdown_cell(name) for name in table.columns], align]
    lines += [[markdown_cell(cell) for cell in row] for row in table.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex_text(table: Table) -> str:
    r"""Write a table in LaTeX with booktabs rules and its title as caption; a long table becomes a longtable."""
    align = "".join("r" if _mostly_amounts(table, column) else "l" for column in range(len(table.columns)))
    caption = rf"\caption{{{_latex_cell(table.title)}}}"
    head = [r"\toprule", " & ".join(map(_latex_cell, table.columns)) + r" \\", r"\midrule"]
    rows = [" & ".join(map(_latex_cell, row)) + r" \\" for row in table.rows]
    if len(rows) > _ON_ONE_PAGE:
        lines = [r"% \usepackage{booktabs,longtable}", rf"\begin{{longtable}}{{{align}}}", rf"{caption} \\"]
        lines += [*head, r"\endhead", *rows, r"\bottomrule", r"\end{longtable}"]
    else:
        lines = [r"% \usepackage{booktabs}", r"\begin{table}", r"\centering", caption]
        lines += [rf"\begin{{tabular}}{{{align}}}", *head, *rows, r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join([*lines, ""])


def html_text(table: Table) -> str:
    """Write a table in HTML, with formulas as MathML."""
    kinds = [' class="number"' if _numeric(table, column) else "" for column in range(len(table.columns))]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.columns, strict=True))
    rows = [
        "".join(f"<td{kind}>{html_cell(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        for row in table.rows
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


def markdown_cell(cell: Cell) -> str:
    """Write a cell as one line of Markdown."""
    return _written(cell, _markdown, lambda math: f"${math.latex}$", _markdown_code)


def html_cell(cell: Cell) -> str:
    return _written(cell, _html, lambda math: math.mathml or _html_code(math.latex), _html_code)


def cell_text(cell: Cell) -> str:
    """Write a cell as plain text, with formulas as LaTeX."""
    return _written(cell, str, lambda math: math.latex)


def _written(
    cell: Cell, text: Callable[[str], str], math: Callable[[Math], str], name: Callable[[str], str] = str
) -> str:
    """Write a cell: ``text``, ``math`` and ``name`` write its texts, formulas and names."""
    if isinstance(cell, Math):
        return math(cell)
    if isinstance(cell, Code):
        return name(visible(cell.text))
    if isinstance(cell, tuple):
        return "".join(_written(part, text, math, name) for part in cell)
    return text(cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else brief(cell))


def _numeric(table: Table, column: int) -> bool:
    cells = [row[column] for row in table.rows]
    return any(cell != "" for cell in cells) and all(
        isinstance(cell, int | float) or (isinstance(cell, str) and (not cell or _GROUPED.fullmatch(cell)))
        for cell in cells
    )


def _mostly_amounts(table: Table, column: int) -> bool:
    """Whether at least half of a column's cells are numbers, with or without a unit; such columns align right."""
    cells = [cell for row in table.rows if (cell := row[column]) != ""]
    amounts = [isinstance(cell, int | float) or (isinstance(cell, str) and _AMOUNT.fullmatch(cell)) for cell in cells]
    return bool(cells) and 2 * sum(map(bool, amounts)) >= len(cells)


def _value(cell: Cell) -> int | float | str:
    if isinstance(cell, int | float):
        return cell
    text = cell_text(cell)
    is_number = _GROUPED.fullmatch(text) and not isinstance(cell, Code)
    return text.replace(",", "").removeprefix("+") if is_number else _guarded(text)


def _guarded(text: str) -> str:
    """The text, with an apostrophe before anything that a spreadsheet would interpret as a formula."""
    return text if _SIGNED.fullmatch(text) else _FORMULA.sub(r"\1'", text)


def _markdown(text: str) -> str:
    safe = re.sub(r"([\\`*\[\]<>|$~#]|&(?=#?\w+;))|(?<!\w)(_)|(_)(?!\w)", r"\\\g<0>", text)
    return re.sub(r"\s*\n", "<br>", safe)


def _markdown_code(text: str) -> str:
    """Write a name as code in a table cell.

    A vertical bar ends the cell even in code, unless exactly one backslash precedes it.
    See https://github.github.com/gfm/#tables-extension-.
    """
    return code(text).replace(r"\|", r"\x7c").replace("|", r"\|")


def _html(text: str) -> str:
    return _SHAPE.sub(r'<span class="shape">\g<0></span>', escape(text).replace("\n", "<br>"))


def _html_code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


_LATEX = {sign: rf"\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "*": r"$*$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "→": r"$\to$",
    "±": r"$\pm$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "−": "$-$",
    "–": "--",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "∞": r"$\infty$",
    "[": "{[}",  # at the start of a row, it would be an argument of the preceding \\
    "]": "{]}",
    "\n": " ",
    "\N{NO-BREAK SPACE}": "~",
}
# Code needs more escapes: monospaced fonts also have ligatures, and some babel commands start with a quotation mark.
LATEX_CODE = _LATEX | {"`": r"\textasciigrave{}", "'": r"\textquotesingle{}", '"': r"{\char34}", "-": "-{}", "–": "–"}


def _latex_cell(cell: Cell) -> str:
    return _written(
        cell,
        latex_escaped,
        lambda math: f"${math.latex}$",
        lambda text: rf"\texttt{{{latex_escaped(text, LATEX_CODE)}}}",
    )


def latex_escaped(text: str, signs: Mapping[str, str] = _LATEX) -> str:
    """Escape LaTeX's special characters; ``signs`` maps each of them to its LaTeX."""
    return "".join(
        signs.get(sign) or "".join(signs.get(visible_sign, visible_sign) for visible_sign in visible(sign))
        for sign in text
    )
