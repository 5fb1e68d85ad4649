"""GGUF, the format of llama.cpp: blocks of weights along a row, each with its scales."""

import tomllib
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Literal, NamedTuple

from bertcalc.model.modules import Conv1D, Embedding, Module, Shape
from bertcalc.storage.pieces import StoredPiece
from bertcalc.storage.quantization_format import QuantizationFormat, with_unchanged
from bertcalc.storage.stored_tensors import state_dict

TypeName = Literal["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"]
_ALIGNMENT = 32
_UINT32, _UINT64 = 4, 8
# What llama.cpp never quantizes: it adds these tables to other tensors in float32.
_KEPT_ROLES = ("position", "token type")


class BlockType(NamedTuple):
    """A block type: weights in a block, its bytes, and the bytes of its scales and minima."""

    name: str
    block: int
    bytes: int
    scales: int
    fallback: str = ""

    @property
    def bits_per_weight(self) -> float:
        return 8 * self.bytes / self.block


_TYPES = tomllib.loads(Path(__file__).with_name("gguf_types.toml").read_text(encoding="utf-8"))["types"]
BLOCK_TYPES: dict[str, BlockType] = {name: BlockType(name, **entry) for name, entry in _TYPES.items()}


@dataclass(frozen=True)
class Gguf(QuantizationFormat):
    """A GGUF file whose matrices have one block type, as llama-quantize writes it with --pure.

    Vectors and tables of positions and segments stay in float32. If a block does not divide a row, llama-quantize
    takes the type's fallback, and float16 if that does not fit either. ``metadata_bytes`` are those of further keys,
    above all of the vocabulary, which is in the file as well. Tensors are counted under their names in transformers;
    the converter's are shorter, by about 20 bytes each.

    >>> from bertcalc.model.model import build
    >>> pieces = Gguf("Q4_K").pieces(build("bert-base-uncased"), "F32")
    >>> sorted({piece.tensor.dtype for piece in pieces}), BLOCK_TYPES["Q4_K"].bits_per_weight
    (['F32', 'U8'], 4.5)
    """

    type: TypeName = "Q8_0"
    metadata_bytes: int = 0

    source = "gguf 0.19.0: constants.py, gguf_writer.py; llama.cpp: src/llama-quant.cpp"
    file_format = "gguf"
    dtypes = ("float32",)

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"GGUF {self.type}"

    @property
    def nominal_bits(self) -> int:
        return int(self.type.removeprefix("I")[1])

    def pieces(self, model: Module, dtype: str) -> list[StoredPiece]:
        return with_unchanged(model, "F32", {name: self._blocks(name, shape) for name, shape in self._matrices(model)})

    def file_bytes(self, model: Module, dtype: str) -> int:
        """The size of the file: a header, keys, the place of each tensor, and the data, each aligned to 32 bytes."""
        sizes: dict[str, int] = {}
        for piece in self.pieces(model, dtype):
            sizes[piece.source] = sizes.get(piece.source, 0) + piece.tensor.num_bytes()
        shapes = {entry.owner: entry.shape for entry in state_dict(model)}
        header = 2 * _UINT32 + 2 * _UINT64 + self._keys(model) + self.metadata_bytes
        header += sum(_info(name, shapes[name]) for name in sizes)
        return _aligned(header) + sum(map(_aligned, sizes.values()))

    def _keys(self, model: Module) -> int:
        """The keys that every file has: the architecture, the version of the quantization and the type of the file."""
        architecture = getattr(getattr(model, "family", None), "name", "")
        keys = ("general.architecture", "general.quantization_version", "general.file_type")
        names = sum(_UINT64 + len(key) + _UINT32 for key in keys)
        return names + _UINT64 + len(architecture) + 2 * _UINT32

    def _matrices(self, model: Module) -> list[tuple[str, Shape]]:
        """The tensors that are quantized, with rows last."""
        matrices: dict[str, Shape] = {}
        for entry in state_dict(model):
            kept = isinstance(entry.module, Embedding) and entry.module.place.role in _KEPT_ROLES
            if len(entry.shape) > 1 and entry.name.endswith("weight") and not kept:
                shape = entry.shape[::-1] if isinstance(entry.module, Conv1D) else entry.shape
                matrices.setdefault(entry.owner, shape)
        return list(matrices.items())

    def _blocks(self, name: str, shape: Shape) -> list[StoredPiece]:
        block_type = BLOCK_TYPES[self.type]
        if shape[-1] % block_type.block:
            block_type = BLOCK_TYPES.get(block_type.fallback, block_type)
        if shape[-1] % block_type.block:
            return [StoredPiece.of(name, "F16", shape, name, "weights")]
        weights = prod(shape)
        blocks, rest = weights // block_type.block, block_type.bytes - block_type.scales
        return [
            StoredPiece.of(name, "U8", (blocks, rest), name, "weights", weights),
            StoredPiece.of(f"{name}.scales", "U8", (blocks, block_type.scales), name, "scales"),
        ]


def _info(name: str, shape: Shape) -> int:
    """The bytes of the name, the sides, the type and the place of a tensor."""
    return _UINT64 + len(name.encode()) + _UINT32 + _UINT64 * len(shape) + _UINT32 + _UINT64


def _aligned(size: int) -> int:
    return size + -size % _ALIGNMENT
