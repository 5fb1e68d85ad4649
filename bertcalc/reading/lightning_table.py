"""Read the summaries that PyTorch Lightning prints before training: rounded counts of modules, and a size in MB.

>>> table = lightning_table('''  | Name | Type      | Params
... ---------------------------------
... 0 | bert | BertModel | 109 M
... ---------------------------------
... 109 M     Trainable params
... 0         Non-trainable params
... 109 M     Total params
... 437.929   Total estimated model params size (MB)''')
>>> table.rows, table.total
((LightningRow(name='bert', kind='BertModel', shown='109 M'),), range(109482125, 109482376))
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from math import ceil, floor
from typing import NamedTuple

from bertcalc.families import CLASSES
from bertcalc.model.model import Model
from bertcalc.reading.plain_lines import sentences, without_ansi
from bertcalc.reading.summary_models import published_models
from bertcalc.reading.text_reading import TextReading, sizes_of
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

_COUNT = r"[0-9][0-9,]{0,20}(?:\.[0-9]{1,9})?(?: ?[KMBT])?"
_HEADER = re.compile(r"[|┃]\s*Name\s*[|┃]\s*Type\s*[|┃]\s*Params\s*(?:[|┃]|$)", re.M)
_ROW = re.compile(
    r"\s{0,20}│?\s{0,9}[0-9]{1,5}\s*[|│]\s*(?P<name>[\w.]{1,300})\s*[|│]\s*(?P<kind>\w{1,200})\s*[|│]"
    rf"\s*(?P<shown>{_COUNT})\s*(?:[|│]|$)"
)
_TOTAL = re.compile(rf"(?<![-\w])(?P<count>{_COUNT})[ \t]+Total params|Total params: (?P<rich>{_COUNT})")
_SIZE = re.compile(
    rf"(?P<size>{_COUNT})[ \t]*Total estimated model params size|model params size \(MB\): (?P<rich>{_COUNT})"
)
_UNITS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_WIDTHS = (4, 2, 8)  # bytes per parameter in the trainer's precisions
_MOST_ROWS, _MOST_LABELS = 20_000, 1000


class LightningRow(NamedTuple):
    """A row: the name of a module, its class, and its rounded count."""

    name: str
    kind: str
    shown: str


class LightningTable(NamedTuple):
    """The rows of a summary, and the range of totals that fit its size in MB."""

    rows: tuple[LightningRow, ...]
    total: range

    def models(self) -> Iterator[tuple[Model, LightningRow, Sequence[LightningRow]]]:
        """Yield the published models that agree with the total and with the first row that names a known class.

        Each item is (model, its row, the other rows with parameters).
        """
        row = next((row for row in self.rows if row.kind in CLASSES), None)
        if row is None:
            return
        beside = [
            other for other in self.rows if not f"{other.name}.".startswith(f"{row.name}.") and _most(other.shown)
        ]
        rest = [_counts(other.shown) for other in beside if "." not in other.name]
        low, high = self.total[0] - sum(map(max, rest)), self.total[-1] - sum(map(min, rest))
        inside = [other for other in self.rows if other.name.startswith(f"{row.name}.")]
        for model in _published(row.kind, range(low, high + 1)):
            if _agrees(model, row.name, inside):
                yield model, row, beside


def lightning_table(text: str) -> LightningTable | None:
    """Parse a table that PyTorch Lightning printed; return None if there is none, or if the text is mostly prose."""
    plain = without_ansi(text)
    header, total, size = (pattern.search(plain) for pattern in (_HEADER, _TOTAL, _SIZE))
    if not (header and total and size):
        return None
    lines = plain[header.end() :].split("\n")[:_MOST_ROWS]
    rows = tuple(LightningRow(*match.group("name", "kind", "shown")) for match in map(_ROW.match, lines) if match)
    possible = _counts(total["count"] or total["rich"])
    for width in _WIDTHS:
        counts = _of_size(size["size"] or size["rich"], width)
        if rows and counts and counts[-1] in possible and len(rows) > sentences(plain) - len(rows):
            return LightningTable(rows, counts)
    return None


def read_lightning(table: LightningTable) -> TextReading:
    """Read a table: recognize its published model, or give the range of its total."""
    sentence = Problem.of(N_("Read as: a PyTorch Lightning summary. Rows: {count}."), count=len(table.rows))
    low, high = table.total[0], table.total[-1]
    rounded = Problem.of(N_("The table rounds its counts: the total is between {low} and {high}."), low=low, high=high)
    model, row, beside = next(table.models(), (None, None, ()))
    if model is None or row is None:
        return TextReading("listing", sentence, notes=(rounded,))
    if not beside:
        return TextReading("listing", sentence, model, model, num_parameters=model.num_parameters(), notes=(rounded,))
    values = {"architecture": model.architecture, "sizes": sizes_of(model), "count": model.num_parameters()}
    message = N_("{row} is {architecture} with {sizes}: {count} parameters.")
    others = "; ".join(f"{other.name} ({other.kind}): {other.shown}" for other in beside)
    notes = (
        Problem.of(message, row=row.name, **values),
        Problem.of(N_("The table also contains (rounded): {rows}."), rows=others),
        rounded,
    )
    return TextReading("listing", sentence, model, notes=notes)


def _counts(shown: str) -> range:
    """Return the counts that a row may mean.

    Lightning cuts off the decimals of a value of 100 or more, and rounds a smaller value to one decimal.

    >>> _counts("109 M"), _counts("1.5 K"), _counts("768")
    (range(109000000, 110000000), range(1450, 1551), range(768, 769))
    """
    digits = shown.replace(",", "").rstrip(" KMBT")
    one = _UNITS.get(shown[-1], 1)
    value = int(Decimal(digits) * one)
    return range(value - one // 20, value + one // 20 + 1) if "." in digits else range(value, value + one)


def _most(shown: str) -> int:
    return max(_counts(shown))


def _of_size(shown: str, width: int) -> range:
    """Return the counts with a size that rounds to ``shown``, in MB with three decimals, at ``width`` bytes each."""
    size = Decimal(shown.replace(",", "").rstrip(" KMBT")) * 10**6
    return range(ceil((size - 500) / width), floor((size + 500) / width) + 1)


def _published(architecture: str, counts: range) -> Iterator[Model]:
    """Yield the published models of a class that have one of these counts.

    If the count depends on the number of labels, exactly one number of labels has to fit.
    """
    for model in published_models(architecture):
        with suppress(InputError):
            one, two = (_with_labels(model, labels).num_parameters() for labels in (1, 2))
            step = two - one
            possible = range(1 - (one - counts[0]) // step, 2 + (counts[-1] - one) // step) if step else (0,)
            if len(possible) == 1 and step and 0 < possible[0] <= _MOST_LABELS:
                model = _with_labels(model, possible[0])
            if len(possible) == 1 and model.num_parameters() in counts:
                yield model


def _with_labels(model: Model, labels: int) -> Model:
    if not type(model.config).has("num_labels"):
        return model
    return Model(replace(model.config, num_labels=labels), model.architecture, model.pooler)


def _agrees(model: Model, name: str, rows: Sequence[LightningRow]) -> bool:
    """Whether the count of each listed module is a count that its row may mean."""
    with suppress(KeyError):
        return all(
            model.get_submodule(row.name.removeprefix(f"{name}.")).num_parameters() in _counts(row.shown)
            for row in rows
        )
    return False
