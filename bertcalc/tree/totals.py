"""Where the parameters are: the tensors of a tree by component, by part and by role, and what to open next.

Every figure is a sum over the same rows, so the parts of anything add up to its total.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple, TypeVar

from bertcalc.family import Model
from bertcalc.text import N_
from bertcalc.tree.nn import AFTER_LAYERS, Module, Place, Tensor, split_layer
from bertcalc.tree.nn import Component as Component

Key = TypeVar("Key")
COMPONENTS: tuple[Component, ...] = (N_("embeddings"), N_("encoder"), N_("pooler"), N_("head"))

# Blocks of the encoder with a LayerNorm that is in no layer.
OUTSIDE_OF_LAYERS = (AFTER_LAYERS, "relative positions", "convolution")

# What each role is called where a component is shown by its parts; a layer is shown by its blocks.
PARTS: dict[str, str] = {
    "word": N_("word"),
    "position": N_("position"),
    "token type": N_("token type"),
    "task type": N_("task type"),
    "norm": "LayerNorm",
    "attention": N_("attention"),
    "cross-attention": N_("cross-attention"),
    "feed-forward": N_("feed-forward"),
    "projection": N_("projection"),
    "relative positions": N_("relative positions"),
    "convolution": N_("convolution"),
    AFTER_LAYERS: N_("final LayerNorm"),
    "map": N_("projection"),
    "dense": N_("dense"),
    "transform": N_("transform"),
    "activation": N_("transform"),
    "classifier activation": N_("transform"),
    "decoder": N_("decoder"),
    "decoder bias": N_("decoder bias"),
    "next sentence": N_("next sentence"),
    "sentence order": N_("sentence order"),
    "classifier": N_("classifier"),
    "answer span": N_("answer span"),
}


class Bar(NamedTuple):
    """A piece of what is looked at: its name, the path that opens it ("" for a single tensor), its elements."""

    name: str
    path: str
    component: Component
    parameters: int


def place_of(tensor: Tensor) -> tuple[Component, str]:
    """The component that a tensor is in, and the part of it."""
    return tensor.place.component, PARTS[part_of(tensor.place)]


def part_of(place: Place) -> str:
    """What decides the part: in a layer the block, unless it is a LayerNorm; elsewhere the role."""
    if place.component == "encoder" and (place.role != "norm" or place.block in OUTSIDE_OF_LAYERS):
        return place.block
    return place.role


def totals_by_component(model: Module) -> dict[Component, int]:
    """Parameters of each component that the model has, in the order in which they run."""
    sums = summed((tensor.place.component, tensor.num_parameters()) for tensor in model.tensors())
    return {component: sums[component] for component in COMPONENTS if component in sums}


def totals_by_part(model: Module) -> dict[tuple[Component, str], int]:
    """Parameters of each (component, part), all layers together."""
    sums = summed((place_of(tensor), tensor.num_parameters()) for tensor in model.tensors())
    return dict(sorted(sums.items(), key=lambda item: COMPONENTS.index(item[0][0])))


def summed(pairs: Iterable[tuple[Key, Any]]) -> dict[Key, Any]:
    """The sum of the figures of each key, in the order in which the keys come; figures may be symbols."""
    sums: dict[Key, Any] = {}
    for key, figure in pairs:
        sums[key] = sums.get(key, 0) + figure
    return sums


def over_layers(model: Module) -> list[Tensor]:
    """The tensors of the folded tree; what the first of layers that differ has as all others have it is there once."""
    found: dict[str, Tensor] = {}
    for tensor in model.tensors():
        in_layers = tensor.name.replace(".0.", ".*.", 1) if tensor.place.component == "encoder" else tensor.name
        first = found.get(in_layers)
        found[in_layers] = tensor._replace(copies=tensor.copies + first.copies) if first else tensor
    return list(found.values())


def shares(totals: Mapping[Key, int]) -> dict[Key, Fraction]:
    whole = sum(totals.values())
    return {key: Fraction(count, whole) for key, count in totals.items()}


def openable(model: Model) -> list[str]:
    """The paths that ``breakdown`` can open: "" for the whole model, one layer, and modules of several tensors.

    Paths are without the prefix of the body, so that a link outlives a change of class.
    """
    leaves = [(model.bare(path), module) for path, module, _ in model.modules() if module.parameters]
    found = {"": None}
    for top in dict.fromkeys(_top(path) for path, _ in leaves):
        found[top] = None
        found |= {path: None for path, leaf in leaves if _top(path) == top and len(leaf.parameters) > 1}
    return list(found)


def breakdown(model: Model, path: str = "") -> list[Bar]:
    """What the module at ``path`` is made of; the whole model by parts, anything else down to single tensors.

    One layer is opened as one layer: its bars are not multiplied. Raises KeyError if there is nothing at path.
    """
    if not path:
        # What is in many layers is opened in one of those that are alike.
        tensors = sorted(model.tensors(), key=lambda tensor: "*" in tensor.name)
        tops = {place_of(tensor): _top(model.bare(tensor.name)) for tensor in tensors}
        return [Bar(key[1], tops[key], key[0], count) for key, count in totals_by_part(model).items()]
    opened = submodule(model, path)
    component = component_at(model, path)
    leaves = [(at, leaf) for at, leaf, _ in opened.modules() if leaf.parameters]
    bars = []
    for at, leaf in leaves:
        if len(leaf.parameters) > 1 and len(leaves) > 1:
            bars.append(Bar(at, f"{path}.{at}", component, leaf.own_parameters()))
        else:
            names = [(f"{at}.{name}" if at else name, shape) for name, shape in leaf.parameters.items()]
            bars += [Bar(name, "", component, prod(shape)) for name, shape in names]
    return bars


def submodule(model: Model, path: str) -> Module:
    """The module at a path without the prefix of the body, in any class. Raises KeyError if there is none."""
    body = model.body()
    return (body if path.split(".")[0] in body.children else model).get_submodule(path)


def component_at(model: Model, path: str) -> Component:
    """The component of what is at a path without the prefix of the body; the head for what is nowhere."""
    top = top_level(model).get(path.split(".")[0])
    return top.place.component if top else "head"


def top_level(model: Model) -> dict[str, Module]:
    """The modules of the body and then those of the head, by name, whether or not the body has a prefix."""
    body = model.body()
    inside = (*body.named_children(folded=True), *model.named_children(folded=True))
    return {name: child for name, child, _copies in inside if child is not body}


def _top(path: str) -> str:
    """What a click on a part of the whole model opens: a component, or one layer of the encoder."""
    return split_layer(path)[0] or path.split(".")[0]
