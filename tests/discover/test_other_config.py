"""Files of other types are read like any text, with count, formula and tensors, and compared with transformers."""

import json
import re

import pytest
import transformers

import bertcalc
from bertcalc import InputError
from tests.discover.real import tensors
from tests.discover.test_from_config import LLAMA_3_2_1B, MISTRAL_7B


def test_a_file_of_another_type_is_counted_with_its_formula() -> None:
    reading = bertcalc.read(json.dumps(LLAMA_3_2_1B))
    assert (reading.kind, reading.num_parameters, reading.model) == ("config", 1_235_814_400, None)
    assert "Read as: a config.json of LlamaForCausalLM." in str(reading)
    [formula] = re.findall(r"The formula: (.*), with (.*)\.", str(reading))
    sizes = dict(part.split(" = ") for part in formula[1].split(", ") if " = " in part)
    assert {"H", "L", "V", "K"} <= sizes.keys()
    counts = tensors("llama", "LlamaForCausalLM", **{k: LLAMA_3_2_1B[k] for k in LLAMA_3_2_1B if k not in NOT_SIZES})
    ours = {tensor.name: tensor.num_parameters() for tensor in reading.tensors}
    assert sum(ours.values()) == sum(counts.values())
    assert ours["model.embed_tokens.weight"] == counts["model.embed_tokens.weight"]


NOT_SIZES = ("model_type", "architectures", "torch_dtype", "rope_scaling")


def test_what_transformers_writes_or_prints_is_counted() -> None:
    sizes = {"num_hidden_layers": 3, "num_key_value_heads": 4}
    config = transformers.MistralConfig(**sizes, architectures=["MistralForCausalLM"])
    count = sum(tensors("mistral", "MistralForCausalLM", **sizes).values())
    assert bertcalc.read(config.to_json_string(use_diff=False)).num_parameters == count
    assert bertcalc.read(f"{config}").num_parameters == count


def test_sizes_that_a_file_lacks_are_named() -> None:
    text = str(bertcalc.read('{"model_type": "llama", "hidden_size": 2048}'))
    assert "defaults: vocab_size = 32,000, intermediate_size = 11,008, num_hidden_layers = 32" in text


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"num_local_experts": 8}, "bertcalc does not know how these keys change MistralForCausalLM: num_local_ex"),
        (
            {"architectures": ["MistralForTokenClassification"]},
            "has no formula for the config.json of Mistral",
        ),
        ({"hidden_size": 4095}, "multiple of"),
        (
            {"model_type": "clip", "architectures": ["CLIPModel"], "text_config": {}, "vision_config": {}},
            "nested configurations (text_config, vision_config)",
        ),
    ],
)
def test_why_a_file_is_not_counted_is_said(more: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match="is not supported") as error:
        bertcalc.read(json.dumps({**MISTRAL_7B, **more}))
    assert reason in str(error.value)


def test_another_text_is_read_as_ever() -> None:
    assert bertcalc.read("109,482,240").kind == "number"
    with pytest.raises(InputError, match="NEZHA"):
        bertcalc.read('{"model_type": "nezha", "hidden_size": 768}')


def test_a_refusal_of_a_type_that_is_counted_does_not_contradict_itself() -> None:
    """bertcalc counts t5-small's file, but not google/flan-t5-base's."""
    t5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 512}
    assert bertcalc.read(json.dumps(t5)).num_parameters
    with pytest.raises(InputError, match="feed_forward_proj") as error:
        bertcalc.read(json.dumps({**t5, "feed_forward_proj": "gated-gelu"}))
    assert "counts only" not in str(error.value)


@pytest.mark.parametrize(("model_type", "base"), [("longformer", "LongformerModel"), ("layoutlm", "LayoutLMModel")])
def test_a_file_without_a_class_names_the_model_without_a_head(model_type: str, base: str) -> None:
    reading = bertcalc.read(json.dumps({"model_type": model_type, "num_hidden_layers": 2}))
    counted = base.replace("Model", "ForMaskedLM")
    assert reading.num_parameters == sum(tensors(model_type, counted, num_hidden_layers=2).values())
    assert sum(tensors(model_type, base, num_hidden_layers=2).values()) != reading.num_parameters
    assert f"none for {base}, the model without a head" in str(reading)


def test_a_class_without_a_formula_is_not_called_missing() -> None:
    text = json.dumps({"model_type": "dpr", "architectures": ["DPRContextEncoder"], "num_hidden_layers": 2})
    assert hasattr(transformers, "DPRContextEncoder")
    reading = bertcalc.read(text)
    assert "DPRQuestionEncoder is counted instead" in str(reading)
    assert "names no class" not in str(reading)
    assert "available" not in str(reading)
