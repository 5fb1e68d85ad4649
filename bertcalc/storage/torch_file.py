"""The exact size of a file that torch.save writes, as of PyTorch 2.13.

The file is a zip archive without compression. It contains a pickle, and a record for each storage; the data of each
record begins at a multiple of 64 bytes (caffe2/serialize/inline_container.cc). Storages that share memory are written
once.

>>> from bertcalc.model.model import build
>>> torch_file_bytes(state_dict_value(build("bert-base-uncased"), "F32"), "pytorch_model")
438006591
"""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from bertcalc.model.modules import Module, Shape
from bertcalc.storage.pickle_size import ORDERED_DICT, Global, Persistent, PickledCall, PickleSize
from bertcalc.storage.stored_tensors import DTYPES, dtype_of, state_dict

_ALIGNMENT = 64
_LOCAL, _CENTRAL, _DESCRIPTOR, _END = 30, 46, 16, 98  # header sizes; the end includes a zip64 record and its locator
_LARGE = 2**32 - 1  # from this size on, a zip archive needs fields of 8 bytes
_STORAGES = {
    "F32": "FloatStorage",
    "F16": "HalfStorage",
    "BF16": "BFloat16Storage",
    "I64": "LongStorage",
    "I8": "CharStorage",
    "U8": "ByteStorage",
    "BOOL": "BoolStorage",
}


class SavedTensor(NamedTuple):
    """A tensor for torch.save; tensors with the same ``storage`` share their data. ``quantized`` means qint8."""

    dtype: str
    shape: Shape
    storage: str
    quantized: bool = False


def state_dict_value(model: Module, dtype: str, changed: Mapping[str, object] | None = None) -> PickledCall:
    """A model's ``state_dict()``; the entries in ``changed`` replace the tensors with the same names."""
    entries: dict[str, object] = {}
    for entry in state_dict(model):
        entries[entry.name] = SavedTensor(dtype_of(entry.name, dtype), entry.shape, entry.owner)
    return with_versions(entries | dict(changed or {}), module_versions(model))


def module_versions(model: Module) -> dict[str, int]:
    return dict.fromkeys((path for path, _module, _copies in model.modules(folded=False)), 1)


def with_versions(entries: Mapping[str, object], versions: Mapping[str, int]) -> PickledCall:
    """A state_dict of ``entries``, with the versions of modules in its ``_metadata``."""
    metadata = ORDERED_DICT._replace(items={path: {"version": version} for path, version in versions.items()})
    return ORDERED_DICT._replace(items=entries, state={"_metadata": metadata})


def torch_file_bytes(value: object, stem: str) -> int:
    """The size in bytes of the file that ``torch.save(value, f"{stem}.bin")`` writes."""
    storages: dict[str, int] = {}  # the bytes of each storage

    def replace(part: object) -> object:
        return _rebuilt(part, storages) if isinstance(part, SavedTensor) else part

    pickle = PickleSize(replace)
    pickle.add(value)
    records = [("data.pkl", pickle.num_bytes), (".format_version", 1), (".storage_alignment", 2), ("byteorder", 6)]
    records += [(f"data/{number}", size) for number, size in enumerate(storages.values())]
    records += [("version", 2), (".data/serialization_id", 40)]
    return _archive([(f"{stem}/{name}", size) for name, size in records])


def _rebuilt(tensor: SavedTensor, storages: dict[str, int]) -> PickledCall:
    """The call that rebuilds a tensor when PyTorch reads the file."""
    elements = prod(tensor.shape)
    storages.setdefault(tensor.storage, elements * DTYPES[tensor.dtype] // 8)
    key = str([*storages].index(tensor.storage) if tensor.storage != next(reversed(storages)) else len(storages) - 1)
    kind = Global("torch", "QInt8Storage" if tensor.quantized else _STORAGES[tensor.dtype])
    storage = Persistent(("storage", kind, key, "cpu", elements))
    strides = tuple(prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
    place = (storage, 0, tensor.shape, strides)
    if tensor.quantized:  # there is one scale and one zero point for the whole tensor
        scheme = (Global("torch", "per_tensor_affine"), 0.5, 0)
        return PickledCall(Global("torch._utils", "_rebuild_qtensor"), (*place, scheme, False, ORDERED_DICT))
    return PickledCall(Global("torch._utils", "_rebuild_tensor_v2"), (*place, False, ORDERED_DICT))


def _archive(records: list[tuple[str, int]]) -> int:
    """The size of a zip archive in which each record's data begins at a multiple of 64 bytes."""
    end = directory = 0
    for name, size in records:
        wide = 8 * ((size >= _LARGE) * 2 + (end >= _LARGE))
        start = end + _LOCAL + len(name) + 4 + (4 + wide if wide else 0)
        start += -start % _ALIGNMENT
        directory += _CENTRAL + len(name) + (4 + wide if wide else 0)
        end = start + size + _DESCRIPTOR + (8 if size >= _LARGE else 0)
    return end + directory + _END
