"""bitsandbytes 0.50 as transformers writes it: int8 with a scale per row, and 4-bit types with a scale per block."""

import json
from typing import ClassVar, Literal

from bertcalc.changes.targets import named_by_layer
from bertcalc.memory.optimizers import ITEM_BYTES
from bertcalc.model.modules import Module, Packed4Bits, Packed8Bits, PackedWeight, join
from bertcalc.storage.kept_layers import converted, linear_layers, matrix, not_converted
from bertcalc.storage.quantization_format import QuantizationFormat, StoredPiece
from bertcalc.storage.stored_tensors import CODES, LONG_NAMES, Dtype
from bertcalc.text import N_
from bertcalc.text.patterns import check_patterns
from bertcalc.text.problem import wrong
from bertcalc.text.records import dataclass

_BLOCK = 64  # number of weights per scale (Params4bit)
_NESTED_BLOCK = 256  # number of scales per scale of scales, with double quantization
# The mean of the scales as JSON prints it: a float32 converted to float64. Its length depends on the weights.
_TYPICAL_OFFSET = 0.03935550190508366
_OFFSET_MARGIN = 4  # the number of bytes by which the length of _TYPICAL_OFFSET varies
_ALIGNMENT = 8  # the alignment of a safetensors header in bytes

_HELD = N_(
    "In training, int8 layers keep their inputs until the next step overwrites the loss. This can take more memory "
    "than float32 weights."
)
_OUTLIERS = N_(
    "In training, int8 layers keep their inputs until the next step overwrites the loss. This can take more memory "
    "than float32 weights. The peak excludes outliers: each column with a value of llm_int8_threshold or more adds "
    "8 bytes to a layer and is kept a second time."
)
_NEITHER = N_("Set exactly one of load_in_8bit and load_in_4bit to True.")


@dataclass(frozen=True)
class BitsAndBytesConfig(QuantizationFormat):
    """transformers' ``BitsAndBytesConfig``: int8 (LLM.int8(), Dettmers et al. 2022) or 4 bits (QLoRA, 2023).

    int8 has a float32 scale for each row. Inputs that reach ``llm_int8_threshold`` are outliers; the columns with
    outliers are not quantized. A threshold of 0 means no outliers.

    The 4-bit types have a float32 scale for every 64 weights and a table of the 16 values. With
    ``bnb_4bit_use_double_quant``, each scale is stored in a byte, and every 256 scales have a float32 scale.
    ``bnb_4bit_compute_dtype`` is the dtype of matrix products, to which 4-bit layers cast their inputs and biases.

    The modules in ``llm_int8_skip_modules`` are not quantized; by default, these are modules with tied tensors and the
    output embeddings.

    >>> from bertcalc.model.model import build
    >>> nf4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    >>> pieces = [piece for piece in nf4.pieces(build("bert-base-uncased"), "F32") if "0.attention" in piece.source]
    >>> [piece.tensor.shape for piece in pieces][:3]
    [(294912, 1), (9216,), (16,)]
    """

    one_of: ClassVar[tuple[str, ...]] = ("load_in_8bit", "load_in_4bit")  # exactly one of these flags is True

    load_in_8bit: bool = False
    load_in_4bit: bool = False
    llm_int8_threshold: float = 6.0
    llm_int8_skip_modules: tuple[str, ...] | None = None
    bnb_4bit_quant_type: Literal["fp4", "nf4"] = "fp4"
    bnb_4bit_use_double_quant: bool = False
    bnb_4bit_compute_dtype: Dtype = "float32"

    takes_adapters = True
    source = "bitsandbytes 0.50.2: nn/modules.py, functional.py (QuantState.as_dict)"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_patterns("llm_int8_skip_modules", self.llm_int8_skip_modules)
        if self.load_in_8bit == self.load_in_4bit:
            raise wrong(_NEITHER)

    @property
    def title(self) -> str:  # type: ignore[override]
        if self.load_in_8bit:
            return "bitsandbytes int8"
        double = " + double quantization" if self.bnb_4bit_use_double_quant else ""
        return f"bitsandbytes {self.bnb_4bit_quant_type.upper()}{double}"

    @property
    def caveat(self) -> str:  # type: ignore[override]
        held = _OUTLIERS if self.llm_int8_threshold else _HELD
        return held if self.load_in_8bit else ""

    @property
    def nominal_bits(self) -> int:
        return 8 if self.load_in_8bit else 4

    @property
    def product_dtype(self) -> str:
        return "int8" if self.load_in_8bit else self.bnb_4bit_compute_dtype

    @property
    def by_layer(self) -> bool:
        return named_by_layer(self.llm_int8_skip_modules)

    def layers(self, model: Module) -> list[tuple[str, Module]]:
        return converted(linear_layers(model, conv1d=True), not_converted(model, self.llm_int8_skip_modules))

    def of_layer(self, path: str, rows: int, columns: int, dtype: str) -> list[StoredPiece]:
        make = self._int8 if self.load_in_8bit else self._four_bits
        return make(join(path, "weight"), (rows, columns), dtype)

    def file_margin(self, model: Module) -> int:
        double = self.load_in_4bit and self.bnb_4bit_use_double_quant
        return _OFFSET_MARGIN * len(self.layers(model)) + _ALIGNMENT if double else 0

    def packed(self, model: Module, dtype: str) -> dict[str, PackedWeight]:
        return {path: self._packed(matrix(module), dtype) for path, module in self.layers(model)}

    def _packed(self, shape: tuple[int, int], dtype: str) -> PackedWeight:
        held = {piece.tensor.name: piece.tensor for piece in self.of_layer("", *shape, dtype) if piece.in_memory}
        num_bytes = tuple(tensor.num_bytes() for tensor in held.values())
        if self.load_in_8bit:
            return Packed8Bits(num_bytes, shape, dtype == CODES["float16"], self.llm_int8_threshold > 0)
        scales = held["weight.absmax"].numbers() if self.bnb_4bit_use_double_quant else 0
        return Packed4Bits(num_bytes, shape, ITEM_BYTES[self.bnb_4bit_compute_dtype], scales)

    def _int8(self, name: str, shape: tuple[int, int], _dtype: str) -> list[StoredPiece]:
        path = name.removesuffix("weight")
        return [
            StoredPiece.of(name, "I8", shape, name, "weights"),
            StoredPiece.of(f"{path}SCB", "F32", shape[:1], name, "scales"),
            StoredPiece.of(f"{path}weight_format", "U8", (), name, "tables")._replace(in_memory=False),
        ]

    def _four_bits(self, name: str, shape: tuple[int, int], dtype: str) -> list[StoredPiece]:
        weights = shape[0] * shape[1]
        blocks = -(-weights // _BLOCK)
        packed = StoredPiece.of(name, "U8", (-(-weights // 2), 1), name, "weights", weights)
        table = StoredPiece.of(f"{name}.quant_map", "F32", (16,), name, "tables")
        state: dict[str, object] = {
            "quant_type": self.bnb_4bit_quant_type,
            "blocksize": _BLOCK,
            "dtype": LONG_NAMES[dtype],
            "shape": shape,
        }
        if not self.bnb_4bit_use_double_quant:
            pieces = [packed, StoredPiece.of(f"{name}.absmax", "F32", (blocks,), name, "scales"), table]
            return [*pieces, self._description(name, state)]
        state |= {"nested_blocksize": _NESTED_BLOCK, "nested_dtype": "float32", "nested_offset": _TYPICAL_OFFSET}
        return [
            packed,
            StoredPiece.of(f"{name}.absmax", "U8", (blocks,), name, "scales"),
            table,
            StoredPiece.of(f"{name}.nested_absmax", "F32", (-(-blocks // _NESTED_BLOCK),), name, "scales"),
            StoredPiece.of(f"{name}.nested_quant_map", "F32", (256,), name, "tables"),
            StoredPiece.of(f"{name}.offset", "F32", (), name, "scales")._replace(in_file=False),
            self._description(name, state),
        ]

    def _description(self, name: str, state: dict[str, object]) -> StoredPiece:
        full, size = f"{name}.quant_state.bitsandbytes__{self.bnb_4bit_quant_type}", len(json.dumps(state))
        return StoredPiece.of(full, "U8", (size,), name, "tables")._replace(in_memory=False)
