"""Common quantization formats, keyed by short names.

>>> [USUAL_FORMATS[name].title for name in ("nf4", "onnx-int8", "Q4_0")]
['bitsandbytes NF4', 'ONNX dynamic int8', 'GGUF Q4_0']
"""

from collections.abc import Mapping
from typing import get_args

from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.documented_formats import AwqConfig, GPTQConfig
from bertcalc.storage.gguf_format import Gguf, TypeName
from bertcalc.storage.onnx_format import OnnxQuantizeDynamic
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.torch_dynamic_format import TorchQuantizeDynamic
from bertcalc.storage.torchao_format import Int8WeightOnlyConfig, IntxWeightOnlyConfig

USUAL_FORMATS: Mapping[str, QuantizationFormat] = {
    "int8": BitsAndBytesConfig(load_in_8bit=True),
    "nf4": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"),
    "nf4-double": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True),
    "torchao-int8": Int8WeightOnlyConfig(),
    "torchao-intx": IntxWeightOnlyConfig(),
    "torch-int8": TorchQuantizeDynamic(),
    "onnx-int8": OnnxQuantizeDynamic(),
    "onnx-int8-torchscript": OnnxQuantizeDynamic(exporter="torchscript"),
    "onnx-int8-torchscript-1": OnnxQuantizeDynamic(exporter="torchscript-1"),
    "gptq": GPTQConfig(),
    "awq": AwqConfig(),
    **{name: Gguf(name) for name in get_args(TypeName)},
}
