"""A table to export: texts, numbers and formulas, before a format is chosen."""

from typing import NamedTuple


class Math(NamedTuple):
    """A formula as LaTeX, and as MathML for HTML."""

    latex: str
    mathml: str = ""


class Code(NamedTuple):
    """A name in a program, or a text that somebody else wrote: it is quoted in every format."""

    text: str


# A str is plain text, escaped when it is written. A tuple is a sequence of parts.
Part = str | Math | Code
Cell = int | float | Part | tuple[Part, ...]


class Table(NamedTuple):
    """Rows under the names of their columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
