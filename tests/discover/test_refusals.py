"""A refusal by transformers names the invalid field and a valid value, which the real class accepts."""

import json
import re
from collections.abc import Callable
from math import inf
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
from transformers import BertConfig, BertModel

from bertcalc.discover import discover
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.search import flop_search, refusals
from bertcalc.discover.search.build import not_built, unless_refused
from bertcalc.discover.search.changes import merge_changes
from tests.discover.real import real

CASES: list[tuple[str, str, dict[str, Any], str]] = [
    ("gpt2", "GPT2LMHeadModel", {"n_embd": 13, "n_layer": 2}, "n_embd = 13 is not a multiple of 12 (try 12)."),
    ("bert", "BertModel", {"hidden_size": 770, "num_attention_heads": 12}, "hidden_size = 770 is not a multiple of"),
    ("opt", "OPTModel", {"num_attention_heads": 7}, "with num_attention_heads = 7, but can with the default, 12."),
    ("llama", "LlamaModel", {"hidden_size": "768"}, 'hidden_size is "768" but must be a whole number.'),
    (
        "llama",
        "LlamaModel",
        {"hidden_act": "foo", "hidden_size": 64},
        '"foo", but can with the default, "silu"',
    ),
    ("bert", "BertModel", {"hidden_size": -64}, "hidden_size = -64, but can with the default, 768."),
    ("qwen3", "Qwen3Model", {"layer_types": ["a"]}, 'layer_types = ["a"], but can without it.'),
    ("llama", "LlamaModel", {"hidden_size": 100, "num_attention_heads": 0}, "no single field is the cause."),
]


@pytest.mark.parametrize(("model_type", "cls", "given", "said"), CASES)
def test_a_refusal_says_what_is_wrong_and_what_would_be_right(
    model_type: str, cls: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        discover(DiscoveryRequest(model_type, cls, given))
    text = str(refused.value)
    assert said in text
    sentence, raw = text.split(" transformers says: ")
    assert raw == refused.value.problem.values["reason"]
    assert "Error" not in sentence
    right = re.search(r"(?:with the default, |\(try )(\S+?)(?:\. transformers says|\))", sentence)
    if right:
        [size] = [name for name in given if f"{name} = " in sentence.split(";")[0]][:1]
        changes = {**given, size: json.loads(right[1].replace(",", ""))}
        assert real(model_type, cls, **changes)


def test_what_is_no_refusal_of_transformers_is_said_as_before() -> None:
    with pytest.raises(Refused, match="has no model class Nothing"):
        discover(DiscoveryRequest("bert", "Nothing", {"hidden_size": 13}))


def test_fields_of_a_nested_configuration_are_named_by_their_path() -> None:
    given = {"text_config": {"hidden_size": 512, "num_attention_heads": 0}}
    with pytest.raises(Refused, match=r"with text_config\.num_attention_heads = 0, but can with the default, 8"):
        discover(DiscoveryRequest("clip", "CLIPModel", given))


def test_the_time_limit_is_no_refusal() -> None:
    def refused() -> None:
        raise ZeroDivisionError

    def ended() -> None:
        raise Ended

    assert unless_refused(divmod, 7, 2) == (3, 1)
    assert unless_refused(refused) is None
    with pytest.raises(Ended):
        unless_refused(ended)


@pytest.mark.parametrize(
    "search",
    [
        lambda until: merge_changes(BertConfig, BertModel, {"hidden_size": 64}, {}, until),
        lambda until: merge_changes(BertConfig, BertModel, {}, {"hidden": 3}, until),
        lambda until: refusals.explain(
            not_built(ValueError("no")), BertConfig, BertModel, {"num_attention_heads": 7}, until
        ),
    ],
    ids=["file", "misspelled field", "refused field"],
)
def test_a_search_ends_at_the_time_limit(search: Callable[[float], object]) -> None:
    """Otherwise, a wrong answer would be given: all fields are needed, or no field is the cause."""
    with pytest.raises(Ended):
        search(0)


@pytest.mark.parametrize("compare", [flop_search.compare_flops, flop_search.still_agree])
def test_a_comparison_with_pytorch_ends_at_the_time_limit(compare: Callable[..., object]) -> None:
    lab = MagicMock(until=inf)
    with patch.object(flop_search, "_difference", side_effect=[None, Ended]), pytest.raises(Ended):
        compare(None, lab, MagicMock(), [{"hidden_size": 64}] * 3)


def test_a_comparison_that_is_complete_at_the_time_limit_counts() -> None:
    with patch.object(flop_search, "_difference", side_effect=[*[None] * flop_search._COMPARED, Ended]):
        assert flop_search.still_agree(None, MagicMock(until=inf), MagicMock(), [{"hidden_size": 64}] * 9) is None
