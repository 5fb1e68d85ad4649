"""Sizes of files equal those of files that PyTorch, safetensors and transformers write."""

import json
import warnings
from pathlib import Path
from typing import Any

import peft
import pytest
import torch

import bertcalc
from bertcalc.model.modules import Embedding, Linear, Module, Norm
from bertcalc.storage.model_file import SavedOptimizer, optimizer_file_bytes
from bertcalc.storage.safetensors_file import safetensors_files
from bertcalc.storage.saved_names import saved
from bertcalc.storage.stored_tensors import stored
from bertcalc.storage.torch_file import state_dict_value, torch_file_bytes
from tests.examples import sampled
from tests.oracle import Case
from tests.storage.small_models import CLASSES, small

SHARED = ("nomic_bert", "gte")  # transformers orders the tensors that it joins before it splits them into shards


def sizes_in(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.glob("*safetensors*")}


@pytest.mark.parametrize(("family", "architecture"), sampled(CLASSES, 5))
def test_files_have_the_size_of_real_ones(family: Any, architecture: str, tmp_path: Path) -> None:
    model = small(architecture)
    real = Case.of(model).real("cpu")
    torch.save(real.state_dict(), tmp_path / "pytorch_model.bin")
    assert model.file_bytes("bin") == (tmp_path / "pytorch_model.bin").stat().st_size
    real.save_pretrained(tmp_path / "whole")
    assert {"model.safetensors": model.file_bytes()} == sizes_in(tmp_path / "whole")
    if family.name not in SHARED:
        real.save_pretrained(tmp_path / "shards", max_shard_size=20_000)
        files = safetensors_files(saved(model, "F32"), model.num_parameters(), 20_000)
        assert {file.name: file.num_bytes for file in files} == sizes_in(tmp_path / "shards")
        assert model.file_bytes(max_shard_size=20_000) == sum(sizes_in(tmp_path / "shards").values())


def test_a_shard_may_have_exactly_as_many_bytes_as_the_limit(tmp_path: Path) -> None:
    model = small("BertModel")
    tensors = saved(model, "F32")
    most = sum(tensor.num_bytes() for tensor in tensors[:3])
    Case.of(model).real("cpu").save_pretrained(tmp_path, max_shard_size=most)
    files = safetensors_files(tensors, model.num_parameters(), most)
    assert {file.name: file.num_bytes for file in files} == sizes_in(tmp_path)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_files_of_16_bits(dtype: Any, tmp_path: Path) -> None:
    model = small("AlbertForMaskedLM")
    real = Case.of(model).real("cpu").to(getattr(torch, dtype))
    torch.save(real.state_dict(), tmp_path / "pytorch_model.bin")
    real.save_pretrained(tmp_path)
    assert model.file_bytes("bin", dtype) == (tmp_path / "pytorch_model.bin").stat().st_size
    assert model.file_bytes(dtype=dtype) == sizes_in(tmp_path)["model.safetensors"]


@pytest.mark.parametrize("layers", [1, 40])
@pytest.mark.parametrize(
    ("optimizer", "real_optimizer"),
    [
        ("adamw", torch.optim.AdamW),
        ("momentum", lambda parameters: torch.optim.SGD(parameters, momentum=0.9)),
        ("sgd", torch.optim.SGD),
    ],
)
def test_a_checkpoint_has_the_states(
    layers: int, optimizer: SavedOptimizer, real_optimizer: Any, tmp_path: Path
) -> None:
    """40 layers have more than 255 tensors, and a pickle needs more bytes to number them."""
    model = small("BertForMaskedLM").replace(num_hidden_layers=layers)
    real = Case.of(model).real("cpu")
    for parameter in real.parameters():
        parameter.grad = torch.zeros_like(parameter)
    stepped = real_optimizer(real.parameters())
    stepped.step()
    torch.save(stepped.state_dict(), tmp_path / "optimizer.pt")
    size = (tmp_path / "optimizer.pt").stat().st_size
    assert optimizer_file_bytes(stored(model, "F32"), optimizer) == size
    assert model.file_bytes("checkpoint", optimizer=optimizer) == model.file_bytes() + size


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_checkpoint_of_an_adapter_has_states_of_what_is_trained(dtype: Any, tmp_path: Path) -> None:
    model = small("BertForSequenceClassification")
    options: dict[str, Any] = {"target_modules": ["query"], "task_type": "SEQ_CLS"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = Case.of(model).real("cpu").to(getattr(torch, dtype))
        real: Any = peft.get_peft_model(base, peft.LoraConfig(**options))
    torch.save(real.base_model.model.state_dict(), tmp_path / "pytorch_model.bin")
    trained = [parameter for parameter in real.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.grad = torch.zeros_like(parameter)
    stepped = torch.optim.AdamW(trained, weight_decay=0.01)
    stepped.step()
    torch.save(stepped.state_dict(), tmp_path / "optimizer.pt")
    adapted = model.adapted(bertcalc.Lora(**options))
    size = (tmp_path / "optimizer.pt").stat().st_size
    assert adapted.file_bytes("checkpoint", dtype) == adapted.file_bytes(dtype=dtype) + size
    assert adapted.file_bytes("bin", dtype) == (tmp_path / "pytorch_model.bin").stat().st_size


def test_files_of_full_size(tmp_path: Path) -> None:
    """torch.save leaves the space of the data empty, so a large file needs no space on the disk."""
    model = bertcalc.load("bert-large-uncased", "BertForPreTraining")
    real = Case.of(model).real("cpu")
    with torch.serialization.skip_data():
        torch.save(real.state_dict(), tmp_path / "pytorch_model.bin")
    assert model.file_bytes("bin") == (tmp_path / "pytorch_model.bin").stat().st_size


@pytest.mark.parametrize("entries", [1, 2, 999, 1000, 1001, 2000])
def test_a_pickle_in_batches_of_a_thousand(entries: int, tmp_path: Path) -> None:
    value = {"list": [*range(entries)], "dictionary": {str(number): 2**number for number in range(entries)}}
    torch.save(value, tmp_path / "value.pt")
    assert torch_file_bytes(value, "value") == (tmp_path / "value.pt").stat().st_size


def test_a_tree_of_modules_needs_no_family(tmp_path: Path) -> None:
    layers = {"0": Embedding(50, 64), "1": Linear(64, 32), "2": Norm("LayerNorm", 32, 1e-5)}
    real = torch.nn.Sequential(torch.nn.Embedding(50, 64), torch.nn.Linear(64, 32), torch.nn.LayerNorm(32))
    torch.save(real.state_dict(), tmp_path / "pytorch_model.bin")
    size = (tmp_path / "pytorch_model.bin").stat().st_size
    tree = Module("Sequential", **layers)
    assert torch_file_bytes(state_dict_value(tree, "F32"), "pytorch_model") == size
    assert bertcalc.file_bytes(tree, "onnx") > 4 * tree.num_parameters()


def test_an_index_is_json_that_names_each_file(tmp_path: Path) -> None:
    model = small("RobertaForMaskedLM")
    files = safetensors_files(saved(model, "F32"), model.num_parameters(), 30_000)
    Case.of(model).real("cpu").save_pretrained(tmp_path, max_shard_size=30_000)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert {file.name for file in files[:-1]} == set(index["weight_map"].values())
