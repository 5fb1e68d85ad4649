"""Where the parameters are: the tensors of a tree by component, by part and by role, and what to open next.

Every figure is a sum over the same rows, so the parts of anything add up to its total.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import prod
from typing import Literal, NamedTuple, TypeVar

from bertcalc.text import N_
from bertcalc.tree.nn import Module, Tensor

Component = Literal["embeddings", "encoder", "pooler", "head"]
Role = Literal["weights", "biases"]
Key = TypeVar("Key")
COMPONENTS: tuple[Component, ...] = (N_("embeddings"), N_("encoder"), N_("pooler"), N_("head"))

# The part that a tensor belongs to: the first fragment found in its name, inside its component. LayerNorm comes
# first in the encoder because it sits inside the attention's and the feed-forward's output modules.
PARTS: dict[Component, tuple[tuple[str, str], ...]] = {
    "embeddings": (
        ("word_embeddings", N_("word")),
        ("position_embeddings", N_("position")),
        ("token_type_embeddings", N_("token type")),
        ("LayerNorm", "LayerNorm"),
    ),
    "encoder": (
        ("LayerNorm", "LayerNorm"),
        ("crossattention", N_("cross-attention")),
        ("attention", N_("attention")),
        ("", N_("feed-forward")),
    ),
    "pooler": (("", N_("dense")),),
    "head": (
        ("transform.dense", N_("transform")),
        ("transform.transform_act_fn", N_("transform")),
        ("LayerNorm", "LayerNorm"),
        ("predictions.decoder", N_("decoder")),
        ("predictions.bias", N_("decoder bias")),
        ("seq_relationship", N_("next sentence")),
        ("classifier", N_("classifier")),
        ("qa_outputs", N_("answer span")),
    ),
}


class Row(NamedTuple):
    """A tensor with its place in the model."""

    tensor: Tensor
    component: Component
    part: str
    role: Role


class Bar(NamedTuple):
    """A piece of what is looked at: its name, the path that opens it ("" for a single tensor), its elements."""

    name: str
    path: str
    component: Component
    parameters: int


def rows(model: Module) -> Iterator[Row]:
    """Every tensor of the folded tree with the component, the part and the role that it has."""
    for tensor in model.tensors():
        component = component_of(tensor.name)
        part = next(part for fragment, part in PARTS[component] if fragment in tensor.name)
        yield Row(tensor, component, part, "biases" if tensor.name.endswith("bias") else "weights")


def totals_by_component(model: Module) -> dict[Component, int]:
    """Parameters of each component that the model has, in the order of the model."""
    return _sum((component_of(tensor.name), tensor) for tensor in model.tensors())


def totals_by_part(model: Module) -> dict[tuple[Component, str], int]:
    """Parameters of each (component, part), all layers together."""
    return _sum(((row.component, row.part), row.tensor) for row in rows(model))


def totals_by_role(model: Module) -> dict[Role, int]:
    """Parameters in weights and in biases; LayerNorm's gamma is a weight, its beta a bias, as PyTorch names them."""
    return _sum((row.role, row.tensor) for row in rows(model))


def shares(totals: Mapping[Key, int]) -> dict[Key, Fraction]:
    """Each figure's exact share of their sum."""
    whole = sum(totals.values())
    return {key: Fraction(count, whole) for key, count in totals.items()}


def openable(model: Module) -> list[str]:
    """The paths that ``breakdown`` can open: "" for the whole model, one layer, and modules of several tensors.

    Paths are without the "bert." of the task architectures, so that a link outlives a change of architecture.
    """
    leaves = [(bare(path), module) for path, module, _ in model.modules() if module.parameters]
    found = {"": None}
    for top in dict.fromkeys(_top(path) for path, _ in leaves):
        found[top] = None
        found |= {path: None for path, leaf in leaves if _top(path) == top and len(leaf.parameters) > 1}
    return list(found)


def breakdown(model: Module, path: str = "") -> list[Bar]:
    """What the module at ``path`` is made of; the whole model by parts, anything else down to single tensors.

    One layer is opened as one layer: its bars are not multiplied. Raises KeyError if there is nothing at path.
    """
    if not path:
        tops = {(row.component, row.part): _top(bare(row.tensor.name)) for row in rows(model)}
        return [Bar(key[1], tops[key], key[0], count) for key, count in totals_by_part(model).items()]
    component = component_of(path)
    leaves = [(at, leaf) for at, leaf, _ in submodule(model, path).modules() if leaf.parameters]
    bars = []
    for at, leaf in leaves:
        if len(leaf.parameters) > 1 and len(leaves) > 1:
            bars.append(Bar(at, f"{path}.{at}", component, leaf.own_parameters()))
        else:
            names = [(f"{at}.{name}" if at else name, shape) for name, shape in leaf.parameters.items()]
            bars += [Bar(name, "", component, prod(shape)) for name, shape in names]
    return bars


def submodule(model: Module, path: str) -> Module:
    """The module at a path without "bert.", in any architecture. Raises KeyError if there is none."""
    body = model.children.get("bert", model)
    return (body if path.split(".")[0] in _BODY else model).get_submodule(path)


def top_level(model: Module) -> dict[str, Module]:
    """The modules of the body and then those of the head, by name, whether or not the body is inside a "bert"."""
    body = model.children.get("bert", model)
    return {**body.children, **{name: child for name, child in model.children.items() if name != "bert"}}


def component_of(name: str) -> Component:
    """The component that a tensor or module belongs to, by its name: what is not the body of BERT is the head."""
    top = bare(name).split(".")[0]
    return top if top in _BODY else "head"


def bare(name: str) -> str:
    """A name without the "bert." that the task architectures put before the body's tensors."""
    return name.removeprefix("bert.")


_BODY = COMPONENTS[:-1]


def _top(path: str) -> str:
    """What a click on a part of the whole model opens: a component, or one layer of the encoder."""
    layer, star, _ = path.partition("*")
    return layer + star if star else path.split(".")[0]


def _sum(pairs: Iterable[tuple[Key, Tensor]]) -> dict[Key, int]:
    sums: dict[Key, int] = {}
    for key, tensor in pairs:
        sums[key] = sums.get(key, 0) + tensor.num_parameters()
    return sums
