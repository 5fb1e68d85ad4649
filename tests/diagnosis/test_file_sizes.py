"""Explained file sizes are those of files that the real libraries write."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import save_file

from bertcalc import BertConfig, build
from bertcalc.diagnosis.file_sizes import Contents, buffers, file_sizes, pickle_sizes
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.families import family_of
from bertcalc.families.albert import AlbertConfig
from bertcalc.families.gpt2 import GPT2Config
from bertcalc.families.roberta import RobertaConfig
from bertcalc.model.model import Model
from bertcalc.storage.safetensors_file import safetensors_header
from bertcalc.storage.stored_tensors import StoredTensor
from tests.oracle import Case

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
    header = safetensors_header([StoredTensor(name, "F32", shape) for name, shape in model.named_parameters()])
    assert header + 4 * model.num_parameters() == size
    assert f"A safetensors file of {architecture}" in " ".join(map(str, file_sizes(model, size)))


# Large enough that a pooler or a bias takes more bytes than the overhead of a format.
_SIZES: dict[str, Any] = {"vocab_size": 9000, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
MODELS = [
    build(BertConfig(**_SIZES, intermediate_size=512), "BertForPreTraining"),
    build(RobertaConfig(**_SIZES, intermediate_size=512), "RobertaForMaskedLM"),
    build(AlbertConfig(**_SIZES, embedding_size=64, intermediate_size=512), "AlbertForMaskedLM"),
    build(GPT2Config(vocab_size=9000, hidden_size=256, num_hidden_layers=2, num_attention_heads=4), "GPT2LMHeadModel"),
]
_ADDED = {
    "pooler": "with a pooler",
    "bias": "with a second decoder bias",
    "position_ids": "with 51",
    "masks": "with the layers' causal masks: 2,097,152 buffer elements",
}


def older_weights(model: Model, added: str) -> dict[str, torch.Tensor]:
    """Return the state dict that a real class saves, with a tensor that older releases saved as well."""
    case = Case.of(model)
    weights: dict[str, torch.Tensor] = case.real("cpu").state_dict()
    prefix, config = model.body_prefix, model.config
    if added == "pooler":
        base = Case(config, family_of(config).base.name).real("cpu").state_dict()
        weights |= {f"{prefix}{name}": tensor for name, tensor in base.items() if "pooler" in name}
    elif added == "bias":
        [name] = [name for name in weights if name.endswith("decoder.bias")]
        weights[name] = weights[name].clone()
    elif added == "position_ids":
        length = config.max_position_embeddings
        weights[f"{prefix}embeddings.position_ids"] = torch.arange(length).reshape(1, length)
    elif added == "masks":
        length = config.max_position_embeddings
        for layer in range(2):
            weights[f"{prefix}h.{layer}.attn.bias"] = torch.ones(1, 1, length, length)
    return weights


@pytest.mark.parametrize("form", ["safetensors", "zip", "older"])
@pytest.mark.parametrize(
    ("model", "added"),
    [
        *((model, "") for model in MODELS),
        *((MODELS[1], added) for added in ("pooler", "position_ids")),
        (MODELS[2], "bias"),
        (MODELS[3], "masks"),
    ],
)
def test_a_file_is_recognized_with_what_older_releases_save(
    model: Model, added: str, form: str, tmp_path: Path
) -> None:
    weights, path = older_weights(model, added), tmp_path / "pytorch_model.bin"
    if form == "safetensors":
        own = {tensor.data_ptr(): name for name, tensor in reversed(weights.items())}  # the first name of each tensor
        save_file({name: weights[name] for name in own.values()}, path, metadata={"format": "pt"})
    else:
        torch.save(weights, path, _use_new_zipfile_serialization=form == "zip")
    found = "\n".join(map(str, file_sizes(model, path.stat().st_size, published=False)))
    assert f"of {model.architecture}" in found
    if added != "position_ids" or form == "safetensors":  # the size of a pickle is not exact to 4,096 bytes
        assert _ADDED.get(added, model.architecture) in found
        others = set(_ADDED) - {added}
        assert not any(_ADDED[other] in found for other in others)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("versions", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_what_a_pickle_adds_is_near(model: Model, versions: bool, zipped: bool, tmp_path: Path) -> None:
    weights, path = Case.of(model).real("cpu").state_dict(), tmp_path / "pytorch_model.bin"
    torch.save(weights if versions else dict(weights), path, _use_new_zipfile_serialization=zipped)
    known = KnownCount(model, model.num_parameters())
    over = path.stat().st_size - 4 * known.parameters
    assert min(abs(over - near) for near in pickle_sizes(Contents(known))) < 0.12 * over


def test_half_precision_is_recognized(tmp_path: Path) -> None:
    weights = {name: tensor.half() for name, tensor in older_weights(MODELS[1], "pooler").items()}
    torch.save(weights, tmp_path / "model.bin")
    [first, *_others] = map(str, file_sizes(MODELS[1], (tmp_path / "model.bin").stat().st_size))
    assert "RobertaForMaskedLM" in first
    assert ", in 16 bits: " in first


def test_buffers_are_the_shapes_of_the_forward_pass() -> None:
    scores = torch.empty(1, 12, 8192, 8192, dtype=torch.float16, device="meta")
    [first, *_others] = buffers(build(BertConfig()), scores.nbytes, scores.nbytes)
    assert str(first) == "The attention scores of one layer: 1 × 12 heads × 8,192 × 8,192 × 2 bytes."


def test_a_calculation_is_no_buffer_with_other_factors() -> None:
    weight = torch.empty(768, 768, device="meta")
    assert not list(buffers(build(BertConfig()), weight.nbytes, weight.nbytes, "768*768*4"))
    states = torch.empty(8, 512, 768, device="meta")
    named = [str(buffer) for buffer in buffers(build(BertConfig()), states.nbytes, states.nbytes, "8*512*768*4")]
    assert named == ["The hidden states after one layer: 8 × 512 × 768 × 4 bytes."]
