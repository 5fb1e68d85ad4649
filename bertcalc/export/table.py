"""A table of text, numbers and formulas, independent of the export format."""

from typing import NamedTuple


class Math(NamedTuple):
    """A formula as LaTeX, and optionally as MathML for HTML."""

    latex: str
    mathml: str = ""


class Code(NamedTuple):
    """A name in a program, or untrusted text; every format quotes it as code."""

    text: str


# A str is plain text, which is escaped when it is written; a tuple is a sequence of parts in one cell.
Part = str | Math | Code
Cell = int | float | Part | tuple[Part, ...]


class Table(NamedTuple):
    """A title, the names of the columns, and the rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
