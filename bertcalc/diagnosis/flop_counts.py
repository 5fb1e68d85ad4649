"""The FLOPs and multiply-adds that tools may print for a model: for common batches, by every convention.

>>> from bertcalc import BertConfig
>>> from bertcalc.text.amounts import typed
>>> [cost] = flops_of(Model(BertConfig()), typed("22.35G"))
>>> cost.batch_size, cost.sequence_length, cost.unit
(1, 128, 'FLOPs')
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple

from bertcalc.compute.conventions import RULES
from bertcalc.compute.flops import Convention, CostRow, Phase, by_name, total
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model.runnable import cannot_run
from bertcalc.text.amounts import Typed
from bertcalc.text.problem import InputError

# The sequence lengths and batch sizes that users and tools measure, the most common first.
_LENGTHS, _BATCH_SIZES = (128, 512, 256, 384, 64, 1024), (1, 8, 16, 32, 64)
# Minimum ratios of a number to its uncertainty: about three digits are needed for the cost of any batch, and two digits
# for the cost of a usual batch.
_PRECISE, _ROUGH = 100, 10
_USUAL_LENGTHS = (128, 512)
_MOST = 6

CostUnit = Literal["FLOPs", "MACs"]


class FlopCount(NamedTuple):
    """The cost of a batch in FLOPs or multiply-adds: as PyTorch counts it, or by a published rule."""

    operations: Fraction
    unit: CostUnit
    phase: Phase
    batch: Batch
    rule: str = ""  # a key of RULES, or "all" for PyTorch's count plus all element-wise operations

    @property
    def batch_size(self) -> int:
        return self.batch.batch_size

    @property
    def sequence_length(self) -> int:
        return self.batch.sequence_length


def flops_of(model: Model, number: Typed) -> tuple[FlopCount, ...]:
    """Return up to ``_MOST`` costs that a number of at least two digits may mean, the most common batch first.

    A number of parameters or bytes is never a cost. A number in FLOPs or MACs is compared only in its own unit. A
    number with only two digits means a single sequence. If it has no unit either, it means PyTorch's count for a usual
    length.
    """
    if number.unit in ("parameters", "bytes") or _uncertainty(number) * _ROUGH > 1:
        return ()
    # Longer sequences and larger batches cost more, so most numbers of parameters are below every cost.
    if all(cost.operations > number.high for cost in _of_one(model, min(_LENGTHS))):
        return ()
    units = (number.unit,) if number.unit else ("FLOPs", "MACs")
    costs = [cost for cost in flop_counts(model) if cost.unit in units]
    if is_rough(number):
        costs = [cost for cost in costs if cost.batch_size == 1 and (number.unit or _is_usual(cost))]
    return tuple([cost for cost in costs if number.low <= cost.operations <= number.high][:_MOST])


def step_costs_of(model: Model, number: Typed) -> Iterator[tuple[CostRow, Batch, CostUnit]]:
    """Yield the modules and operations whose cost is a number of at least three digits in FLOPs or MACs.

    A row with several copies is compared twice: with the cost of one copy, then with the cost of all copies, as a row
    with a single copy. Single sequences come first. Nothing is yielded unless the number has one of these units.
    """
    if is_rough(number) or cannot_run(model):
        return
    units: tuple[CostUnit, ...] = ("FLOPs", "MACs")
    for batch_size, length, unit in product(_BATCH_SIZES, _LENGTHS, units):
        if unit == number.unit and length <= model.config.longest:
            for row in by_name(model.steps(model.batch_of(1, length)), Convention(unit)):
                every = row._replace(copies=1, cost=row.copies * row.cost)
                for one in (row, every) if row.copies > 1 else (row,):
                    if number.means(batch_size * one.cost):
                        yield one, Batch(batch_size, length), unit


def is_rough(number: Typed) -> bool:
    """Whether a number has so few digits that it may be the cost of many batches."""
    return _uncertainty(number) * _PRECISE > 1


def _uncertainty(number: Typed) -> Fraction:
    return (number.high - number.low) / number.value if number.value else Fraction(1)


def _is_usual(cost: FlopCount) -> bool:
    return not cost.rule and cost.sequence_length in _USUAL_LENGTHS


@lru_cache(maxsize=16)
def flop_counts(model: Model) -> tuple[FlopCount, ...]:
    """Return the costs of common batches: single sequences first, and PyTorch's count before published rules."""
    lengths = [length for length in _LENGTHS if length <= model.config.longest]
    single = [cost for length in lengths for cost in _of_one(model, length)]
    # Every cost is proportional to the batch size.
    batches = [
        cost._replace(operations=batch_size * cost.operations, batch=cost.batch._replace(batch_size=batch_size))
        for batch_size in _BATCH_SIZES
        for cost in single
    ]
    return tuple(sorted(batches, key=lambda cost: (cost.batch_size != 1, bool(cost.rule))))


def _of_one(model: Model, length: int) -> Iterator[FlopCount]:
    """Yield the costs of one sequence; none if the model cannot run on it."""
    if cannot_run(model):
        return
    try:
        steps = model.steps(model.batch_of(1, length))
    except InputError:
        return
    batch = Batch(1, length)
    phases: tuple[Phase, ...] = ("forward", "training")
    units: tuple[CostUnit, ...] = ("FLOPs", "MACs")
    for phase in phases:
        for unit in units:
            yield FlopCount(Fraction(total(steps, Convention(unit), phase)), unit, phase, batch)
        with_elementwise = Fraction(total(steps, Convention("FLOPs", "all"), phase))
        yield FlopCount(with_elementwise, "FLOPs", phase, batch, "all")
    for name, rule in RULES.items():
        flops = rule.flops(model.config, *batch.shape, steps)
        yield FlopCount(flops, "FLOPs", rule.phase, batch, name)
        if name == "calflops":  # calflops prints training as 3 × forward, and counts MACs only in matrix products
            yield FlopCount(3 * flops, "FLOPs", "training", batch, name)
        else:
            yield FlopCount(flops / 2, "MACs", rule.phase, batch, name)
