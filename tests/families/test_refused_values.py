"""Values of a config.json that transformers cannot load are refused; transformers is the reference."""

import json
import warnings
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from transformers.configuration_utils import ALLOWED_LAYER_TYPES
from transformers.initialization import no_init_weights

from bertcalc.families import FAMILIES, hf_json
from bertcalc.families.config_files.refused_values import LAYER_TYPES
from bertcalc.text.problem import InputError
from tests.examples import examples

CLASSES = {name: getattr(transformers, family.config.__name__) for name, family in FAMILIES.items()}
KEYS = {
    name: [key for key in json.loads(config().to_json_string(use_diff=False)) if key not in ("model_type", "dtype")]
    for name, config in CLASSES.items()
}
MORE = ["layer_types", "rope_scaling", "rope_parameters", "rope_theta", "type_vocab_size", "embedding_size"]
VALUES: list[Any] = [None, 1, 0, True, False, 1.0, 0.5, "x", -1, [], {}, 8, 12.0]


def loads(name: str, content: dict[str, Any]) -> bool:
    """Whether transformers builds the family's base model with these keys."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about keys that transformers has renamed
            config = CLASSES[name](**content)
        with torch.device("meta"), no_init_weights():
            getattr(transformers, FAMILIES[name].base.name)(config)
    except Exception:  # transformers raises exceptions of all types
        return False
    return True


def is_read(name: str, content: dict[str, Any]) -> bool:
    try:
        hf_json.read(json.dumps({"model_type": name, **content}))
    except InputError:
        return False
    return True


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(FAMILIES)))
    names = [*KEYS[name], *MORE, *CLASSES[name].attribute_map]
    keys = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    return name, {key: draw(st.sampled_from(VALUES)) for key in keys}


@examples(100)
@given(files())
def test_what_is_read_is_what_transformers_loads(case: tuple[str, dict[str, Any]]) -> None:
    name, content = case
    if is_read(name, content) and content.get("eos_token_id") != []:
        assert loads(name, content)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gpt2", {"n_head": None, "num_attention_heads": 12}, "n_head None is invalid even though num_attention"),
        ("nomic_bert", {"hidden_dropout_prob": 1}, "transformers accepts only decimals, such as 1.0"),
        ("bert", {"rope_scaling": True}, "it must be null or an object"),
        ("bert", {"layer_types": ["full_attention"] * 11}, "a type for each of the 12 layers"),
        ("deberta", {"type_vocab_size": None}, "type_vocab_size None is invalid: it must be a whole number"),
        ("deberta-v2", {"embedding_size": None}, "embedding_size None is invalid: it must be a whole number"),
        ("eurobert", {"rope_theta": "x"}, "rope_theta 'x' is invalid: it must be a number"),
    ],
)
def test_what_is_wrong_is_said(name: str, content: dict[str, Any], words: str) -> None:
    assert not loads(name, content)
    with pytest.raises(InputError) as error:
        hf_json.read(json.dumps({"model_type": name, **content}))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gpt2", {"n_head": 8, "num_attention_heads": 12}),
        ("bert", {"layer_types": ["full_attention"] * 12, "rope_scaling": None}),
        ("bert", {"attention_probs_dropout_prob": 1}),
        ("nomic_bert", {"hidden_dropout_prob": 1.0, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}),
        ("deberta-v2", {"type_vocab_size": 0, "embedding_size": 1536}),
    ],
)
def test_what_transformers_loads_is_still_read(name: str, content: dict[str, Any]) -> None:
    assert loads(name, content)
    assert is_read(name, content)


def test_the_types_of_layers_are_those_of_transformers() -> None:
    assert frozenset(ALLOWED_LAYER_TYPES) == LAYER_TYPES
