"""Published configurations are counted as by the real class, or refused with a message."""

import json
import tomllib
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import bertcalc
from bertcalc import BertConfig
from bertcalc.families import FAMILIES
from bertcalc.families.config_files.keys_of_families import OLD_VOCABULARY
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


def described(entry: dict[str, str]) -> dict[str, Any]:
    """The keys of a file, with the vocabulary under its current name."""
    keys = object_of(entry["text"])
    return {"vocab_size": keys[OLD_VOCABULARY], **keys} if OLD_VOCABULARY in keys else keys


def real_count(entry: dict[str, str], keys: dict[str, Any]) -> int:
    config = transformers.CONFIG_MAPPING[entry["type"]].from_dict(keys)
    with torch.device("meta"):
        model = (
            getattr(transformers, entry["cls"])(config)
            if "cls" in entry
            else transformers.AutoModel.from_config(config)
        )
    return sum(tensor.numel() for tensor in model.parameters())


@pytest.mark.parametrize("entry", [*map(case, FILES["counted"])])
def test_a_file_that_can_be_counted_is_counted_as_the_real_class(entry: dict[str, str]) -> None:
    reading = read(entry["text"])
    assert reading.architecture == entry.get("cls")
    model = Model(reading.config, reading.architecture)
    assert model.num_parameters() == real_count(entry, described(entry))


def test_the_count_is_that_of_transformers_4_as_well() -> None:
    # Transformers 4 lacks these types.
    entries = [entry for entry in FILES["counted"] if entry["type"] not in ("nomic_bert", "gte")]
    models = [(entry, read(entry["text"])) for entry in entries]
    questions = [
        {
            "model_type": entry["type"],
            "config": described(entry) | {"model_type": entry["type"]},
            "architecture": reading.architecture or FAMILIES[entry["type"]].base.name,
            "options": {},
        }
        for entry, reading in models
    ]
    for (entry, reading), real in zip(models, ask_transformers4(questions), strict=True):
        ours = Model(reading.config, reading.architecture).num_parameters()
        assert ours == sum(prod(shape) for _name, shape in real["tensors"]), entry["name"]


def test_a_file_that_removes_heads_is_counted_without_them() -> None:
    config = {"model_type": "bert", "hidden_size": 48, "intermediate_size": 96, "vocab_size": 100}
    text = json.dumps(config | {"pruned_heads": {"0": [1, 2], "11": [3]}})
    question = {"model_type": "bert", "config": json.loads(text), "architecture": "BertModel", "options": {}}
    [before] = ask_transformers4([question])
    reading = bertcalc.read(text)
    assert reading.num_parameters == sum(prod(shape) for _name, shape in before["tensors"])
    with torch.device("meta"):
        now = transformers.BertModel(transformers.BertConfig.from_dict(json.loads(text))).num_parameters()
    assert reading.num_parameters < now
    assert f"transformers 5 ignores the key and builds {now:,} parameters." in str(reading)
    with pytest.raises(InputError, match="removes 3 heads from the layers"):
        read(text)  # its other fields describe a different model
    with pytest.raises(InputError, match="heads 99 is invalid"):
        bertcalc.read(json.dumps({"model_type": "bert", "pruned_heads": {"0": [99]}}))
    assert read(json.dumps({"model_type": "bert", "pruned_heads": {"0": []}})).config == BertConfig()


@pytest.mark.parametrize("entry", [*map(case, FILES["refused"])])
def test_a_file_that_cannot_be_counted_is_refused_with_a_sentence(entry: dict[str, str]) -> None:
    with pytest.raises(InputError) as refused:
        read(entry["text"])
    assert entry["why"] in str(refused.value)
