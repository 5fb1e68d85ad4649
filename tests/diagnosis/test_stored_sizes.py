"""Sizes of adapted, quantized and resized models equal those of files that peft, PyTorch and transformers write."""

import warnings
from pathlib import Path
from typing import Any

import peft
import pytest
import torch

import bertcalc
from bertcalc import BertConfig, Lora
from tests.adapters import Adapter
from tests.oracle import Case

CONFIG = BertConfig(vocab_size=3000, hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256)
MODEL = bertcalc.load(CONFIG, "BertForSequenceClassification")


def real() -> Any:
    return Case(CONFIG, "BertForSequenceClassification").real("cpu")


def test_the_file_of_an_adapter_is_recognized(tmp_path: Path) -> None:
    adapter = Adapter(Lora, {"r": 16, "target_modules": ["query", "value"], "task_type": "SEQ_CLS"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peft.get_peft_model(real(), adapter.theirs()).save_pretrained(tmp_path)
    size = (tmp_path / "adapter_model.safetensors").stat().st_size
    assert "Lora(r=16, target_modules=['query', 'value'], task_type='SEQ_CLS')" in str(MODEL.explain(f"{size} bytes"))
    adapted = MODEL.adapted(adapter.ours())
    assert "adapter_model.safetensors, as peft writes it" in str(adapted.explain(f"{size} bytes"))


@pytest.mark.parametrize(
    ("tokens", "layers", "words"), [(2000, 3, "a vocabulary of 2,000 tokens"), (3000, 2, "2 of its 3 layers")]
)
def test_the_file_of_a_resized_model_is_recognized(tokens: int, layers: int, words: str, tmp_path: Path) -> None:
    model = real()
    model.resize_token_embeddings(tokens, mean_resizing=False)
    model.bert.encoder.layer = model.bert.encoder.layer[:layers]
    model.save_pretrained(tmp_path)
    size = (tmp_path / "model.safetensors").stat().st_size
    assert words in str(MODEL.explain(f"{size:,} bytes"))


@pytest.mark.filterwarnings("ignore")
def test_files_of_torch_are_recognized(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    torch.save(real().state_dict(), path)
    assert "as torch.save writes the state_dict" in str(MODEL.explain(f"{path.stat().st_size} bytes"))
    torch.save(torch.ao.quantization.quantize_dynamic(real(), {torch.nn.Linear}).state_dict(), path)
    first, why = str(MODEL.explain(f"{path.stat().st_size} bytes")).splitlines()[:2]
    assert first.endswith("is the size of a file of BertForSequenceClassification: PyTorch dynamic int8.")
    assert "is smaller than" in why


@pytest.mark.parametrize(
    ("preset", "size", "words"),
    [  # measured in public: https://github.com/microsoft/onnxruntime/issues/10340
        ("bert-base-uncased", "173.0 MiB", "PyTorch dynamic int8"),
        ("albert-base-v2", "341.6 MiB", "model.onnx, as torch.onnx.export writes it, with torchscript-1"),
        ("albert-base-v2", "85.5 MiB", "ONNX dynamic int8"),
        ("albert-base-v2", "22.4 MiB", "PyTorch dynamic int8"),
    ],
)
def test_measured_files_are_recognized(preset: str, size: str, words: str) -> None:
    family = "Albert" if preset.startswith("albert") else "Bert"
    model = bertcalc.load(preset, f"{family}ForSequenceClassification")
    assert words in str(model.explain(size))
    assert "There is no simple explanation" in str(model.explain("12.345 MiB"))


@pytest.mark.parametrize("architecture", ["BertModel", "BertForSequenceClassification"])
def test_the_models_own_file_is_named_first_and_no_other_that_is_nearly_as_large(
    architecture: str, tmp_path: Path
) -> None:
    Case(CONFIG, architecture).real("cpu").save_pretrained(tmp_path)
    number = f"{(tmp_path / 'model.safetensors').stat().st_size:,} bytes"
    first, *others = str(bertcalc.load(CONFIG, architecture).explain(number)).splitlines()
    assert first.startswith(f"{number} is the size of a file of {architecture}: model.safetensors")
    assert not any("onnx" in other for other in others)
