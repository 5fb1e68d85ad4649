"""Sizes of files against files that the real libraries write."""

from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import save_file

from bertcalc import BertConfig, build
from bertcalc.diagnosis.file_sizes import buffers, file_sizes, safetensors_header

SMALL = BertConfig(
    vocab_size=1000, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, num_labels=5
)


def real(architecture: str) -> transformers.PreTrainedModel:
    config = transformers.BertConfig(**{field: getattr(SMALL, field) for field in vars(SMALL) if "size" in field})
    config.num_hidden_layers, config.num_attention_heads, config.num_labels = 3, 4, 5
    return getattr(transformers, architecture)(config)


@pytest.mark.parametrize("architecture", ["BertModel", "BertForSequenceClassification"])
def test_the_header_has_the_size_of_a_real_file(architecture: str, tmp_path: Path) -> None:
    tensors = {name: tensor.data for name, tensor in real(architecture).named_parameters()}
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    size = (tmp_path / "model.safetensors").stat().st_size
    model = build(SMALL, architecture)
    header = safetensors_header(list(model.named_parameters()), "F32", 4)
    assert header + 4 * model.num_parameters() == size
    assert f"A safetensors file of {architecture}" in " ".join(map(str, file_sizes(model, size)))


def test_a_pickle_is_near(tmp_path: Path) -> None:
    torch.save(real("BertForMaskedLM").state_dict(), tmp_path / "pytorch_model.bin")
    size = (tmp_path / "pytorch_model.bin").stat().st_size
    model = build(SMALL, "BertForMaskedLM")
    assert "BertForMaskedLM" in " ".join(map(str, file_sizes(model, size)))


def test_buffers_are_the_shapes_of_the_forward_pass() -> None:
    scores = torch.empty(1, 12, 8192, 8192, dtype=torch.float16, device="meta")
    [first, *_others] = buffers(build(BertConfig()), scores.numel() * scores.element_size())
    assert str(first) == "The attention scores of one layer: 1 x 12 heads x 8,192 x 8,192 x 2 bytes."
