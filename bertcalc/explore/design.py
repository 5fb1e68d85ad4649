"""Search for the models nearest to a budget among all that the constraints allow.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.model import Model
>>> result = search(Case(Model(BertConfig())), Budget("parameters", 30_000_000), Constraints())
>>> [(design.hidden_size, design.num_hidden_layers, design.value) for design in result.designs[:3]]
[(640, 2, 30121600), (576, 3, 30176640), (384, 10, 29811072)]

Every quantity is a polynomial in the sizes of a candidate: quadratic in the number of heads (of fixed size), linear in
intermediate_size and in the number of layers (of each kind, if layers alternate). Two widths are exceptions: a single
head, which needs no copy for a different memory layout, and the width at which ELECTRA needs no projection. So a few
exact counts determine the quantity of every candidate, and bisection finds the depths nearest to a budget for each
width and intermediate size. The size of a file is counted at each width, where blocks of weights may not fit, and is
nearly linear in the number of layers: the nearest candidates are counted once more, to the byte.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from math import lcm, prod
from typing import Any, NamedTuple, TypeVar

from bertcalc.config import DIMENSIONS, Problem, check_whole_number
from bertcalc.explore.quantities import EVERY_QUANTITY, PEAKS, Case, Quantity, quantity_named
from bertcalc.explore.sweep import shares
from bertcalc.storage.model_file import quantized
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.text import N_
from bertcalc.text.arguments import Single, checked, record
from bertcalc.text.problem import InputError

HEAD_SIZES = (32, 64, 96, 128)
# NVIDIA's "Matrix Multiplication Background": 16-bit products are fastest with multiples of 8, on an A100 of 64.
MULTIPLES = (8, 64, 128)
# 4 is BERT's; with 8/3 a gated feed-forward (three matrices) has as many parameters (Shazeer 2020, arXiv:2002.05202).
RATIOS: Mapping[str, tuple[Fraction, ...]] = {
    **{name: (Fraction(name),) for name in ("2", "8/3", "3", "4", "6", "8")},
    "any": tuple(map(Fraction, ("2", "8/3", "3", "4", "5", "6", "7", "8"))),
}
_Item = TypeVar("_Item")
BERT_BASE_SHAPE = 64  # hidden units for each layer: 768 / 12
# Files that are counted to the byte beside those that seem to be the nearest, and the share by which sizes may be off.
_MORE_FILES, _INEXACT = 8, 2000


FILE = "file"


@record
class Budget(NamedTuple):
    """An amount of a quantity, in the quantity's unit; of a file, in a quantization format, or else in safetensors.

    An amount of bytes is a limit, any other is a target, unless ``at_most``.

    >>> from bertcalc import BertConfig, Gguf
    >>> from bertcalc.model.model import Model
    >>> result = search(Case(Model(BertConfig())), Budget("file", 100_000_000, Gguf("Q4_0")), Constraints(), 1)
    >>> [(design.hidden_size, design.num_hidden_layers, design.value) for design in result.designs]
    [(832, 15, 99449440)]
    """

    quantity: str  # a key of EVERY_QUANTITY
    amount: Single
    format: QuantizationFormat | None = None
    at_most: bool = False

    @property
    def is_limit(self) -> bool:
        """Whether the budget must not be exceeded; otherwise it is a target."""
        return self.at_most or self.kind.unit == "bytes"

    @property
    def kind(self) -> Quantity:
        """The budget's quantity. Raises UnknownNameError if there is none of this name."""
        return quantity_named(self.quantity, EVERY_QUANTITY)

    def value(self, case: Case) -> int:
        """The value of the quantity for a case."""
        if self.quantity == FILE and self.format:
            return quantized(case.model, self.format).file_bytes
        return self.kind.of(case)

    def excess(self, value: int) -> tuple[bool, int]:
        """The distance of a value, as a sort key: values that exceed a limit come last."""
        return self.is_limit and value > self.amount, abs(value - self.amount)


@record
class Constraints(NamedTuple):
    """The constraints on candidates.

    hidden_size is a multiple of head_size and of ``multiple``; intermediate_size is hidden_size times a ratio, rounded
    up to a multiple of ``multiple``.
    """

    head_size: int = 64
    ratios: tuple[Fraction, ...] = RATIOS["4"]
    multiple: int = 64
    layers_from: int = 2
    layers_to: int = 24
    hidden_to: int = 4096
    pad_vocabulary: bool = False  # also round vocab_size up to a multiple

    @property
    def step(self) -> int:
        """The smallest hidden_size; all others are multiples of it."""
        return lcm(self.head_size, self.multiple)

    def vocabulary(self, vocab_size: int) -> int:
        """The vocab_size of every candidate, perhaps rounded up; the limit is a multiple of all MULTIPLES."""
        return _round_up(vocab_size, self.multiple) if self.pad_vocabulary else vocab_size

    def problems(self) -> Iterator[Problem]:
        """The problems with the limits of depth and width."""
        widest = DIMENSIONS["hidden_size"][1]
        sizes = {"head_size": (1, widest, 64), "multiple": (1, widest, 64)}
        wrong = [check_whole_number(field, getattr(self, field), *limit) for field, limit in sizes.items()]
        if any(wrong):
            yield from filter(None, wrong)
            return
        limits = {
            "layers_from": (*DIMENSIONS["num_hidden_layers"], 2),
            "layers_to": (*DIMENSIONS["num_hidden_layers"], 24),
            "hidden_to": (self.step, widest, 4096),
        }
        limit_problems = [check_whole_number(field, getattr(self, field), *limit) for field, limit in limits.items()]
        yield from filter(None, limit_problems)
        first, last = self.layers_from, self.layers_to
        if not any(limit_problems) and first > last:
            message = N_("The range of layers from {first} to {last} is empty.")
            remedies = {"layers_from": last}, {"layers_to": first}
            yield Problem.of(message, "layers_from", first, *remedies, first=first, last=last)

    def nearest(self) -> "Constraints":
        """The same constraints with the nearest valid limits."""
        possible = self
        while problem := next(possible.problems(), None):
            possible = possible._replace(**problem.remedies[0])
        return possible


class Design(NamedTuple):
    """A model: the fields that the search chooses, and the value of the budget's quantity."""

    hidden_size: int
    num_attention_heads: int
    num_hidden_layers: int
    intermediate_size: int
    vocab_size: int
    value: int

    @property
    def fields(self) -> dict[str, Any]:
        return {field: number for field, number in self._asdict().items() if field != "value"}

    @property
    def shape(self) -> Fraction:
        """Hidden units for each layer: the aspect ratio of Kaplan et al. 2020, arXiv:2001.08361, section 3.1."""
        return Fraction(self.hidden_size, self.num_hidden_layers)


class Result(NamedTuple):
    """The designs nearest to a budget, the nearest first, and the smallest, largest and number of all candidates."""

    designs: tuple[Design, ...]
    smallest: Design
    largest: Design
    candidates: int

    def possible(self, budget: Budget) -> bool:
        """Whether the budget is within the range of values; a limit only needs to be at least the smallest."""
        return self.smallest.value <= budget.amount and (budget.is_limit or budget.amount <= self.largest.value)


class _Row(NamedTuple):
    """All depths of one width and intermediate size; ``value_at`` gives the value at a depth, which grows with it."""

    heads: int
    intermediate: int
    value_at: Callable[[int], int]


@checked
def search(case: Case, budget: Budget, constraints: Constraints, count: int = 8) -> Result:
    """Find the ``count`` candidates nearest to a budget, with the architecture, batch and plan of a case.

    For a limit, candidates within it come first, the largest first. Ties are broken by the distance of their shape from
    bert-base's, then by their fields, starting with hidden_size, the smaller first.

    Raises InputError if a constraint is invalid, or if the constraints allow no model of the family.
    """
    for problem in constraints.problems():
        raise InputError(problem)
    vocab_size = constraints.vocabulary(case.model.config.vocab_size)
    rows = list(_rows(case.replace(vocab_size=vocab_size), budget, constraints))
    if not rows:
        raise InputError(_too_narrow(case, constraints))
    first, last = constraints.layers_from, constraints.layers_to

    def design(row: _Row, layers: int) -> Design:
        hidden_size = row.heads * constraints.head_size
        return Design(hidden_size, row.heads, layers, row.intermediate, vocab_size, row.value_at(layers))

    def best(row: _Row) -> tuple[bool, int]:
        return min(budget.excess(row.value_at(layers)) for layers in _around(row, budget, constraints, 1))

    def counted(design: Design) -> Design:
        return design._replace(value=budget.value(case.replace(**design.fields)))

    exactly, most = budget, count
    if budget.quantity == FILE:  # the value at a depth is not exact
        budget, most = budget._replace(amount=budget.amount + budget.amount // _INEXACT), count + _MORE_FILES
    # A row can be skipped if ``most`` other rows have a nearer best depth.
    places = [(row, layers) for row in _first(rows, best, most) for layers in _around(row, budget, constraints, most)]
    near = [design(*place) for place in _first(places, lambda place: budget.excess(place[0].value_at(place[1])), most)]
    smallest = design(min(rows, key=lambda row: row.value_at(first)), first)
    largest = design(max(rows, key=lambda row: row.value_at(last)), last)
    if budget.quantity == FILE:
        smallest, largest, *near = map(counted, (smallest, largest, *near))
    near.sort(
        key=lambda candidate: (exactly.excess(candidate.value), abs(candidate.shape - BERT_BASE_SHAPE), candidate)
    )
    return Result(tuple(near[:count]), smallest, largest, len(rows) * (last - first + 1))


def _too_narrow(case: Case, constraints: Constraints) -> Problem:
    """The problem if no model within the constraints has a multiple of its key/value heads."""
    shared: int = case.model.config.shared()["num_key_value_heads"]
    nearest = lcm(constraints.step, shared * constraints.head_size)
    message = N_(
        "No number of heads up to hidden_to {value} is a multiple of num_key_value_heads {shared}: use {nearest}."
    )
    words = {"shared": shared, "value": constraints.hidden_to, "nearest": nearest}
    return Problem.of(message, "hidden_to", constraints.hidden_to, {"hidden_to": nearest}, **words)


def _first(items: Sequence[_Item], far: Callable[[_Item], tuple[bool, int]], count: int) -> list[_Item]:
    """The ``count`` items with the smallest distances, plus ties with the last, in their original order."""
    distances = list(map(far, items))
    last = sorted(distances)[:count][-1]
    return [item for item, distance in zip(items, distances, strict=True) if distance <= last]


def _rows(case: Case, budget: Budget, constraints: Constraints) -> Iterator[_Row]:
    heads, multiple = constraints.step // constraints.head_size, constraints.multiple
    values = _values(case, budget, constraints)
    for width in range(1, constraints.hidden_to // constraints.step + 1):
        hidden_size = width * constraints.step
        if not shares(case.model.config, width * heads):
            continue
        # After rounding, two ratios can give the same size.
        sizes = {_round_up(ratio.numerator * hidden_size, multiple, ratio.denominator) for ratio in constraints.ratios}
        for intermediate in sorted(sizes):
            yield _Row(width * heads, intermediate, values(width, intermediate))


def _values(case: Case, budget: Budget, constraints: Constraints) -> Callable[[int, int], Callable[[int], int]]:
    """The value as a function of width and intermediate size, then of depth."""
    heads, quantity = constraints.step // constraints.head_size, budget.quantity

    def case_of(width: int, intermediate: int, layers: int) -> Case:
        sizes = {"hidden_size": width * constraints.step, "num_attention_heads": width * heads}
        return case.replace(**sizes, intermediate_size=intermediate, num_hidden_layers=layers)

    if moment := PEAKS.get(quantity):
        from bertcalc.memory.peak.peak_formulas import peak_of_designs  # imports SymPy, which is slow

        sizes = case_of(1, 1, 1)
        peak = peak_of_designs(sizes.model, moment(sizes.plan), *sizes.batch.shape)
        return lambda width, intermediate: peak(width * heads, intermediate)

    def count(width: int, intermediate: int, layers: int) -> int:
        return budget.value(case_of(width, intermediate, layers))

    if budget.format and not budget.format.alike_layers:
        return lambda width, intermediate: cache(partial(count, width, intermediate))
    if quantity == FILE:
        return lambda width, intermediate: _nearly_linear(partial(count, width, intermediate))

    # Quadratic in the width, linear in intermediate size and depth, except for a single head (with relative positions)
    # and the widths at which the structure differs. If layers alternate, linear from period to period.
    apart = {1, *(size // constraints.step for size in case.model.config.breaks if size % constraints.step == 0)}
    period = case.model.config.layer_period if quantity == "activations" else 1
    counted = range(1, 2 * period + 2)
    curves = {
        (inner, layers): _through(partial(count, intermediate=inner, layers=layers), apart)
        for inner in (1, 2)
        for layers in counted
    }

    def depths(width: int, intermediate: int) -> Callable[[int], int]:
        counts = {corner: curve(width) for corner, curve in curves.items()}
        shallow = [
            counts[1, layers] + (intermediate - 1) * (counts[2, layers] - counts[1, layers]) for layers in counted
        ]

        def deep(layers: int) -> int:
            if layers == 1:  # all layers of ModernBERT except the first have different angles
                return shallow[0]
            periods, place = divmod(layers - 2, period)
            return shallow[place + 1] + periods * (shallow[place + period + 1] - shallow[place + 1])

        return deep

    return depths


def _nearly_linear(count: Callable[[int], int]) -> Callable[[int], int]:
    """The count as a function of depth, extrapolated from 2 and 3 layers, as the first may differ from the others."""
    second, third = count(2), count(3)
    return lambda layers: count(1) if layers == 1 else second + (layers - 2) * (third - second)


def _through(count: Callable[[int], int], apart: Collection[int]) -> Callable[[int], int]:
    """The count as a function of width: a quadratic polynomial, but counted exactly at the widths in ``apart``."""
    places = [width for width in range(2, 6) if width not in apart][:3]
    values = [Fraction(count(width)) for width in places]
    exact: dict[int, int] = {}

    def interpolated(width: int) -> int:
        if width in apart:
            return exact.setdefault(width, exact[width] if width in exact else count(width))
        total = Fraction()
        for place, value in zip(places, values, strict=True):
            others = [other for other in places if other != place]
            total += value * prod(Fraction(width - other, place - other) for other in others)
        return int(total)

    return interpolated


def _around(row: _Row, budget: Budget, constraints: Constraints, count: int) -> range:
    """The ``count`` depths on either side of a budget, which include the ``count`` nearest."""
    first, last = constraints.layers_from, constraints.layers_to
    depths = range(first, last + 1)
    within = first - 1 + bisect_right(depths, budget.amount, key=row.value_at)  # the last depth that does not exceed it
    return range(max(first, within - count + 1), min(last, within + count) + 1)


def _round_up(number: int, multiple: int, divisor: int = 1) -> int:
    """``number`` / ``divisor``, rounded up to a multiple."""
    return -(-number // (divisor * multiple)) * multiple
