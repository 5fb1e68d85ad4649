"""The size of a model's file in each format.

>>> from bertcalc.model.model import build
>>> bert = build("bert-base-uncased")
>>> [file_bytes(bert, form) for form in ("safetensors", "bin", "checkpoint")]
[437951328, 438006591, 1313970411]
"""

from typing import Literal

from bertcalc.model.model import Model
from bertcalc.model.modules import Module
from bertcalc.storage.adapter_file import adapter_file_bytes, without_adapter
from bertcalc.storage.onnx_file import Exporter, onnx_bytes
from bertcalc.storage.optimizer_file import SavedOptimizer, optimizer_file_bytes
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.storage.safetensors_file import MAX_SHARD_SIZE, safetensors_files
from bertcalc.storage.saved_names import saved
from bertcalc.storage.stored_tensors import CODES, Dtype, StoredTensor, dtype_of
from bertcalc.storage.torch_file import state_dict_value, torch_file_bytes
from bertcalc.text import N_
from bertcalc.text.arguments import Single, checked, single_model
from bertcalc.text.problem import wrong

SavedFormat = Literal["safetensors", "bin", "checkpoint", "adapter", "onnx"]


@checked
def file_bytes(
    model: Module,
    format: SavedFormat = "safetensors",
    dtype: Dtype = "float32",
    *,
    max_shard_size: Single = MAX_SHARD_SIZE,
    optimizer: SavedOptimizer = "adamw",
    exporter: Exporter = "dynamo",
) -> int:
    """The size of a model's file in bytes, to the byte except for ONNX.

    Args:
        format: "safetensors", as save_pretrained writes it (with the index, if there are shards; with an adapter, those
            of the model without it and adapter_model.safetensors); "adapter", the latter alone (0 without an adapter);
            "bin", torch.save of the state_dict; "checkpoint" (safetensors and optimizer.pt); "onnx" (with its external
            data, if there are any).
        dtype: of the weights and of the optimizer's states; an adapter is in float32.
        max_shard_size: the most bytes of data in a safetensors file, as in save_pretrained.
        optimizer: whose states a checkpoint has.
        exporter: of ONNX: see ``bertcalc.storage.onnx_file``.
    """
    code = CODES[dtype]
    if format == "bin":
        return torch_file_bytes(state_dict_value(model, code), "pytorch_model")
    if format == "onnx":
        return onnx_bytes(model, code, exporter)
    base, size = (without_adapter(model), adapter_file_bytes(model, dtype)) if isinstance(model, Model) else (model, 0)
    if format == "adapter":
        return size
    files = safetensors_files(saved(base, code), base.num_parameters(), max_shard_size)
    size += sum(file.num_bytes for file in files)
    if format == "checkpoint":
        trained = [
            StoredTensor(tensor.name, dtype_of(tensor.name, code), tensor.shape)
            for tensor in model.tensors(folded=False)
            if not tensor.frozen
        ]
        size += optimizer_file_bytes(trained, optimizer)
    return size


@checked
def quantized(model: Module, format: QuantizationFormat, dtype: Dtype = "float32") -> QuantizedModel:
    """A model in a quantization format; tensors that are not quantized are in ``dtype``.

    Raises InputError if the library does not quantize a model of that dtype, or none of its weights.
    """
    single_model("quantized()", model)
    if dtype not in format.dtypes:
        message = N_("{format} is made of a model in {dtypes}, not in {dtype}.")
        raise wrong(message, "dtype", dtype, format=format.title, dtypes=", ".join(format.dtypes), dtype=dtype)
    made = QuantizedModel(model, format, dtype)
    if not made.quantized_weights:
        message = N_("{format} quantizes no weight of {kind}: there is no linear layer that it takes.")
        raise wrong(message, "format", None, format=format.title, kind=model.kind)
    return made
