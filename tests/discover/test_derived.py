"""Fields that follow others are those of the real class, and each changes the model if it is given."""

from typing import Any

import pytest
import torch
import transformers
from transformers.initialization import no_init_weights

from bertcalc.discover import derived
from bertcalc.discover.derived import put
from bertcalc.discover.shipped import shipped


def count(cls: str, config: Any) -> int:
    with torch.device("meta"), no_init_weights():
        return sum(tensor.numel() for tensor in getattr(transformers, cls)(config).parameters())


@pytest.mark.parametrize(
    "key", ["llama.LlamaForCausalLM", "t5.T5Model", "falcon.FalconForCausalLM", "codegen.CodeGenForCausalLM"]
)
def test_what_is_shipped_is_what_the_class_does(key: str) -> None:
    model_type, _dot, cls = key.rpartition(".")
    one = shipped(model_type, cls)
    assert one is not None
    assert derived.derived(model_type, cls, one.given) == derived.shipped(model_type, cls) != {}
    assert not {*derived.shipped(model_type, cls)} & {*one.fields} - {*one.follows}


def test_a_field_follows_what_is_said_until_it_is_given() -> None:
    config = transformers.LlamaConfig
    for field, leaders in derived.shipped("llama", "LlamaForCausalLM").items():
        for leader in leaders:
            assert getattr(config(**{leader: 2048}), field) != getattr(config(), field)
        assert count("LlamaForCausalLM", config(**{field: 16})) != count("LlamaForCausalLM", config())
    assert [*derived.shipped("llama", "LlamaForCausalLM")] == ["head_dim", "num_key_value_heads"]


def test_a_field_is_put_where_it_lies() -> None:
    assert put({"a": 1}, "b", 2) == {"a": 1, "b": 2}
    assert put({"text_config": {"a": 1}}, "text_config.b.c", 2) == {"text_config": {"a": 1, "b": {"c": 2}}}
    assert derived.shipped("no", "such") == {}
