"""PyTorch's dynamic int8: ``torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)``."""

from collections.abc import Mapping

from bertcalc.model.modules import Module, join
from bertcalc.storage.kept_layers import matrix
from bertcalc.storage.pickle_size import ORDERED_DICT, Global, PickledCall
from bertcalc.storage.quantization_format import QuantizationFormat, StoredPiece
from bertcalc.storage.stored_tensors import state_dict
from bertcalc.storage.torch_file import SavedTensor, module_versions, torch_file_bytes, with_versions
from bertcalc.text import N_
from bertcalc.text.records import dataclass

_VERSION, _PACKED_VERSION = 4, 3  # versions of the modules DynamicQuantizedLinear and LinearPackedParams


@dataclass(frozen=True)
class TorchQuantizeDynamic(QuantizationFormat):
    """PyTorch's ``quantize_dynamic`` of every torch.nn.Linear: int8 with a scale and a zero point for each matrix.

    Embeddings, LayerNorms and biases stay in float32. A decoder that is tied to the embeddings gets its own int8
    weights. In memory, the engine packs the weights and adds padding, which is not counted.

    >>> from bertcalc.model.model import build
    >>> TorchQuantizeDynamic().file_bytes(build("bert-base-uncased"), "F32")
    181489991
    """

    title = N_("PyTorch dynamic int8")
    source = "PyTorch 2.13: torch/ao/nn/quantized/modules/linear.py, torch/ao/nn/quantized/dynamic/modules/linear.py"
    file_format = "bin"
    dtypes = ("float32",)

    def of_layer(self, path: str, rows: int, columns: int, dtype: str) -> list[StoredPiece]:
        name = join(path, "weight")
        return [
            # The scale of the output and its zero point are unused.
            StoredPiece.of(f"{path}.scale", "F32", (), name, "tables")._replace(in_memory=False),
            StoredPiece.of(f"{path}.zero_point", "I64", (), name, "tables")._replace(in_memory=False),
            StoredPiece.of(name, "I8", (rows, columns), name, "weights"),
            # The scale and zero point of the weights are numbers in the pickle.
            StoredPiece.of(f"{name}.scale", "F64", (), name, "scales")._replace(in_file=False),
            StoredPiece.of(f"{name}.zero_point", "I64", (), name, "zero points")._replace(in_file=False),
        ]

    def file_bytes(self, model: Module, dtype: str) -> int:
        """The size in bytes of the file that ``torch.save(model.state_dict(), "pytorch_model.bin")`` writes."""
        layers = dict(self.layers(model))
        entries: dict[str, object] = {}
        for entry in state_dict(model):
            if entry.path not in layers:
                entries[entry.name] = SavedTensor(dtype, entry.shape, entry.owner)
            elif entry.name == join(entry.path, "weight"):
                entries |= _packed(entry.path, layers[entry.path], dtype)
        versions: dict[str, int] = {}
        for path, version in module_versions(model).items():
            versions[path] = _VERSION if path in layers else version
            if path in layers:
                versions[f"{path}._packed_params"] = _PACKED_VERSION
        return torch_file_bytes(with_versions(entries, versions), "pytorch_model")


def _packed(path: str, module: Module, dtype: str) -> Mapping[str, object]:
    """The state_dict entries of a quantized layer: its weight and bias share an entry."""
    weight = SavedTensor("I8", matrix(module), join(path, "weight"), quantized=True)
    bias = None
    if "bias" in module.parameters or "bias" in module.tied:
        owner = module.tied.get("bias", f"{path}.bias")
        values = SavedTensor(dtype, matrix(module)[:1], owner)
        bias = PickledCall(Global("torch._utils", "_rebuild_parameter"), (values, True, ORDERED_DICT))
    return {
        f"{path}.scale": SavedTensor("F32", (), f"{path}.scale"),
        f"{path}.zero_point": SavedTensor("I64", (), f"{path}.zero_point"),
        f"{path}._packed_params.dtype": Global("torch", "qint8"),
        f"{path}._packed_params._packed_params": (weight, bias),
    }
