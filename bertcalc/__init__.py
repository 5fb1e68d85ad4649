"""Exact parameter counts of BERT and related models: one program per architecture, run on integers, symbols or arrays.

>>> bert = load("bert-base-uncased")  # a preset, the path of a config.json, a dictionary or a configuration
>>> bert.num_parameters()
109482240
"""

from bertcalc.api import Model, build, compare, infer, load, proofread, read
from bertcalc.api.live_model import UnknownModel, of
from bertcalc.changes.bitfit import BitFit
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.compute.flops import forward_flops, training_flops
from bertcalc.config import Config, ConfigError, columns
from bertcalc.families.albert import AlbertConfig
from bertcalc.families.bert import FAMILY as _BERT
from bertcalc.families.bert import BertConfig
from bertcalc.families.camembert import CamembertConfig
from bertcalc.families.deberta import DebertaConfig
from bertcalc.families.deberta_v2 import DebertaV2Config
from bertcalc.families.distilbert import DistilBertConfig
from bertcalc.families.electra import ElectraConfig
from bertcalc.families.ernie import ErnieConfig
from bertcalc.families.eurobert import EuroBertConfig
from bertcalc.families.gpt2 import GPT2Config
from bertcalc.families.gte import GteConfig
from bertcalc.families.modernbert import ModernBertConfig
from bertcalc.families.mpnet import MPNetConfig
from bertcalc.families.nomic_bert import NomicBertConfig
from bertcalc.families.roberta import RobertaConfig
from bertcalc.families.xlm_roberta import XLMRobertaConfig
from bertcalc.memory.peak import inference_peak_bytes, training_peak_bytes
from bertcalc.memory.saved import saved_activation_bytes
from bertcalc.model.modules import Module
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.documented_formats import AwqConfig, GPTQConfig, Int4WeightOnlyConfig
from bertcalc.storage.gguf_format import Gguf
from bertcalc.storage.model_file import file_bytes, quantized
from bertcalc.storage.onnx_format import OnnxQuantizeDynamic
from bertcalc.storage.torch_dynamic_format import TorchQuantizeDynamic
from bertcalc.storage.torchao_format import Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerAxis, PerGroup
from bertcalc.text.arguments import ArgumentError
from bertcalc.text.problem import InputError

__all__ = [
    "ARCHITECTURES",
    "IA3",
    "AlbertConfig",
    "ArgumentError",
    "AwqConfig",
    "BertConfig",
    "BitFit",
    "BitsAndBytesConfig",
    "CamembertConfig",
    "Config",
    "ConfigError",
    "DebertaConfig",
    "DebertaV2Config",
    "DistilBertConfig",
    "DropLayers",
    "ElectraConfig",
    "ErnieConfig",
    "EuroBertConfig",
    "FactorizeEmbeddings",
    "GPT2Config",
    "GPTQConfig",
    "Gguf",
    "GteConfig",
    "InputError",
    "Int4WeightOnlyConfig",
    "Int8WeightOnlyConfig",
    "IntxWeightOnlyConfig",
    "LNTuning",
    "Lora",
    "MPNetConfig",
    "Model",
    "ModernBertConfig",
    "Module",
    "NarrowFeedForward",
    "NomicBertConfig",
    "OnnxQuantizeDynamic",
    "PerAxis",
    "PerGroup",
    "PrefixTuning",
    "PromptEncoder",
    "PromptTuning",
    "PruneHeads",
    "ResizeVocabulary",
    "RobertaConfig",
    "TorchQuantizeDynamic",
    "UnknownModel",
    "XLMRobertaConfig",
    "__version__",
    "build",
    "columns",
    "compare",
    "file_bytes",
    "forward_flops",
    "infer",
    "inference_peak_bytes",
    "load",
    "of",
    "proofread",
    "quantized",
    "read",
    "saved_activation_bytes",
    "training_flops",
    "training_peak_bytes",
]

__version__ = "0.1.0"
ARCHITECTURES = {cls.name: cls for cls in _BERT.classes}  # only BERT's; bertcalc.families.CLASSES has all classes
