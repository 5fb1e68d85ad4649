"""The lines of a program that quantize a model with the real library, and compare the size of its file with ours."""

from collections.abc import Iterator

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.model.model import Model
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.gguf_format import Gguf
from bertcalc.storage.onnx_file import graph_bytes
from bertcalc.storage.onnx_format import OnnxQuantizeDynamic
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.storage.torch_dynamic_format import TorchQuantizeDynamic
from bertcalc.storage.torchao_format import Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerGroup
from bertcalc.text.problem import InputError
from bertcalc.text.records import arguments, in_python

# The formats that Python makes on a CPU; of the others, the program has comments.
RUNS_ON_CPU = (
    *(BitsAndBytesConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, TorchQuantizeDynamic),
    OnnxQuantizeDynamic,
)


def quantization_lines(changed: ChangedModel) -> Iterator[str]:
    """The lines for a model that the last step quantized."""
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
        yield from _asserts(base)


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


def _asserts(base: QuantizedModel) -> Iterator[str]:
    """The lines that compare the size of the file with ours."""
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
