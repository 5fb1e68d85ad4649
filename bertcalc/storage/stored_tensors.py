"""Tensors as files store them, and the state_dict of a module tree.

>>> from bertcalc.model.model import build
>>> [entry.name for entry in state_dict(build("bert-base-uncased", "BertForMaskedLM")) if entry.is_alias]
['cls.predictions.decoder.weight', 'cls.predictions.decoder.bias']
"""

from collections.abc import Iterable
from math import prod
from typing import Literal, NamedTuple

from bertcalc.changes.adapter import ADAPTER_NAME, COPY
from bertcalc.model.modules import Linear, Module, Shape

# Keyed by bits per element, in the order of safetensors' enum Dtype, except that F4 comes after BOOL there.
_WIDTHS = {
    4: "F4",
    6: "F6_E2M3 F6_E3M2",
    8: "BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ",
    16: "I16 U16 F16 BF16",
    32: "I32 U32 F32",
    64: "C64 F64 I64 U64",
}
DTYPES = {dtype: bits for bits, dtypes in _WIDTHS.items() for dtype in dtypes.split()}
Dtype = Literal["float32", "bfloat16", "float16"]
CODES: dict[Dtype, str] = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}
LONG_NAMES = {code: dtype for dtype, code in CODES.items()}


class StoredTensor(NamedTuple):
    """A tensor in a file; ``dtype`` is safetensors' code, such as F32."""

    name: str
    dtype: str
    shape: Shape

    def numbers(self) -> int:
        return prod(self.shape)

    def num_bytes(self) -> int:
        """The size of the tensor's data in bytes, rounded up."""
        return -(-self.numbers() * DTYPES[self.dtype] // 8)


class StateEntry(NamedTuple):
    """An entry of a state_dict; ``owner`` is the name of the tensor that owns the data: another name if it is tied."""

    name: str
    shape: Shape
    owner: str
    path: str
    module: Module

    @property
    def is_alias(self) -> bool:
        return self.name != self.owner


def state_dict(model: Module) -> list[StateEntry]:
    """The entries of ``model.state_dict()`` in PyTorch's order, without buffers: transformers does not save them."""
    shapes: dict[str, Shape] = {}
    pairs: list[tuple[str, str, str, Module]] = []
    for path, module, _copies in model.modules(folded=False):
        prefix = f"{path}." if path else ""
        for last in module.shapes if isinstance(module, Linear) else (*module.parameters, *module.tied):
            name = f"{prefix}{last}"
            pairs.append((name, module.tied.get(last, name), path, module))
            if last in module.parameters:
                shapes[name] = module.parameters[last]
    return [StateEntry(name, shapes[owner], owner, path, module) for name, owner, path, module in pairs]


def dtype_of(name: str, dtype: str) -> str:
    """The dtype of a tensor in a model of ``dtype``, as a safetensors code: F32 for tensors that peft added.

    Other tensors have ``dtype``, including tensors in a copy that peft makes of a module.
    """
    copy = COPY in name or f".ln_tuning_layers{ADAPTER_NAME}" in name
    return "F32" if ADAPTER_NAME in name and not copy else dtype


def stored(model: Module, dtype: str) -> list[StoredTensor]:
    """Every tensor of a model once; a tied tensor has the name that save_pretrained keeps."""
    return [StoredTensor(entry.name, dtype, entry.shape) for entry in state_dict(model) if not entry.is_alias]


def data_bytes(tensors: Iterable[StoredTensor]) -> int:
    return sum(tensor.num_bytes() for tensor in tensors)
