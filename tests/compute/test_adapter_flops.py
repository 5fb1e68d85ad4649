"""The FLOPs of models with adapters against what PyTorch counts in peft's."""

import torch
from hypothesis import given, reject
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from bertcalc.compute.flops import forward_flops, training_flops, unknown_training
from bertcalc.families import CLASSES
from bertcalc.forward.outputs import Call
from bertcalc.memory.plan import Recompute
from bertcalc.text.problem import InputError
from tests.adapters import running_adapters
from tests.compute.test_flops import sizes, trained
from tests.examples import examples
from tests.memory.test_saved import recompute_in
from tests.oracle import Case, arguments, numbered, possible


@examples(10)
@given(
    trained([name for name, family in CLASSES.items() if family.recomputes]),
    st.sampled_from(("none", "none", "full")),
    st.data(),
)
def test_flops_are_those_that_pytorch_counts(
    drawn: tuple[Case, Call], recompute: Recompute, data: st.DataObject
) -> None:
    case, call = drawn
    adapter = data.draw(running_adapters(case.model))
    model = case.ours().changed(changes=(adapter.ours(),))
    if unknown_training(model):
        reject()
    try:
        forward_flops(model, **sizes(call))
    except InputError as error:
        assert "but not its FLOPs and memory" in str(error)  # noqa: PT017  # of some models alone
        return
    recompute = possible(case, recompute)
    real = case.real("cpu").train()
    adapted = adapter.added(real)
    recompute_in(real, "eager", recompute)
    with FlopCounterMode(display=False) as counter:
        returned = adapted(**numbered(arguments(case, call)))
        forward = counter.get_total_flops()
        outputs = [value for value in returned.values() if isinstance(value, torch.Tensor) and value.requires_grad]
        if outputs:
            torch.autograd.backward([output.sum() for output in outputs])
    assert forward_flops(model, **sizes(call)) == forward
    assert training_flops(model, **sizes(call), recompute=recompute) == counter.get_total_flops()
