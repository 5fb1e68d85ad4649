"""What fits, by the true count; inference against a trace of every operation of the real model; published formulas."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bertcalc import BertConfig
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.forward.outputs import Call
from bertcalc.memory.footprint import (
    Polynomial,
    binding,
    grow,
    inference,
    inference_figures,
    kept,
    korthikanti,
    output_bytes,
    training,
    training_figures,
    weight_bytes,
)
from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import ATTENTIONS, ITEM_BYTES, RECOMPUTE, recomputed_bytes, total_bytes
from bertcalc.subject import Subject
from bertcalc.tree.freezing import TRAIN, Freezing
from tests.oracle import Case, meta, real_outputs
from tests.strategies import bert_cases

plans = st.builds(
    Plan,
    st.sampled_from(list(PRECISIONS)),
    st.sampled_from(list(OPTIMIZERS)),
    st.sampled_from(ATTENTIONS),
    st.booleans(),
    st.sampled_from(RECOMPUTE),
    st.builds(Freezing, st.booleans(), st.integers(0, 4), st.sampled_from(TRAIN)),
)
subjects = bert_cases(POSITION_EMBEDDING_TYPES).map(lambda case: case.subject)


def possible(plan: Plan, subject: Subject) -> Plan:
    layers = min(plan.freezing.layers, subject.config.num_hidden_layers)
    return plan._replace(freezing=replace(plan.freezing, layers=layers))


def is_the_largest(figures: Any, limit: int) -> None:
    """The true count: the number that is found fits, and one more does not."""
    found = binding(grow(figures), limit).largest(limit)
    if found is None:
        assert figures(1) == figures(10**6)
        assert max(figures(1)) <= limit
        return
    if found:
        assert max(figures(found)) <= limit
    assert max(figures(found + 1)) > limit


@settings(max_examples=150)
@given(subjects, plans, st.integers(1, 64), st.integers(1, 600), st.integers(1, 10**10))
def test_what_is_found_for_training_fits_and_one_more_does_not(
    subject: Subject, plan: Plan, batch: int, length: int, more: int
) -> None:
    plan = possible(plan, subject)
    limit = sum(training(subject, plan, 1, 1).values()) - 1 + more
    is_the_largest(lambda number: training_figures(subject, plan, number, length), limit)
    is_the_largest(lambda number: training_figures(subject, plan, batch, number), limit)


@settings(max_examples=100)
@given(
    subjects,
    st.sampled_from(list(ITEM_BYTES)),
    st.sampled_from(ATTENTIONS),
    st.integers(1, 64),
    st.integers(1, 600),
    st.integers(1, 10**9),
)
def test_what_is_found_for_inference_fits_and_one_more_does_not(
    subject: Subject, dtype: Any, attention: Any, batch: int, length: int, more: int
) -> None:
    limit = sum(inference(subject, dtype, attention, 1, 1).values()) - 1 + more
    is_the_largest(lambda number: inference_figures(subject, dtype, attention, number, length), limit)
    is_the_largest(lambda number: inference_figures(subject, dtype, attention, batch, number), limit)


@pytest.mark.parametrize(
    ("growth", "limit", "expected"),
    [
        (Polynomial(5, 5, 0, 0), 4, 0),
        (Polynomial(5, 5, 0, 0), 5, None),
        (Polynomial(8, 5, 3, 0), 13, 2),
        (Polynomial(8, 5, 3, 0), 14, 3),
        (Polynomial(8, 5, 3, 0), 10, 1),
        (Polynomial(8, 5, 3, 0), 7, 0),
        (Polynomial(4, 5, 3, 0), 7, 1),
        (Polynomial(4, 5, 3, 0), 4, 1),
        (Polynomial(4, 5, 3, 0), 3, 0),
        (Polynomial(1, 0, 0, 1), 10**40, 10**20),
        (Polynomial(1, 0, 0, 1), 10**40 - 1, 10**20 - 1),
        (Polynomial(6, 1, 2, 3), 1 + 2 * 7 + 3 * 49 - 1, 6),
    ],
)
def test_the_root_is_exact(growth: Polynomial, limit: int, expected: int | None) -> None:
    assert growth.largest(limit) == expected


def test_the_seed_figures() -> None:
    """seed_figures.md, 004: 75,641,856 parameters in float32 take 302.6 MB, which are 288.6 MiB."""
    count = weight_bytes(75_641_856, 32)
    assert (round(count / 10**6, 1), round(count / 2**20, 1)) == (302.6, 288.6)
    assert weight_bytes(3, 4) == 2


@pytest.mark.parametrize("recompute", RECOMPUTE)
@given(batch=st.integers(1, 8), length=st.integers(1, 512))
def test_korthikanti_et_al(recompute: Any, batch: int, length: int) -> None:
    """Their formulas plus 16 bytes a token: mean and deviation of two LayerNorms; with nothing kept, not even these."""
    plan = Plan("mixed-18", fused_dropout=True, recompute=recompute)
    subject = Subject(BertConfig())
    tokens = batch * length * 768
    theirs = {"none": 34 * tokens + 5 * 12 * batch * length**2, "selective": 34 * tokens, "full": 2 * tokens}
    norms = 0 if recompute == "full" else 16 * batch * length
    one, two = (
        total_bytes(kept(subject._replace(config=BertConfig(num_hidden_layers=n)), plan, batch, length)) for n in (1, 2)
    )
    assert two - one == theirs[recompute] + norms
    assert [more for _reason, more in korthikanti(subject, plan, batch, length) if more] == [
        theirs[recompute],
        *([norms] if norms else []),
    ]


@given(subjects, plans, st.integers(1, 4), st.integers(1, 99))
def test_the_reasons_add_up_to_one_trained_layer(subject: Subject, plan: Plan, batch: int, length: int) -> None:
    plan = plan._replace(freezing=Freezing())
    config = subject.config
    one, two = (
        total_bytes(kept(subject._replace(config=replace(config, num_hidden_layers=n)), plan, batch, length))
        for n in (1, 2)
    )
    assert sum(more for _reason, more in korthikanti(subject, plan, batch, length)) == two - one


@given(subjects, st.sampled_from(ATTENTIONS), st.integers(1, 4), st.integers(1, 99))
def test_a_recomputed_layer_and_what_is_kept_of_it_are_the_layer(
    subject: Subject, attention: Any, batch: int, length: int
) -> None:
    plan = Plan(attention=attention, recompute="full")
    counts = []
    for layers in (1, 2):
        some = subject._replace(config=replace(subject.config, num_hidden_layers=layers))
        everything = kept(some, plan, batch, length, "none")
        saved = kept(some, plan, batch, length)
        counts.append((total_bytes(everything), total_bytes(saved), recomputed_bytes(everything, saved, "full")))
    (one, kept_of_one, again), (two, kept_of_two, _again) = counts
    assert again + (kept_of_two - kept_of_one) == two - one


class Trace(TorchDispatchMode):  # type: ignore[misc]  # torch publishes no types here
    """Every operation that really runs, with the memories that it takes and gives."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[list[torch.Tensor]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        tensors = tree_leaves((args, kwargs, out))
        self.operations.append([tensor for tensor in tensors if isinstance(tensor, torch.Tensor)])
        return out


def most_alive(real: Any, given: dict[str, Any]) -> int:
    """The most bytes that are needed at once: each memory from its first operation to its last, outputs to the end."""
    with torch.no_grad(), Trace() as trace:
        returned = real(**given)
    end = len(trace.operations)
    stay = [value for value in (*given.values(), *returned.values()) if isinstance(value, torch.Tensor)]
    memories: dict[int, int] = {}
    uses: dict[int, list[int]] = {}
    for at, tensors in enumerate([*trace.operations, stay]):
        for tensor in tensors:
            memory = tensor.untyped_storage()
            memories[memory._cdata] = memory.nbytes()
            uses.setdefault(memory._cdata, []).append(at)
    for value in given.values():
        if isinstance(value, torch.Tensor):
            uses[value.untyped_storage()._cdata].append(0)
    for tensor in (*real.parameters(), *real.buffers()):
        uses.pop(tensor.untyped_storage()._cdata, None)
    return max(sum(memories[key] for key, found in uses.items() if min(found) <= at <= max(found)) for at in range(end))


@settings(max_examples=40)
@given(bert_cases(), st.integers(1, 3), st.integers(2, 200))
def test_inference_needs_what_a_trace_of_the_real_model_needs(case: Case, batch: int, length: int) -> None:
    """For models as they are built: gelu is one operation, and the feed-forward is wider than the hidden states."""
    config = replace(
        case.config,
        hidden_act="gelu",
        is_decoder=False,
        add_cross_attention=False,
        intermediate_size=4 * case.config.hidden_size,
        max_position_embeddings=200,
        num_labels=2,
    )
    case = case._replace(config=config)
    real = case.real().eval()
    real.set_attn_implementation("eager")
    shape = (batch, 1, length) if case.architecture.endswith("MultipleChoice") else (batch, length)
    found = inference(case.subject._replace(config=config), "float32", "eager", batch, length)
    assert found["cache"] == 0
    assert found["alive at once"] == most_alive(real, {"input_ids": meta(shape), "token_type_ids": meta(shape)})


@settings(max_examples=20)
@given(bert_cases(), st.integers(1, 3), st.integers(1, 9))
def test_outputs_and_cache_are_what_the_real_model_returns(case: Case, batch: int, length: int) -> None:
    config = replace(case.config, is_decoder=True, add_cross_attention=False, use_cache=True, num_labels=2)
    case = case._replace(config=replace(config, max_position_embeddings=9))
    subject = case.subject
    returned = real_outputs(case, Call(batch, length, num_choices=1))
    counts = {output.name: sum(torch.Size(shape).numel() for shape, _dtype in output.tensors) for output in returned}
    cache = counts.pop("past_key_values", None)
    assert output_bytes(subject, "bfloat16", batch, length) == 2 * sum(counts.values())
    if cache is not None:
        assert inference(subject, "bfloat16", "eager", batch, length)["cache"] == 2 * cache
