"""Prove the FLOP count: compare it with PyTorch's FlopCounterMode on the real model, module by module."""

import re
from typing import Any, NamedTuple

from bertcalc.compute.flops import Convention, by_name, total
from bertcalc.families import family_of
from bertcalc.forward.outputs import Call, inputs, run, taking_all
from bertcalc.model.model import Model
from bertcalc.model.totals import summed
from bertcalc.proof.output_proof import given_tensors
from bertcalc.proof.real_model import empty_model


class FlopCheck(NamedTuple):
    """The FLOPs of a module or a whole pass, as counted by us and by PyTorch; None if a count lacks the module."""

    name: str
    ours: int | None
    theirs: int | None


class FlopProof(NamedTuple):
    """Our FLOPs and PyTorch's: forward pass, forward and backward pass together, and the forward pass by module."""

    forward: FlopCheck
    training: FlopCheck
    modules: list[FlopCheck]

    @property
    def differences(self) -> list[FlopCheck]:
        return [count for count in (self.forward, self.training, *self.modules) if count.ours != count.theirs]


def prove(model: Model, call: Call, *, recompute: bool) -> FlopProof:
    """Compare our FLOPs with PyTorch's count of a forward and backward pass on the meta device, with eager attention.

    With ``recompute``, gradient checkpointing is on. transformers 5 must be able to build the model and run the call.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        real = empty_model(model)
        real.set_attn_implementation("eager")  # FlopCounterMode does not count fused attention on the meta device
        if recompute:
            real.train()
            real.activation_checkpointing_enable()
        entries = inputs(model, call, run(taking_all(model), call))
        with FlopCounterMode(display=False) as counter:
            returned = real(**given_tensors(model, entries))
            forward = counter.get_total_flops()
            counts = {name: sum(by_operator.values()) for name, by_operator in counter.get_flop_counts().items()}
            outputs = [value for value in returned.values() if isinstance(value, torch.Tensor) and value.requires_grad]
            torch.autograd.backward([output.sum() for output in outputs])
            both_passes = counter.get_total_flops()
    steps = run(model, call)
    training = total(steps, Convention(training="4x" if recompute else "3x"), "training")
    modules = compare(
        {row.name: row.copies * row.cost for row in by_name(steps)}, counts, real, family_of(model.config).prefix
    )
    return FlopProof(FlopCheck("forward", total(steps), forward), FlopCheck("training", training, both_passes), modules)


def compare(ours: dict[str, int], counts: dict[str, int], real: Any, prefix: str) -> list[FlopCheck]:
    """Compare the FLOPs of each module, summed over the layers.

    ``ours`` and ``counts`` are our FLOPs and PyTorch's, keyed by name. A step that is not a module counts toward the
    modules around it. In a class with a head, PyTorch's names have the body's ``prefix``, and our names do not.
    """

    def folded(name: str) -> str:
        return re.sub(r"\.[0-9]+(?=\.|$)", ".*", name).removeprefix(f"{prefix}.")

    theirs = summed((folded(name.partition(".")[2]), flops) for name, flops in counts.items() if name != "Global")
    theirs.pop(prefix, None)
    names = {folded(name) for name, _module in real.named_modules()}
    return [
        FlopCheck(name or type(real).__name__, ours.get(name), theirs.get(name))
        for name in dict.fromkeys([*ours, *theirs])
        if name in names
    ]
