"""4-bit formats that need a GPU, counted by their documented layout and not compared with real files.

GPTQ and AWQ pack eight 4-bit weights into an int32. Each group of weights in a row has a float16 scale and a packed
zero point. Only linear layers of the repeated layers are quantized.
"""

from typing import Literal

from bertcalc.model.modules import Module, join, split_layer
from bertcalc.storage.kept_layers import linear_layers, matrix
from bertcalc.storage.quantization_format import QuantizationFormat, StoredPiece
from bertcalc.text import N_
from bertcalc.text.problem import wrong
from bertcalc.text.records import dataclass

_INT32 = 32
_NOT_PACKED = N_(
    "AutoAWQ cannot pack {name}: its {columns} columns must be divisible by the group size {group}, and "
    "its {rows} rows by 8."
)
_DOCUMENTED = N_("Computed from the documentation of the format; not compared with real files.")


class _Packed(QuantizationFormat):
    """The base of GPTQ and AWQ. With ``group_size`` -1, each row is a single group."""

    bits: int
    group_size: int
    caveat = _DOCUMENTED
    takes_adapters = True

    @property
    def nominal_bits(self) -> int:
        return self.bits

    def layers(self, model: Module) -> list[tuple[str, Module]]:
        layers = linear_layers(model, conv1d=True)
        repeated = [(path, module) for path, module in layers if split_layer(path)[0]]
        return repeated or layers  # a part of a model may have no list of layers

    def _columns(self, columns: int) -> int:
        return columns if self.group_size == -1 else self.group_size

    def _groups(self, columns: int) -> int:
        return -(-columns // self._columns(columns))

    def _packed(self, count: int) -> int:
        """The number of int32 values that hold ``count`` weights."""
        return -(-count * self.bits // _INT32)


@dataclass(frozen=True)
class GPTQConfig(_Packed):
    """transformers' ``GPTQConfig`` (Frantar et al. 2022): packed along the columns, with a group index per column.

    >>> from bertcalc.model.model import build
    >>> pieces = GPTQConfig().pieces(build("bert-base-uncased"), "F16")
    >>> [piece.tensor.shape for piece in pieces if piece.source == "encoder.layer.0.output.dense.weight"]
    [(384, 768), (24, 96), (24, 768), (3072,)]
    """

    bits: Literal[2, 3, 4, 8] = 4
    group_size: int | Literal[-1] = 128

    title = "GPTQ"
    source = "GPTQModel: gptqmodel/nn_modules/qlinear/__init__.py (GPTQQuantLinear), as transformers 5 takes it"

    def of_layer(self, path: str, rows: int, columns: int, dtype: str) -> list[StoredPiece]:
        name, qweight, groups = join(path, "weight"), join(path, "qweight"), self._groups(columns)
        return [
            StoredPiece.of(qweight, "I32", (self._packed(columns), rows), name, "weights", rows * columns),
            StoredPiece.of(join(path, "qzeros"), "I32", (groups, self._packed(rows)), name, "zero points"),
            StoredPiece.of(join(path, "scales"), "F16", (groups, rows), name, "scales"),
            StoredPiece.of(join(path, "g_idx"), "I32", (columns,), name, "tables"),
        ]


@dataclass(frozen=True)
class AwqConfig(_Packed):
    """transformers' ``AwqConfig`` (Lin et al. 2023): packed along the rows, without group indices.

    ``zero_point`` changes no size: the zero points are stored in any case.
    """

    bits: Literal[4] = 4
    group_size: int | Literal[-1] = 128
    zero_point: bool = True

    title = "AWQ"
    source = "AutoAWQ 0.2.9: awq/modules/linear/gemm.py (WQLinear_GEMM)"

    def of_layer(self, path: str, rows: int, columns: int, dtype: str) -> list[StoredPiece]:
        if columns % self._columns(columns) or rows % (_INT32 // self.bits):
            values = {"name": path, "rows": rows, "columns": columns, "group": self.group_size}
            raise wrong(_NOT_PACKED, "group_size", self.group_size, **values)
        name, qweight, groups = join(path, "weight"), join(path, "qweight"), self._groups(columns)
        return [
            StoredPiece.of(qweight, "I32", (columns, self._packed(rows)), name, "weights", rows * columns),
            StoredPiece.of(join(path, "qzeros"), "I32", (groups, self._packed(rows)), name, "zero points"),
            StoredPiece.of(join(path, "scales"), "F16", (groups, rows), name, "scales"),
        ]


@dataclass(frozen=True)
class Int4WeightOnlyConfig(QuantizationFormat):
    """torchao's ``Int4WeightOnlyConfig``: two weights per byte.

    Each group of weights has a scale and a zero point in the model's dtype. A torch.nn.Linear is quantized if
    ``group_size`` divides its number of columns. The format needs a GPU and bfloat16.
    """

    group_size: int = 128

    title = "torchao int4"
    source = "torchao 0.18.0: quantization/quantize_/workflows/int4/int4_tensor.py"
    caveat = _DOCUMENTED

    @property
    def nominal_bits(self) -> int:
        return 4

    def layers(self, model: Module) -> list[tuple[str, Module]]:
        layers = super().layers(model)
        return [(path, module) for path, module in layers if matrix(module)[1] % self.group_size == 0]

    def of_layer(self, path: str, rows: int, columns: int, dtype: str) -> list[StoredPiece]:
        name, groups = join(path, "weight"), (columns // self.group_size, rows)
        return [
            StoredPiece.of(f"{name}.qdata", "I8", (rows, columns // 2), name, "weights", rows * columns),
            StoredPiece.of(f"{name}.scale", dtype, groups, name, "scales"),
            StoredPiece.of(f"{name}.zero_point", dtype, groups, name, "zero points"),
        ]
