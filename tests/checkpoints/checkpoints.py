"""Real checkpoints of small models, which are written quickly."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

from bertcalc import BertConfig, Config
from bertcalc.checkpoints.safetensors import Header, header_length, read
from bertcalc.storage.safetensors_file import LENGTH_BYTES
from bertcalc.storage.stored_tensors import StoredTensor
from tests.oracle import real_config

SMALL = BertConfig(
    vocab_size=50,
    hidden_size=128,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=70,
    max_position_embeddings=40,
    num_labels=3,
)


def save(folder: Path, architecture: str = "BertForPreTraining", config: Config = SMALL, **options: Any) -> Path:
    """Save a model as transformers does: config.json and safetensors."""
    model = getattr(transformers, architecture)(real_config(config))
    model.save_pretrained(folder, **options)
    return folder


def as_google_published(folder: Path) -> Path:
    """Change a saved model to the form of the first releases: TensorFlow's names, and a buffer."""
    path = folder / "model.safetensors"
    tensors = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in load_file(path).items()
    }
    tensors["bert.embeddings.position_ids"] = torch.arange(40).unsqueeze(0)
    save_file(tensors, path, {"format": "pt"})
    return folder


def entries(folder: Path) -> list[StoredTensor]:
    """The tensors of all safetensors files in a folder."""
    found: list[StoredTensor] = []
    for path in sorted(folder.glob("*.safetensors")):
        found += read_file(path.read_bytes()).tensors
    return found


def read_file(data: bytes, more: int = 0) -> Header:
    """Read the header of a file that is ``more`` bytes longer than ``data``."""
    size = len(data) + more
    end = LENGTH_BYTES + header_length(data, size)
    return read(data[LENGTH_BYTES:end], size - end)


def change_config(folder: Path, **changes: Any) -> None:
    """Replace fields of the config.json in a folder."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
