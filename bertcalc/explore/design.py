"""Search for the models nearest to a budget among all models that the constraints allow.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.model import Model
>>> result = search(Case(Model(BertConfig())), Budget("parameters", 30_000_000), Constraints())
>>> [(design.hidden_size, design.num_hidden_layers, design.value) for design in result.designs[:3]]
[(640, 2, 30121600), (576, 3, 30176640), (384, 10, 29811072)]

Every quantity is a polynomial in the sizes of a candidate. It is quadratic in the number of heads (of fixed size), and
linear in intermediate_size and in the number of layers (of each kind, if layers alternate). Two widths are exceptions:
a single head, which needs no copy for a different memory layout, and the width at which ELECTRA needs no projection. A
few exact counts therefore determine the quantity of every candidate. For each width and intermediate size, bisection
finds the depths nearest to the budget.

The size of a file is counted at each width, because blocks of weights may not fit. It is nearly linear in the number of
layers, so the nearest candidates are counted again, to the byte.
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
# NVIDIA's "Matrix Multiplication Background": 16-bit products are fastest if sizes are multiples of 8, or on an A100,
# of 64.
MULTIPLES = (8, 64, 128)
# BERT's ratio is 4. With 8/3, a gated feed-forward network, which has three matrices instead of two, has the same
# number of parameters (Shazeer 2020, arXiv:2002.05202).
RATIOS: Mapping[str, tuple[Fraction, ...]] = {
    **{name: (Fraction(name),) for name in ("2", "8/3", "3", "4", "6", "8")},
    "any": tuple(map(Fraction, ("2", "8/3", "3", "4", "5", "6", "7", "8"))),
}
_Item = TypeVar("_Item")
BERT_BASE_SHAPE = 64  # hidden units per layer: 768 / 12
# The number of additional files to count to the byte besides those that seem nearest, and the inverse of the largest
# relative error of an estimated file size.
_MORE_FILES, _INEXACT = 8, 2000


FILE = "file"


@record
class Budget(NamedTuple):
    """An amount of a quantity, in the quantity's unit.

    The size of a file refers to the quantization ``format``; without a format, it refers to safetensors. An amount of
    bytes is a limit. Any other amount is a target, unless ``at_most`` makes it a limit.

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
        """The budget's quantity. Raises UnknownNameError if there is no quantity with this name."""
        return quantity_named(self.quantity, EVERY_QUANTITY)

    def value(self, case: Case) -> int:
        """Return the value of the quantity for a case."""
        if self.quantity == FILE and self.format:
            return quantized(case.model, self.format).file_bytes
        return self.kind.of(case)

    def excess(self, value: int) -> tuple[bool, int]:
        """Return the sort key (whether the value exceeds a limit, its distance from the budget)."""
        return self.is_limit and value > self.amount, abs(value - self.amount)


@record
class Constraints(NamedTuple):
    """The constraints on the candidates of a search.

    hidden_size is a multiple of ``head_size`` and of ``multiple``, and at most ``hidden_to``. intermediate_size is
    hidden_size times one of the ``ratios``, rounded up to a multiple of ``multiple``. The number of layers is from
    ``layers_from`` to ``layers_to``.
    """

    head_size: int = 64
    ratios: tuple[Fraction, ...] = RATIOS["4"]
    multiple: int = 64
    layers_from: int = 2
    layers_to: int = 24
    hidden_to: int = 4096
    pad_vocabulary: bool = False  # also round vocab_size up to a multiple of ``multiple``

    @property
    def step(self) -> int:
        """The smallest hidden_size; all others are multiples of it."""
        return lcm(self.head_size, self.multiple)

    def vocabulary(self, vocab_size: int) -> int:
        """Return the vocab_size of all candidates, rounded up if ``pad_vocabulary`` is set.

        The largest valid vocab_size is a multiple of all MULTIPLES, so the rounded size is valid.
        """
        return _round_up(vocab_size, self.multiple) if self.pad_vocabulary else vocab_size

    def problems(self) -> Iterator[Problem]:
        """Yield the problems with the head size, the multiple, and the limits on depth and width."""
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
        """Return the same constraints with the nearest valid limits."""
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
        """Hidden units per layer: the aspect ratio of Kaplan et al. 2020, arXiv:2001.08361, section 3.1."""
        return Fraction(self.hidden_size, self.num_hidden_layers)


class Result(NamedTuple):
    """The designs nearest to a budget, starting with the nearest.

    ``smallest`` and ``largest`` are the candidates with the smallest and the largest value, and ``candidates`` is the
    number of all candidates.
    """

    designs: tuple[Design, ...]
    smallest: Design
    largest: Design
    candidates: int

    def possible(self, budget: Budget) -> bool:
        """Whether the budget is at least the smallest value and, if it is a target, at most the largest value."""
        return self.smallest.value <= budget.amount and (budget.is_limit or budget.amount <= self.largest.value)


class _Row(NamedTuple):
    """All candidates with one width and intermediate size; ``value_at`` returns the value at a depth.

    The value grows with the depth.
    """

    heads: int
    intermediate: int
    value_at: Callable[[int], int]


@checked
def search(case: Case, budget: Budget, constraints: Constraints, count: int = 8) -> Result:
    """Find the ``count`` candidates nearest to a budget, with the architecture, batch and plan of a case.

    If the budget is a limit, candidates within the limit come first, the largest first. Ties are broken by the distance
    from bert-base's aspect ratio, and then by the fields, starting with the smaller hidden_size.

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
    if budget.quantity == FILE:  # the value at a depth is not exact, so more candidates than requested are counted
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
    """Return the problem that no number of heads within the constraints is a multiple of the key/value heads."""
    shared: int = case.model.config.shared()["num_key_value_heads"]
    nearest = lcm(constraints.step, shared * constraints.head_size)
    message = N_(
        "With hidden_to {value}, no number of heads is a multiple of num_key_value_heads {shared}: set hidden_to to "
        "{nearest}."
    )
    words = {"shared": shared, "value": constraints.hidden_to, "nearest": nearest}
    return Problem.of(message, "hidden_to", constraints.hidden_to, {"hidden_to": nearest}, **words)


def _first(items: Sequence[_Item], far: Callable[[_Item], tuple[bool, int]], count: int) -> list[_Item]:
    """Return the ``count`` items with the smallest distances, plus ties with the last item, in original order."""
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
    """Return a function of width and intermediate size that returns the value as a function of depth."""
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

    # The value is quadratic in the width, and linear in intermediate size and depth. Exceptions are a single head (with
    # relative positions) and the widths at which the structure differs. If layers alternate, the value is linear from
    # period to period.
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
            if layers == 1:  # a single layer of ModernBERT needs one set of rotary angles; more layers need two
                return shallow[0]
            periods, place = divmod(layers - 2, period)
            return shallow[place + 1] + periods * (shallow[place + period + 1] - shallow[place + 1])

        return deep

    return depths


def _nearly_linear(count: Callable[[int], int]) -> Callable[[int], int]:
    """Return the count as a function of depth, extrapolated from 2 and 3 layers, because the first layer may differ."""
    second, third = count(2), count(3)
    return lambda layers: count(1) if layers == 1 else second + (layers - 2) * (third - second)


def _through(count: Callable[[int], int], apart: Collection[int]) -> Callable[[int], int]:
    """Return the count as a function of width: a quadratic polynomial, but exact counts at the widths in ``apart``."""
    places = [width for width in range(2, 6) if width not in apart][:3]
    others = [[other for other in places if other != place] for place in places]
    divisors = [prod(place - other for other in far) for place, far in zip(places, others, strict=True)]
    divisor = lcm(*divisors)
    values = [count(place) * (divisor // by) for place, by in zip(places, divisors, strict=True)]
    exact: dict[int, int] = {}

    def interpolated(width: int) -> int:
        if width in apart:
            return exact.setdefault(width, exact[width] if width in exact else count(width))
        parts = (value * prod([width - other for other in far]) for value, far in zip(values, others, strict=True))
        return sum(parts) // divisor

    return interpolated


def _around(row: _Row, budget: Budget, constraints: Constraints, count: int) -> range:
    """Return the ``count`` depths on either side of a budget, which include the ``count`` nearest depths."""
    first, last = constraints.layers_from, constraints.layers_to
    depths = range(first, last + 1)
    within = first - 1 + bisect_right(depths, budget.amount, key=row.value_at)  # the last depth within the budget
    return range(max(first, within - count + 1), min(last, within + count) + 1)


def _round_up(number: int, multiple: int, divisor: int = 1) -> int:
    """Return ``number`` / ``divisor``, rounded up to a multiple of ``multiple``."""
    return -(-number // (divisor * multiple)) * multiple
