"""GGUF, the format of llama.cpp: rows are divided into blocks of weights, and each block has its scales."""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from math import prod
from typing import Any, Literal, NamedTuple, cast

from bertcalc.config import Config
from bertcalc.model.model import Model
from bertcalc.model.modules import Conv1D, Embedding, Module
from bertcalc.storage.gguf_conversion import GgufTensor, architecture_of, converted
from bertcalc.storage.quantization_format import QuantizationFormat, StoredPiece
from bertcalc.storage.stored_tensors import state_dict
from bertcalc.text import N_
from bertcalc.text.problem import wrong
from bertcalc.text.records import dataclass
from bertcalc.text.toml_tables import table_beside

TypeName = Literal[
    "Q4_0",
    "Q4_1",
    "Q5_0",
    "Q5_1",
    "Q8_0",
    "Q2_K",
    "Q3_K_S",
    "Q3_K_M",
    "Q3_K_L",
    "Q4_K_S",
    "Q4_K_M",
    "Q5_K_S",
    "Q5_K_M",
    "Q6_K",
    "IQ4_NL",
    "IQ4_XS",
]
_TABLE = "gguf_types.toml"
_ALIGNMENT = 32
_UINT32, _UINT64 = 4, 8
# Tables that llama.cpp never quantizes, because it adds them in float32: maps roles in a model to names in a file.
_KEPT_TABLES = {"position": "position_embd", "token type": "token_types"}
_NO_TYPE = N_("llama-quantize stops at {name}: its rows have {columns} weights, which is not a multiple of {block}.")


class BlockType(NamedTuple):
    """A block type: the number of weights in a block, its bytes, and the bytes of its scales and minima.

    ``fallback`` is the type to use if blocks do not fit into a row.
    """

    name: str
    block: int
    bytes: int
    scales: int = 0
    fallback: str = ""


def _mix(name: str) -> dict[str, Any]:
    """Read a mix of types from gguf_types.toml: the type of most matrices, and rules for the other matrices."""
    mix: dict[str, Any] = table_beside(__file__, _TABLE)["mixes"][name]
    return mix


@cache
def block_type_of(name: str) -> BlockType:
    """The block type with a name such as Q6_K."""
    return BlockType(name, **table_beside(__file__, _TABLE)["types"][name])


@dataclass(frozen=True)
class Gguf(QuantizationFormat):
    """A GGUF file as llama.cpp writes it: convert_hf_to_gguf.py, then llama-quantize with a type.

    Most types are mixes: Q4_K_M uses Q6_K for word embeddings, and for attn_v and ffn_down in half of the layers.
    Vectors and tables of positions and segments stay in float32, and a head with a single row in float16. If a block
    does not divide a row, llama-quantize uses the type's fallback, or float16 if the fallback does not fit either. The
    pooler and the head of a language model are left out, because llama.cpp does not use them. The rules have been
    valid since March 2026. In files from early 2024, such as nomic-embed-text-v1.5's, the word embeddings have the same
    type as the other matrices.

    With ``pure``, all matrices have the same type, as with llama-quantize's --pure. Models that llama.cpp does not
    convert are then counted as well, with all their tensors under the names in transformers. ``metadata_bytes`` is the
    size of further keys in the file, mainly of the vocabulary.

    >>> from bertcalc.model.model import build
    >>> pieces = Gguf("Q4_K_M").pieces(build("bert-base-uncased"), "F32")
    >>> [piece.tensor.num_bytes() for piece in pieces if piece.source.endswith("layer.0.attention.self.value.weight")]
    [442368, 41472]
    """

    type: TypeName = "Q8_0"
    metadata_bytes: int = 0
    pure: bool = False

    source = "llama.cpp: src/llama-quant.cpp, conversion/bert.py; gguf 0.19.0: constants.py, gguf_writer.py"
    file_format = "gguf"
    dtypes = ("float32",)
    caveat = N_(
        "The size excludes the tokens of the vocabulary, which are in the file as well: 0.7 MB for BERT's 30,522 "
        "tokens. Unless pure is set, it also excludes the pooler and the head of a language model, which llama.cpp "
        "leaves out."
    )

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"GGUF {self.type}{' --pure' if self.pure else ''}"

    @property
    def nominal_bits(self) -> int:
        return int(self.type.removeprefix("I")[1])

    @property
    def alike_layers(self) -> bool:
        rules = (rule for rule in _mix(self.type).values() if isinstance(rule, Mapping))
        return self.pure or not any(rule.keys() - {"all", "grouped"} for rule in rules)

    def pieces(self, model: Module, dtype: str) -> list[StoredPiece]:
        return [piece for tensor, block_type in _stored(self, model) for piece in _pieces(tensor, block_type)]

    def file_bytes(self, model: Module, dtype: str) -> int:
        """The size of the file in bytes: header, keys, tensor descriptions, and the data, aligned to 32 bytes."""
        stored = _stored(self, model)
        header = 2 * _UINT32 + 2 * _UINT64 + self._keys(model) + self.metadata_bytes
        header += sum(_info(tensor) for tensor, _block_type in stored)
        return _aligned(header) + sum(_aligned(_blocks(*pair) * pair[1].bytes) for pair in stored)

    def _keys(self, model: Module) -> int:
        """The bytes of the keys that every file has: architecture, quantization version and file type."""
        family = getattr(getattr(model, "family", None), "name", "")
        architecture = family if self.pure else architecture_of(model)
        keys = ("general.architecture", "general.quantization_version", "general.file_type")
        names = sum(_UINT64 + len(key) + _UINT32 for key in keys)
        return names + _UINT64 + len(architecture) + 2 * _UINT32


@lru_cache(maxsize=4)
def _stored(form: Gguf, model: Module) -> list[tuple[GgufTensor, BlockType]]:
    mix = _mix(form.type)
    if form.pure:
        targets = [(tensor, _kept(tensor, is_kept) or mix["type"]) for tensor, is_kept in _all_tensors(model)]
    else:
        tensors, config = converted(model), cast(Model, model).final_config
        targets = [(tensor, _mixed(tensor, mix, config)) for tensor in tensors]
    return [(tensor, _fitting(tensor, block_type_of(target))) for tensor, target in targets]


def _mixed(tensor: GgufTensor, mix: Mapping[str, Any], config: Config) -> str:
    """The type that llama-quantize chooses for a tensor, before it checks whether the blocks fit into rows."""
    part, most = tensor.part, str(mix["type"])
    if kept := _kept(tensor, part in _KEPT_TABLES.values()):
        return kept
    if part == "token_embd":
        return "Q8_0" if most == "Q8_0" or tensor.shape[-1] % block_type_of("Q6_K").block else "Q6_K"
    rule = mix.get("attn_v" if part == "attn_qkv" else part, {})
    return next((name for where, name in rule.items() if _holds(where, tensor.layer, config)), most)


def _holds(where: str, layer: int, config: Config) -> bool:
    layers: int = config.num_hidden_layers
    match where:
        case "first_2":
            return layer < 2
        case "first_4":
            return layer < 4
        case "first_8th":
            return layer < layers // 8
        case "first_16th":
            return layer < layers // 16
        case "more":
            return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
        case "grouped":
            heads: int = config.num_attention_heads
            return heads // (getattr(config, "num_key_value_heads", None) or heads) >= 4
    return True


def _all_tensors(model: Module) -> Iterator[tuple[GgufTensor, bool]]:
    """Yield every tensor under its name in transformers, and whether llama.cpp never quantizes it.

    The last axis of each shape is the axis that blocks divide.
    """
    for entry in state_dict(model):
        if not entry.is_alias:
            shape = entry.shape[::-1] if isinstance(entry.module, Conv1D) else entry.shape
            is_table = isinstance(entry.module, Embedding) and entry.module.place.role in _KEPT_TABLES
            yield GgufTensor(entry.name, entry.name, shape), is_table or not entry.name.endswith("weight")


def _kept(tensor: GgufTensor, is_kept: bool) -> str:
    """The type of a tensor that is not quantized; "" for other tensors. A matrix with a single row stays float16."""
    if len(tensor.shape) < 2 or is_kept:
        return "F32"
    return "F16" if tensor.shape[0] == 1 else ""


def _fitting(tensor: GgufTensor, block_type: BlockType) -> BlockType:
    """The type with blocks that fit the rows: ``block_type``, its fallback, or float16.

    Raises InputError if ``block_type`` does not fit and has no fallback.
    """
    columns = tensor.shape[-1] if tensor.shape else 1
    if columns % block_type.block == 0:
        return block_type
    if not block_type.fallback:
        raise wrong(_NO_TYPE, "type", None, name=tensor.name, columns=columns, block=block_type.block)
    fallback = block_type_of(block_type.fallback)
    return fallback if columns % fallback.block == 0 else block_type_of("F16")


def _blocks(tensor: GgufTensor, block_type: BlockType) -> int:
    return prod(tensor.shape) // block_type.block


def _pieces(tensor: GgufTensor, block_type: BlockType) -> list[StoredPiece]:
    name, weights = tensor.source, prod(tensor.shape)
    if block_type.name == "F32":
        return [StoredPiece.of(name, "F32", tensor.shape, name, "unchanged")]
    if block_type.name == "F16":
        return [StoredPiece.of(name, "F16", tensor.shape, name, "weights")]
    blocks = _blocks(tensor, block_type)
    return [
        StoredPiece.of(name, "U8", (blocks, block_type.bytes - block_type.scales), name, "weights", weights),
        StoredPiece.of(f"{name}.scales", "U8", (blocks, block_type.scales), name, "scales"),
    ]


def _info(tensor: GgufTensor) -> int:
    """The bytes of a tensor's description: its name, shape, type and offset."""
    return _UINT64 + len(tensor.name.encode()) + _UINT32 + _UINT64 * len(tensor.shape) + _UINT32 + _UINT64


def _aligned(size: int) -> int:
    return size + -size % _ALIGNMENT
