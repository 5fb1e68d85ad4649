"""Write files with the libraries in their environment: JSON models on stdin, sizes of the written files on stdout.

Each case has a ``writer``, which is one of the functions below, an ``architecture`` with its ``config``, and
``options``.
"""

import contextlib
import json
import logging
import os
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)


def model_of(case: dict[str, Any]) -> Any:
    """Return a model with distinct tensors: an exporter to ONNX may merge equal ones."""
    kind = getattr(transformers, case["architecture"])
    model = kind(kind.config_class(**case["config"])).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.02 * torch.randn_like(parameter))
    return model


def bitsandbytes(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the sizes of save_pretrained's file and of the quantized model in memory."""
    model = model_of(case)
    model.save_pretrained(folder / "plain")
    config = transformers.BitsAndBytesConfig(**case["options"])
    dtype = getattr(torch, case["dtype"])
    quantized = type(model).from_pretrained(folder / "plain", quantization_config=config, dtype=dtype)
    if adapter := case.get("adapter"):
        return adapted(quantized, adapter, folder)
    quantized.save_pretrained(folder / "quantized")
    return {"file": size_of(folder / "quantized" / "model.safetensors"), "memory": bytes_in(quantized)}


def adapted(quantized: Any, adapter: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return peft's counts of LoRA on a quantized model, its bytes in memory, and the size of the adapter's file."""
    import peft

    try:
        model = peft.get_peft_model(quantized, peft.LoraConfig(**adapter))
    except RuntimeError as error:
        return {"refused": str(error)}
    model.save_pretrained(str(folder / "adapter"))
    trained, whole = model.get_nb_trainable_parameters()
    file = size_of(folder / "adapter" / "adapter_model.safetensors")
    return {"trained": trained, "all": whole, "memory": bytes_in(model), "adapter file": file}


def bytes_in(model: Any) -> int:
    """Return the bytes of all parameters, including the scales that bitsandbytes stores with them."""
    held = {id(tensor): tensor for tensor in model.parameters()}
    scales = 0
    for parameter in held.values():
        for state in (getattr(parameter, "SCB", None), getattr(parameter, "quant_state", None)):
            scales += sum(tensor.nbytes for tensor in tensors_in(state))
    data: int = sum(tensor.nbytes for tensor in held.values())
    return data + scales


def tensors_in(state: Any) -> list[torch.Tensor]:
    """Return the tensors of a QuantState, or the scale itself."""
    if state is None or isinstance(state, torch.Tensor):
        return [] if state is None else [state]
    inside = [state.absmax, state.code, state.offset, *tensors_in(state.state2)]
    return [tensor for tensor in inside if tensor is not None]


def torchao(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the size of torch.save's file, its tensors, and whether a linear layer passes a gradient."""
    from torchao import quantization
    from torchao.quantization import granularity

    options = dict(case["options"])
    name = options.pop("config")
    if "weight_dtype" in options:
        options["weight_dtype"] = getattr(torch, options["weight_dtype"])
    if "group_size" in options:
        options["granularity"] = granularity.PerGroup(options.pop("group_size"))
    model = model_of(case).to(getattr(torch, case["dtype"]))
    quantization.quantize_(model, getattr(quantization, name)(**options))
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    held = 0
    for parameter in model.parameters():
        names = getattr(parameter, "tensor_data_names", None)
        parts = [parameter] if names is None else [parameter.qdata, parameter.scale, parameter.zero_point]
        held += sum(part.nbytes for part in parts)
    layer = next(module for module in model.modules() if isinstance(module, torch.nn.Linear))
    x = torch.ones(1, layer.in_features, dtype=getattr(torch, case["dtype"]), requires_grad=True)
    layer(x).sum().backward()
    return {"file": size_of(folder / "pytorch_model.bin"), "memory": held, "passes gradient": x.grad is not None}


class Logits(torch.nn.Module):  # type: ignore[misc]
    """A wrapper that returns a tensor, as exporters require. Its short names add little to the graph."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.m = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return self.m(input_ids=input_ids, attention_mask=attention_mask).logits


def onnx(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the sizes of an exporter's file and of quantize_dynamic's, and the types and shapes of their tensors."""
    from onnxruntime.quantization import quantize_dynamic

    model = model_of(case)
    model.config.use_cache = False
    ids = torch.randint(3, 90, (2, 8))
    names = ["input_ids", "attention_mask"]
    path, quantized = str(folder / "model.onnx"), str(folder / "int8.onnx")
    axes = {name: {0: "batch", 1: "sequence"} for name in names}
    options: dict[str, Any] = {"dynamo": False, "dynamic_axes": axes, "opset_version": 17}
    if case["options"]["exporter"] == "dynamo":
        options = {"dynamo": True, "dynamic_shapes": axes, "external_data": False, "verbose": False}
    with contextlib.redirect_stdout(sys.stderr):
        torch.onnx.export(Logits(model), (ids, torch.ones_like(ids)), path, input_names=names, **options)
    quantize_dynamic(path, quantized)
    files = {"file": path, "int8": quantized}
    tensors = {f"{name}_tensors": floats_and_bytes(file) for name, file in files.items()}
    return {name: size_of(Path(file)) for name, file in files.items()} | tensors


def floats_and_bytes(path: str) -> list[list[Any]]:
    """Return the type and the sorted shape of each float or byte initialiser with more than one element."""
    from onnx import TensorProto, load

    kinds = {TensorProto.FLOAT: "F32", TensorProto.UINT8: "U8", TensorProto.INT8: "I8"}
    found = load(path).graph.initializer
    return sorted(
        [kinds[tensor.data_type], sorted(side for side in tensor.dims if side > 1)]
        for tensor in found
        if tensor.data_type in kinds and max(tensor.dims, default=1) > 1
    )


def gguf(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write a file with the tensors in ``options``: each has a name, a shape as in NumPy, and a type.

    If ``options`` has a number of layers, the names are transformers', and gguf maps them to its names for the
    architecture.
    """
    import numpy
    from gguf import MODEL_ARCH_NAMES, GGMLQuantizationType, GGUFWriter, get_tensor_name_map, quants

    architecture, layers = case["options"]["architecture"], case["options"].get("layers")
    writer = GGUFWriter(folder / "model.gguf", architecture)
    writer.add_quantization_version(2)
    writer.add_file_type(7)
    names = []
    for name, sides, kind in case["options"]["tensors"]:
        if layers:
            [known] = [kind for kind, text in MODEL_ARCH_NAMES.items() if text == architecture]
            name = get_tensor_name_map(known, layers).get_name(name, try_suffixes=(".weight", ".bias"))
        names.append(name)
        type_of = GGMLQuantizationType[kind]
        data = quants.quant_shape_to_byte_shape(sides, type_of) if kind not in ("F32", "F16") else sides
        dtype = {"F32": numpy.float32, "F16": numpy.float16}.get(kind, numpy.uint8)
        writer.add_tensor(name, numpy.zeros(data, dtype), raw_dtype=type_of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {"file": size_of(folder / "model.gguf"), "names": names}


def size_of(path: Path) -> int:
    return path.stat().st_size


WRITERS = {writer.__name__: writer for writer in (bitsandbytes, torchao, onnx, gguf)}

if __name__ == "__main__":
    answers = []
    os.environ["HF_HUB_OFFLINE"] = "1"
    for case in json.load(sys.stdin):
        with TemporaryDirectory() as folder:
            answers.append(WRITERS[case["writer"]](case, Path(folder)))
    print(json.dumps(answers))
