"""Somebody's config.json of any type: what is read, what is left out, and what is refused before anything is built."""

import json
from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.config_json import LARGEST
from bertcalc.discover.pasted import MOST, MOST_COPIES, read, read_fields
from bertcalc.problem import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


def test_what_transformers_writes_is_read() -> None:
    config = transformers.LlamaConfig(hidden_size=512, num_attention_heads=8, architectures=["LlamaForCausalLM"])
    given = read(json.dumps(config.to_dict()))
    assert (given.model_type, given.cls, given.remarks) == ("llama", "LlamaForCausalLM", ())
    assert given.fields["hidden_size"] == 512
    assert "architectures" not in given.fields
    again = transformers.LlamaConfig(**given.fields)
    assert (again.hidden_size, again.num_attention_heads) == (512, 8)


def test_a_class_names_its_type_where_nothing_else_does() -> None:
    assert read('{"architectures": ["GPT2Model"], "n_layer": 3}')[:3] == ("gpt2", "GPT2Model", {"n_layer": 3})


def test_nothing_is_taken_that_would_load_anything() -> None:
    wanted: dict[str, Any] = {
        "model_type": "llama",
        "auto_map": {"AutoModel": "evil--evil.Model"},
        "_attn_implementation": "evil/kernels",
        "attn_implementation": "evil/kernels",
        "quantization_config": {"quant_method": "evil"},
        "use_pretrained_backbone": True,
        "trust_remote_code": True,
        "torch_dtype": "evil",
        "text_config": {"auto_map": {}, "hidden_size": 8, "_name_or_path": "/etc/passwd"},
    }
    assert read(json.dumps(wanted)).fields == {"text_config": {"hidden_size": 8}}


def test_labels_are_counted() -> None:
    fields = read(json.dumps({"model_type": "bert", "id2label": {"0": "a", "1": "b", "2": "c"}})).fields
    assert fields == {"num_labels": 3}


def test_names_that_are_none_are_left_out_and_said() -> None:
    given = read(json.dumps({"model_type": "gpt2", "n_layer": 3, "a b": 1, "<b>": {"[x](y)": 1}}))
    assert given.fields == {"n_layer": 3}
    assert "a b, <b>" in str(given.remarks[0])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"model_type": 3}',
        '{"model_type": "evil"}',
        '{"model_type": ["gpt2"]}',
        '{"architectures": ["Evil"]}',
        '{"model_type": "gpt2", "n_layer": NaN}',
        '{"model_type": "gpt2", "model_type": "bert"}',
        json.dumps({"model_type": "gpt2", "n_layer": MOST_COPIES + 1}),
        json.dumps({"model_type": "gpt2", "n_embd": MOST + 1}),
        json.dumps({"model_type": "gpt2", "n_embd": -MOST - 1}),
        json.dumps({"model_type": "funnel", "block_sizes": [10**9]}),
        json.dumps({"model_type": "llama", "layer_types": ["full_attention"] * (MOST_COPIES + 1)}),
        json.dumps({"model_type": "clip", "text_config": {"num_hidden_layers": 10**6}}),
        '{"model_type": "gpt2", "a": ' + "[" * 20 + "]" * 20 + "}",
        '{"model_type": "gpt2", "a": ' + "[" * 9000 + "]" * 9000 + "}",
        '{"model_type": "gpt2", "n_embd": ' + "9" * 4000 + "}",
        " " * (LARGEST + 1),
    ],
)
def test_what_is_no_model_or_far_too_large_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text)
    assert len(str(refused.value)) < 300


@given(
    st.dictionaries(st.sampled_from(["model_type", "n_layer", "text_config", "architectures", "id2label"]), JSON), JSON
)
def test_anything_is_read_or_refused(fields: dict[str, Any], other: Any) -> None:
    for text in (json.dumps({"model_type": "gpt2", **fields}), json.dumps(other), str(other)):
        for reader in (read, read_fields):
            try:
                reader(text)
            except InputError as error:
                str(error).encode()
