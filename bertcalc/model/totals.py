"""The parameters of a model by component, part and module.

Every count is a sum over the same tensors, so parts add up to totals.
"""

from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple, TypeVar

from bertcalc.model.model import Model
from bertcalc.model.modules import AFTER_LAYERS, Module, Place, Tensor, split_layer
from bertcalc.model.modules import Component as Component
from bertcalc.text import N_
from bertcalc.text.arguments import checked

Key = TypeVar("Key")
COMPONENTS: tuple[Component, ...] = (N_("embeddings"), N_("encoder"), N_("pooler"), N_("head"))

# Blocks of the encoder that have a LayerNorm outside the layers.
OUTSIDE_OF_LAYERS = (AFTER_LAYERS, "relative positions", "convolution")

# Maps a role (in layers, a block) to the name of its part.
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
    "adapter": N_("adapter"),
}


class Bar(NamedTuple):
    """A bar of a chart: its name, the path that a click opens ("" for a single tensor), its component, and its size."""

    name: str
    path: str
    component: Component
    parameters: int


def place_of(tensor: Tensor) -> tuple[Component, str]:
    """The (component, part) pair of a tensor."""
    return tensor.place.component, PARTS[part_of(tensor.place)]


def part_of(place: Place) -> str:
    """The key of a place in PARTS: its block in the encoder, otherwise its role.

    The key of a LayerNorm in a layer is its role.
    """
    if place.component == "encoder" and (place.role != "norm" or place.block in OUTSIDE_OF_LAYERS):
        return place.block
    return place.role


@checked
def totals_by_component(model: Module) -> dict[Component, int]:
    """The parameters of each component of the model, in the order of the forward pass.

    >>> from bertcalc import BertConfig, build
    >>> totals_by_component(build(BertConfig()))
    {'embeddings': 23837184, 'encoder': 85054464, 'pooler': 590592}
    """
    sums = summed((tensor.place.component, tensor.num_parameters()) for tensor in model.tensors())
    return {component: sums[component] for component in COMPONENTS if component in sums}


@checked
def totals_by_part(model: Module) -> dict[tuple[Component, str], int]:
    """The parameters of each (component, part) pair, summed over all layers."""
    sums = summed((place_of(tensor), tensor.num_parameters()) for tensor in model.tensors())
    return dict(sorted(sums.items(), key=lambda item: COMPONENTS.index(item[0][0])))


def comparable_totals(model: Module) -> dict[tuple[Component, str], int]:
    """Like ``totals_by_part``, but the decoder includes its bias, because families differ in where they put it.

    >>> from bertcalc import build
    >>> comparable_totals(build("bert-base-uncased", "BertForMaskedLM"))[("head", "decoder")]
    30522
    """
    return summed(
        ((component, "decoder" if part == "decoder bias" else part), count)
        for (component, part), count in totals_by_part(model).items()
    )


@checked
def parts_inside(model: Model, path: str) -> dict[tuple[Component, str], int]:
    """The parameters of each (component, part) pair in the module at ``path``.

    The path has no body prefix. A layer is counted once, not once per copy. Raises KeyError if there is no module at
    ``path``.

    >>> from bertcalc import BertConfig, build
    >>> parts_inside(build(BertConfig()), "encoder.layer.*")[("encoder", "attention")]
    2362368
    """
    return summed((place_of(tensor), tensor.num_parameters()) for tensor in submodule(model, path).tensors())


def summed(pairs: Iterable[tuple[Key, Any]]) -> dict[Key, Any]:
    """Map each key to the sum of its numbers, in order of first appearance; numbers may be symbols."""
    sums: dict[Key, Any] = {}
    for key, figure in pairs:
        sums[key] = sums.get(key, 0) + figure
    return sums


@checked
def over_layers(model: Module) -> list[Tensor]:
    """The tensors of the folded tree. If the first layer differs, tensors that all layers have are merged."""
    merged: dict[str, Tensor] = {}
    for tensor in model.tensors():
        in_layers = tensor.name.replace(".0.", ".*.", 1) if tensor.place.component == "encoder" else tensor.name
        first = merged.get(in_layers)
        merged[in_layers] = tensor._replace(copies=tensor.copies + first.copies) if first else tensor
    return list(merged.values())


@checked
def openable(model: Model) -> list[str]:
    """The paths that ``breakdown`` can open.

    These are "" (the model), top-level modules, single layers, and modules with several tensors. Paths have no body
    prefix, so links stay valid if the class changes.
    """
    leaves = [(model.without_prefix(path), module) for path, module, _ in model.modules() if module.parameters]
    paths = {"": None}
    for top in dict.fromkeys(_top(path) for path, _ in leaves):
        paths[top] = None
        paths |= {path: None for path, leaf in leaves if _top(path) == top and len(leaf.parameters) > 1}
    return list(paths)


@checked
def breakdown(model: Model, path: str = "") -> list[Bar]:
    """The bars of the module at ``path``: parts for the whole model, otherwise modules and single tensors.

    A layer is counted once, not once per copy. Raises KeyError if there is no module at ``path``.

    >>> from bertcalc import BertConfig, build
    >>> [(bar.name, bar.parameters) for bar in breakdown(build(BertConfig()), "pooler.dense")]
    [('weight', 589824), ('bias', 768)]
    """
    if not path:
        # ``*`` comes last, so a part of many layers opens one of the equal layers, not a different first layer.
        tensors = sorted(model.tensors(), key=lambda tensor: "*" in tensor.name)
        tops = {place_of(tensor): _top(model.without_prefix(tensor.name)) for tensor in tensors}
        return [Bar(key[1], tops[key], key[0], count) for key, count in totals_by_part(model).items()]
    opened = submodule(model, path)
    component = component_at(model, path)
    leaves = [(inside, leaf) for inside, leaf, _ in opened.modules() if leaf.parameters]
    bars = []
    for inside, leaf in leaves:
        if len(leaf.parameters) > 1 and len(leaves) > 1:
            bars.append(Bar(inside, f"{path}.{inside}", component, leaf.own_parameters()))
        else:
            names = [(f"{inside}.{name}" if inside else name, shape) for name, shape in leaf.parameters.items()]
            bars += [Bar(name, "", component, prod(shape)) for name, shape in names]
    return bars


@checked
def submodule(model: Model, path: str) -> Module:
    """The module at a path without body prefix, in the body or head. Raises KeyError if there is none."""
    body = model.body()
    return (body if path.split(".")[0] in body.children else model).get_submodule(path)


@checked
def component_at(model: Model, path: str) -> Component:
    """The component of the module at a path without body prefix; "head" if there is no such module."""
    top = top_level(model).get(path.split(".")[0])
    return top.place.component if top else "head"


@checked
def top_level(model: Model) -> dict[str, Module]:
    """The top-level modules of the body, then of the head, keyed by name without body prefix."""
    body = model.body()
    inside = (*body.named_children(folded=True), *model.named_children(folded=True))
    return {name: child for name, child, _copies in inside if child is not body}


def _top(path: str) -> str:
    """The path that a bar of the whole model opens: a single layer of the encoder, or a top-level module."""
    return split_layer(path)[0] or path.split(".")[0]
