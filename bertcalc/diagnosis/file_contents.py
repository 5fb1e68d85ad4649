"""The contents of weight files beside the parameters of a class, and the bytes that a file format adds.

Files of older releases have a pooler that the class has lost, a second bias of the decoder, or buffers.

>>> from bertcalc.families import build
>>> known = KnownCount(build("roberta-base", "RobertaForMaskedLM"), 124_697_433)
>>> [(file.size("F32"), file.extras) for file in contents(known)][:3]
[(498789732, 0), (498793844, 1), (498990792, 1)]
"""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.tensor_filter import selector
from bertcalc.families import family_of
from bertcalc.model.model import Model
from bertcalc.model.modules import Attention
from bertcalc.storage.stored_tensors import DTYPES, StoredTensor, data_bytes

# Bytes of torch.save for each tensor, with its record and padding, beside its name: before PyTorch 1.6, and from then.
_PER_TENSOR = (115, 285)
_PER_MODULE = 25  # for the version of each module, beside its name, which state_dict() has and a plain dict lacks


class Contents(NamedTuple):
    """A count with the tensors that a file has beside those of the class; ``bias`` of them is a second decoder's.

    The dtype of an added tensor is "" for that of the weights.
    """

    known: KnownCount
    added: tuple[StoredTensor, ...] = ()
    bias: bool = False
    extras: int = 0  # kinds of what is added

    def size(self, dtype: str) -> int:
        """The bytes of the tensors in a file whose weights have a dtype (safetensors' code)."""
        weights = self.known.model.num_parameters() * DTYPES[dtype] // 8
        return weights + data_bytes(_with_dtype(self.added, dtype))

    def tensors(self, dtype: str) -> list[StoredTensor]:
        """All tensors of such a file."""
        parameters = self.known.model.named_parameters()
        return [*(StoredTensor(name, dtype, shape) for name, shape in parameters), *_with_dtype(self.added, dtype)]


def _with_dtype(tensors: Iterable[StoredTensor], dtype: str) -> list[StoredTensor]:
    """Tensors with the dtype of the weights where they have none of their own."""
    return [tensor._replace(dtype=tensor.dtype or dtype) for tensor in tensors]


def contents(known: KnownCount) -> Iterator[Contents]:
    """What a file of a class may contain: the class alone first, then with what older releases save as well."""
    model = known.model
    for pooler, bias, buffers in product(
        [(), *_pooler(model)], [(), *_second_bias(model)], [(), *_positions(model), *_masks(model)]
    ):
        words = known
        if pooler:
            words = words._replace(
                parameters=words.parameters + sum(map(StoredTensor.numbers, pooler)), convention="pooler"
            )
        if buffers:
            convention = words.convention if buffers[0].dtype == "I64" else "masks"
            words = words._replace(buffers=sum(map(StoredTensor.numbers, buffers)), convention=convention)
        extras = sum(map(bool, (pooler, bias, buffers)))
        yield Contents(words, (*pooler, *bias, *buffers), bool(bias), extras)


def _pooler(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    """The pooler of a class that has lost it."""
    if family_of(model.config).base.pooler and not any(map(selector("pooler"), model.tensors())):
        base, hidden = Model(model.config), model.config.hidden_size
        if model.cls.task != "base":
            names = (name for name, _shape in base.named_parameters() if "pooler" in name)
            yield tuple(
                StoredTensor(f"{model.prefix}{name}", "", (hidden, hidden) if name.endswith("weight") else (hidden,))
                for name in names
            )


def _second_bias(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    """The decoder's bias, which is that of the head today."""
    shapes = dict(model.named_parameters())
    for name, owner in model.ties().items():
        if name.endswith("decoder.bias") and owner in shapes:
            yield (StoredTensor(name, "", shapes[owner]),)


def _positions(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    for path, module, _copies in model.modules():
        if "position_ids" in module.buffers:
            name = f"{path}.position_ids" if path else "position_ids"
            yield (StoredTensor(name, "I64", module.buffers["position_ids"][0]),)


def _masks(model: Model) -> Iterator[tuple[StoredTensor, ...]]:
    """The causal mask of each layer, in float32 or as truth values."""
    length = model.config.max_position_embeddings
    layers = [path for path, module, _copies in model.modules(folded=False) if isinstance(module, Attention)]
    for dtype in ("F32", "BOOL") if model.config.stores_masks else ():
        yield tuple(StoredTensor(f"{path}.bias", dtype, (1, 1, length, length)) for path in layers)


def pickle_sizes(file: Contents) -> Iterator[int]:
    """The bytes that torch.save adds to the data, by its two formats, with and without the modules' versions.

    They are near: the numbers of the storages and the name of the file are in them, too.
    """
    names = [tensor.name for tensor in file.tensors("F32")]
    paths = [path for path, _module, _copies in file.known.model.modules(folded=False)]
    for per_tensor, per_module in product(_PER_TENSOR, (0, _PER_MODULE)):
        versions = sum(len(path) + per_module for path in paths) if per_module else 0
        yield sum(len(name) + per_tensor for name in names) + versions
