"""Which gradients a backward pass computes: of what is trained, and of everything between that and the loss."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bertcalc.forward.stack import Layers, in_layers, stack
from bertcalc.forward.steps import Step
from bertcalc.forward.walk import numbered
from bertcalc.tree.freezing import Freezing
from bertcalc.tree.nn import Tensor

NOTHING_FROZEN = Freezing()


class Gradients(NamedTuple):
    """The steps with frozen layers apart, the tensors that each learns, and the steps that a gradient flows through."""

    steps: list[Step]
    trained: Mapping[str, set[str]]  # by the step's name: the last names of its tensors
    flowing: set[str]


def gradients(steps: Sequence[Step], freezing: Freezing, *, first: bool = False) -> Gradients:
    """The gradients of the steps of a forward pass; ``first``: the first layer that can learn is apart, too.

    Where nothing is trained in front of it, no gradient flows to its input: that is so of no other layer.
    """
    apart, numbers, length = _apart(steps, {freezing.layers, freezing.layers + int(first)})
    if freezing.layers and freezing.layers == length:  # all of them, wherever they are
        numbers = {}
    trains_all = freezing == NOTHING_FROZEN
    owned = {tensor.name: tensor for step in apart for tensor in step.tensors}
    trained = {
        step.name: {
            last
            for last, tensor in _learned(step, owned).items()
            if trains_all or not freezing.is_frozen(tensor, _number(tensor, numbers))
        }
        for step in apart
    }
    return Gradients(apart, trained, _flowing(apart, trained))


def _apart(steps: Sequence[Step], cuts: Iterable[int]) -> tuple[list[Step], dict[str, int], int]:
    """The steps with groups of layers apart, cut in front of some, under names in the manner of slices.

    Also the number of the first layer for each of these names, and how many layers there are. A group that is not cut
    keeps its name.
    """
    before, groups, after = layers = stack(steps)
    apart = list(before)
    numbers: dict[str, int] = {}
    inside = groups[0].entry
    for group in groups:
        bounds = _bounds(group, layers.length, cuts)
        for first, end in pairwise(bounds):
            whole = len(bounds) == 2
            name = "*" if whole else f"{first or ''}:{'' if end is bounds[-1] and group is groups[-1] else end}"
            if not whole or first:
                numbers[name] = first
            kinds = range(first, end) if isinstance(end, int) else None
            for step in group.steps:
                named = numbered(in_layers(step, kinds), name, {group.entry: inside})
                apart.append(named if whole else named._replace(name=named.gives.name, runs=end - first))
            inside = apart[-1].gives.name
    apart += [numbered(step, name, {groups[-1].last: inside}) for step in after]
    return apart, numbers, layers.length


def _bounds(group: Layers, length: int, cuts: Iterable[int]) -> list[int]:
    """Where a group of layers begins and ends, and in between where it is cut."""
    start, end = group.start, group.start + group.copies
    inner = {cut for cut in cuts if cut not in (0, start, length, length + 1)}
    if isinstance(end, int):
        inner = {cut for cut in inner if start < cut < end}
    return [start, *sorted(inner), end]


def _flowing(steps: Sequence[Step], trained: Mapping[str, set[str]]) -> set[str]:
    """The steps that a gradient flows back through: each value is named after the step that gives it."""
    flowing: set[str] = set()
    for step in steps:
        if step.operation == "angles":  # computed without gradients
            continue
        if trained[step.name] or any(value.name in flowing for value in step.takes):
            flowing.add(step.name)
    return flowing


def _number(tensor: Tensor, numbers: Mapping[str, int]) -> int:
    """The number of the layer that a tensor is in: the first of its group of layers."""
    return next((numbers[part] for part in tensor.name.split(".") if part in numbers), 0)


def _learned(step: Step, owned: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that a step uses by their last names, with those that it shares."""
    tied = step.module.tied if step.module else {}
    return {
        **{tensor.name.rpartition(".")[2]: tensor for tensor in step.tensors},
        **{last: owned[name] for last, name in tied.items()},
    }
