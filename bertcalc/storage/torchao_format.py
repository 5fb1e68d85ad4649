"""torchao 0.18: weight-only integer quantization of torch.nn.Linear with ``quantize_(model, config)``."""

from typing import ClassVar, Literal

from bertcalc.model.modules import Module, join
from bertcalc.storage.pickle_size import Global, NewText, PickledCall
from bertcalc.storage.quantization_format import QuantizationFormat, StoredPiece
from bertcalc.storage.stored_tensors import LONG_NAMES, StoredTensor
from bertcalc.storage.torch_file import SavedTensor, state_dict_value, torch_file_bytes
from bertcalc.text import N_
from bertcalc.text.arguments import CheckedRecord
from bertcalc.text.problem import wrong
from bertcalc.text.records import dataclass

_STRIDED = PickledCall(Global("torch.serialization", "_get_layout"), ("torch.strided",), is_single=True)


@dataclass(frozen=True)
class PerAxis(CheckedRecord):
    """torchao's ``PerAxis``: a scale for each row."""

    axis: Literal[0] = 0


@dataclass(frozen=True)
class PerGroup(CheckedRecord):
    """torchao's ``PerGroup``: a scale for each group of ``group_size`` weights in a row."""

    group_size: int = 32


@dataclass(frozen=True)
class _WeightOnly(QuantizationFormat):
    """The base of weight-only formats: a byte per weight, and a scale and a one-byte zero point per group of a row.

    ``torch.save(model.state_dict(), "pytorch_model.bin")`` writes the file.
    """

    file_format = "bin"
    takes_adapters = True
    scale_dtype: ClassVar[str] = ""  # by default the model's

    def of_layer(self, path: str, rows: int, columns: int, dtype: str) -> list[StoredPiece]:
        name = join(path, "weight")
        groups = (rows, self._groups(name, columns))
        return [
            StoredPiece.of(f"{name}.qdata", "I8", (rows, columns), name, "weights"),
            StoredPiece.of(f"{name}.scale", self.scale_dtype or dtype, groups, name, "scales"),
            StoredPiece.of(f"{name}.zero_point", "I8", groups, name, "zero points"),
        ]

    def file_bytes(self, model: Module, dtype: str) -> int:
        parts: dict[str, list[StoredTensor]] = {}
        for piece in self.pieces(model, dtype):
            if piece.kind != "unchanged":
                parts.setdefault(piece.source, []).append(piece.tensor)
        changed = {name: self._wrapped(dtype, *tensors) for name, tensors in parts.items()}
        return torch_file_bytes(state_dict_value(model, dtype, changed), "pytorch_model")

    def _groups(self, name: str, columns: int) -> int:
        return 1

    def _wrapped(self, dtype: str, *parts: StoredTensor) -> PickledCall:
        data, scale, zero = (SavedTensor(part.dtype, part.shape, part.name) for part in parts)
        kind, attributes = self._attributes(data, scale, zero)
        long = LONG_NAMES[dtype]
        device = PickledCall(Global("torch", "device"), (NewText("cpu"),))
        about = (kind, Global("torch", long), data.shape, (data.shape[1], 1), 0, _STRIDED, device, False)
        rebuild = Global("torch._utils", "_rebuild_wrapper_subclass")
        return PickledCall(Global("torch._tensor", "_rebuild_from_type_v2"), (rebuild, kind, about, attributes))

    def _attributes(self, data: SavedTensor, scale: SavedTensor, zero: SavedTensor) -> tuple[Global, dict[str, object]]:
        raise NotImplementedError


@dataclass(frozen=True)
class Int8WeightOnlyConfig(_WeightOnly):
    """torchao's ``Int8WeightOnlyConfig``: int8 with a float32 scale and an int8 zero point for each row.

    Every torch.nn.Linear is quantized. A decoder that is tied to the embeddings gets its own int8 weights; the
    embeddings are not quantized.

    >>> from bertcalc.model.model import build
    >>> pieces = Int8WeightOnlyConfig().pieces(build("bert-base-uncased"), "F32")
    >>> [(piece.kind, piece.tensor.shape) for piece in pieces if piece.source.endswith("layer.0.output.dense.weight")]
    [('weights', (768, 3072)), ('scales', (768, 1)), ('zero points', (768, 1))]
    """

    title = "torchao int8"
    scale_dtype = "F32"
    source = "torchao 0.18.0: quantization/quantize_/workflows/int8/int8_tensor.py"

    def _attributes(self, data: SavedTensor, scale: SavedTensor, zero: SavedTensor) -> tuple[Global, dict[str, object]]:
        nothing = dict.fromkeys(("act_quant_kwargs", "act_quant_scale", "act_quant_zero_point", "act_pre_scale"))
        block = [1, data.shape[1]]
        tensors = {"qdata": data, "scale": scale, "block_size": block, "zero_point": zero}
        return Global("torchao.quantization", "Int8Tensor"), {**tensors, **nothing, "reduce_range": False}


@dataclass(frozen=True)
class IntxWeightOnlyConfig(_WeightOnly):
    """torchao's ``IntxWeightOnlyConfig``: integers of 1 to 8 bits, each stored in a whole byte.

    This is the default packing format, "unpacked_to_int8": int4 needs as much memory as int8. Each row or group has a
    scale in the model's dtype and an int8 zero point.

    >>> from bertcalc.storage.quantized_model import QuantizedModel
    >>> from bertcalc.model.model import build
    >>> QuantizedModel(build("bert-base-uncased"), IntxWeightOnlyConfig("int4", PerGroup(32))).bits_per_weight
    9.25
    """

    weight_dtype: Literal["int1", "int2", "int3", "int4", "int5", "int6", "int7", "int8"] = "int8"
    granularity: PerAxis | PerGroup = PerAxis()

    source = "torchao 0.18.0: quantization/quantize_/workflows/intx/intx_unpacked_to_int8_tensor.py"

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"torchao {self.weight_dtype}, unpacked"

    @property
    def nominal_bits(self) -> int:
        return int(self.weight_dtype.removeprefix("int"))

    @property
    def is_unpacked(self) -> bool:
        return self.nominal_bits < 8

    def _groups(self, name: str, columns: int) -> int:
        size = self.granularity.group_size if isinstance(self.granularity, PerGroup) else columns
        if size < 1 or columns % size:
            message = N_("group_size {size} does not divide the {columns} columns of {name}.")
            raise wrong(message, size=size, columns=columns, name=name)
        return columns // size

    def _attributes(self, data: SavedTensor, scale: SavedTensor, zero: SavedTensor) -> tuple[Global, dict[str, object]]:
        block = (1, data.shape[1] // scale.shape[1])
        tensors = {"qdata": data, "scale": scale, "zero_point": zero}
        about = {"target_dtype": Global("torch", self.weight_dtype), "block_size": block}
        kind = Global("torchao.quantization", "IntxUnpackedToInt8Tensor")
        return kind, {**tensors, **about, "activation_quantization": None}
