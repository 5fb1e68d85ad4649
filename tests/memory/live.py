"""Every tensor storage of a real model, from its creation to its release: the oracle for what is alive at once.

PyTorch's meta device makes storages of the right size without memory, and its tensors die when real ones would. One
operation of those that are needed here has no kernel there, ``mish_backward``: it is worked out step by step, where the
CPU and CUDA have a kernel. ``on_cpu`` is for that.
"""

import gc
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from bertcalc.memory.plan import Plan

RELEASE = "release"


class Moment(NamedTuple):
    """What is alive after an operation of PyTorch, before what only the operation needed goes; or after a release."""

    phase: str
    operation: str
    live: int  # bytes


def tops(live: Iterable[int]) -> list[int]:
    """Where what is alive stops growing and begins to shrink."""
    found: list[int] = []
    grows = True
    last = 0
    for now in live:
        if now < last and grows:
            found.append(last)
        if now != last:
            grows = now > last
        last = now
    return [*found, last] if grows else found


class Live(TorchDispatchMode):  # type: ignore[misc]  # torch's types are not followed
    """Follows the storages of all tensors that operations give, while it is entered; views share one storage.

    ``phase`` is whatever was set last.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__()
        self.phase = ""
        self.live = 0
        self.moments: list[Moment] = []
        self._followed: set[int] = set()
        self._follow_all(given)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.phase == "backward" and function is torch.ops.aten.add.Tensor and _is_alone(args[0]):
            function = torch.ops.aten.add_.Tensor  # as PyTorch adds gradients up where no dispatch mode is on
        outputs = function(*args, **(kwargs or {}))
        self._follow_all(outputs)
        self.moments.append(Moment(self.phase, str(function), self.live))
        return outputs

    def _follow_all(self, tree: Any) -> None:
        """Count the storages of all tensors in it until nothing holds them."""
        for tensor in tree_flatten(tree)[0]:
            storage = tensor.untyped_storage() if isinstance(tensor, torch.Tensor) else None
            if storage is not None and storage._cdata not in self._followed:
                self._followed.add(storage._cdata)
                self.live += storage.nbytes()
                weakref.finalize(storage, self._released, storage._cdata, storage.nbytes()).atexit = False

    def _released(self, at: int, num_bytes: int) -> None:
        self._followed.remove(at)
        self.live -= num_bytes
        self.moments.append(Moment(self.phase, RELEASE, self.live))


def _is_alone(gradient: torch.Tensor) -> bool:
    """Whether PyTorch adds to a gradient in place: it is no view, laid out in order, and nothing else holds it.

    The counts include those who look: this function, the mode, and the engine.
    """
    storage = gradient.untyped_storage()
    alone = gradient._use_count() <= 4 and torch._C._storage_Use_Count(storage._cdata) <= 2
    return alone and not gradient._is_view() and gradient.is_contiguous()


def training_moments(real: Any, given: dict[str, Any], plan: Plan = Plan(), *, steps: int = 3) -> list[Moment]:
    """The moments of the last of some batches in the usual loop, after which the optimizer makes a step.

    The variable ``outputs`` is set anew when the next forward pass has returned: until then the logits of the step
    before are alive, as in any loop that is written so. Without ``plan.keep_outputs`` the loop says
    ``loss = loss_of(model(**batch))`` and has the loss alone: the logits go before the backward pass.
    With ``plan.accumulate`` the optimizer makes a step after every second batch.
    """
    real.train()
    optimizer = torch.optim.AdamW(real.parameters(), foreach=False)
    gc.collect()
    gc.disable()
    try:
        live = Live(*real.parameters(), *real.buffers(), *given.values())
        moments = live.moments
        with live:
            for batch in range(steps * (1 + plan.accumulate)):
                live.moments.clear()
                live.phase = "forward"
                if plan.keep_outputs:
                    outputs = real(**given)
                    loss = loss_of(outputs)
                else:
                    loss = loss_of(real(**given))
                live.phase = "backward"
                loss.backward()
                live.phase = "optimizer"
                if not plan.accumulate or batch % 2:
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)
        return list(moments)  # what goes from now on is not of the step
    finally:
        gc.enable()


def loss_of(outputs: Any) -> torch.Tensor:
    """The loss of a class; of a body alone, which has none, the sum of all numbers that it returns."""
    if "loss" in outputs:
        return outputs.loss
    total: Any = sum(output.sum() for output in outputs.to_tuple() if isinstance(output, torch.Tensor))
    return total


def on_cpu(real: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A model on the meta device and what it is given, with memory and numbers."""
    real.to_empty(device="cpu")
    real.tie_weights()  # which that undoes
    for tensor in (*real.parameters(), *real.buffers()):
        tensor.data.zero_()
    return real, {
        name: torch.zeros_like(value, device="cpu") if isinstance(value, torch.Tensor) else value
        for name, value in given.items()
    }


def inference_moments(real: Any, given: dict[str, Any]) -> list[Moment]:
    """The moments of a forward pass that keeps nothing for a backward pass."""
    real.eval()
    gc.collect()
    gc.disable()
    try:
        live = Live(*real.parameters(), *real.buffers(), *given.values())
        moments = live.moments
        with live, torch.no_grad():
            live.phase = "forward"
            real(**given)
        return list(moments)  # what goes from now on is not of the step
    finally:
        gc.enable()


def peak(moments: list[Moment]) -> Moment:
    """The first of the moments at which most is alive."""
    return max(moments, key=lambda moment: moment.live)
