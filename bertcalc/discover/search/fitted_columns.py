"""Turn the tensors of many samples into columns to fit: dimensions and numbers of copies.

Tensors with the same folded name can have different shapes, for example if every third layer is wider. Each shape is a
kind. Kinds are identified by the order in which their shapes first appear. If two kinds have the same shape in a
sample, they are identified by the layers that have them in other samples.
"""

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from bertcalc.discover.search.build import Shape
from bertcalc.discover.search.experiments import Sample
from bertcalc.discover.search.polynomial_fit import Fit, Values, fit
from bertcalc.text import N_
from bertcalc.text.problem import Problem

Layers = dict[tuple[int, ...], Shape]


class Kind(NamedTuple):
    """Formulas for the tensors with one folded name and shape: the number of copies, and each dimension."""

    name: str
    copies: tuple[Fit, ...]  # one formula per * in the name, or one for their product
    shape: tuple[Fit, ...]

    def counted(self, values: Values) -> tuple[Shape, int] | None:
        """Return the shape and the number of tensors; None if any value is fractional or negative."""
        numbers = [formula.value(values) for formula in (*self.copies, *self.shape)]
        if any(number < 0 or number.denominator != 1 for number in numbers):
            return None
        whole = [int(number) for number in numbers]
        return tuple(whole[len(self.copies) :]), prod(whole[: len(self.copies)])


class Columns(NamedTuple):
    """The shape and the layers of one kind in each sample; None where the kind cannot be identified."""

    shapes: list[Shape | None]
    layers: list[list[tuple[int, ...]] | None]


class Tables:
    """Collects samples and fits formulas to their columns; equal columns are fitted only once."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = list(fields)
        self.samples: list[Sample] = []
        self._values: list[Values] = []
        self._fits: dict[tuple[bool, tuple[int | None, ...]], Fit | None] = {}

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)
        self._values.append({field: sample.values[field] for field in self.fields})

    def kinds(self, name: str) -> list[Kind] | Problem:
        """Return the kinds of tensors with a folded name, or the reason why there is no formula."""
        kinds: list[Kind] = []
        for columns in _columns([sample.tensors[name] for sample in self.samples]):
            shapes = [shape for shape in columns.shapes if shape is not None]
            if len({len(shape) for shape in shapes}) != 1:
                return Problem.of(N_("it has more dimensions in some configurations than in others"))
            sides: list[Fit] = []
            for side in range(len(shapes[0])):
                fitted = self._fit([None if shape is None else shape[side] for shape in columns.shapes])
                if fitted is None:
                    message = N_("no formula was found for dimension {side} of its shape")
                    return Problem.of(message, side=side + 1)
                sides.append(fitted)
            copies = self._copies(columns.layers)
            if copies is None:
                return Problem.of(N_("no formula was found for the number of copies"))
            kinds.append(Kind(name, copies, tuple(sides)))
        return kinds

    def _copies(self, layers: list[list[tuple[int, ...]] | None]) -> tuple[Fit, ...] | None:
        stars = len(next(indices for indices in layers if indices)[0])
        if stars == 0:
            return ()
        widths = [
            None if indices is None else [len(set(star)) for star in zip(*indices, strict=True)] for indices in layers
        ]
        if stars > 1 and all(
            indices is None or prod(width or ()) == len(indices) for indices, width in zip(layers, widths, strict=True)
        ):
            columns = [[None if width is None else width[star] for width in widths] for star in range(stars)]
            fitted = [self._fit(column, counting=True) for column in columns]
            if all(fitted):
                return tuple(column_fit for column_fit in fitted if column_fit)
        total = self._fit([None if indices is None else len(indices) for indices in layers], counting=True)
        return None if total is None else (total,)

    def _fit(self, column: list[int | None], *, counting: bool = False) -> Fit | None:
        key = (counting, tuple(column))
        if key not in self._fits:
            pairs = [
                (values, number) for values, number in zip(self._values, column, strict=True) if number is not None
            ]
            numbers = [number for _values, number in pairs]
            self._fits[key] = fit([values for values, _number in pairs], numbers, counting=counting)
        return self._fits[key]


def agrees(kinds: Sequence[Kind], layers: Layers, values: Values) -> bool:
    """Whether the formulas for a folded name give the right shapes, each with the right number of tensors."""
    counted = [kind.counted(values) for kind in kinds]
    predicted: Counter[Shape] = Counter()
    for shape_count in counted:
        if shape_count is None:
            return False
        predicted[shape_count[0]] += shape_count[1]
    return +predicted == Counter(layers.values())


def _columns(samples: list[Layers]) -> list[Columns]:
    clearest = max(samples, key=lambda layers: (len(set(layers.values())), -len(layers)))
    first = {shape: numbers for numbers, shape in reversed(clearest.items())}
    examples = [first[shape] for shape in dict.fromkeys(clearest.values())]  # one tensor of each kind
    all_columns = [Columns([], []) for _kind in examples]
    for layers in samples:
        shapes = list(dict.fromkeys(layers.values()))
        if len(shapes) != len(examples):
            shapes = [layers[numbers] for numbers in examples] if all(numbers in layers for numbers in examples) else []
        for kind, columns in enumerate(all_columns):
            shape = shapes[kind] if shapes else None
            columns.shapes.append(shape)
            is_unique = shape is not None and shapes.count(shape) == 1
            columns.layers.append(
                [numbers for numbers, layer_shape in layers.items() if layer_shape == shape] if is_unique else None
            )
    return all_columns
