"""Group the steps of a forward pass: before the layers, in each kind of layer, and after the layers."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from bertcalc.model.modules import split_layer
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.text.live_numbers import fill
from bertcalc.text.problem import InputError, Problem

_NUMBERS = re.compile(r"(?<=\.)(\*|[0-9]+-[0-9]+)(?=\.|$)")  # the layers in a name: * for all layers, or 0-5


class NoLayerError(InputError, IndexError):
    """Raised for a layer that the model does not have."""


class Layers(NamedTuple):
    """Consecutive layers with the same structure.

    ``start`` is the number of the first layer, ``copies`` the number of layers, ``steps`` the steps of a single layer.
    ``steps`` includes any steps between this group and the next, such as a convolution after the first layer.
    """

    start: int
    copies: int
    steps: list[Step]

    @property
    def entry(self) -> str:
        """The name of the input of the first layer."""
        return self.steps[0].takes[0].name

    @property
    def last(self) -> str:
        """The name of the value that each layer passes to the next."""
        return self.steps[-1].gives.name

    @property
    def made(self) -> list[str]:
        """The names of the layer's own steps, relative to the layer: equal for layers with the same structure."""
        return [inside for layer, inside in (split_layer(step.name) for step in self.steps) if layer]


class Stack(NamedTuple):
    """All steps, with consecutive layers of the same structure in groups: in ModernBERT, layer 0, and the others."""

    before: list[Step]
    groups: list[Layers]
    after: list[Step]

    @property
    def length(self) -> int:
        return self.groups[-1].start + self.groups[-1].copies

    def group(self, layer: int) -> Layers:
        """The group that a layer is in. Raises NoLayerError, which is also an IndexError, if there is none."""
        for layers in self.groups:
            if layers.start <= layer < layers.start + layers.copies:
                return layers
        message = N_("layer {value} is out of range: it must be from 0 to {high}.")
        raise NoLayerError(Problem.of(message, "layer", layer, value=layer, high=self.length - 1))


@checked
def stack(steps: Sequence[Step]) -> Stack:
    """Group the steps of a forward pass."""
    layers = Stack([], [], [])
    start = 0
    for name, group in groupby(steps, key=lambda step: split_layer(step.name)[0]):
        if name:
            inside = list(group)
            if layers.after:
                layers.groups[-1].steps.extend(layers.after)
                layers.after.clear()
            layers.groups.append(Layers(start, inside[0].runs, inside))
            start = start + inside[0].runs
        else:
            (layers.after if layers.groups else layers.before).extend(group)
    return layers


def in_layers(step: Step, layers: Sequence[int] | None) -> Step:
    """The step with the rotary angles that it uses in ``layers``, or in all layers if ``layers`` is None."""
    if not step.turns:
        return step
    turns = step.turns if layers is None else [step.turns[layer % len(step.turns)] for layer in layers]
    return step._replace(takes=(*step.takes[:1], *{value.name: value for value in turns}.values()))


def numbered(step: Step, layer: int | str, names: Mapping[str, str]) -> Step:
    """Put the layer's number into the names of a step's inputs, output and tensors.

    ``names`` maps some value names to the names that replace them. Tensors that all runs share get layer number 0.
    """
    if isinstance(layer, int):
        step = in_layers(step, [layer])

    def number(name: str) -> str:
        return names.get(name) or in_layer(name, layer)

    tensor_number = "0" if step.shared else layer

    return step._replace(
        takes=tuple(value._replace(name=number(value.name)) for value in step.takes),
        gives=step.gives._replace(name=number(step.gives.name)),
        tensors=tuple(tensor._replace(name=in_layer(tensor.name, tensor_number)) for tensor in step.tensors),
    )


def in_layer(name: str, layer: int | str) -> str:
    """Replace the group of layers in a name by the number of a layer.

    >>> in_layer("encoder.layer.0-5.output.dense", 3)
    'encoder.layer.3.output.dense'
    """
    numbered_name = _NUMBERS.sub("{layer}", name)
    return fill(numbered_name, layer=layer) if numbered_name != name else name
