"""Converting the tables of a page, which contain Markdown, for export."""

import re

from bertcalc.digits import MINUS
from bertcalc.export.table import Cell, Code, Math, Part, Table
from pages.ui.export.shown import Shown

# The Markdown that the pages use: code, formulas, escaped characters, icons, colors and sizes, emphasis, line breaks.
_MARKS = re.compile(
    r"(?<!`)(?P<fence>`++)(?P<code>.+?)(?<!`)(?P=fence)(?!`)"
    r"|\$(?P<math>[^$]+)\$"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])"
    r"|:material/\w+:"
    r"|:[a-z-]+\[(?P<inner>[^\]]*)\]"
    r"|(?P<stars>\*{1,2}(?=\S)|(?<=\S)\*{1,2})"
    r"|(?P<line> *\n)"
)


def table_of(shown: Shown) -> Table:
    """The contents of a table, or the data behind a chart."""
    frame = shown.frame
    if shown.numbers:
        frame = frame[[*shown.numbers]].dropna().rename(columns=shown.numbers)
    rows = [tuple(_cell(value, shown.marked) for value in row) for row in frame.itertuples(index=False, name=None)]
    names = [_text(plain(str(name))) if shown.marked else str(name) for name in frame.columns]
    return Table(shown.title, tuple(names), tuple(rows))


def _cell(value: object, marked: bool) -> Cell:
    if value is None or value != value:
        return ""
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # a count that was a float because of the chart
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    cell = plain(str(value)) if marked else str(value).replace("\n", " ")  # names in charts are wrapped
    # Other programs read a negative number only with a hyphen.
    return cell.replace(MINUS, "-") if isinstance(cell, str) and cell.startswith(MINUS) else cell


def plain(markdown: str) -> Cell:
    """Markdown as the reader sees it: text, formulas and code."""
    parts: list[Part] = []
    text, at = "", 0
    for mark in _MARKS.finditer(markdown):
        text += markdown[at : mark.start()]
        at, kind = mark.end(), mark.lastgroup
        if kind in ("math", "code"):
            parts += [text, Math(mark["math"]) if kind == "math" else Code(_inside(mark["code"]))]
            text = ""
        elif kind in ("sign", "inner", "line"):
            text += "\n" if kind == "line" else mark[kind]
    parts.append(text + markdown[at:])
    found = tuple(part.replace("\N{NO-BREAK SPACE}", " ") if isinstance(part, str) else part for part in parts if part)
    return found[0] if len(found) == 1 else found or ""


def _inside(code: str) -> str:
    """The contents of a code span, without the spaces that belong to its fence."""
    return code[1:-1] if code.startswith(" ") and code.endswith(" ") and code.strip() else code


def _text(cell: Cell) -> str:
    if isinstance(cell, Math | Code):
        return cell[0]
    return "".join(map(_text, cell)) if isinstance(cell, tuple) else f"{cell}"
