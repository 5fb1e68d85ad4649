"""Tables of text, numbers and formulas, independent of the export format, made from a page's tables and charts."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from bertcalc.text.live_numbers import MINUS


class Math(NamedTuple):
    """A formula as LaTeX, and optionally as MathML for HTML."""

    latex: str
    mathml: str = ""


class Code(NamedTuple):
    """A name in a program, or untrusted text; every format quotes it as code."""

    text: str


# A str is plain text, which every format escapes; a tuple is a sequence of parts in one cell.
Part = str | Math | Code
Cell = int | float | Part | tuple[Part, ...]


class Table(NamedTuple):
    """A title, the names of the columns, and the rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


# The Markdown of the pages: code, formulas, escaped characters, icons, colors and sizes, emphasis, line breaks.
_MARKS = re.compile(
    r"(?<!`)(?P<fence>`++)(?P<code>.+?)(?<!`)(?P=fence)(?!`)"
    r"|\$(?P<math>[^$]+)\$"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])"
    r"|:material/\w+:"
    r"|:[a-z-]+\[(?P<inner>[^\]]*)\]"
    r"|(?P<stars>\*+(?=[^\s*])|(?<=[^\s*])\*+)"
    r"|(?P<line> *\n)"
)


class TableOrChart(NamedTuple):
    """A table or a chart on a page: its alternative text and its data."""

    title: str
    data: Mapping[str, Sequence[Any]]
    marked: bool = False  # whether its texts are Markdown
    spec: Mapping[str, Any] | None = None  # the Vega-Lite specification of a chart
    numbers: Mapping[str, str] | None = None  # maps the exported columns of a chart to their titles

    def table(self) -> Table:
        """The data for export: a whole table, or the numbers of a chart.

        Rows of a chart that exist only for drawing are left out.
        """
        titles = self.numbers or {name: _text(plain(name)) if self.marked else name for name in self.data}
        rows = zip(*(self.data[name] for name in titles), strict=True)
        taken = (row for row in rows if not self.numbers or not any(map(_missing, row)))
        cells = (tuple(_cell(value, self.marked) for value in row) for row in taken)
        return Table(self.title, tuple(titles.values()), tuple(cells))


def _missing(value: object) -> bool:
    return value is None or value != value


def _cell(value: object, marked: bool) -> Cell:
    if _missing(value):
        return ""
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # a count that is a float only for the chart
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    cell = plain(str(value)) if marked else str(value).replace("\n", " ")  # names in charts can have line breaks
    # Other programs recognize a negative number only if it starts with a hyphen.
    return cell.replace(MINUS, "-") if isinstance(cell, str) and cell.startswith(MINUS) else cell


def plain(markdown: str) -> Cell:
    """Convert Markdown to a cell: text, formulas and code."""
    parts: list[Part] = []
    text, position = "", 0
    for mark in _MARKS.finditer(markdown):
        text += markdown[position : mark.start()]
        position, kind = mark.end(), mark.lastgroup
        if kind in ("math", "code"):
            parts += [text, Math(mark["math"]) if kind == "math" else Code(_inside(mark["code"]))]
            text = ""
        elif kind in ("sign", "inner", "line"):
            text += "\n" if kind == "line" else mark[kind]
    parts.append(text + markdown[position:])
    parts_of_cell = tuple(
        part.replace("\N{NO-BREAK SPACE}", " ") if isinstance(part, str) else part for part in parts if part
    )
    return parts_of_cell[0] if len(parts_of_cell) == 1 else parts_of_cell or ""


def marked_html(markdown: str) -> str | None:
    """Convert a line of Markdown to HTML; None if it needs a renderer for formulas, icons, colors or links.

    A formula of one letter, or of one letter over another such as H/A, becomes italic.

    >>> marked_html("**vocab_size** $V$: `a < b`")
    '<strong>vocab_size</strong> <i>V</i>: <code>a &lt; b</code>'
    >>> marked_html("$\\\\frac{1}{2}$") is None
    True
    """
    if _BLOCK.search(markdown):
        return None
    pieces: list[str | None] = []
    position, open_tags = 0, list[str]()
    for mark in _MARKS.finditer(markdown):
        pieces += [_text_html(markdown[position : mark.start()]), _mark_html(mark, open_tags)]
        position = mark.end()
    pieces.append(_text_html(markdown[position:]))
    written = [piece for piece in pieces if piece is not None]
    return "".join(written) if len(written) == len(pieces) and not open_tags else None


def _text_html(text: str) -> str | None:
    return None if _RENDERED.search(text) else escape(text, quote=False)


def _mark_html(mark: re.Match[str], open_tags: list[str]) -> str | None:
    match mark.lastgroup:
        case "code":
            return f"<code>{escape(_inside(mark['code']), quote=False)}</code>"
        case "math" if _LETTER.match(mark["math"]):
            return re.sub(r"(\w)", r"<i>\1</i>", mark["math"])
        case "sign":
            return escape(mark["sign"], quote=False)
        case "line":
            return "<br>" if mark["line"].startswith("  ") else "\n"
        case "stars":
            return _emphasis(mark, open_tags)
    return None


def _emphasis(mark: re.Match[str], open_tags: list[str]) -> str | None:
    """The HTML tag that asterisks open or close, as in CommonMark; None if they are not emphasis.

    Whether they open or close a tag depends on the characters around them.
    """
    tag = {1: "em", 2: "strong"}.get(len(mark["stars"]), "")
    is_end = tag in open_tags
    sides = mark.string[: mark.start()][-1:], mark.string[mark.end() :][:1]
    inside, outside = sides if is_end else sides[::-1]
    is_flanking = inside.isalnum() or (inside.strip() and not outside.isalnum())
    if not tag or not is_flanking or (is_end and open_tags.pop() != tag):
        return None
    if not is_end:
        open_tags.append(tag)
    return f"</{tag}>" if is_end else f"<{tag}>"


_LETTER = re.compile(r"[A-Za-z](?:/[A-Za-z])?\Z")
# Starts of blocks, link definitions, backslashes at line ends, and empty lines, which end a paragraph.
_BLOCK = re.compile(
    r"^ *(?:#|>|(?:[-+*]|\d+[.)])(?: |$)|=|\||```|~~~|[-*_][-*_ ]*$|    |\[[^\]]+\]:)|\t|\\ *\n|\A\s*\n|\n *(?:\n|\Z)",
    re.MULTILINE,
)
# Links, directives, entities, HTML, emphasis with underscores, and signs that Streamlit turns into symbols.
_RENDERED = re.compile(r"[`$]|\]\(|://|www\.|@\w|:[\w+-]+[:\[]|&#?\w+;|<[/!?a-zA-Z]|<-|->|--|[<>~]=|~|(?<!\w)_(?=\S)")


def _inside(code: str) -> str:
    """The contents of a code span, without the padding inside its fence."""
    return code[1:-1] if code.startswith(" ") and code.endswith(" ") and code.strip() else code


def _text(cell: Cell) -> str:
    if isinstance(cell, Math | Code):
        return cell[0]
    return "".join(map(_text, cell)) if isinstance(cell, tuple) else f"{cell}"
