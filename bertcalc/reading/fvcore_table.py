"""Read the tables of fvcore: rows of modules with rounded counts, and rows of tensors with shapes.

>>> table = rows_of('''| name          | #elements or shape   |
... |:--------------|:---------------------|
... | model         | 1.5K                 |
... |  dense        | 1.5K                 |
... |   dense.weight| (2, 768)             |
... |   dense.bias  | (2,)                 |''')
>>> table.tensors, table.modules
((('dense.weight', (2, 768)), ('dense.bias', (2,))), (('dense', '1.5K'),))
>>> table.total
'1.5K'
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import prod
from typing import NamedTuple

from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape, Tensor
from bertcalc.reading.listing import Listing, of_tensors
from bertcalc.reading.plain_lines import without_ansi
from bertcalc.reading.text_reading import TextReading
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

_HEADER = re.compile(r"\| *(?:name|module) *\| *#(?:elements|parameters) or shape *\|")
_ROW = re.compile(
    r" {0,20}\| *(?P<name>[A-Za-z_0-9][\w.]{0,300}) *\| *(?P<value>[0-9][^|]{0,40}|\([0-9][^|]{0,80}) *\|"
)
_SIZE = re.compile(r"[0-9]{1,18}")
_COUNT = re.compile(r"(?P<digits>[0-9]{1,18}(?:\.(?P<places>[0-9]{1,9}))?)(?P<unit>[KMGT]?)")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MOST_ROWS = 20_000


class FvcoreTable(NamedTuple):
    """The (tensor, shape) and (module, rounded count) pairs of a table, and the rounded total."""

    tensors: tuple[tuple[str, Shape], ...]
    modules: tuple[tuple[str, str], ...]
    total: str


def rows_of(text: str) -> FvcoreTable | None:
    """Parse a table that fvcore printed; return None if the text has none."""
    plain = without_ansi(text)
    header = _HEADER.search(plain)
    if header is None:
        return None
    tensors, modules = dict[str, Shape](), dict[str, str]()
    for line in plain[header.end() :].split("\n")[:_MOST_ROWS]:
        if match := _ROW.match(line):
            name, value = match["name"], match["value"].strip()
            if value.startswith("("):
                tensors[name] = tuple(map(int, _SIZE.findall(value)))
            elif _COUNT.fullmatch(value):
                modules[name] = value
    if not modules:
        return None
    [(_root, total), *inside] = modules.items()
    return FvcoreTable(tuple(tensors.items()), tuple(inside), total)


def read_fvcore(table: FvcoreTable) -> TextReading:
    """Read a table and recognize its model.

    If the table shows all tensors, their shapes determine the model. Otherwise, the model is the first published model
    that agrees with every row. If there is none, the result has the tensors and the total, but no model.
    """
    sentence = Problem.of(N_("Read as: an fvcore table. Rows: {count}."), count=_rows(table))
    tensors = tuple(Tensor(name, shape, 1) for name, shape in table.tensors)
    if _has_all_tensors(table):
        return replace(of_tensors("listing", Listing(table.tensors)), sentence=sentence)
    model = next(_published(table), None)
    if model is None:
        value, last = _value(table.total)
        if last <= 1:
            return TextReading("listing", sentence, tensors=tensors, num_parameters=int(value))
        message = N_(
            "The table contains rounded counts and lacks some shapes, so the count is only approximate: about {total}."
        )
        note = Problem.of(message, total=table.total)
        return TextReading("listing", sentence, tensors=tensors, notes=(note,))
    return TextReading("listing", sentence, model, model, tensors, model.num_parameters())


def _rows(table: FvcoreTable) -> int:
    return len(table.tensors) + len(table.modules) + 1


def _rounds_to(count: int, rounded: str) -> bool:
    """Whether a count rounds to the count that a table shows.

    >>> _rounds_to(109482240, "0.109G"), _rounds_to(109482240, "0.1G"), _rounds_to(109482240, "109.4M")
    (True, True, False)
    """
    value, last = _value(rounded)
    return 2 * abs(count - value) <= last


def _value(rounded: str) -> tuple[float, float]:
    """Return the value of a printed count and the place value of its last digit, which is 0 if the count is exact."""
    match = _COUNT.fullmatch(rounded)
    if match is None:
        return math.nan, 0
    unit, places = _UNITS[match["unit"]], len(match["places"] or "")
    return float(Decimal(match["digits"]) * unit), unit / 10**places if unit > 1 else 0


def _has_all_tensors(table: FvcoreTable) -> bool:
    """Whether the shapes in a table add up to its total and to each module's count."""
    sums = Counter[str]()
    for name, shape in table.tensors:
        sums.update(dict.fromkeys(_outer(name), prod(shape)))
    whole = sum(prod(shape) for _name, shape in table.tensors)
    return _rounds_to(whole, table.total) and all(_rounds_to(sums[name], value) for name, value in table.modules)


def _published(table: FvcoreTable) -> Iterator[Model]:
    """Yield the published models that have the table's tensors and counts, and no tensors outside its rows."""
    for preset in PRESETS.values():
        for cls, pooler in product(Model(preset.config).family.classes, (True, False)):
            with suppress(InputError):
                model = Model(preset.config, cls.name, pooler)
                if _rounds_to(model.num_parameters(), table.total) and _agrees(model, table):
                    yield model


def _agrees(model: Model, table: FvcoreTable) -> bool:
    shapes = dict(model.named_parameters())
    if any(shapes.get(name) != shape for name, shape in table.tensors):
        return False
    rows = {name for name, _value in (*table.tensors, *table.modules)}
    if not all(any(outer in rows for outer in _outer(name)) for name in shapes):
        return False
    try:
        counts = [(model.get_submodule(name).num_parameters(), value) for name, value in table.modules]
    except KeyError:
        return False
    return all(_rounds_to(count, value) for count, value in counts)


def _outer(name: str) -> Iterator[str]:
    """Yield the name of a tensor, then the names of the modules around it, from the inside out."""
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(len(parts), 0, -1))
