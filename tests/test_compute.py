"""FLOPs against PyTorch's own counter."""

import torch
from hypothesis import given, settings
from torch.utils.flop_counter import FlopCounterMode

from bertcalc import BertConfig, build, forward_flops, training_flops
from bertcalc.outputs import Call
from bertcalc.presets import PRESETS
from tests.oracle import Case, arguments
from tests.strategies import passes


def real_flops(case: Case, call: Call) -> tuple[int, int]:
    """What FlopCounterMode counts in a forward pass, and in a forward and a backward pass."""
    real = case.real()
    real.set_attn_implementation("eager")
    with FlopCounterMode(display=False) as counter:
        returned = real(**arguments(case, call))
        forward: int = counter.get_total_flops()
        outputs = [value for value in returned.values() if isinstance(value, torch.Tensor) and value.requires_grad]
        torch.autograd.backward([output.sum() for output in outputs])
        both: int = counter.get_total_flops()
    return forward, both


@settings(max_examples=40)
@given(passes())
def test_flops_are_those_that_pytorch_counts(run: tuple[Case, Call]) -> None:
    case, call = run
    sizes = {"encoder_sequence_length": call.encoder_sequence_length, "num_choices": call.num_choices}
    ours = [
        flops(case.ours(), call.batch_size, call.sequence_length, **sizes)  # type: ignore[arg-type]  # mypy joins them
        for flops in (forward_flops, training_flops)
    ]
    assert tuple(ours) == real_flops(case, call)


def test_published_figures() -> None:
    """calflops and formulas.md: 22.35 GFLOPs for bert-base at 128 tokens; DeepSpeed's BERT-large at batch 80."""
    base = build(BertConfig())
    assert round(forward_flops(base, 1, 128) / 1e9, 2) == 22.35
    assert training_flops(base, 1, 128) == 3 * forward_flops(base, 1, 128)
    large = build(PRESETS["bert-large-uncased"].config, "BertForPreTraining")
    assert forward_flops(large, 2, 128) == 2 * forward_flops(large, 1, 128)
