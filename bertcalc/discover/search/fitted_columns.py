"""The tensors of many samples of one class as columns to fit: shapes and numbers of copies.

The tensors of a folded name can be of several kinds, each with its own shape: every third layer may be wider. Kinds are
told apart by the order in which their shapes first appear; where two kinds happen to have the same shape in a sample,
by the layers that have them in other samples.
"""

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from bertcalc.discover.results.polynomial_fit import Fit, Values, fit
from bertcalc.discover.search.build import Shape
from bertcalc.discover.search.experiments import Sample
from bertcalc.text import N_
from bertcalc.text.problem import Problem

Layers = dict[tuple[int, ...], Shape]


class Kind(NamedTuple):
    """The formulas of the tensors of one folded name and one shape: how many there are, and each side."""

    name: str
    copies: tuple[Fit, ...]  # one for each * of the name, or one for all
    shape: tuple[Fit, ...]

    def counted(self, values: Values) -> tuple[Shape, int] | None:
        """The shape and the number of tensors; None where one is fractional or negative."""
        numbers = [each.value(values) for each in (*self.copies, *self.shape)]
        if any(number < 0 or number.denominator != 1 for number in numbers):
            return None
        whole = [int(number) for number in numbers]
        return tuple(whole[len(self.copies) :]), prod(whole[: len(self.copies)])


class Columns(NamedTuple):
    """The shapes and layers of one kind, by sample; None where they cannot be told."""

    shapes: list[Shape | None]
    layers: list[list[tuple[int, ...]] | None]


class Tables:
    """Fits columns of the samples; each column is fitted once."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = list(fields)
        self.samples: list[Sample] = []
        self._values: list[Values] = []
        self._known: dict[tuple[bool, tuple[int | None, ...]], Fit | None] = {}

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)
        self._values.append({field: sample.values[field] for field in self.fields})

    def kinds(self, name: str) -> list[Kind] | Problem:
        """The kinds of tensors with a folded name, or why there is no formula."""
        found: list[Kind] = []
        for columns in _columns([sample.tensors[name] for sample in self.samples]):
            shapes = [shape for shape in columns.shapes if shape is not None]
            if len({len(shape) for shape in shapes}) != 1:
                return Problem.of(N_("it has more sides in some configurations than in others"))
            sides: list[Fit] = []
            for side in range(len(shapes[0])):
                fitted = self._fit([None if shape is None else shape[side] for shape in columns.shapes])
                if fitted is None:
                    message = N_("no formula that was tried gives side {side} of its shape")
                    return Problem.of(message, side=side + 1)
                sides.append(fitted)
            copies = self._copies(columns.layers)
            if copies is None:
                return Problem.of(N_("no formula that was tried gives how many there are"))
            found.append(Kind(name, copies, tuple(sides)))
        return found

    def _copies(self, layers: list[list[tuple[int, ...]] | None]) -> tuple[Fit, ...] | None:
        stars = len(next(each for each in layers if each)[0])
        if stars == 0:
            return ()
        widths = [None if each is None else [len(set(star)) for star in zip(*each, strict=True)] for each in layers]
        if stars > 1 and all(
            each is None or prod(width or ()) == len(each) for each, width in zip(layers, widths, strict=True)
        ):
            columns = [[None if width is None else width[star] for width in widths] for star in range(stars)]
            fitted = [self._fit(column, counting=True) for column in columns]
            if all(fitted):
                return tuple(each for each in fitted if each)
        total = self._fit([None if each is None else len(each) for each in layers], counting=True)
        return None if total is None else (total,)

    def _fit(self, column: list[int | None], *, counting: bool = False) -> Fit | None:
        key = (counting, tuple(column))
        if key not in self._known:
            told = [(values, number) for values, number in zip(self._values, column, strict=True) if number is not None]
            numbers = [number for _values, number in told]
            self._known[key] = fit([values for values, _number in told], numbers, counting=counting)
        return self._known[key]


def agrees(kinds: Sequence[Kind], layers: Layers, values: Values) -> bool:
    """Whether formulas give the shapes of the tensors of a folded name, and how often each occurs."""
    counted = [kind.counted(values) for kind in kinds]
    predicted: Counter[Shape] = Counter()
    for each in counted:
        if each is None:
            return False
        predicted[each[0]] += each[1]
    return +predicted == Counter(layers.values())


def _columns(samples: list[Layers]) -> list[Columns]:
    apart = max(samples, key=lambda layers: (len(set(layers.values())), -len(layers)))
    first = {shape: numbers for numbers, shape in reversed(apart.items())}
    shown = [first[shape] for shape in dict.fromkeys(apart.values())]  # a tensor of each kind
    found = [Columns([], []) for _kind in shown]
    for layers in samples:
        shapes = list(dict.fromkeys(layers.values()))
        if len(shapes) != len(shown):
            shapes = [layers[numbers] for numbers in shown] if all(numbers in layers for numbers in shown) else []
        for kind, columns in enumerate(found):
            shape = shapes[kind] if shapes else None
            columns.shapes.append(shape)
            told = shape is not None and shapes.count(shape) == 1
            columns.layers.append([numbers for numbers, here in layers.items() if here == shape] if told else None)
    return found
