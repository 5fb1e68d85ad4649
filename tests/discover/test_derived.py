"""Derived fields have the real class's values, and each changes the model if it is given."""

from functools import partial
from math import inf
from types import SimpleNamespace

import pytest
import transformers

from bertcalc.discover.results.field_paths import put
from bertcalc.discover.results.shipped import shipped
from bertcalc.discover.search import build
from bertcalc.discover.search.config_integers import recipe_of
from bertcalc.discover.search.derived import derived_fields
from bertcalc.discover.search.experiments import Lab
from tests.discover.real import real


@pytest.mark.parametrize(
    "key", ["llama.LlamaForCausalLM", "t5.T5Model", "falcon.FalconForCausalLM", "codegen.CodeGenForCausalLM"]
)
def test_what_is_shipped_is_what_the_class_does(key: str) -> None:
    model_type, _dot, cls = key.rpartition(".")
    one = shipped(model_type, cls)
    assert one is not None
    with build.quiet():
        real = build.model_class(cls)
        recipe = recipe_of(build.config_class(model_type), real, one.given, inf)
        lab = Lab(recipe, partial(build.tensors, real), until=inf, progress=lambda *_said: None)
        assert derived_fields(lab) == one.derived != {}
    assert not {*one.derived} & {*one.fields} - {*one.follows}


def test_a_field_follows_what_is_said_until_it_is_given() -> None:
    config, one = transformers.LlamaConfig, shipped("llama", "LlamaForCausalLM")
    assert one is not None
    for field, leaders in one.derived.items():
        for leader in leaders:
            assert getattr(config(**{leader: 2048}), field) != getattr(config(), field)
        assert real("llama", one.cls, **{field: 16}) != one.parameters == real("llama", one.cls)
    assert sorted(one.derived) == ["head_dim", "num_key_value_heads"]


def test_a_field_is_put_where_it_lies() -> None:
    assert put({"a": 1}, "b", 2) == {"a": 1, "b": 2}
    assert put({"text_config": {"a": 1}}, "text_config.b.c", 2) == {"text_config": {"a": 1, "b": {"c": 2}}}
    assert put({}, "sizes[1]", 2, SimpleNamespace(sizes=(4, 4))) == {"sizes": [4, 2]}
    with pytest.raises(IndexError):
        put({}, "sizes[2]", 2, SimpleNamespace(sizes=[4, 4]))
