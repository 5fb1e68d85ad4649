"""A table to take away: texts, numbers and formulas, in no format yet."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Math(NamedTuple):
    """A formula, as LaTeX and, where HTML is written from it, as MathML."""

    latex: str
    mathml: str = ""


# A text is plain: what has a meaning in a format is escaped when it is written. A tuple is texts and formulas in a row.
Cell = int | float | str | Math | tuple[str | Math, ...]


class Table(NamedTuple):
    """Rows under the names of their columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def by_column(title: str, columns: Mapping[str, Sequence[Cell]]) -> Table:
    """A table from its columns, which are of equal length."""
    return Table(title, tuple(columns), tuple(zip(*columns.values(), strict=True)))
