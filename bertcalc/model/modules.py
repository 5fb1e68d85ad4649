"""A module tree like torch.nn's, made of names, classes and shapes, without weights and without PyTorch.

Sizes are integers, SymPy symbols (for formulas) or NumPy arrays (for columns). The code is the same for all three, and
type annotations say ``int``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from bertcalc.config import MixedError
from bertcalc.config.activations import TensorsForBackward
from bertcalc.text import N_
from bertcalc.text.arguments import checked, flag, text, unknown
from bertcalc.text.live_choices import either
from bertcalc.text.live_numbers import between, fill
from bertcalc.text.problem import wrong

Shape = tuple[int, ...]
NO_TENSORS: Mapping[str, Shape] = MappingProxyType({})
NOT_TIED: Mapping[str, str] = MappingProxyType({})
NO_BUFFERS: Mapping[str, tuple[Shape, bool]] = MappingProxyType({})

Component = Literal["embeddings", "encoder", "pooler", "head"]
# The path of a layer in a name, and the rest. The layer is * (all layers), 3 (a single layer), or 1-21 or 3: (several
# layers). The numbers in peft's prompt_encoder are not layer numbers.
_LAYER = re.compile(r"(?!prompt_encoder\.)(.*?\.(?:\*|[^.]*:[^.]*|[0-9]+(?:-[0-9]+)?))\.(.+)")


class Place(NamedTuple):
    """The component, block and role of a module, tensor or step.

    Programs declare it with the module, so no code has to parse names. ``block`` is a part of a layer or head with
    several modules, such as attention, cross-attention, feed-forward, language model. ``role`` is the function within
    the block, such as query or norm.
    """

    component: Component = "head"
    block: str = ""
    role: str = ""


NOWHERE = Place()
_NO_MODULE = (
    N_("There is no module {name} in {parent}: did you mean {nearest}?"),
    N_("There is no module {name} in {parent}. It contains: {options}."),
)
AFTER_LAYERS = "after the layers"  # the block of the encoder's modules that run after all layers


class Tensor(NamedTuple):
    """A parameter tensor, or all its copies in a repeated layer."""

    name: str  # Hugging Face's name, with * instead of the layer number if the tensor stands for all copies
    shape: Shape
    copies: int
    place: Place = NOWHERE
    frozen: bool = False  # whether it is never trained (see Module.frozen)

    def num_parameters(self) -> int:
        return self.copies * prod(self.shape)


class Packed4Bits(NamedTuple):
    """A layer's 4-bit weight, which is unpacked for each matrix product.

    - ``num_bytes``: the size of each stored tensor in bytes.
    - ``shape``: (out_features, in_features).
    - ``item``: the bytes per element in matrix products.
    - ``scales``: the number of scales that are quantized themselves, or 0.
    """

    num_bytes: tuple[int, ...]
    shape: Shape
    item: int
    scales: int = 0


class Packed8Bits(NamedTuple):
    """A layer's int8 weight; its inputs are quantized from float16 to int8 before the matrix product.

    - ``num_bytes``: the size of each stored tensor in bytes.
    - ``shape``: (out_features, in_features).
    - ``in_float16``: whether 16-bit tensors are float16, not bfloat16. Autocast overrides this.
    - ``finds_outliers``: whether the layer searches its inputs for large values and does not quantize their columns.
    """

    num_bytes: tuple[int, ...]
    shape: Shape
    in_float16: bool
    finds_outliers: bool


PackedWeight = Packed4Bits | Packed8Bits


class PrintedLine(NamedTuple):
    """A line of ``print(model)``, the module that it belongs to, and the number of copies that it stands for.

    A module with children has a first line, which opens it, and a last line, which closes it.
    """

    text: str
    path: str
    module: "Module"
    copies: int
    opens: bool = False
    closes: bool = False


class Module:
    """A node of the tree: its class, its own tensors, and its children.

    Tensors are keyed by the last part of their names, such as ``weight``.

    - ``class_name``: the name of the class, as ``print`` shows it.
    - ``parameters``: the shapes of its own tensors.
    - ``tensor_places``: the places of tensors that differ from the place of the module.
    - ``tied``: tensors that the module uses but does not own, mapped to their full names in the module that owns them.
      They are not counted again.
    - ``buffers``: tensors that are not parameters, as (shape, whether it holds integers) pairs.
    - ``frozen``: tensors that are not trained, such as the weights below an adapter.
    - ``packed_weight``: how the weight is stored, if it is quantized.
    """

    # Defaults are class attributes for speed: a tree is built whenever a slider moves.
    class_name = "Module"
    parameters: Mapping[str, Shape] = NO_TENSORS
    tensor_places: Mapping[str, Place] = MappingProxyType({})
    buffers = NO_BUFFERS
    children: dict[str, "Module"] = {}  # noqa: RUF012  # empty and never changed: for modules without children
    registration_order: Iterable[
        str
    ] = ()  # names of the children in registration order, if that is not the running order
    place = NOWHERE
    tied: Mapping[str, str] = NOT_TIED
    is_embedding = False  # whether the module is torch.nn.Embedding
    frozen: frozenset[str] = frozenset()
    packed_weight: PackedWeight | None = None

    def __init__(self, class_name: str, /, **children: "Module") -> None:
        self.class_name = class_name
        self.children = children

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copy and pickle, which cannot handle read-only mappings."""
        state = vars(self).items()
        return {name: dict(value) if isinstance(value, MappingProxyType) else value for name, value in state}

    def num_parameters(self, only_trainable: bool = False, exclude_embeddings: bool = False) -> int:
        """The number of parameters in this module and below; tied tensors count once, with their owner.

        The arguments are the same as in transformers. ``only_trainable`` leaves out parameters that an adapter froze;
        without an adapter, every parameter is trainable. ``exclude_embeddings`` leaves out the tables of
        torch.nn.Embedding, except a table that PyTorch lists under the name of a tied decoder, as in XLM-RoBERTa.

        The result is an int; for columns, an array of int64. Raises ArgumentError for arguments that are not bool, and
        MixedError, an InputError, for columns with rows of different structure.

        >>> from bertcalc import load
        >>> bert = load("bert-base-uncased")
        >>> bert.num_parameters(), bert.num_parameters(exclude_embeddings=True)
        (109482240, 85646592)
        """
        if only_trainable is not False or exclude_embeddings is not False:
            return self._some_parameters(
                flag("only_trainable", only_trainable), flag("exclude_embeddings", exclude_embeddings)
            )
        count = 0
        if parameters := self.parameters:  # most modules have no tensors or no children: the checks save time
            for shape in parameters.values():
                count = count + prod(shape)  # not +=, which cannot broadcast one column against another
        if children := self.children:
            for child in children.values():
                count = count + child.num_parameters()
        return count

    def _some_parameters(self, only_trainable: bool, exclude_embeddings: bool) -> int:
        embeddings = (path for path, module, _copies in self.modules() if module.is_embedding and exclude_embeddings)
        tables = {join(path, "weight") for path in embeddings}
        ties = self.ties() if tables else NOT_TIED
        return sum(
            tensor.num_parameters()
            for tensor in self.tensors()
            if ties.get(tensor.name, tensor.name) not in tables and not (only_trainable and tensor.frozen)
        )

    def own_parameters(self) -> int:
        """The number of parameters in the tensors that this module itself owns.

        >>> from bertcalc import load
        >>> load("bert-base-uncased").get_submodule("pooler.dense").own_parameters()
        590592
        """
        return sum(map(prod, self.parameters.values()))

    def tensors(self, *, folded: bool = True) -> Iterator[Tensor]:
        """Yield every parameter tensor in Hugging Face's order.

        If ``folded``, a repeated layer appears once, with ``*`` as its number. A tied tensor has its owner's name and
        the position of the first module that uses it.

        >>> from bertcalc import load
        >>> for tensor in load("bert-base-uncased").get_submodule("pooler").tensors():
        ...     print(tensor.name, tensor.shape)
        dense.weight (768, 768)
        dense.bias (768,)
        """
        flag("folded", folded)
        early: set[str] = set()
        seen: set[str] = set()
        for path, module, copies in self.modules(folded=folded):
            for owner in module.tied.values():
                if owner not in seen and (owning := self._owner(owner)):
                    early.add(owner)
                    last = owner.rpartition(".")[2]
                    place = owning.tensor_places.get(last, owning.place)
                    yield Tensor(owner, owning.parameters[last], copies, place, last in owning.frozen)
            for last, shape in module.parameters.items():
                name = join(path, last)
                seen.add(name)
                if name not in early:
                    yield Tensor(
                        name, shape, copies, module.tensor_places.get(last, module.place), last in module.frozen
                    )

    @checked
    def first_layer(self, name: str) -> int:
        """The number of the first layer that a folded name stands for; 0 for a name outside the layers."""
        module = self
        for part in name.split("."):
            if isinstance(module, ModuleList):
                return module.groups[part][0]
            if part not in module.children:
                break
            module = module.children[part]
        return 0

    def _owner(self, name: str) -> "Module | None":
        module: Module | None = self
        for part in name.split(".")[:-1]:
            module = module and module._child(part)
        return module

    def ties(self) -> dict[str, str]:
        """Map the second name of each tied tensor to its first name in module order, which is the name PyTorch lists.

        >>> from bertcalc import load
        >>> load("bert-base-uncased", "BertForMaskedLM").ties()["cls.predictions.decoder.weight"]
        'bert.embeddings.word_embeddings.weight'
        """
        names: dict[str, str] = {}
        seen: set[str] = set()
        for path, module, _copies in self.modules():
            for last, owner in module.tied.items():
                name = join(path, last)
                names |= {name: owner} if owner in seen else {owner: name}
            seen |= {join(path, last) for last in module.parameters}
        return names

    def named_parameters(self) -> Iterator[tuple[str, Shape]]:
        """Yield the name and shape of every parameter tensor, as the real model's ``named_parameters()`` lists them.

        Raises InputError for columns, which have no single number of layers.

        >>> from bertcalc import load
        >>> next(load("bert-base-uncased").named_parameters())
        ('embeddings.word_embeddings.weight', (30522, 768))
        """
        ties = self.ties()
        for tensor in self.tensors(folded=False):
            yield ties.get(tensor.name, tensor.name), tensor.shape

    def modules(self, path: str = "", copies: int = 1, *, folded: bool = True) -> Iterator[tuple[str, "Module", int]]:
        """Yield (path, module, number of copies) of this module and of all modules below it, in PyTorch's order.

        If ``folded``, a repeated layer appears once, under the name ``*``; otherwise, it appears under each of its
        numbers. ``path`` and ``copies`` are the path and the number of copies of this module.

        >>> from bertcalc import load
        >>> for path, module, copies in load("bert-base-uncased").get_submodule("pooler").modules():
        ...     print(repr(path), module, copies)
        '' BertPooler(
          (dense): Linear(in_features=768, out_features=768, bias=True)
          (activation): Tanh()
        ) 1
        'dense' Linear(in_features=768, out_features=768, bias=True) 1
        'activation' Tanh() 1
        """
        text("path", path)
        flag("folded", folded)
        waiting = [(path, self, copies)]  # an explicit stack: nested generators are several times slower
        while waiting:
            path, module, copies = waiting.pop()
            yield path, module, copies
            if module.children:
                below = [
                    (join(path, name), child, copies * count) for name, child, count in module.named_children(folded)
                ]
                waiting += reversed(below)

    def named_children(self, folded: bool) -> Iterator[tuple[str, "Module", int]]:
        """Yield (name, module, number of copies) of each child; ``folded`` is as in ``modules``.

        >>> from bertcalc import load
        >>> [name for name, _module, _copies in load("bert-base-uncased").named_children(folded=True)]
        ['embeddings', 'encoder', 'pooler']
        """
        children = self.children
        # ``registration_order`` may name children that this model does not have.
        ordered = dict.fromkeys((*self.registration_order, *children)) if self.registration_order else children
        for name in ordered:
            if name in children:
                yield name, children[name], 1

    @checked
    def get_submodule(self, path: str) -> "Module":
        """Return the module at a dotted path, with layers as numbers or ``*``.

        Raises UnknownNameError, which is also a KeyError, if there is none.

        >>> from bertcalc import load
        >>> load("bert-base-uncased").get_submodule("encoder.layer.0.attention")
        <BertAttention: 2,363,904 parameters>
        """
        module, before = self, self.class_name
        for name in path.split(".") if path else ():
            inside = module._child(name)
            if inside is None:
                raise unknown(_NO_MODULE, name, [*module._child_names()] or ["none"], parent=before)
            module, before = inside, name if module is self else f"{before}.{name}"
        return module

    def _child(self, name: str) -> "Module | None":
        return self.children.get(name)

    def _child_names(self) -> Iterable[str]:
        return self.children

    def extra_repr(self) -> str:
        """The arguments that ``print`` shows in parentheses."""
        return ""

    def __repr__(self) -> str:
        try:
            count = self.num_parameters()
        except MixedError:
            return f"<{self.class_name}>"
        return f"<{self.class_name}: {count:,} parameters>" if isinstance(count, int) else f"<{self.class_name}>"

    def __str__(self) -> str:
        """The text of the real model's ``print(model)`` (the layout of torch.nn.Module.__repr__)."""
        return "\n".join(line.text for line in self.printed_lines())

    def printed_lines(
        self, path: str = "", copies: int = 1, label: str = "", indent: str = ""
    ) -> Iterator[PrintedLine]:
        """Yield the lines of ``print(model)``, each with its module.

        ``path``, ``copies``, ``label`` and ``indent`` place this module in a larger printed tree.

        >>> from bertcalc import load
        >>> [line.text for line in load("bert-base-uncased").get_submodule("pooler").printed_lines()][1]
        '  (dense): Linear(in_features=768, out_features=768, bias=True)'
        """
        start = between("", (indent, label, f"{self.class_name}("))
        children = list(self.named_children(folded=True))
        if not children:
            yield PrintedLine(between("", (start, self.extra_repr(), ")")), path, self, copies)
            return
        yield PrintedLine(start, path, self, copies, opens=True)
        for name, child, count in children:
            yield from child.printed_lines(join(path, name), count, self._label(name), f"{indent}  ")
        yield PrintedLine(f"{indent})", path, self, copies, closes=True)

    def _label(self, name: str) -> str:
        """The text that ``print`` puts in front of a child's class."""
        return f"({name}): "


class ModuleList(Module):
    """A list of equal layers, stored once under the name ``*``; a first layer that differs is named ``0``."""

    def __init__(self, layer: Module | None = None, length: int = 1) -> None:
        super().__init__("ModuleList")
        self.groups: dict[str, tuple[int, int]] = {}  # name -> (number of the first layer, number of layers)
        if layer:
            self.add("*", layer, 0, length)

    def add(self, name: str, layer: Module, start: int, copies: int) -> Module:
        """Add ``copies`` of a layer under ``name``, the first with the number ``start``; return the layer."""
        self.children[name] = layer
        self.groups[name] = start, copies
        return layer

    def num_parameters(self, only_trainable: bool = False, exclude_embeddings: bool = False) -> int:
        options = only_trainable, exclude_embeddings
        return sum(self.groups[name][1] * layer.num_parameters(*options) for name, layer in self.children.items())

    def named_children(self, folded: bool) -> Iterator[tuple[str, Module, int]]:
        for name, layer in self.children.items():
            start, copies = self.groups[name]
            if folded:
                yield name, layer, copies
            elif not isinstance(copies, int):
                raise wrong("Columns have no single number of layers, so their layers cannot be listed one by one.")
            else:
                for index in range(start, start + copies):
                    yield str(index), layer, 1

    def _child(self, name: str) -> Module | None:
        if name in self.children:
            return self.children[name]
        if not (name.isascii() and name.isdecimal() and name == str(int(name[:9]))):
            return None
        for group, (start, copies) in reversed(self.groups.items()):
            # If the number of layers is a symbol, a layer with any number exists.
            if int(name) >= start and (not isinstance(copies, int) or int(name) < start + copies):
                return self.children[group]
        return None

    def _child_names(self) -> Iterable[str]:
        start, copies = next(reversed(self.groups.values()))
        return *self.children, "0", str(start + copies - 1)

    def _label(self, name: str) -> str:
        start, copies = self.groups[name]
        several = fill("({start}-{last}): {copies} x ", start=start, last=start + copies - 1, copies=copies)
        return either(copies, 1, f"({start}): ", several) if isinstance(copies, int) else several


class Linear(Module):
    """y = x W^T + b, with weight (out_features, in_features) and, unless ``bias`` is False, bias (out_features,)."""

    class_name = "Linear"

    def __init__(
        self, in_features: int, out_features: int, tied: Mapping[str, str] = NOT_TIED, bias: bool = True
    ) -> None:
        shapes: dict[str, Shape] = {"weight": (out_features, in_features)}
        if bias:
            shapes["bias"] = (out_features,)
        self.parameters = {name: shapes[name] for name in shapes if name not in tied} if tied else shapes
        self.in_features = in_features
        self.out_features = out_features
        self.shapes = shapes  # the shapes of all tensors that it uses, tied or owned
        self.tied = tied

    @property
    def biased(self) -> bool:
        """Whether it adds a bias, owned or tied."""
        return "bias" in self.parameters or "bias" in self.tied

    def extra_repr(self) -> str:
        message = "in_features={rows}, out_features={units}, bias={bias}"
        return fill(message, rows=self.in_features, units=self.out_features, bias=self.biased)


class Conv1D(Module):
    """y = x W + b, with weight (in_features, out_features), which is the transpose of Linear's, and a bias."""

    class_name = "Conv1D"

    def __init__(self, in_features: int, out_features: int) -> None:
        self.parameters = {"weight": (in_features, out_features), "bias": (out_features,)}
        self.in_features = in_features
        self.out_features = out_features

    def extra_repr(self) -> str:
        return fill("nf={units}, nx={rows}", units=self.out_features, rows=self.in_features)


class Convolution(Module):
    """PyTorch's Conv1d over ``kernel_size`` neighboring tokens, with weight (out, units, kernel_size) and bias (out,).

    Padding keeps the number of tokens the same. ``out`` defaults to ``units``.
    """

    class_name = "Conv1d"

    def __init__(self, units: int, kernel_size: int, out: int | None = None, bias: bool = True) -> None:
        self.out = units if out is None else out
        self.parameters = {"weight": (self.out, units, kernel_size), **({"bias": (self.out,)} if bias else {})}
        self.units = units
        self.kernel_size = kernel_size

    def extra_repr(self) -> str:
        padding = f", padding=({self.kernel_size // 2},)" if self.kernel_size > 1 else ""
        bias = "" if "bias" in self.parameters else ", bias=False"
        message = "{units}, {out}, kernel_size=({size},), stride=(1,){padding}{bias}"
        return fill(message, units=self.units, out=self.out, size=self.kernel_size, padding=padding, bias=bias)


class Embedding(Module):
    """A lookup table with one row per id; the row at padding_idx exists, but is never trained."""

    class_name = "Embedding"
    is_embedding = True

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        self.parameters = {"weight": (num_embeddings, embedding_dim)}
        self.padding_idx = padding_idx

    def extra_repr(self) -> str:
        rows, width = self.parameters["weight"]
        padding = "" if self.padding_idx is None else fill(", padding_idx={index}", index=self.padding_idx)
        return fill("{rows}, {width}{padding}", rows=rows, width=width, padding=padding)


class Norm(Module):
    """A normalization with one gamma (weight) and one beta (bias) per unit, shared by all positions.

    An RMSNorm has no beta. ``kind`` is torch's LayerNorm, or a class of transformers that computes it step by step in
    float32.
    """

    def __init__(self, kind: str, size: int, eps: float, bias: bool = True) -> None:
        self.class_name = kind
        self.parameters = {"weight": (size,), "bias": (size,)} if bias else {"weight": (size,)}
        self.size = size
        self.eps = eps

    @property
    def centers(self) -> bool:
        """Whether the mean is subtracted, as in LayerNorm; an RMSNorm does not subtract it."""
        return self.class_name.endswith("LayerNorm")

    @property
    def written_out(self) -> bool:
        """Whether it is computed step by step, not as a single operation."""
        return self.class_name != "LayerNorm"

    def extra_repr(self) -> str:
        if self.written_out and self.centers:
            return ""
        affine = f", elementwise_affine=True, bias={'bias' in self.parameters}" if self.centers else ""
        return fill("({size},), eps={eps}{affine}", size=self.size, eps=self.eps, affine=affine)


class Dropout(Module):
    """Dropout with probability ``p``; the module has no parameters."""

    class_name = "Dropout"

    def __init__(self, p: float) -> None:
        self.p = p

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace=False"


class Attention(Module):
    """The parent module of query, key and value; their hidden units are divided among the attention heads."""

    def __init__(self, kind: str, heads: int, head_size: int) -> None:
        super().__init__(kind)
        self.num_attention_heads = heads
        self.attention_head_size = head_size


class Activation(Module):
    """An activation function under the class name that ``print`` shows; nearly all have no parameters."""

    def __init__(
        self, kind: str, kept: TensorsForBackward, extra: str = "", parameters: Mapping[str, Shape] = NO_TENSORS
    ) -> None:
        self.class_name = kind
        self.parameters = parameters
        self.kept = kept
        self.extra = extra

    def extra_repr(self) -> str:
        return self.extra


def split_layer(name: str) -> tuple[str, str]:
    """Split a name into the path of its layer and the rest; ("", name) for a name outside the layers.

    >>> split_layer("encoder.layer.*.attention.self.query")
    ('encoder.layer.*', 'attention.self.query')
    """
    match = _LAYER.fullmatch(name)
    return (match[1], match[2]) if match else ("", name)


def layer_number(name: str) -> int:
    """The layer number in a name; 0 for a name outside the layers."""
    number = split_layer(name)[0].rpartition(".")[2]
    return int(number) if number.isdecimal() else 0


def join(path: str, name: str) -> str:
    """Join a path and a name with a dot; the path of the root is ""."""
    return f"{path}.{name}" if path else name
