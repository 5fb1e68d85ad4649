"""The value types that transformers accepts in a config.json, compared with its configuration classes."""

import json
from typing import Any

import pytest
import transformers
from huggingface_hub.errors import StrictDataclassFieldValidationError
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.discover.results.other_config import read_any
from bertcalc.discover.results.shipped import shipped_classes
from bertcalc.discover.results.value_types import _accepted, refused
from bertcalc.discover.search import build
from bertcalc.discover.search.file_keys import value_types
from bertcalc.text.problem import InputError
from tests.examples import examples, sampled

TYPES = sorted({model_type for model_type, _cls in shipped_classes()})
VALUES: list[Any] = [1, 2, 0.5, 2.0, True, False, "x", "gelu", "2", None, [], [1], {}]


@pytest.mark.parametrize("model_type", sampled(TYPES, 30))
def test_the_types_are_as_measured(model_type: str) -> None:
    with build.quiet():
        measured = value_types(model_type)
    assert _accepted(model_type) == {name: " | ".join(types) for name, types in measured.items()}


@examples(200)
@given(st.sampled_from(TYPES), st.data())
def test_what_is_refused_is_what_the_class_refuses(model_type: str, data: st.DataObject) -> None:
    config = transformers.CONFIG_MAPPING[model_type]
    name = data.draw(st.sampled_from(sorted(config.__validators__)))
    value = data.draw(st.sampled_from(VALUES))
    try:
        config.from_dict({name: value})
        is_accepted = True
    except StrictDataclassFieldValidationError as error:
        if "expected one of" in str(error):
            return  # the class lists the values that it accepts, such as ('relu2',), not their types
        is_accepted = f"'{name}'" not in str(error)
    except Exception:  # raised for the configuration as a whole
        return
    if list(refused(model_type, {name: value})):
        assert not is_accepted
    elif not is_accepted and not isinstance(value, list | dict | str):  # the contents may be refused, too
        assert name in ("dtype", "architectures", "id2label", "label2id", "transformers_version")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"clip_qkv": 2}, "clip_qkv = 2: the type must be float | null"),
        ({"num_attention_heads": "16"}, 'num_attention_heads = "16": the type must be int'),
        ({"num_attention_heads": None}, "num_attention_heads = null: the type must be int"),
        ({"initializer_range": "0.02"}, 'initializer_range = "0.02": the type must be float'),
    ],
)
def test_a_file_that_transformers_does_not_load_is_refused(changed: dict[str, Any], reason: str) -> None:
    file = {"model_type": "olmo", "architectures": ["OlmoForCausalLM"], **changed}
    with pytest.raises(StrictDataclassFieldValidationError):
        transformers.OlmoConfig.from_dict(file)
    with pytest.raises(InputError, match="transformers does not accept") as raised:
        read_any(json.dumps(file))
    assert any(reason in str(problem) for problem in raised.value.problems)


def test_a_size_that_the_class_derives_from_nothing_is_unknown() -> None:
    with pytest.raises(InputError, match="does not know how these keys change FalconForCausalLM"):
        read_any(json.dumps({"model_type": "falcon", "num_ln_in_parallel_attn": 2}))
