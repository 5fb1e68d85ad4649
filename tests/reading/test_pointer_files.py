"""Pointers of Git LFS and git-annex: their sizes are those of files that transformers and torch write."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import bertcalc
from bertcalc.families.presets import PRESETS
from bertcalc.reading.pointer_files import pointed_size
from tests.oracle import real_config

TINY = "bert_uncased_L-2_H-128_A-2"


def _pointer(file: Path) -> str:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {file.stat().st_size}\n"


def _annexed(file: Path) -> str:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"/annex/objects/SHA256E-s{file.stat().st_size}--{digest}{file.suffix}\n"


def _saved(architecture: str, folder: Path, dtype: torch.dtype) -> Any:
    model = getattr(transformers, architecture)(real_config(PRESETS[TINY].config)).to(dtype)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("pointer", [_pointer, _annexed])
@pytest.mark.parametrize(("architecture", "dtype"), [("BertModel", "float32"), ("BertForPreTraining", "float16")])
def test_a_pointer_names_the_model_with_a_file_of_its_size(
    architecture: str, dtype: str, pointer: Any, tmp_path: Path
) -> None:
    _saved(architecture, tmp_path, getattr(torch, dtype))
    file = tmp_path / "model.safetensors"
    reading = bertcalc.read(pointer(file))
    assert (reading.kind, reading.num_parameters) == ("other-file", None)
    assert f"a file of {file.stat().st_size:,} bytes, not the file" in str(reading)
    assert f"safetensors file of {architecture} with the sizes of {TINY}, in {dtype}, has exactly" in str(reading)


def test_a_file_of_torch_is_named(tmp_path: Path) -> None:
    model = _saved("BertModel", tmp_path, torch.float32)
    file = tmp_path / "pytorch_model.bin"
    torch.save(model.state_dict(), file)
    assert f"pytorch_model.bin file of BertModel with the sizes of {TINY}" in str(bertcalc.read(_pointer(file)))


def test_the_pointer_of_a_small_file_names_no_model(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "bert"}')
    for text in (_pointer(file), _pointer(file).replace("\n", "\r\n"), _annexed(file)):
        reading = bertcalc.read(text)
        assert "a file of 22 bytes" in str(reading)
        assert "has exactly this size" not in str(reading)


@pytest.mark.parametrize("text", ["version https://git-lfs.github.com/spec/v1 is a URL", "size 12", "annex/objects"])
def test_other_texts_are_not_pointers(text: str) -> None:
    assert pointed_size(text) is None
