"""What fits in memory, inference compared with a trace of the real model's operations, and published formulas."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from bertcalc import BertConfig
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.forward.outputs import Call
from bertcalc.memory.footprint import (
    cache_bytes,
    checkpoint_bytes,
    kept,
    korthikanti,
    output_bytes,
    weight_bytes,
)
from bertcalc.memory.optimizers import OPTIMIZERS
from bertcalc.memory.plan import ATTENTIONS, RECOMPUTE, Plan
from bertcalc.memory.saved import total_bytes
from bertcalc.model.freezing import TRAIN, Freezing
from bertcalc.model.model import Model
from bertcalc.model.runnable import cannot_run
from tests.examples import examples
from tests.oracle import Case, real_outputs
from tests.strategies import WITHOUT_AUTOCAST, bert_cases

plans = st.builds(
    Plan,
    st.sampled_from(WITHOUT_AUTOCAST),
    st.sampled_from(list(OPTIMIZERS)),
    st.sampled_from(ATTENTIONS),
    st.booleans(),
    st.sampled_from(RECOMPUTE),
    st.builds(Freezing, st.booleans(), st.integers(0, 4), st.sampled_from(TRAIN)),
)
models = bert_cases(POSITION_EMBEDDING_TYPES).map(lambda case: case.model)


def possible(plan: Plan, model: Model) -> Plan:
    layers = min(plan.freezing.layers, model.config.num_hidden_layers)
    return plan._replace(freezing=replace(plan.freezing, layers=layers))


def test_the_seed_figures() -> None:
    """By seed_figures.md, the 75,641,856 float32 parameters of write-up 004 take 302.6 MB or 288.6 MiB."""
    count = weight_bytes(75_641_856, 32)
    assert (round(count / 10**6, 1), round(count / 2**20, 1)) == (302.6, 288.6)
    assert weight_bytes(3, 4) == 2


@pytest.mark.parametrize("recompute", RECOMPUTE)
@given(batch=st.integers(1, 8), length=st.integers(1, 512))
def test_korthikanti_et_al(recompute: Any, batch: int, length: int) -> None:
    """Saved activations are Korthikanti's formulas plus 16 bytes a token.

    The 16 bytes are the mean and the standard deviation of two LayerNorms. With full recomputation, these are not
    saved, either.
    """
    plan = Plan("mixed-18", fused_dropout=True, recompute=recompute)
    model = Model(BertConfig())
    tokens = batch * length * 768
    theirs = {"none": 34 * tokens + 5 * 12 * batch * length**2, "selective": 34 * tokens, "full": 2 * tokens}
    norms = 0 if recompute == "full" else 16 * batch * length
    one, two = (
        total_bytes(kept(model.changed(config=BertConfig(num_hidden_layers=n)), plan, batch, length)) for n in (1, 2)
    )
    assert two - one == theirs[recompute] + norms
    assert [more for _reason, more in korthikanti(model, plan, batch, length) if more] == [
        theirs[recompute],
        *([norms] if norms else []),
    ]


@given(models, plans, st.integers(1, 4), st.integers(1, 99))
def test_the_reasons_add_up_to_one_trained_layer(model: Model, plan: Plan, batch: int, length: int) -> None:
    assume(not cannot_run(model))
    plan, length = plan._replace(freezing=Freezing()), min(length, model.config.longest)
    config = model.config
    one, two = (
        total_bytes(kept(model.changed(config=replace(config, num_hidden_layers=n)), plan, batch, length))
        for n in (1, 2)
    )
    assert sum(more for _reason, more in korthikanti(model, plan, batch, length)) == two - one


@examples(20)
@given(bert_cases(), st.integers(1, 3), st.integers(1, 9))
def test_outputs_are_what_the_real_model_returns(case: Case, batch: int, length: int) -> None:
    config = replace(case.config, is_decoder=True, add_cross_attention=False, use_cache=True, num_labels=2)
    case = case._replace(config=replace(config, max_position_embeddings=9))
    model = case.model
    returned = real_outputs(case, Call(batch, length, num_choices=1))
    counts = {output.name: sum(torch.Size(shape).numel() for shape, _dtype in output.tensors) for output in returned}
    assert cache_bytes(model, "bfloat16", batch, length) == 2 * counts.pop("past_key_values", 0)
    assert output_bytes(model, "bfloat16", batch, length) == 2 * sum(counts.values())


def test_a_checkpoint_is_as_large_as_what_pytorch_writes() -> None:
    case = Case(BertConfig(vocab_size=90, hidden_size=24, num_hidden_layers=1), "BertForMaskedLM")
    real = case.real()
    weights, names = list(real.parameters()), list(real.state_dict().values())
    # AdamW has two states of each weight.
    wanted = {"weights": weights, "every name": names, "with states": 3 * weights}
    assert checkpoint_bytes(case.model) == {
        file: 4 * sum(tensor.numel() for tensor in tensors) for file, tensors in wanted.items()
    }
