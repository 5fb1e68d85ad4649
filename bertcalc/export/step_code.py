"""A Python program that changes a model step by step with the real libraries, and checks bertcalc's counts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.step_texts import ChangeStep, kind_of
from bertcalc.changes.adapter import PeftChange
from bertcalc.changes.bitfit import BitFit
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.prompts import NAMES_OF_WIDTH, Prompts
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.export.snippet import built
from bertcalc.model.model import Model
from bertcalc.model.modules import ModuleList
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.gguf_format import Gguf
from bertcalc.storage.onnx_file import graph_bytes
from bertcalc.storage.onnx_format import OnnxQuantizeDynamic
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.storage.torch_dynamic_format import TorchQuantizeDynamic
from bertcalc.storage.torchao_format import Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerGroup
from bertcalc.text.problem import InputError
from bertcalc.text.records import arguments, in_python

# What users can do instead of a step that no library supports.
_BY_HAND: Mapping[type[ChangeStep], str] = {
    PruneHeads: "Up to version 4.57, transformers had model.prune_heads for it.",
    NarrowFeedForward: "Build the model with this size, and copy the rows and columns to keep.",
    FactorizeEmbeddings: "Put a narrow Embedding and a Linear in the place of the word table; in ALBERT and ELECTRA, "
    "the size is a field.",
}


def code(model: Model, steps: Sequence[ChangeStep]) -> str:
    """Write the program, which uses the meta device unless quantization or the activation needs weights.

    From the first step that no library can run on a CPU to the end, all lines are comments.
    """
    quantizes = any(isinstance(step, RUNS_ON_CPU) for step in steps)
    changed, lines, stopped = ChangedModel(model), built(model, with_weights=quantizes).splitlines(), False
    if quantizes:
        lines.insert(0, "from pathlib import Path\n")
    for step in steps:
        quantized = isinstance(step, QuantizationFormat)
        if not stopped and (quantized or type(step) in _BY_HAND):
            lines += _asserts(changed)
        stopped = stopped or type(step) in _BY_HAND or (quantized and not isinstance(step, RUNS_ON_CPU))
        changed = changed.after(step)
        written = ["", *(_quantization_lines(changed) if quantized else _lines(changed.model, step))]
        lines += map(_comment, written) if stopped else written
    if not (steps and isinstance(steps[-1], QuantizationFormat)):
        written = _asserts(changed)
        lines += map(_comment, written) if stopped else written
    return "\n".join(lines) + "\n"


def _comment(line: str) -> str:
    return line if not line or line.startswith("#") else f"# {line}"


def _asserts(changed: ChangedModel) -> list[str]:
    """The lines that compare the real counts with bertcalc's.

    With packed weights, only trained parameters are compared, because packed tensors have fewer elements.
    """
    model = changed.model
    every = f"assert sum(tensor.numel() for tensor in model.parameters()) == {model.num_parameters():_}"
    return [
        "",
        "trained = sum(tensor.numel() for tensor in model.parameters() if tensor.requires_grad)",
        *([] if changed.base else [every]),
        f"assert trained == {model.num_parameters(only_trainable=True):_}",
        'print(f"The counts agree: {trained:,} parameters are trained.")',
    ]


def _lines(model: Model, step: ChangeStep) -> Iterator[str]:
    kind, values = kind_of(step), arguments(step)
    if isinstance(step, Prompts):  # peft has no default for num_virtual_tokens, and knows only some names of sizes
        values = {"num_virtual_tokens": step.num_virtual_tokens} | values
        config: Any = model.config
        if config.own_name("hidden_size") not in NAMES_OF_WIDTH:
            values |= {"num_layers": config.num_hidden_layers, "num_attention_heads": config.num_attention_heads}
    texts = [f"{name}={in_python(value)}" for name, value in values.items()]
    match step:
        case PeftChange():
            yield f"from peft import {step.peft_config}, get_peft_model  # pip install peft==0.21.0"
            yield ""
            yield f"model = get_peft_model(model, {step.peft_config}({', '.join(texts)}))"
        case BitFit():
            trained = [tensor.name for tensor in model.tensors(folded=False) if not tensor.frozen]
            head = [name for name in trained if not name.endswith(".bias")]
            yield "for name, tensor in model.named_parameters():"
            yield f'    tensor.requires_grad = name.endswith(".bias"){f" or name in {head}" if head else ""}'
        case ResizeVocabulary():
            yield f"model.resize_token_embeddings({', '.join((*texts, 'mean_resizing=False'))})"
        case DropLayers():
            if not model.config.has("num_hidden_groups"):  # ALBERT has one layer, which runs several times
                path = next(path for path, module, _copies in model.modules() if isinstance(module, ModuleList))
                kept = f"layer for number, layer in enumerate(model.{path}) if number not in {list(step.layers)}"
                yield f"model.{path} = torch.nn.ModuleList([{kept}])"
            yield f"model.config.num_hidden_layers -= {len(step.layers)}"
        case _:
            yield f"# {kind}, {', '.join(texts)}: no library does this. {_BY_HAND[type(step)]}"
            yield "# What follows is for the model after it."


# The formats that a Python library can write on a CPU; for other formats, the program has only comments.
RUNS_ON_CPU = (
    *(BitsAndBytesConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, TorchQuantizeDynamic),
    OnnxQuantizeDynamic,
)


def _quantization_lines(changed: ChangedModel) -> Iterator[str]:
    base = changed.base
    assert base
    assert isinstance(base.model, Model)
    match base.format:
        case BitsAndBytesConfig():
            yield from _bitsandbytes(base.model, base.format)
        case Int8WeightOnlyConfig() | IntxWeightOnlyConfig():
            yield from _torchao(base.format)
        case TorchQuantizeDynamic():
            yield ""
            kinds = "{torch.nn.Linear}, dtype=torch.qint8"
            yield f"model = torch.ao.quantization.quantize_dynamic(model, {kinds})"
            yield 'torch.save(model.state_dict(), "pytorch_model.bin")'
        case OnnxQuantizeDynamic():
            yield from _onnx(base.model, base.format)
        case Gguf():
            yield "# The file of llama.cpp, which has no Python for it:"
            yield '# model.save_pretrained("float32")'
            yield "# python convert_hf_to_gguf.py float32 --outtype f16 --outfile float16.gguf"
            pure = "--pure " * base.format.pure
            yield f"# llama-quantize {pure}float16.gguf quantized.gguf {base.format.type}"
        case _:
            yield f"# {base.format.title} needs a GPU, and texts to calibrate it: transformers.{base.format}"
    if isinstance(base.format, RUNS_ON_CPU):
        yield from _size_asserts(base)


def _bitsandbytes(model: Model, form: BitsAndBytesConfig) -> Iterator[str]:
    pooler = f", add_pooling_layer={model.add_pooling_layer}" if model.cls.pooler_is_optional else ""
    yield "from transformers import BitsAndBytesConfig  # pip install bitsandbytes==0.50.2 accelerate"
    yield ""
    yield 'model.save_pretrained("float32")  # transformers quantizes what it loads'
    yield f"quantization = {form}"
    loaded = f'"float32", quantization_config=quantization, dtype="float32"{pooler}'
    yield f"model = {model.architecture}.from_pretrained({loaded})"
    yield 'model.save_pretrained("quantized")'


def _torchao(form: Int8WeightOnlyConfig | IntxWeightOnlyConfig) -> Iterator[str]:
    values = {
        name: f"torch.{value}" if name == "weight_dtype" else in_python(value)
        for name, value in arguments(form).items()
    }
    kind, options = type(form).__name__, ", ".join(f"{name}={value}" for name, value in values.items())
    yield f"from torchao.quantization import {kind}, quantize_  # pip install torchao==0.18.0"
    if isinstance(form, IntxWeightOnlyConfig) and isinstance(form.granularity, PerGroup):
        yield "from torchao.quantization.granularity import PerGroup"
    yield ""
    yield f"quantize_(model, {kind}({options}))"
    yield 'torch.save(model.state_dict(), "pytorch_model.bin")'


def _onnx(model: Model, form: OnnxQuantizeDynamic) -> Iterator[str]:
    shape = "(2, 2, 8)" if model.cls.takes_choices else "(2, 8)"
    axes = ["batch", *(["choices"] if model.cls.takes_choices else []), "sequence"]
    named = f"{{name: {dict(enumerate(axes))} for name in inputs}}"
    options = f"dynamo=True, dynamic_shapes={named}, external_data=False"
    if form.exporter != "dynamo":
        options = f"dynamo=False, input_names=list(inputs), dynamic_axes={named}"
    yield "# pip install onnx onnxruntime onnxscript"
    yield "from onnxruntime.quantization import QuantType, quantize_dynamic"
    yield ""
    yield "model.eval()"
    yield "model.config.use_cache = model.config.return_dict = False"
    yield f"ids = torch.ones({shape}, dtype=torch.int64)"
    yield 'inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}'
    yield f'torch.onnx.export(model, (), "model.onnx", kwargs=inputs, {options})'
    quantized = f"per_channel={form.per_channel}, weight_type=QuantType.{form.weight_type}"
    yield f'quantize_dynamic("model.onnx", "quantized.onnx", {quantized})'


def _size_asserts(base: QuantizedModel) -> Iterator[str]:
    form = base.format
    near, why = form.file_margin(base.model), "the length of a number depends on the weights"
    try:
        expected = base.file_bytes
    except InputError:  # the library cannot write it
        return
    if isinstance(form, OnnxQuantizeDynamic):
        near, why = graph_bytes(base.model, form.exporter, quantized=True), "the graph is estimated"
    yield f"size = Path({_FILES[form.file_format]!r}).stat().st_size"
    yield (f"assert abs(size - {expected:_}) <= {near:_}  # {why}" if near else f"assert size == {expected:_}")
    yield 'print(f"The file has {size:,} bytes.")'


_FILES = {"safetensors": "quantized/model.safetensors", "bin": "pytorch_model.bin", "onnx": "quantized.onnx"}
