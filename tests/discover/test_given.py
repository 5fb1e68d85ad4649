"""What somebody gives may be anything: no code is loaded, nothing is asked of the Hub, and nothing takes forever."""

from threading import Thread
from time import monotonic
from typing import Any

import pytest
import torch

from bertcalc.discover import build, discover
from bertcalc.discover.build import Ended, Refused
from bertcalc.discover.given import structure


def deep(levels: int) -> dict[str, Any]:
    return {"inner": deep(levels - 1)} if levels else {}


def test_what_loads_code_or_files_is_left_out_at_every_depth() -> None:
    code = {
        "auto_map": {"AutoModel": "somebody/something--modeling.Model"},
        "trust_remote_code": True,
        "quantization_config": {"quant_method": "gptq"},
        "attn_implementation": "somebody/kernels",
        "_attn_implementation": "somebody/kernels",
        "_name_or_path": "/etc",
    }
    text = {"model_type": "llama", "hidden_size": 64}
    given = {"model_type": "llava", "text_config": {**text, **code}, "vision_feature_layer": [-2, {**code}], **code}
    assert structure(given) == {"text_config": text, "vision_feature_layer": [-2, {}]}


def test_labels_are_their_number() -> None:
    assert structure({"id2label": {"0": "no", "1": "yes", "2": "?"}, "label2id": {"no": 0}}) == {"num_labels": 3}
    assert discover("bert", "BertForSequenceClassification", {"id2label": dict.fromkeys(range(5), "x")}).count() == (
        109_482_240 + 5 * 769
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_hidden_layers": 10**9},
        {"num_labels": 10**9},
        {"hidden_size": 10**18},
        {"hidden_size": 10**30},
        {"text_config": {"num_layers": 10**9}},
        {"depths": [2, 2, 10**9]},
        {"attention_types": [[["global"], 10**9]]},
        {"inner": list(range(10**6))},
        deep(50),
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_there_are_limits(wrong: dict[str, Any]) -> None:
    start = monotonic()
    with pytest.raises(Refused):
        discover({"model_type": "bert", **wrong})
    assert monotonic() - start < 5


@pytest.mark.parametrize(
    "given",
    [
        {"model_type": "bert", "hidden_size": "768"},
        {"model_type": "bert", "hidden_size": None},
        {"model_type": "bert", "hidden_size": [768]},
        {"model_type": "bert", "hidden_size": -768},
        {"model_type": "bert", "hidden_size": float("nan")},
        {"model_type": "bert", "num_hidden_layers": 50_000},
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
        discover(given, seconds=20)


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
    assert discover({"model_type": "bert", **strange}).count() == 109_482_240


def test_nothing_is_asked_of_the_hub() -> None:
    backbone = {"backbone": "somebody/something", "use_timm_backbone": False, "backbone_config": None}
    with pytest.raises(Refused, match="offline"):
        discover({"model_type": "detr", **backbone})


def test_the_limits_of_one_thread_are_none_for_another() -> None:
    built: list[Any] = []
    with build._limited(until=0):
        other = Thread(target=lambda: built.append(torch.nn.Sequential(*(torch.nn.Tanh() for _time in range(200)))))
        other.start()
        other.join()
        with pytest.raises(Ended):
            torch.nn.Sequential(*(torch.nn.Tanh() for _time in range(200)))
    assert len(built[0]) == 200
