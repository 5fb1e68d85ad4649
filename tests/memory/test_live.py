"""The oracle itself: a dispatch mode changes how PyTorch accumulates gradients, and the oracle corrects this."""

from typing import Any

import pytest
from torch.profiler import ProfilerActivity, profile

from bertcalc import BertConfig
from bertcalc.forward.outputs import Call
from bertcalc.memory.plan import Plan
from tests.memory.live import on_cpu, training_moments
from tests.oracle import Case, arguments

SMALL: dict[str, Any] = {
    "vocab_size": 101,
    "hidden_size": 12,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 34,
}


@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "BertForPreTraining", "BertForTokenClassification"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}, {"hidden_act": "gelu_new"}],
    ids=["dropout", "no dropout", "many products"],
)
def test_gradients_are_added_up_where_they_are_without_the_oracle(architecture: str, changes: dict[str, Any]) -> None:
    case = Case(BertConfig(**(SMALL | changes)), architecture)
    given = arguments(case, Call(3, 5, labels=True))
    real, on_the_cpu = on_cpu(case.real(), given)
    real.set_attn_implementation("eager")
    loss = real.train()(**on_the_cpu).loss
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        loss.backward()
    events = sorted(watched.events(), key=lambda event: event.time_range.start)
    unwatched = [event.name.removeprefix("aten::") for event in events if event.name in ("aten::add", "aten::add_")]

    real = case.real()
    real.set_attn_implementation("eager")
    names = [
        moment.operation
        for moment in training_moments(real, given, Plan(keep_outputs=True))
        if moment.phase == "backward"
    ]
    assert [name.split(".")[1] for name in names if name in ("aten.add.Tensor", "aten.add_.Tensor")] == unwatched
    assert "add_" in unwatched
