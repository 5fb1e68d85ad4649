"""A table to take away: texts, numbers and formulas, in no format yet."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Math(NamedTuple):
    """A formula, as LaTeX and, where HTML is written from it, as MathML."""

    latex: str
    mathml: str = ""


class Code(NamedTuple):
    """A name as a program has it; whatever is somebody else's text is one: nothing of it is read in any format."""

    text: str


# A text is plain: what has a meaning in a format is escaped when it is written. A tuple is parts in a row.
Part = str | Math | Code
Cell = int | float | Part | tuple[Part, ...]


class Table(NamedTuple):
    """Rows under the names of their columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def by_column(title: str, columns: Mapping[str, Sequence[Cell]]) -> Table:
    """A table from its columns, which are of equal length."""
    return Table(title, tuple(columns), tuple(zip(*columns.values(), strict=True)))
