"""The layers of a forward pass: the steps before them, the steps of each kind of layer, and the steps after them."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from bertcalc.forward.trace import Step
from bertcalc.tree.nn import split_layer


class Layers(NamedTuple):
    """Layers that are made alike, one after the other: the number of the first, how many, the steps of one of them.

    What runs after them and before other layers, such as a convolution after the first layer, comes with their steps.
    """

    start: int
    copies: int
    steps: list[Step]

    @property
    def entry(self) -> str:
        """The name of the value that goes into the first of them."""
        return self.steps[0].takes[0].name

    @property
    def last(self) -> str:
        """The name of the value that each of them gives to the next."""
        return self.steps[-1].gives.name

    @property
    def made(self) -> list[str]:
        """What such a layer consists of: the names of its own steps without its number."""
        return [inside for layer, inside in (split_layer(step.name) for step in self.steps) if layer]


class Stack(NamedTuple):
    """All steps; the layers in groups that are made alike: of ModernBERT the first layer, and all others."""

    before: list[Step]
    groups: list[Layers]
    after: list[Step]

    @property
    def length(self) -> int:
        return self.groups[-1].start + self.groups[-1].copies

    def group(self, layer: int) -> Layers:
        """The group that a layer is in. Raises IndexError if there is no such layer."""
        for found in self.groups:
            if found.start <= layer < found.start + found.copies:
                return found
        raise IndexError(f"layer {layer} is not one of 0 to {self.length - 1}")


def stack(steps: Sequence[Step]) -> Stack:
    """The layers of a forward pass, and what comes before and after them."""
    found = Stack([], [], [])
    start = 0
    for name, group in groupby(steps, key=lambda step: split_layer(step.name)[0]):
        if name:
            inside = list(group)
            if found.after:
                found.groups[-1].steps.extend(found.after)
                found.after.clear()
            found.groups.append(Layers(start, inside[0].runs, inside))
            start = start + inside[0].runs
        else:
            (found.after if found.groups else found.before).extend(group)
    return found


def in_layers(step: Step, layers: Sequence[int] | None) -> Step:
    """A step as it is in some layers, with all angles that it takes there; in all kinds of layers if none are named."""
    if not step.turns:
        return step
    turns = step.turns if layers is None else [step.turns[layer % len(step.turns)] for layer in layers]
    return step._replace(takes=(*step.takes[:1], *{value.name: value for value in turns}.values()))
