"""FLOPs: the formula of a forward pass equals PyTorch's own count for the real class."""

from contextlib import nullcontext
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode
from transformers.initialization import no_init_weights

from bertcalc.discover import discover
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import NOT_ASKED, Discovered, of_json
from bertcalc.discover.results.search_errors import Refused
from bertcalc.discover.results.shipped import shipped
from bertcalc.discover.search import fixed_fields, flop_search
from bertcalc.text.problem import InputError
from tests.examples import examples, sampled

# Classes with and without masks: a decoder with an encoder, and experts, which are computed one token at a time.
CLASSES = {
    ("bert", "BertModel"): [],
    ("granitemoe", "GraniteMoeForCausalLM"): ["attention_mask"],
    ("t5", "T5ForConditionalGeneration"): ["decoder_input_ids", "decoder_attention_mask"],
}
DECODER = CLASSES["t5", "T5ForConditionalGeneration"]
# A forward pass of six layers takes three times as long as one of two layers.
FEW_LAYERS: dict[str, dict[str, Any]] = {
    "bert": {"num_hidden_layers": 3},
    "clip": {"text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}},
    "t5": {"num_layers": 2},
    "vit": {"num_hidden_layers": 2},
}


EXPLAINED: dict[str, Any] = {}  # discovered products, keyed by class


@cache
def found_for(model_type: str, cls: str) -> Discovered:
    found = fixed_fields.explain

    def keep(*given: Any) -> Any:
        EXPLAINED[cls] = found(*given)
        return EXPLAINED[cls]

    with patch.object(fixed_fields, "explain", keep):
        return discover(DiscoveryRequest(model_type, cls, FEW_LAYERS.get(model_type), flops=True, seconds=600))


def real(case: tuple[str, str], batch_size: int, sequence_length: int, **fields: int) -> int:
    config = transformers.CONFIG_MAPPING[case[0]](**fields, use_cache=False)
    tokens = torch.ones(batch_size, sequence_length, dtype=torch.long, device="meta")
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, case[1])._from_config(config, attn_implementation="eager")
        if case[0] == "granitemoe":
            model.set_experts_implementation("batched_mm")
        with FlopCounterMode(display=False) as counter:
            model.eval()(input_ids=tokens, **dict.fromkeys(CLASSES.get(case, DECODER), tokens))
    return int(counter.get_total_flops())


@pytest.mark.parametrize(
    ("model_type", "cls", "fields", "runs"),
    [
        ("llama", "LlamaForCausalLM", {"num_attention_heads": 4, "num_key_value_heads": 3}, False),
        ("llama", "LlamaForCausalLM", {"num_attention_heads": 4, "num_key_value_heads": 2}, True),
        ("mixtral", "MixtralForCausalLM", {"num_local_experts": 2, "num_experts_per_tok": 3}, False),
        ("bert", "BertModel", {"num_attention_heads": 4, "max_position_embeddings": 2}, True),  # two tokens at most
    ],
)
def test_a_class_that_is_built_but_does_not_run_is_known(
    model_type: str, cls: str, fields: dict[str, int], runs: bool
) -> None:
    given = {"hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2, "vocab_size": 50, **fields}
    found = discover(DiscoveryRequest(model_type, cls, given))
    assert not found.unexplained
    assert (found.flops, found.no_flops) == (None, NOT_ASKED)
    assert (found.no_run is None) == runs
    assert of_json(found.json()).no_run == found.no_run
    model = getattr(transformers, cls)(transformers.CONFIG_MAPPING[model_type](**given, pad_token_id=0)).eval()
    assert sum(each.numel() for each in model.parameters()) == found.parameters
    with nullcontext() if runs else pytest.raises(RuntimeError):
        model(input_ids=torch.ones(1, 2, dtype=torch.long))


def test_a_class_that_never_runs_without_numbers_is_not_said_to_be_wrong() -> None:
    def fails(*_given: Any) -> None:
        raise Refused.because("{reason}", reason="RuntimeError: sizes differ")

    given = {"num_hidden_layers": 1, "hidden_size": 24}
    with patch.object(flop_search, "_forward", fails):
        assert discover(DiscoveryRequest("bert", "BertModel", given)).no_run is None


@pytest.mark.parametrize("case", sampled(CLASSES, 2), ids="-".join)
@examples(2)
@given(st.integers(1, 9), st.integers(1, 200), st.integers(1, 5), st.integers(1, 9))
def test_flops_are_those_that_pytorch_counts(
    case: tuple[str, str], batch_size: int, sequence_length: int, layers: int, heads: int
) -> None:
    found = found_for(*case)
    assert found.flops is not None, found.no_flops
    usual = ("num_hidden_layers", "hidden_size", "num_attention_heads")
    depth, width, count = ("num_layers", "d_model", "num_heads") if case[0] == "t5" else usual
    sizes = {depth: layers, width: 8 * heads * 40, count: 8 * heads}
    here = found.count_flops(batch_size=batch_size, sequence_length=sequence_length, **sizes)
    assert here == real(case, batch_size, sequence_length, **sizes)
    numbers = found.compute.values(batch_size=batch_size, sequence_length=sequence_length, **sizes)  # type: ignore[union-attr]
    assert found.flops.subs({symbol: numbers[symbol.name] for symbol in found.flops.free_symbols}) == here


@pytest.mark.parametrize(
    "case",
    [
        ("t5", "T5ForConditionalGeneration"),
        ("mt5", "MT5ForConditionalGeneration"),
        ("bart", "BartForConditionalGeneration"),
        ("marian", "MarianMTModel"),
        ("granitemoe", "GraniteMoeForCausalLM"),
    ],
    ids="-".join,
)
def test_flops_of_encoder_decoders_and_of_experts_are_shipped(case: tuple[str, str]) -> None:
    found = shipped(*case)
    assert found is not None
    assert found.count_flops(batch_size=2, sequence_length=7) == real(case, 2, 7)
    experts, t5 = case[0] == "granitemoe", case[0].endswith("t5")
    depth = "num_hidden_layers" if experts else "num_layers" if t5 else "encoder_layers"
    assert found.count_flops(batch_size=1, sequence_length=9, **{depth: 2}) == real(case, 1, 9, **{depth: 2})


def test_a_call_that_the_class_refuses_is_refused() -> None:
    found = shipped("bert", "BertForMaskedLM")
    assert found is not None
    with pytest.raises(InputError, match="sequence_length is at most max_position_embeddings"):
        found.count_flops(batch_size=1, sequence_length=513)
    for wrong in ({"batch_size": 0, "sequence_length": 5}, {"batch_size": 1, "sequence_length": 5, "hidden": 3}):
        with pytest.raises(InputError):
            found.count_flops(**wrong)


def test_what_is_written_is_read() -> None:
    found = found_for("bert", "BertModel")
    assert of_json(found.json()).flops == found.flops
    assert of_json(found.json()).compute == found.compute
    assert of_json({**found.json(), "compute": None}).flops is None


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (("clip", "CLIPModel"), "on the meta device"),
        (("vit", "ViTModel"), "takes no token ids"),
    ],
)
def test_where_there_are_none_the_reason_is_said(case: tuple[str, str], reason: str) -> None:
    found = discover(DiscoveryRequest(*case, FEW_LAYERS[case[0]], flops=True, seconds=600))
    assert found.flops is None
    assert reason in str(found.no_flops)
    with pytest.raises(InputError, match="There is no formula for FLOPs"):
        found.count_flops(batch_size=1, sequence_length=8)


def test_a_formula_that_pytorch_contradicts_is_not_shown() -> None:
    """The formulas come from the first search, since another search is slow."""
    assert found_for("bert", "BertModel").flops is not None
    counted, found_anew = flop_search.count_flops, fixed_fields.explain

    def more(*arguments: Any) -> int:
        return counted(*arguments) + 1

    def kept(lab: Any, within: Any = None) -> Any:
        return found_anew(lab) if within is None else EXPLAINED["BertModel"]

    with patch.object(flop_search, "count_flops", more), patch.object(fixed_fields, "explain", kept):
        found = discover(DiscoveryRequest("bert", "BertModel", FEW_LAYERS["bert"], flops=True, seconds=600))
    assert found.flops is None
    assert "FlopCounterMode counts" in str(found.no_flops)
