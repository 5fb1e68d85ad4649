"""The examples are the output of the real programs, and are read correctly."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import bertcalc
from bertcalc.reading.examples import EXAMPLES, torchinfo_table
from tests.oracle import Case

# Printed by torchinfo 1.8.0 for google/bert_uncased_L-2_H-128_A-2.
TORCHINFO = """\
===========================================================================
Layer (type:depth-idx)                             Param #
===========================================================================
BertModel                                          --
├─BertEmbeddings: 1-1                              --
│    └─Embedding: 2-1                              3,906,816
│    └─Embedding: 2-2                              65,536
│    └─Embedding: 2-3                              256
│    └─LayerNorm: 2-4                              256
│    └─Dropout: 2-5                                --
├─BertEncoder: 1-2                                 --
│    └─ModuleList: 2-6                             --
│    │    └─BertLayer: 3-1                         198,272
│    │    └─BertLayer: 3-2                         198,272
├─BertPooler: 1-3                                  --
│    └─Linear: 2-7                                 16,512
│    └─Tanh: 2-8                                   --
===========================================================================
Total params: 4,385,920
Trainable params: 4,385,920
Non-trainable params: 0
==========================================================================="""
KINDS = {
    "a torchinfo table": ("torchinfo", "bert-base-uncased"),
    "TensorFlow's variables": ("listing", "bert-base-uncased"),
    "a safetensors header": ("safetensors-header", "distilbert-base-uncased"),
    "a list of tensors": ("listing", "bert-base-uncased"),
    "a config.json": ("config", "albert-base-v2"),
}


def test_the_table_is_what_torchinfo_prints() -> None:
    assert torchinfo_table(bertcalc.build("bert_uncased_L-2_H-128_A-2")) == TORCHINFO


@pytest.mark.parametrize(("name", "kind", "preset"), [(name, *about) for name, about in KINDS.items()])
def test_an_example_is_the_model_that_it_describes(name: str, kind: str, preset: str) -> None:
    reading = bertcalc.read(EXAMPLES[name]())
    assert (reading.kind, reading.model) == (kind, bertcalc.build(preset))
    assert reading.num_parameters == bertcalc.build(preset).num_parameters()


def test_the_header_is_that_of_a_real_file(tmp_path: Path) -> None:
    real = Case.of(bertcalc.build("distilbert-base-uncased")).real("meta")
    weights = {name: torch.zeros(tensor.shape) for name, tensor in real.named_parameters()}
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    data = (tmp_path / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert json.loads(data[8 : 8 + length]) == json.loads(EXAMPLES["a safetensors header"]())
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        assert len(list(file.keys())) == len(weights)
