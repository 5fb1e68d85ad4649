"""A written config.json is loaded by transformers, and read back as the same model."""

import json
from itertools import product
from pathlib import Path

import pytest
import torch
import transformers
from hypothesis import given

from bertcalc import ARCHITECTURES, BertConfig, Config
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.families.hf_json import read, write
from bertcalc.model.model import Model
from tests.oracle import Case
from tests.strategies import cases

CONFIGS = [
    BertConfig(),
    BertConfig(vocab_size=21128, num_labels=7, num_hidden_layers=2, hidden_act="relu", layer_norm_eps=1e-5),
    BertConfig(num_hidden_layers=2, tie_word_embeddings=False, pad_token_id=None, classifier_dropout=0.0),
    BertConfig(num_hidden_layers=2, is_decoder=True, add_cross_attention=True, use_cache=False, num_labels=1),
]


@given(cases(POSITION_EMBEDDING_TYPES))
def test_what_is_written_is_read_as_the_same(case: Case) -> None:
    reading = read(write(case.model))
    assert reading.config == case.config
    assert reading.architecture == case.architecture
    # Only transformers 4 builds relative positions, which a remark says.
    assert all("transformers 5 ignores the key" in str(remark) for remark in reading.remarks)


@pytest.mark.parametrize(("architecture", "config"), [*product(ARCHITECTURES, CONFIGS)])
def test_transformers_loads_the_same_model(architecture: str, config: Config, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(write(Model(config, architecture)), encoding="utf-8")
    from_file = transformers.BertConfig.from_json_file(path)
    from_folder = transformers.BertConfig.from_pretrained(tmp_path)
    assert transformers.AutoConfig.from_pretrained(tmp_path).architectures == [architecture]
    for loaded in (from_file, from_folder):
        for field, value in vars(config).items():
            if field != "position_embedding_type":  # transformers 5 has no such field
                assert getattr(loaded, field) == value, field
    with torch.device("meta"):
        real = getattr(transformers, architecture)(from_folder)
    assert real.num_parameters() == Case(config, architecture).ours().num_parameters()


def test_a_field_that_transformers_5_does_not_know_is_there_only_where_it_matters() -> None:
    assert "position_embedding_type" not in json.loads(write(Model(BertConfig())))
    relative = json.loads(write(Model(BertConfig(position_embedding_type="relative_key"))))
    assert relative["position_embedding_type"] == "relative_key"
