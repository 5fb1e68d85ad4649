"""User input may be anything: it loads no code, sends no request to the Hub, and every search ends."""

import json
from threading import Thread
from time import process_time
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.discover import discover
from bertcalc.discover.results.config_input import (
    MOST,
    MOST_COPIES,
    MOST_LABELS,
    MOST_LISTED,
    read_config,
    read_fields,
    structural_fields,
)
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.results.types import types
from bertcalc.discover.search import build
from bertcalc.discover.search.changes import merge_changes
from bertcalc.families.hf_json import LARGEST
from bertcalc.text.problem import InputError
from tests.examples import sampled

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


def test_what_transformers_writes_is_read() -> None:
    config = transformers.LlamaConfig(hidden_size=512, num_attention_heads=8, architectures=["LlamaForCausalLM"])
    given = read_config(json.dumps(config.to_dict()))
    assert (given.model_type, given.cls, given.remarks) == ("llama", "LlamaForCausalLM", ())
    assert given.fields["hidden_size"] == 512
    assert "architectures" not in given.fields
    again = transformers.LlamaConfig(**given.fields)
    assert (again.hidden_size, again.num_attention_heads) == (512, 8)


def test_the_default_of_no_type_is_beyond_the_limits() -> None:
    for kind in sampled(types(), 4):
        try:
            config = transformers.CONFIG_MAPPING[kind]()
        except Exception:  # transformers raises any type of exception
            continue
        structural_fields(config.to_dict())


def test_a_class_names_its_type_where_nothing_else_does() -> None:
    assert read_config('{"architectures": ["GPT2Model"], "n_layer": 3}')[:3] == ("gpt2", "GPT2Model", {"n_layer": 3})


def test_what_loads_code_or_files_is_left_out_at_every_depth() -> None:
    code = {
        "auto_map": {"AutoModel": "somebody/something--modeling.Model"},
        "trust_remote_code": True,
        "quantization_config": {"quant_method": "gptq"},
        "attn_implementation": "somebody/kernels",
        "_attn_implementation": "somebody/kernels",
        "_name_or_path": "/etc",
        "use_pretrained_backbone": True,
        "torch_dtype": "evil",
    }
    text = {"model_type": "llama", "hidden_size": 64}
    given = {"model_type": "llava", "text_config": {**text, **code}, "vision_feature_layer": [-2, {**code}], **code}
    assert structural_fields(given) == {"text_config": text, "vision_feature_layer": [-2, {}]}
    assert read_config(json.dumps(given)).fields == structural_fields(given)


def test_labels_are_their_number() -> None:
    assert structural_fields({"id2label": {"0": "no", "1": "yes", "2": "?"}, "label2id": {"no": 0}}) == {
        "num_labels": 3
    }
    assert structural_fields({"id2label": {"0": "no"}, "num_labels": 3}) == {"num_labels": 3}
    assert discover(
        DiscoveryRequest("bert", "BertForSequenceClassification", {"id2label": dict.fromkeys(range(5), "x")})
    ).count() == (109_482_240 + 5 * 769)


def test_names_that_are_none_are_left_out_and_said() -> None:
    given = read_config(json.dumps({"model_type": "gpt2", "n_layer": 3, "a b": 1, "<b>": {"[x](y)": 1}}))
    assert given.fields == {"n_layer": 3}
    assert "a b, <b>" in str(given.remarks[0])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"model_type": "new", "hidden_size": 768}, "transformers has the same model as gte"),
        ({"model_type": "bert", "alibi_starting_size": 512}, "this is MosaicBERT"),
        ({"model_type": "nomic_bert", "num_experts": 8}, "a mixture of experts"),
        ({"model_type": "nezha"}, "this is NEZHA"),
        ({"peft_type": "LORA", "base_model_name_or_path": "gpt2"}, "a PEFT adapter_config.json ('LORA')"),
        ([{"path": "", "type": "sentence_transformers.models.Transformer"}], "This is the modules.json"),
    ],
)
def test_models_of_other_programs_and_files_of_no_model_are_explained(content: Any, why: str) -> None:
    with pytest.raises(InputError) as refused:
        read_config(json.dumps(content))
    assert why in str(refused.value)


def test_what_a_mixture_of_experts_of_transformers_is_made_of_is_no_other_program() -> None:
    config = read_config(json.dumps({"model_type": "mixtral", "num_local_experts": 8}))
    assert (config.model_type, config.fields) == ("mixtral", {"num_local_experts": 8})


def test_a_repository_with_its_own_program_is_a_guess() -> None:
    given = {"model_type": "llama", "auto_map": {"AutoModel": "modeling.OurLlama"}}
    [remark] = read_config(json.dumps(given)).remarks
    assert "has its own code ('modeling.OurLlama'), which bertcalc does not run" in str(remark)


def test_a_printed_configuration_is_read() -> None:
    assert read_config(f"{transformers.LlamaConfig(hidden_size=64)!r}").fields["hidden_size"] == 64


def deep(levels: int) -> dict[str, Any]:
    return {"inner": deep(levels - 1)} if levels else {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_hidden_layers": MOST_COPIES + 1},
        {"num_labels": MOST_LABELS + 1},
        {"hidden_size": MOST + 1},
        {"n_embd": -MOST - 1},
        {"hidden_size": 10**30},
        {"text_config": {"num_layers": 10**6}},
        {"depths": [2, 2, 10**9]},
        {"block_sizes": [10**9]},
        {"attention_types": [[["global"], MOST_LISTED + 1]]},
        {"layer_types": ["full_attention"] * (MOST_COPIES + 1)},
        {"inner": list(range(10**6))},
        deep(50),
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_there_are_limits(wrong: dict[str, Any]) -> None:
    start = process_time()
    with pytest.raises(InputError) as refused:
        discover(DiscoveryRequest({"model_type": "bert", **wrong}))
    assert len(str(refused.value)) < 300
    assert process_time() - start < 5


@pytest.mark.parametrize(
    "given",
    [
        {"model_type": "bert", "hidden_size": "768"},
        {"model_type": "bert", "hidden_size": None},
        {"model_type": "bert", "hidden_size": [768]},
        {"model_type": "bert", "hidden_size": -768},
        {"model_type": "bert", "hidden_size": float("nan")},
        {"model_type": "bert", **{f"more{number}": number for number in range(1000)}},
        {"model_type": "clip", "text_config": "text"},
        {"model_type": "llava", "text_config": {"model_type": "no_such_type"}},
        {"model_type": ["bert"]},
        {},
    ],
    ids=lambda given: str(given)[-40:],
)
def test_what_is_no_configuration_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises((Refused, Ended)):
        discover(DiscoveryRequest(given, seconds=20))


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
        json.dumps({"model_type": "gpt2", "n_embd": MOST + 1}),
        '{"model_type": "gpt2", "a": ' + "[" * 20 + "]" * 20 + "}",
        '{"model_type": "gpt2", "a": ' + "[" * 9000 + "]" * 9000 + "}",
        '{"model_type": "gpt2", "n_embd": ' + "9" * 4000 + "}",
        " " * (LARGEST + 1),
    ],
)
def test_a_text_that_is_no_model_or_far_too_large_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        read_config(text)
    assert len(str(refused.value)) < 300


@given(
    st.dictionaries(st.sampled_from(["model_type", "n_layer", "text_config", "architectures", "id2label"]), JSON), JSON
)
def test_anything_is_read_or_refused(fields: dict[str, Any], other: Any) -> None:
    for text in (json.dumps({"model_type": "gpt2", **fields}), json.dumps(other), str(other)):
        for reader in (read_config, read_fields):
            try:
                reader(text)
            except InputError as error:
                str(error).encode()


def test_fields_that_no_class_has_change_nothing() -> None:
    strange = {
        "a.b": 3,
        "x[3": 7,
        "[0]": 9,
        "": 5,
        "two words": 12,
        "to_dict": 3,
        "attribute_map": {"hidden_size": "a"},
    }
    assert discover(DiscoveryRequest({"model_type": "bert", **strange})).count() == 109_482_240


def test_nothing_is_asked_of_the_hub() -> None:
    backbone = {"backbone": "somebody/something", "use_timm_backbone": False, "backbone_config": None}
    with pytest.raises(Refused, match="offline"):
        discover(DiscoveryRequest({"model_type": "detr", **backbone}))


def test_the_limits_of_one_thread_are_none_for_another() -> None:
    built: list[Any] = []
    with build._limited(until=0):
        other = Thread(target=lambda: built.append(torch.nn.Sequential(*(torch.nn.Tanh() for _time in range(200)))))
        other.start()
        other.join()
        with pytest.raises(Ended):
            torch.nn.Sequential(*(torch.nn.Tanh() for _time in range(200)))
    assert len(built[0]) == 200


def test_a_field_that_differs_between_layers_can_be_changed() -> None:
    """transformers accepts the field as an argument, but raises an exception when it is read from the configuration."""
    config = transformers.CONFIG_MAPPING["embedding_gemma2_text"]
    changes = {"head_dim": 128, "num_key_value_heads": 1}
    assert merge_changes(config, transformers.EmbeddingGemma2TextModel, {}, changes, process_time() + 60) == changes
