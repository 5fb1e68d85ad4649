"""Saved activations against what PyTorch's own hooks see."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcalc import BertConfig, build, saved_activation_bytes
from bertcalc.activations import ACTIVATIONS
from bertcalc.memory import Dtype, cache_bytes, saved_activations
from bertcalc.outputs import Call
from tests.oracle import Case, arguments, real_config, real_outputs
from tests.strategies import cases, passes

DTYPES: dict[Dtype, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def seen_bytes(real: Any, given: dict[str, Any]) -> int:
    """Bytes of the distinct storages that autograd keeps, without parameters, buffers and integer index tensors."""
    own = {tensor.untyped_storage()._cdata for tensor in (*real.parameters(), *real.buffers())}
    kept: list[torch.Tensor] = []  # held here, so that no memory is used twice

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        real(**given)
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in kept if not _is_index(tensor)}
    return sum(storage.nbytes() for at, storage in storages.items() if at not in own)


def _is_index(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.int64, torch.int32)


@settings(max_examples=100)
@given(passes(), st.sampled_from(sorted(DTYPES)))
def test_eager_attention_keeps_what_the_hooks_see(run: tuple[Case, Call], dtype: Dtype) -> None:
    case, call = run
    real = case.real().train()
    if dtype != "float32":
        real.to(DTYPES[dtype])
    real.set_attn_implementation("eager")
    given = arguments(case, call)
    if "encoder_hidden_states" in given:
        given["encoder_hidden_states"] = given["encoder_hidden_states"].to(DTYPES[dtype])
    saved = saved_activations(
        case.ours(),
        call.batch_size,
        call.sequence_length,
        dtype=dtype,
        encoder_sequence_length=call.encoder_sequence_length,
        num_choices=call.num_choices,
    )
    assert sum(one.num_bytes() for one in saved) == seen_bytes(real, given)


@settings(max_examples=30)
@given(cases(), st.integers(1, 3), st.integers(1, 9))
def test_fused_attention_keeps_what_the_cpu_kernel_keeps(case: Case, batch_size: int, length: int) -> None:
    """On the CPU with real numbers: the meta device does not say which kernel runs."""
    config = replace(case.config, attention_probs_dropout_prob=0.0, num_labels=2)
    length = min(length, config.max_position_embeddings)
    real = getattr(transformers, case.architecture)(real_config(config), **case.options).train()
    real.set_attn_implementation("sdpa")
    choices = (1,) if case.architecture == "BertForMultipleChoice" else ()
    given = {"input_ids": torch.zeros((batch_size, *choices, length), dtype=torch.int64)}
    ours = saved_activation_bytes(case._replace(config=config).ours(), batch_size, length, attention="fused")
    assert ours == seen_bytes(real, given)


@pytest.mark.parametrize("hidden_act", ACTIVATIONS)
def test_every_activation_keeps_what_the_hooks_see(hidden_act: str) -> None:
    case = Case(BertConfig(hidden_act=hidden_act, num_hidden_layers=1, hidden_size=24), "BertForMaskedLM")
    real = case.real().train()
    real.set_attn_implementation("eager")
    assert saved_activation_bytes(case.ours(), 2, 5) == seen_bytes(real, arguments(case, Call(2, 5)))


def test_one_byte_masks_are_the_difference_between_96_and_84() -> None:
    """formulas.md: per layer, in units of s b h, at a s / h = 2 in float32, with the CPU's masks and with CUDA's."""
    config = BertConfig(hidden_size=768, num_attention_heads=12)
    longer, shorter = build(replace(config, num_hidden_layers=13)), build(config)
    sequence, unit = 128, 128 * 768
    for fused_dropout, expected in ((False, 96), (True, 84)):
        bytes_of = [
            saved_activation_bytes(model, 1, sequence, fused_dropout=fused_dropout) for model in (longer, shorter)
        ]
        norms = 2 * 2 * 4 * sequence  # mean and rstd of two LayerNorms, which the formula leaves out
        assert bytes_of[0] - bytes_of[1] - norms == expected * unit


@settings(max_examples=30)
@given(passes())
def test_the_cache_is_the_one_that_the_real_model_returns(run: tuple[Case, Call]) -> None:
    case, call = run
    case = Case(replace(case.config, is_decoder=True), "BertLMHeadModel")
    call = call._replace(use_cache=True, num_choices=1)
    if not case.config.add_cross_attention:
        call = call._replace(encoder_sequence_length=None)
    caches = [output for output in real_outputs(case, call) if output.name == "past_key_values"]
    elements = sum(torch.Size(shape).numel() for cache in caches for shape, _dtype in cache.tensors)
    ours = cache_bytes(
        case.ours(), call.batch_size, call.sequence_length, encoder_sequence_length=call.encoder_sequence_length
    )
    assert ours == 4 * elements
