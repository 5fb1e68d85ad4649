"""The file size of a model in each format, and of a checkpoint with optimizer states, as Trainer writes it.

>>> from bertcalc.model.model import build
>>> bert = build("bert-base-uncased")
>>> [file_bytes(bert, form) for form in ("safetensors", "bin", "checkpoint")]
[437951328, 438006591, 1313970411]
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from bertcalc.changes.adapter import PeftChange
from bertcalc.model.model import Model
from bertcalc.model.modules import Module, Shape
from bertcalc.storage.adapter_file import adapter_file_bytes, without_adapter
from bertcalc.storage.onnx_file import Exporter, onnx_bytes
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.storage.safetensors_file import MAX_SHARD_SIZE, safetensors_files
from bertcalc.storage.saved_names import saved
from bertcalc.storage.stored_tensors import CODES, Dtype, StoredTensor, dtype_of
from bertcalc.storage.torch_file import SavedTensor, state_dict_value, torch_file_bytes
from bertcalc.text import N_
from bertcalc.text.arguments import Single, checked, single_model
from bertcalc.text.problem import wrong

SavedOptimizer = Literal["adamw", "momentum", "sgd"]
_ADAMW = {
    "weight_decay": 0.01,
    "lr": 5e-05,
    "betas": (0.9, 0.999),
    "eps": 1e-08,
    "amsgrad": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "fused": None,
    "decoupled_weight_decay": True,
}
_SGD = {
    "lr": 5e-05,
    "momentum": 0,
    "dampening": 0,
    "weight_decay": 0,
    "nesterov": False,
    "maximize": False,
    "foreach": None,
    "differentiable": False,
    "fused": None,
}
_ADAPTED = N_("peft adds adapters to a quantized model: quantize the model before you add the adapter.")
SavedFormat = Literal["safetensors", "bin", "checkpoint", "adapter", "onnx"]


def optimizer_file_bytes(trained: Sequence[StoredTensor], optimizer: SavedOptimizer = "adamw") -> int:
    """The size in bytes of ``torch.save(optimizer.state_dict(), "optimizer.pt")``, with all tensors in one group.

    For each trained tensor, AdamW saves a step count and two moving averages in the tensor's dtype. SGD with momentum
    saves a momentum buffer in the tensor's dtype. With an adapter, few tensors are trained, and the file is small.

    >>> from bertcalc.model.model import build
    >>> from bertcalc.storage.stored_tensors import stored
    >>> optimizer_file_bytes(stored(build("bert-base-uncased"), "F32"))
    876019083
    """
    state = {number: dict(_states(*tensor, optimizer)) for number, tensor in enumerate(trained)}
    settings = _ADAMW if optimizer == "adamw" else _SGD | ({"momentum": 0.9} if optimizer == "momentum" else {})
    group = {**settings, "params": [*range(len(trained))]}
    return torch_file_bytes({"state": {} if optimizer == "sgd" else state, "param_groups": [group]}, "optimizer")


def _states(name: str, dtype: str, shape: Shape, optimizer: SavedOptimizer) -> Iterable[tuple[str, SavedTensor]]:
    if optimizer == "adamw":
        yield "step", SavedTensor("F32", (), f"{name}.step")
        yield "exp_avg", SavedTensor(dtype, shape, f"{name}.exp_avg")
        yield "exp_avg_sq", SavedTensor(dtype, shape, f"{name}.exp_avg_sq")
    else:
        yield "momentum_buffer", SavedTensor(dtype, shape, f"{name}.momentum_buffer")


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
    """The size of a model's file in bytes; exact, except for ONNX.

    Args:
        format: "safetensors", the files that save_pretrained writes (including the index, if there are shards; for a
            model with an adapter, the model without it and adapter_model.safetensors); "adapter", only
            adapter_model.safetensors (0 without an adapter); "bin", torch.save of the state_dict; "checkpoint",
            safetensors and optimizer.pt; "onnx", including external data, if there is any.
        dtype: the dtype of the weights and of the optimizer's states; an adapter is in float32.
        max_shard_size: the maximum bytes of data in a safetensors file, as in save_pretrained.
        optimizer: the optimizer that writes the states of a checkpoint.
        exporter: the exporter for ONNX: see ``bertcalc.storage.onnx_file``.

    Raises ArgumentError for any other format, dtype, optimizer or exporter, and for a model of columns.

    >>> from bertcalc import Lora, load
    >>> bert = load("bert-base-uncased")
    >>> file_bytes(bert), file_bytes(bert, "bin", "bfloat16")
    (437951328, 219042111)
    >>> file_bytes(bert.adapted(Lora(r=8, target_modules=["query", "value"])), "adapter")
    1186088
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
    """Quantize a model in a format; tensors that are not quantized are in ``dtype``.

    Raises InputError if the library does not quantize models in this dtype, or none of the model's weights. Also raises
    InputError if the model already has a peft adapter: quantize first, then add it with ``QuantizedModel.adapted``.

    >>> from bertcalc.model.model import build
    >>> from bertcalc.storage.usual_formats import USUAL_FORMATS
    >>> quantized(build("bert-base-uncased"), USUAL_FORMATS["nf4"]).memory_bytes
    143943232
    """
    single_model("quantized()", model)
    if isinstance(model, Model) and any(isinstance(change, PeftChange) for change in model.changes):
        raise wrong(_ADAPTED, "changes")
    if dtype not in format.dtypes:
        message = N_("{format} needs a model in {dtypes}, not in {dtype}.")
        raise wrong(message, "dtype", dtype, format=format.title, dtypes=", ".join(format.dtypes), dtype=dtype)
    made = QuantizedModel(model, format, dtype)
    if not made.quantized_weights:
        message = N_("{format} quantizes no weight of {kind}: the model has no linear layer that the format supports.")
        raise wrong(message, "format", None, format=format.title, kind=model.class_name)
    return made
