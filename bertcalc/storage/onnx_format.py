"""ONNX with dynamic int8: ``onnxruntime.quantization.quantize_dynamic`` of an exported model."""

from typing import Literal

from bertcalc.model.modules import Module
from bertcalc.storage.onnx_file import Exporter, Initializer, graph_bytes, initializers
from bertcalc.storage.quantization_format import QuantizationFormat, StoredPiece, bytes_of
from bertcalc.text import N_
from bertcalc.text.records import dataclass

_SHAPE_OF_ONE = ()


@dataclass(frozen=True)
class OnnxQuantizeDynamic(QuantizationFormat):
    """onnxruntime's ``quantize_dynamic``: int8 with a scale and a zero point for each matrix, or for each column.

    The matrices of MatMul and Gemm and the tables of Gather (embeddings) are quantized. Biases, LayerNorms and tables
    that are read as a whole are not quantized. ``exporter`` is the exporter that wrote the model: see ``onnx_bytes``.
    With "torchscript", a matrix that several layers share stays in the file in addition to its int8 version.
    ``weight_type`` does not change the size.

    >>> from bertcalc.model.model import build
    >>> model = build("bert-base-uncased", "BertForSequenceClassification")
    >>> round(OnnxQuantizeDynamic(exporter="torchscript").file_bytes(model, "F32") / 2**20, 1)
    105.2
    """

    per_channel: bool = False
    weight_type: Literal["QInt8", "QUInt8"] = "QInt8"
    exporter: Exporter = "dynamo"

    title = N_("ONNX dynamic int8")
    caveat = N_(
        "The file size is an estimate: the size of the graph stored with the weights is extrapolated from measured "
        "exports."
    )
    source = "onnxruntime 1.32: python/tools/quantization/quantize.py, onnx_quantizer.py"
    file_format = "onnx"
    dtypes = ("float32",)

    def pieces(self, model: Module, dtype: str) -> list[StoredPiece]:
        pieces: list[StoredPiece] = []
        for initializer in initializers(model, dtype, self.exporter):
            copies = initializer.copies
            for copy in range(copies):
                pieces += self._of_copy(initializer, f" ({copy + 1})" if copies > 1 else "")
        return pieces

    def file_bytes(self, model: Module, dtype: str) -> int:
        return bytes_of(self.pieces(model, dtype)) + graph_bytes(model, self.exporter, quantized=True)

    def _of_copy(self, initializer: Initializer, copy: str) -> list[StoredPiece]:
        tensor = initializer.tensor
        name, source = f"{tensor.name}{copy}", tensor.name
        whole = StoredPiece.of(name, tensor.dtype, tensor.shape, source, "unchanged")
        if not initializer.operation:
            return [whole]
        is_table = initializer.operation == "Gather"
        kind = "U8" if is_table or self.weight_type == "QUInt8" else "I8"
        channels = tensor.shape[:1] if self.per_channel and not is_table else _SHAPE_OF_ONE
        parts = [
            StoredPiece.of(f"{name}_quantized", kind, tensor.shape, source, "weights"),
            StoredPiece.of(f"{name}_scale", "F32", channels, source, "scales"),
            StoredPiece.of(f"{name}_zero_point", kind, channels, source, "zero points"),
        ]
        return [*parts, whole] if initializer.operation == "MatMul" and initializer.uses > 1 else parts
