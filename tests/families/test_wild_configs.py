"""Configurations as people have them are counted as the real class does, or refused with a sentence."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bertcalc.families.hf_json import read
from bertcalc.families.hf_json import read_object as object_of
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.oracle import ask_transformers4

FILES: dict[str, list[dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("wild_configs.toml").read_text(encoding="utf-8")
)


def case(entry: dict[str, str]) -> Any:
    return pytest.param(entry, id=entry["name"])


def real_count(entry: dict[str, str], keys: dict[str, Any]) -> int:
    config = transformers.CONFIG_MAPPING[entry["type"]].from_dict(keys)
    with torch.device("meta"):
        model = getattr(transformers, entry["cls"])(config) if "cls" in entry else transformers.AutoModel.from_config(config)
    return sum(tensor.numel() for tensor in model.parameters())


@pytest.mark.parametrize("entry", [*map(case, FILES["counted"])])
def test_a_file_that_can_be_counted_is_counted_as_the_real_class(entry: dict[str, str]) -> None:
    reading = read(entry["text"])
    assert reading.architecture == entry.get("cls")
    keys = object_of(entry["text"])
    keys["vocab_size"] = keys.get("vocab_size", keys.get("vocab_size_or_config_json_file", reading.config.vocab_size))
    assert Model(reading.config, reading.architecture).num_parameters() == real_count(entry, keys)


@pytest.mark.parametrize("entry", [*map(case, FILES["refused"])])
def test_a_file_that_cannot_be_counted_is_refused_with_a_sentence(entry: dict[str, str]) -> None:
    with pytest.raises(InputError) as refused:
        read(entry["text"])
    assert entry["why"] in str(refused.value)
