"""The difference between two models as a table, with a row for each group of fields that change together.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.batch import DEFAULT_BATCH
>>> print(compared(Model(BertConfig()), Model(BertConfig(num_hidden_layers=24)), "parameters", DEFAULT_BATCH))
                 parameters   difference
BertModel       109,482,240
12 more layers  194,536,704  +85,054,464
BertModel       194,536,704  +85,054,464
"""

from collections.abc import Callable
from html import escape
from typing import NamedTuple

from bertcalc.explore.compare import Breakdown, Changes, explain
from bertcalc.explore.quantities import Case, Quantity, quantity_named
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.text import text_table
from bertcalc.text.digits import signed_count


class ComparisonRow(NamedTuple):
    """A row of the table: a model, or fields that change together.

    ``figure`` is the model's figure or the figure after the change, ``difference`` the effect of the change.
    """

    name: str
    figure: int
    difference: int | None = None


class ModelComparison(NamedTuple):
    """A quantity of two models, with the difference split into parts; ``explanation`` has the fields of each part."""

    first: Model
    second: Model
    quantity: Quantity
    explanation: Breakdown

    @property
    def difference(self) -> int:
        """The second model's figure minus the first's."""
        return self.explanation.difference

    @property
    def rows(self) -> list[ComparisonRow]:
        """The first model, the parts of the difference, and the second model with the total difference."""
        whole = self.explanation
        effective = [part for part in whole.parts if part.has_effect]
        parts = [ComparisonRow(_words(part.named), part.total, part.difference) for part in effective]
        if fields := whole.fields_without_effect:
            parts.append(ComparisonRow(f"no effect: {', '.join(fields)}", whole.after, 0))
        before = ComparisonRow(self.first.architecture, whole.before)
        return [before, *parts, ComparisonRow(self.second.architecture, whole.after, whole.difference)]

    def __str__(self) -> str:
        return text_table(self._cells(str), "<>>")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, *body = self._cells(escape)
        number = ' style="text-align: right; font-variant-numeric: tabular-nums"'
        name = ' style="text-align: left"'

        def row(cells: tuple[str, str, str], tag: str) -> str:
            return (
                "<tr>"
                + "".join(f"<{tag}{number if at else name}>{cell}</{tag}>" for at, cell in enumerate(cells))
                + "</tr>"
            )

        *parts, total = body
        rows = "".join([*(row(cells, "td") for cells in parts), row(total, "th")])
        return f"<table><thead>{row(head, 'th')}</thead><tbody>{rows}</tbody></table>"

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _cells(self, written: Callable[[str], str]) -> list[tuple[str, str, str]]:
        """The header and the rows of the table; ``written`` formats the names."""
        rows = [
            (written(name), f"{figure:,}", "" if more is None else signed_count(more))
            for name, figure, more in self.rows
        ]
        return [("", self.quantity.unit, "difference"), *rows]


def _words(changes: Changes) -> str:
    """The changes as a phrase, such as "4 more heads, 256 more hidden units"."""
    sentences = (change.sentence(alone=len(changes) == 1) for change in changes)
    return ", ".join(message.format(**values) for message, values in sentences)


def compared(first: Model, second: Model, quantity: str, batch: Batch) -> ModelComparison:
    """Compare a quantity of two models; ``quantity`` is its name in QUANTITIES."""
    kind = quantity_named(quantity)
    plan = Plan(keep_outputs=True)  # as in training_peak_bytes
    before, after = (Case(model, batch, plan) for model in (first, second))
    return ModelComparison(first, second, kind, explain(before, after, kind))
