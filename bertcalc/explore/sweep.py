"""Sweep one or two dimensions of a model: their possible values, the costs, and where a cost reaches a level.

>>> from bertcalc.model.model import Model
>>> from bertcalc import BertConfig
>>> wider = Sweep(Case(Model(BertConfig())), ("hidden_size",))
>>> wider.at(hidden_size=1024).model.config.intermediate_size
4096
>>> wider.values("hidden_size", 700, 1000)
[704, 768, 832, 896, 960]
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, lcm, sqrt
from typing import Any, NamedTuple, TypeVar

from bertcalc.config import DIMENSIONS, Config, MixedError, divisors
from bertcalc.config.fields import OWN_DIMENSIONS
from bertcalc.explore.quantities import QUANTITIES, Case, quantity_named
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import BATCH, LARGEST
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.arguments import Single, checked, quoted, record, unknown, whole
from bertcalc.text.problem import InputError, wrong

# The fields that can be swept, with their limits.
SWEPT: dict[str, tuple[int, int]] = {**DIMENSIONS, **OWN_DIMENSIONS, **dict.fromkeys(BATCH, (1, LARGEST))}
# With relative positions, a size of 1 in one of these dimensions makes a copy for a new memory layout unnecessary. This
# changes the saved tensors.
LAID_OUT = ("batch_size", "num_attention_heads", "sequence_length")
_RELATED = ({"hidden_size", "num_attention_heads"}, {"max_position_embeddings", "sequence_length"})
_INT64 = 2**63 - 1
_Item = TypeVar("_Item")
Array = Callable[[Sequence[int]], Any]  # creates an int64 column; callers pass NumPy's function (NumPy is optional)

_NO_DIMENSION = (
    N_("{name} is not a dimension of a sweep: did you mean {nearest}?"),
    N_("{name} is not a dimension of a sweep: it must be one of {options}."),
)

_ONE_DIMENSION = N_("row needs a sweep over a single size, such as hidden_size.")
_TWO_DIMENSIONS = N_("dimensions must be two sizes, such as hidden_size and num_hidden_layers.")
_NOT_SWEPT = (
    N_("{field} {value} is invalid in this sweep: it must be from {low} to {high}."),
    N_("{field} {value} is invalid in this sweep: it must be a multiple of {unit}, from {low} to {high}."),
)
_NO_DIVISOR = N_("{field} {value} does not divide hidden_size {size}: it must be one of {possible}.")
_FEW, _MANY = 3, 11  # numbers of levels
_CURVED = 3  # points of a line with a curve


@checked
def sweepable(model: Model) -> list[str]:
    """Return the sizes that can be swept: sizes of the batch, and of the configuration unless the class fixes them."""
    config, fixed = model.config, dict(model.cls.builds_with)
    of_model = [field for field in SWEPT if config.has(field) and field not in fixed and getattr(config, field) > 0]
    return [field for field in SWEPT if field in BATCH or field in of_model]


@checked
def shares(config: Config, heads: int) -> bool:
    """Whether the number of key/value heads divides a number of heads (grouped-query attention in EuroBERT)."""
    return bool(heads % (config.shared().get("num_key_value_heads") or 1) == 0)


@record
class Ties(NamedTuple):
    """The sizes that follow the hidden size, as in the published models; all other sizes are fixed."""

    heads: bool = True  # num_attention_heads follows, at a fixed head size
    intermediate: bool = True  # intermediate_size follows, at a fixed ratio to hidden_size


@record
class Sweep(NamedTuple):
    """A model, the one or two dimensions along which it changes, and the sizes that follow them."""

    case: Case
    dimensions: tuple[str, ...]
    ties: Ties = Ties()

    @property
    def config(self) -> Config:
        return self.case.model.config

    @property
    def following(self) -> tuple[str, ...]:
        tied = {"num_attention_heads": self.ties.heads, "intermediate_size": self.ties.intermediate}
        if "hidden_size" not in self.dimensions:
            return ()
        return tuple(field for field, follows in tied.items() if follows and field not in self.dimensions)

    @property
    def ratio(self) -> Fraction:
        """The ratio intermediate_size / hidden_size."""
        return Fraction(self.config.intermediate_size, self.config.hidden_size)

    @property
    def grows(self) -> bool:
        """Whether no quantity shrinks along a dimension; with relative positions, more heads have smaller tables."""
        return not self.config.ones_matter or "num_attention_heads" not in self.dimensions

    @checked
    def present(self, field: str) -> int:
        """Return the value of a dimension in the model itself."""
        self.limits(field)
        return int(getattr(self.case.batch if field in BATCH else self.config, field))

    def fields(self, **values: Any) -> dict[str, Any]:
        """Return the values of the dimensions and of the sizes that follow them: numbers, columns or symbols."""
        if "hidden_size" not in values:
            return values
        ratio = self.ratio
        along = {
            "num_attention_heads": values["hidden_size"] // self.config.attention_head_size,
            "intermediate_size": values["hidden_size"] * ratio.numerator // ratio.denominator,
        }
        return {**values, **{field: along[field] for field in self.following}}

    def at(self, **values: Any) -> Case:
        """Return the case with numbers, columns or symbols for the dimensions, without checks."""
        fields = self.fields(**{field: whole(field, value) for field, value in values.items()})
        sizes = {field: fields.pop(field) for field in BATCH if field in fields}
        return self.case._replace(batch=self.case.batch._replace(**sizes)).replace(**fields)

    @checked
    def limits(self, field: str) -> tuple[int, int]:
        """Return the lowest and highest value of a dimension; ``exists`` checks relations to the other dimension.

        Raises UnknownNameError for a field that is not a dimension.
        """
        if field not in SWEPT or not (field in BATCH or self.config.has(field)):
            raise unknown(_NO_DIMENSION, field, sweepable(self.case.model))
        low, high = SWEPT[field]
        if field == "vocab_size":
            low = self.config.fewest_words
        elif field == "max_position_embeddings":
            low = self._spare + (1 if "sequence_length" in self.dimensions else self.case.batch.sequence_length)
        elif field == "sequence_length" and "max_position_embeddings" not in self.dimensions:
            high = self.config.longest
        elif field == "num_attention_heads" and "hidden_size" not in self.dimensions:
            high = self.config.hidden_size // self.config.heads_of  # rotary positions need even head sizes
        elif field == "hidden_size" and "intermediate_size" in self.following:
            high = min(high, int(DIMENSIONS["intermediate_size"][1] / self.ratio))
        return max(low, self.unit(field)), high // self.unit(field) * self.unit(field)

    @property
    def _spare(self) -> int:
        """Rows of the position table that no token uses."""
        return self.config.max_position_embeddings - self.config.longest

    @checked
    def unit(self, field: str) -> int:
        """Return the common divisor of all values of a dimension."""
        if field != "hidden_size":
            return 1
        by_heads = "num_attention_heads" not in {*self.following, *self.dimensions}
        heads = self.config.num_attention_heads * self.config.heads_of if by_heads else self.config.attention_head_size
        return lcm(heads, self.ratio.denominator) if "intermediate_size" in self.following else heads

    @checked
    def values(self, field: str, low: Single, high: Single, most: Single = 200) -> list[int]:
        """Return up to about ``most`` possible values from ``low`` to ``high``, which must lie within the limits.

        The values are the two ends and round numbers in between. If no value in the range is possible, the result is
        the nearest value below it, or the present value if none fits the model's key/value heads.
        """
        if field == "num_attention_heads" and "hidden_size" not in self.dimensions:
            possible = divisors(self.config.hidden_size // self.config.heads_of)
            possible = [heads for heads in possible if self._shares(num_attention_heads=heads)]
            within = [heads for heads in possible if low <= heads <= high]
            return within or [max((heads for heads in possible if heads <= low), default=possible[0])]
        unit = self.unit(field)
        first, last = -(-low // unit), high // unit
        if first > last:
            return [last * unit]
        step = round_up(Fraction(last - first + 1, most))
        candidates = [unit * place for place in sorted({first, *range(-(-first // step) * step, last + 1, step), last})]
        return [value for value in candidates if self._shares(**{field: value})] or [self.present(field)]

    def _shares(self, **values: int) -> bool:
        """Whether the number of heads at these values can share the model's key/value heads."""
        return shares(self.config, self.fields(**values).get("num_attention_heads", self.config.num_attention_heads))

    @checked
    def has(self, field: str, value: Single) -> bool:
        """Whether the dimension ``field`` can have this value while the other dimension stays the same."""
        low, high = self.limits(field)
        return low <= value <= high and self.values(field, value, value) == [value]

    def exists(self, **values: int) -> bool:
        """Whether the two dimensions can have these values together."""
        if {"hidden_size", "num_attention_heads"} <= values.keys():
            divides = values["hidden_size"] % (values["num_attention_heads"] * self.config.heads_of) == 0
            return divides and self._shares(**values)
        if {"max_position_embeddings", "sequence_length"} <= values.keys():
            return values["sequence_length"] + self._spare <= values["max_position_embeddings"]
        return True

    @checked
    def row(self, name: str, values: Sequence[int], array: Array) -> list[int | None]:
        """Return a quantity at each value of the only dimension; None where the class cannot run.

        ``array`` creates the columns (see ``Array``). Raises InputError for a value that is outside the limits or not a
        multiple of ``unit``.
        """
        if len(self.dimensions) != 1:
            raise wrong(_ONE_DIMENSION, "dimensions")
        (field,) = self.dimensions
        self._check(field, values)
        return [figure for group in self._apart(field, values) for figure in self._figures(name, {field: group}, array)]

    @checked
    def table(self, name: str, xs: Sequence[int], ys: Sequence[int], array: Array) -> list[list[int | None]]:
        """Return a quantity for every model of a map: a list for each x, with a figure for each y.

        A figure is None if there is no such model (see ``exists``) or if the model cannot run. ``array`` and the errors
        are the same as for ``row``.
        """
        if len(self.dimensions) != 2:
            raise wrong(_TWO_DIMENSIONS, "dimensions")
        x, y = self.dimensions
        self._check(x, xs)
        self._check(y, ys)
        rows: list[list[int | None]] = []
        for across in self._apart(x, xs):
            blocks = [self._figures(name, {x: across, y: up}, array) for up in self._apart(y, ys)]
            rows += [[figure for part in parts for figure in part] for parts in zip(*blocks, strict=True)]
        if {x, y} not in _RELATED:
            return rows
        return [
            [figure if self.exists(**{x: across, y: up}) else None for up, figure in zip(ys, row, strict=True)]
            for across, row in zip(xs, rows, strict=True)
        ]

    def _check(self, field: str, values: Sequence[int]) -> None:
        """Raise InputError for a value that no model of the sweep can have."""
        (low, high), unit = self.limits(field), self.unit(field)
        for value in values:
            if not isinstance(value, int) or value % unit or not low <= value <= high:
                text = value if isinstance(value, int) else quoted(value)
                words = {"field": self.config.own_name(field), "value": text, "low": low, "high": high, "unit": unit}
                raise wrong(_NOT_SWEPT[unit > 1], field, value, **words)
            if field == "num_attention_heads" and "hidden_size" not in self.dimensions:
                hidden_size, unit_of_heads = self.config.hidden_size, value * self.config.heads_of
                if hidden_size % unit_of_heads:
                    possible = ", ".join(map(str, divisors(hidden_size // self.config.heads_of)))
                    name = self.config.own_name(field)
                    raise wrong(_NO_DIVISOR, field, value, field=name, value=value, size=hidden_size, possible=possible)

    def _figures(self, name: str, places: Mapping[str, Sequence[int]], array: Array) -> list[Any]:
        """Return a quantity at some values of the dimensions, in nested lists; None for a model that cannot run.

        The values are split in half until all models in a part have the same structure and can run.
        """
        x, *others = places
        columns = {field: array(values) for field, values in places.items()}
        if others:
            columns[x] = columns[x][:, None]
        # A single value stays an integer, because a 1 changes which tensors are saved.
        sizes = {field: values[0] if len(values) == 1 else columns[field] for field, values in places.items()}
        try:
            figures = quantity_named(name).of(self.at(**sizes))
        except (MixedError, InputError):
            if all(len(values) == 1 for values in places.values()):
                return [[None]] if others else [None]
            halved = x if len(places[x]) > 1 else others[0]
            half = len(places[halved]) // 2
            parts = places[halved][:half], places[halved][half:]
            first, second = (self._figures(name, {**places, halved: part}, array) for part in parts)
            return first + second if halved == x else [first[0] + second[0]]
        table: list[Any] = (figures + sum(0 * column for column in columns.values())).tolist()
        return table

    def fits(self, names: Sequence[str], ranges: Mapping[str, tuple[int, int]]) -> bool:
        """Whether the quantities ``names`` of all models in these ranges fit into int64; counts only the corners."""
        corners = [dict(zip(ranges, corner, strict=True)) for corner in product(*ranges.values())]
        figures = (QUANTITIES[name].known(self.at(**corner)) for name in names for corner in corners)
        return all((figure or 0) <= _INT64 for figure in figures)

    def fitting(self, names: Sequence[str], ranges: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]] | None:
        """Return the ranges, with upper ends lowered until the quantities ``names`` of all models fit into int64.

        Returns None if the quantities of the smallest model do not fit.
        """
        lowered = dict(ranges)
        for field, (low, high) in ranges.items():
            if self.fits(names, lowered):
                return lowered
            unit = self.unit(field)
            ends = range(low // unit, high // unit + 1)
            fitting = bisect_left(
                ends, True, key=lambda end: not self.fits(names, {**lowered, field: (low, unit * end)})
            )
            lowered[field] = low, max(low, unit * ends[fitting - 1] if fitting else low)
        return lowered if self.fits(names, lowered) else None

    def _apart(self, field: str, values: Sequence[int]) -> Iterator[Sequence[int]]:
        """Yield groups of values that can be counted as columns.

        A value that sets a size in LAID_OUT to 1 is a group by itself.
        """
        if not self.config.ones_matter:
            yield values
            return
        alone = [value for value in values if 1 in map(self.fields(**{field: value}).get, LAID_OUT)]
        yield from ([value] for value in alone)
        if len(alone) < len(values):
            yield values[len(alone) :]


class PublishedModels(NamedTuple):
    """Presets at the same place on a map; the first preset represents all."""

    place: tuple[int, int]
    presets: tuple[str, ...]


@checked
def published(dimensions: Sequence[str]) -> list[PublishedModels]:
    """Return the presets at their places on a map; none unless both dimensions are fields that all families share.

    Raises InputError unless there are two dimensions.
    """
    if len(dimensions) != 2:
        raise wrong(_TWO_DIMENSIONS, "dimensions")
    places: dict[tuple[int, int], list[str]] = {}
    if set(dimensions) <= DIMENSIONS.keys():
        for name, preset in PRESETS.items():
            x, y = (getattr(preset.config, field) for field in dimensions)
            places.setdefault((x, y), []).append(name)
    return [PublishedModels(place, tuple(names)) for place, names in places.items()]


@checked
def around(values: Sequence[int], present: int) -> tuple[int | None, int | None]:
    """Return the values just below and above ``present``, which may be missing from ``values``; None at the ends."""
    before, after = bisect_left(values, present), bisect_right(values, present)
    return values[before - 1] if before else None, values[after] if after < len(values) else None


@checked
def levels(low: int, high: int) -> list[int]:
    """Return about 3 to 11 round numbers in a range.

    The numbers are 1, 2, 5, 10, ...; if these are too many, 1, 3, 10, ... or powers of 10; if too few, multiples of a
    round step.
    """
    digits = range(len(str(high)))
    for heads in ((1, 2, 5), (1, 3), (1,)):
        numbers = [head * 10**power for power in digits for head in heads if low < head * 10**power < high]
        if len(numbers) <= _MANY:
            break
    if len(numbers) >= _FEW:
        return numbers
    step = round_up(Fraction(max(high - low, 1), 2 * _FEW))
    return [step * place for place in range(low // step + 1, -(-high // step))]


def line(
    xs: Sequence[int], ys: Sequence[int], table: Sequence[Sequence[int | None]], level: int
) -> list[tuple[float, float]]:
    """Return the contour at which a quantity reaches a level, from top left to bottom right.

    The quantity must grow along both dimensions. ``table`` has a list for each x with a figure for each y; a figure is
    None where there is no such model. At about 60 values of each dimension, the crossing between two values of the
    other dimension is interpolated. The interpolation is exact for quadratic polynomials, and therefore for all
    quantities except inference memory.
    """
    places = set()
    for x, figures in _thinned(list(zip(xs, table, strict=True))):
        if (place := crossing(ys, figures, level)) is not None:
            places.add((float(x), place))
    for y, figures in _thinned(list(zip(ys, zip(*table, strict=True), strict=True))):
        if (place := crossing(xs, figures, level)) is not None:
            places.add((place, float(y)))
    return sorted(places, key=lambda point: (point[0], -point[1]))


def crossing(places: Sequence[int], figures: Sequence[int | None], level: int) -> float | None:
    """Return the place at which growing figures reach a level, interpolated between two places.

    Returns None if the level lies outside the figures, or if figures are missing and fewer than three are left.

    >>> crossing([1, 2, 3], [1, 4, 9], 4), crossing([10, 20, 30], [100, 400, 900], 225)
    (2.0, 15.0)
    """
    points = [(place, figure) for place, figure in zip(places, figures, strict=True) if figure is not None]
    if len(points) < min(len(places), _CURVED):
        return None
    after = bisect_left(points, level, key=lambda point: point[1])
    if after == len(points):
        return None
    if points[after][1] == level:
        return float(points[after][0])
    if after == 0:
        return None
    (low, start), (high, end) = points[after - 1 : after + 1]
    slope = (end - start) / (high - low)
    third = points[after + 1] if after + 1 < len(points) else points[after - 2] if after > 1 else None
    curve = ((third[1] - end) / (third[0] - high) - slope) / (third[0] - low) if third else 0.0
    # Solve start + b u + curve u^2 = level for the distance u from low, without subtracting two large numbers.
    b = slope - curve * (high - low)
    root = b + sqrt(max(b * b + 4 * curve * (level - start), 0))
    return min(max(low + 2 * (level - start) / root, low), high) if root > 0 else float(high)


@checked
def round_up(number: Fraction) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50, ... that is not less than ``number``."""
    power: int = 10 ** (len(str(ceil(number))) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number)


def _thinned(items: Sequence[_Item]) -> Sequence[_Item]:
    """Return about 60 of the items, including the first and the last."""
    step = -(-len(items) // 60)
    return [*items[:-1:step], items[-1]]
