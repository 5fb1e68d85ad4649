"""What files of weights contain beside the parameters of a class, and the bytes that a file format adds.

Files of older releases have a pooler that the class has lost, a second bias of the decoder, or buffers.

>>> from bertcalc.families import build
>>> known = KnownCount(build("roberta-base", "RobertaForMaskedLM"), 124_697_433)
>>> [(file.size(4), file.extras) for file in contents(known)][:3]
[(498789732, 0), (498793844, 1), (498990792, 1)]
"""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from math import prod
from typing import NamedTuple

from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.tensor_filter import selector
from bertcalc.families import family_of
from bertcalc.model.model import Model
from bertcalc.model.modules import Attention, Shape

WIDTHS = {"I64": 8, "F32": 4, "F16": 2, "BOOL": 1}
_LENGTH = 8  # bytes before the header of a safetensors file, which say how long it is
# Bytes of torch.save for each tensor, with its record and padding, beside its name: before PyTorch 1.6, and from then.
_PER_TENSOR = (115, 285)
_PER_MODULE = 25  # for the version of each module, beside its name, which state_dict() has and a plain dict lacks


class Stored(NamedTuple):
    """A tensor in a file; ``dtype`` is "" for that of the weights."""

    name: str
    shape: Shape
    dtype: str = ""


class Contents(NamedTuple):
    """A count with the tensors that a file has beside those of the class; ``bias`` of them is a second decoder's."""

    known: KnownCount
    added: tuple[Stored, ...] = ()
    bias: bool = False
    extras: int = 0  # kinds of what is added

    def size(self, width: int) -> int:
        """The bytes of the tensors in a file whose weights take ``width`` bytes each."""
        return width * self.known.model.num_parameters() + sum(
            WIDTHS.get(tensor.dtype, width) * prod(tensor.shape) for tensor in self.added
        )

    def tensors(self) -> list[Stored]:
        """All tensors of the file."""
        return [*(Stored(name, shape) for name, shape in self.known.model.named_parameters()), *self.added]


def contents(known: KnownCount) -> Iterator[Contents]:
    """What a file of a class may contain: the class alone first, then with what older releases save as well."""
    model = known.model
    for pooler, bias, buffers in product(
        [(), *_pooler(model)], [(), *_second_bias(model)], [(), *_positions(model), *_masks(model)]
    ):
        words = known
        if pooler:
            words = words._replace(parameters=words.parameters + sum(map(_elements, pooler)), convention="pooler")
        if buffers:
            convention = words.convention if buffers[0].dtype == "I64" else "masks"
            words = words._replace(buffers=sum(map(_elements, buffers)), convention=convention)
        extras = sum(map(bool, (pooler, bias, buffers)))
        yield Contents(words, (*pooler, *bias, *buffers), bool(bias), extras)


def _elements(tensor: Stored) -> int:
    return prod(tensor.shape)


def _pooler(model: Model) -> Iterator[tuple[Stored, ...]]:
    """The pooler of a class that has lost it."""
    if family_of(model.config).base.pooler and not any(map(selector("pooler"), model.tensors())):
        base, hidden = Model(model.config), model.config.hidden_size
        if model.cls.task != "base":
            names = (name for name, _shape in base.named_parameters() if "pooler" in name)
            yield tuple(
                Stored(f"{model.prefix}{name}", (hidden, hidden) if name.endswith("weight") else (hidden,))
                for name in names
            )


def _second_bias(model: Model) -> Iterator[tuple[Stored, ...]]:
    """The decoder's bias, which is that of the head today."""
    shapes = dict(model.named_parameters())
    for name, owner in model.ties().items():
        if name.endswith("decoder.bias") and owner in shapes:
            yield (Stored(name, shapes[owner]),)


def _positions(model: Model) -> Iterator[tuple[Stored, ...]]:
    for path, module, _copies in model.modules():
        if "position_ids" in module.buffers:
            name = f"{path}.position_ids" if path else "position_ids"
            yield (Stored(name, module.buffers["position_ids"][0], "I64"),)


def _masks(model: Model) -> Iterator[tuple[Stored, ...]]:
    """The causal mask of each layer, in float32 or as truth values."""
    length = model.config.max_position_embeddings
    layers = [path for path, module, _copies in model.modules(folded=False) if isinstance(module, Attention)]
    for dtype in ("F32", "BOOL") if model.config.stores_masks else ():
        yield tuple(Stored(f"{path}.bias", (1, 1, length, length), dtype) for path in layers)


def safetensors_headers(tensors: Sequence[Stored], dtype: str) -> tuple[int, int]:
    """The bytes before the data of a safetensors file that has these tensors, as PyTorch's models save them.

    They are a multiple of 8 in the second number, which safetensors writes since 0.3.
    """
    unpadded = _LENGTH + len(header_text(tensors, dtype))
    return unpadded, unpadded + -unpadded % 8


def header_text(tensors: Sequence[Stored], dtype: str) -> str:
    """The JSON in front of the data of a safetensors file, as PyTorch's models save them."""
    dtypes = {tensor.name: tensor.dtype or dtype for tensor in tensors}
    ordered = sorted(tensors, key=lambda tensor: (-WIDTHS[dtypes[tensor.name]], tensor.name))
    sizes = (WIDTHS[dtypes[tensor.name]] * prod(tensor.shape) for tensor in ordered)
    entries = {
        tensor.name: {"dtype": dtypes[tensor.name], "shape": list(tensor.shape), "data_offsets": list(place)}
        for tensor, place in zip(ordered, pairwise(accumulate(sizes, initial=0)), strict=True)
    }
    return json.dumps({"__metadata__": {"format": "pt"}, **entries}, separators=(",", ":"))


def pickle_sizes(file: Contents) -> Iterator[int]:
    """The bytes that torch.save adds to the data, by its two formats, with and without the modules' versions.

    They are near: the numbers of the storages and the name of the file are in them, too.
    """
    names = [tensor.name for tensor in file.tensors()]
    paths = [path for path, _module, _copies in file.known.model.modules(folded=False)]
    for per_tensor, per_module in product(_PER_TENSOR, (0, _PER_MODULE)):
        versions = sum(len(path) + per_module for path in paths) if per_module else 0
        yield sum(len(name) + per_tensor for name in names) + versions
