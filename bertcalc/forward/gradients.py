"""The gradients of a backward pass: which tensors get one, and through which steps a gradient flows."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bertcalc.config import all_or_none
from bertcalc.model.freezing import Freezing
from bertcalc.model.modules import Tensor, split_layer
from bertcalc.model.stack import Layers, in_layers, numbered, stack
from bertcalc.model.trace import Step
from bertcalc.text.arguments import checked

NOTHING_FROZEN = Freezing()


class Gradients(NamedTuple):
    """The steps with frozen layers split off, the trained tensors of each step, and the steps with a gradient."""

    steps: list[Step]
    trained: Mapping[str, set[str]]  # keyed by step name: the last parts of the trained tensors' names
    flowing: set[str]


@checked
def gradients(steps: Sequence[Step], freezing: Freezing, *, first: bool = False) -> Gradients:
    """The gradients of the steps of a forward pass; frozen layers are split off from the other layers.

    With ``first``, the first layer that is not frozen is also split off. If nothing before that layer is trained, it is
    the only trained layer with an input that gets no gradient.
    """
    cuts = {freezing.layers, freezing.layers + 1} if first else {freezing.layers}
    apart, numbers, length = _apart(steps, cuts, first=first)
    if freezing.layers and all_or_none(freezing.layers == length):  # any part may count as layer 0
        numbers = {}
    trains_all = freezing == NOTHING_FROZEN
    owned = {tensor.name: tensor for step in apart for tensor in step.tensors}
    trained = {
        step.name: {
            last
            for last, tensor in _learned(step, owned).items()
            if not tensor.frozen and (trains_all or not freezing.is_frozen(tensor, _number(tensor, numbers)))
        }
        for step in apart
    }
    return Gradients(apart, trained, _flowing(apart, trained))


def _apart(steps: Sequence[Step], cuts: Iterable[int], *, first: bool) -> tuple[list[Step], dict[str, int], int]:
    """Split groups of layers before the layers in ``cuts``, and name the parts like slices, such as "2:6".

    Return the steps, the number of each part's first layer keyed by part name, and the number of layers. A group that
    is not split keeps its name. With ``first``, the first layer of each group of layers that a change treats alike is
    also split off, because it may be the first layer in which something is trained.
    """
    before, groups, after = layers = stack(steps)
    apart = list(before)
    numbers: dict[str, int] = {}
    inside = groups[0].entry
    for group in groups:
        own = split_layer(group.steps[0].name)[0].rpartition(".")[2]
        bounds = _bounds(group, layers.length, {*cuts, group.start + 1} if first and "-" in own else cuts)
        for start, end in pairwise(bounds):
            whole = len(bounds) == 2
            name = own if whole else f"{start or ''}:{'' if end is bounds[-1] and group is groups[-1] else end}"
            if not whole or start:
                numbers[name] = start
            kinds = range(start, end) if isinstance(end, int) else None
            for step in group.steps:
                named = numbered(in_layers(step, kinds), name, {group.entry: inside})
                apart.append(named if whole else named._replace(name=named.gives.name, runs=end - start))
            inside = apart[-1].gives.name
    apart += [numbered(step, name, {groups[-1].last: inside}) for step in after]
    return apart, numbers, layers.length


def _bounds(group: Layers, length: int, cuts: Iterable[int]) -> list[int]:
    """The first layer of a group, the layers in ``cuts`` that split it, and its end (exclusive)."""
    start, end = group.start, group.start + group.copies
    outside = (0, start, length, length + 1)
    inner = {cut for cut in cuts if not any(all_or_none(cut == edge) for edge in outside)}
    if isinstance(end, int) or hasattr(end, "all"):  # a symbolic end is larger than any cut
        inner = {cut for cut in inner if all_or_none(start < cut) and all_or_none(cut < end)}
    return [start, *sorted(inner), end]


def _flowing(steps: Sequence[Step], trained: Mapping[str, set[str]]) -> set[str]:
    """The names of the steps that a gradient flows back through (a value has the name of the step that gives it)."""
    flowing: set[str] = set()
    for step in steps:
        if step.operation == "angles":  # computed without gradients
            continue
        if trained[step.name] or any(value.name in flowing for value in step.takes):
            flowing |= {step.name, step.gives.name}  # the names differ if an adapter is in front of a module
    return flowing


def _number(tensor: Tensor, numbers: Mapping[str, int]) -> int:
    """The number of the first layer in the group of layers that a tensor belongs to; 0 outside numbered groups."""
    return next((numbers[part] for part in tensor.name.split(".") if part in numbers), 0)


def _learned(step: Step, owned: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that a step uses, including tied ones, keyed by the last part of their names.

    A tensor that peft copied is left out if no step uses it under its own name: it is frozen.
    """
    tied = step.module.tied if step.module else {}
    return {
        **{tensor.name.rpartition(".")[2]: tensor for tensor in step.tensors},
        **{last: owned[name] for last, name in tied.items() if name in owned},
    }
