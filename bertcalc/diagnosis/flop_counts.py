"""The FLOPs and multiply-adds of a model for usual batches, by every convention: what a tool may have printed.

>>> from bertcalc import BertConfig
>>> from bertcalc.text.amounts import typed
>>> [cost] = flops_of(Subject(BertConfig()), typed("22.35G"))
>>> cost.batch_size, cost.sequence_length, cost.unit
(1, 128, 'FLOPs')
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple

from bertcalc.compute.conventions import RULES
from bertcalc.compute.flops import Convention, Phase, total
from bertcalc.model.subject import Subject
from bertcalc.model.trace import Sizes
from bertcalc.text.amounts import Typed
from bertcalc.text.problem import InputError

# The batches that people and tools measure, the most usual first.
_LENGTHS, _BATCH_SIZES = (128, 512, 256, 384, 64, 1024), (1, 8, 16, 32, 64)
_PRECISE = 100  # the value of a rounded number is this many times its uncertainty at least: three digits
_MOST = 6

CostUnit = Literal["FLOPs", "MACs"]


class FlopCount(NamedTuple):
    """The cost of a batch in FLOPs or multiply-adds: as PyTorch counts it, or by a published rule."""

    operations: Fraction
    unit: CostUnit
    phase: Phase
    batch_size: int
    sequence_length: int
    rule: str = ""  # a key of RULES, or "all" for PyTorch's count and all element-wise operations


def flops_of(subject: Subject, number: Typed) -> tuple[FlopCount, ...]:
    """The costs that a number of at least three digits means, the most usual batch first.

    A number of parameters or bytes means none, one in FLOPs or MACs only a cost in that unit.
    """
    if number.unit in ("parameters", "bytes") or (number.high - number.low) * _PRECISE > number.value:
        return ()
    units = (number.unit,) if number.unit else ("FLOPs", "MACs")
    costs = [cost for cost in flop_counts(subject) if cost.unit in units]
    return tuple([cost for cost in costs if number.low <= cost.operations <= number.high][:_MOST])


@lru_cache(maxsize=16)
def flop_counts(subject: Subject) -> tuple[FlopCount, ...]:
    """The costs of usual batches: single sequences first, in either case PyTorch's count before the rules."""
    lengths = [length for length in _LENGTHS if length <= subject.config.longest]
    single = [cost for length in lengths for cost in _of_one(subject, length)]
    # Every cost is proportional to the batch size.
    batches = [
        cost._replace(operations=batch_size * cost.operations, batch_size=batch_size)
        for batch_size in _BATCH_SIZES
        for cost in single
    ]
    return tuple(sorted(batches, key=lambda cost: (cost.batch_size != 1, bool(cost.rule))))


def _of_one(subject: Subject, length: int) -> Iterator[FlopCount]:
    """The costs of one sequence; none if the model cannot run on it."""
    try:
        steps = list(subject.model().run(Sizes(1, length, subject.seen(length))))
    except InputError:
        return
    phases: tuple[Phase, ...] = ("forward", "training")
    units: tuple[CostUnit, ...] = ("FLOPs", "MACs")
    for phase in phases:
        for unit in units:
            yield FlopCount(Fraction(total(steps, Convention(unit), phase)), unit, phase, 1, length)
        both = Fraction(total(steps, Convention("FLOPs", "all"), phase))
        yield FlopCount(both, "FLOPs", phase, 1, length, "all")
    for name, rule in RULES.items():
        flops = rule.flops(subject.config, 1, length, steps)
        yield FlopCount(flops, "FLOPs", rule.phase, 1, length, name)
        yield FlopCount(flops / 2, "MACs", rule.phase, 1, length, name)
