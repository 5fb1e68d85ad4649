"""Count BERT exactly: one definition of the architecture, read as integers, as formulas and as columns.

>>> model = build(BertConfig(), "BertModel")
>>> model.num_parameters()
109482240
"""

from bertcalc.compute.flops import forward_flops, training_flops
from bertcalc.config import BertConfig, ConfigError, columns
from bertcalc.memory.saved import saved_activation_bytes
from bertcalc.tree.bert import ARCHITECTURES, build
from bertcalc.tree.nn import Module

__all__ = [
    "ARCHITECTURES",
    "BertConfig",
    "ConfigError",
    "Module",
    "build",
    "columns",
    "forward_flops",
    "saved_activation_bytes",
    "training_flops",
]
