"""Follow every tensor storage of a real model from its creation to its release: the oracle for live memory.

PyTorch's meta device creates storages of the right size without memory, and releases them when real ones would be
released. One required operation has no kernel on the meta device: ``mish_backward`` is decomposed there, while the CPU
and CUDA have a kernel. For this operation, ``on_cpu`` moves the model to the CPU.
"""

import gc
import weakref
from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from bertcalc.discover.search.flop_search import Kernels
from bertcalc.memory.optimizers import PRECISIONS, Optimizer, Precision
from bertcalc.memory.plan import Plan
from tests.memory import autocast

RELEASE = "release"
# Operations with a kernel that creates tensors itself, mapped to the functions that replace them.
WITH_TEMPORARIES: dict[Any, Any] = {}


class Moment(NamedTuple):
    """The live memory after an operation, before its temporary inputs are released; or after a release."""

    phase: str
    operation: str
    live: int  # bytes


def tops(live: Iterable[int]) -> list[int]:
    """Return the local maxima of live memory."""
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


class Live(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch's types
    """Dispatch mode that follows the storages of all tensors returned by operations. Views share one storage.

    ``phase`` is stored with each moment; the caller sets it.
    """

    def __init__(self, *given: Any, autocasts: bool = False) -> None:
        super().__init__()
        self._autocasts = autocasts
        self.phase = ""
        self.live = 0
        self.moments: list[Moment] = []
        self._followed: dict[int, int] = {}  # bytes, keyed by storage address
        self._kernels = Kernels()
        self._follow_all(given)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # With gradients enabled, a checkpoint recomputes a forward pass.
        adds_up = self.phase == "backward" and not torch.is_grad_enabled()
        if adds_up and function is torch.ops.aten.add.Tensor and _is_alone(args[0]):
            function = torch.ops.aten.add_.Tensor  # without a dispatch mode, PyTorch accumulates gradients in place
        if adds_up and function is torch.ops.aten.index_put.default:
            function = torch.ops.aten.index_put_.default  # likewise
        if adds_up and function is torch.ops.aten.scatter_add.default:
            function = torch.ops.aten.scatter_add_.default  # likewise
        if function is torch.ops.prim.device.default:
            return autocast.run(function, function, args, kwargs)
        if function is torch.ops.aten._local_scalar_dense.default and args[0].is_meta:
            return 1.0  # Adafactor reads norms
        if function is torch.ops.aten.index.Tensor:
            self._follow_all(args)  # on the meta device, a list of indices becomes a tensor that no dispatch mode sees
        if function in WITH_TEMPORARIES:
            with self, patch.object(self, "phase", "forward"):  # it is a forward pass even if it is recomputed
                return WITH_TEMPORARIES[function](*args, **(kwargs or {}))
        outputs = self._run(function, args, kwargs or {})
        # Other devices return it in the storage of all squares.
        if function is torch.ops.aten.mse_loss.default and outputs.is_meta:
            outputs = torch.broadcast_to(outputs, args[0].shape).clone().resize_(())
        if function is torch.ops.aten.convolution_backward.default:  # the CPU's own layout would be copied
            outputs = tuple(gradient if gradient is None else gradient.contiguous() for gradient in outputs)
        if function is torch.ops.aten._to_copy.default and not args[0].is_meta and outputs.is_meta:
            self._move(args[0].untyped_storage()._cdata)
        self._follow_all(outputs)
        self.moments.append(Moment(self.phase, str(function), self.live))
        return outputs

    def _run(self, function: Any, args: Any, kwargs: Any) -> Any:
        if not self._autocasts:
            return self._kernels(function, args, kwargs)
        return autocast.run(function, lambda *args, **kwargs: self._kernels(function, args, kwargs), args, kwargs)

    def _follow_all(self, tree: Any) -> None:
        """Count the storages of all tensors in ``tree`` until they are released."""
        for tensor in tree_flatten(tree)[0]:
            storage = tensor.untyped_storage() if isinstance(tensor, torch.Tensor) else None
            if storage is not None and storage._cdata not in self._followed:
                self._followed[storage._cdata] = storage.nbytes()
                self.live += storage.nbytes()
                weakref.finalize(storage, self._released, storage._cdata).atexit = False

    def _move(self, at: int) -> None:
        """Stop counting the CPU copy of a Python number that moves to the meta device.

        A real device would hold the tensor once.
        """
        self.live -= self._followed[at]
        self._followed[at] = 0

    def _released(self, at: int) -> None:
        self.live -= self._followed.pop(at)
        self.moments.append(Moment(self.phase, RELEASE, self.live))


def _is_alone(gradient: torch.Tensor) -> bool:
    """Whether PyTorch accumulates into a gradient in place: it is contiguous, no view, and not referenced elsewhere.

    The reference counts include this function, the mode and the engine.
    """
    storage = gradient.untyped_storage()
    inner = isinstance(gradient, autocast.Autocasted)  # it references the storage, too
    alone = gradient._use_count() <= 4 and torch._C._storage_Use_Count(storage._cdata) <= 2 + inner
    return alone and not gradient._is_view() and gradient.is_contiguous()


def training_moments(real: Any, given: dict[str, Any], plan: Plan, *, steps: int = 2) -> list[Moment]:
    """Return the moments of the last batch in the usual training loop, up to the end of the optimizer's step.

    The first batch creates the optimizer's states. From the second batch on, all steps are alike.

    The loop assigns ``outputs`` when the next forward pass has returned. Until then, the previous step's logits are
    alive, as in any loop of this form. Without ``plan.keep_outputs``, the loop is ``loss = loss_of(model(**batch))``
    and keeps only the loss, so the logits are released before the backward pass. With ``plan.accumulate``, the
    optimizer makes a step after every second batch.
    """
    real.train()
    dtype = PRECISIONS[plan.precision].autocast
    if dtype:
        real, given = autocast.autocasted(real, given)
    make = partial(_OPTIMIZERS[plan.optimizer], foreach=False)
    optimizer = Masters(real, make, plan.precision) if "mixed" in plan.precision else make(real.parameters())
    gc.disable()
    try:
        states = getattr(real, "quantization_states", [])
        held = (*real.parameters(), *real.buffers(), *states, *given.values(), *getattr(optimizer, "holds", []))
        live = Live(*held, autocasts=dtype is not None)
        moments = live.moments
        with live, autocast.checkpoints() if dtype else nullcontext():
            for batch in range(steps * (1 + plan.accumulate)):
                live.moments.clear()
                live.phase = "forward"
                with autocast.autocast(dtype and getattr(torch, dtype)):
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
        return list(moments)  # a copy: later releases are not part of the step
    finally:
        gc.enable()


_OPTIMIZERS: dict[Optimizer, Any] = {
    "sgd": torch.optim.SGD,
    "momentum": partial(torch.optim.SGD, momentum=0.9),
    "adamw": torch.optim.AdamW,
    "adafactor": torch.optim.Adafactor,
}


class Masters:
    """The simplest mixed-precision training: one optimizer for each tensor's float32 copy, one after the other.

    ``mixed-16`` copies a gradient to float32 when its tensor is updated. With ``mixed-18``, all float32 gradients exist
    from the beginning. Each 16-bit gradient is added to its float32 gradient, and released, as soon as it exists.
    """

    def __init__(self, real: Any, make: Any, precision: Precision) -> None:
        self.tensors = []
        for parameter in real.parameters():
            if parameter.requires_grad:
                master = parameter.detach().float().requires_grad_()
                if precision == "mixed-18":
                    master.grad = torch.zeros_like(master)
                    parameter.register_post_accumulate_grad_hook(partial(self._add, main_grad=master.grad))
                self.tensors.append((parameter, master, make([master])))
        self.holds = [tensor for _, master, _ in self.tensors for tensor in (master, master.grad) if tensor is not None]

    @staticmethod
    def _add(parameter: torch.Tensor, main_grad: torch.Tensor) -> None:
        main_grad.add_(parameter.grad)
        parameter.grad = None

    def step(self) -> None:
        for parameter, master, optimizer in self.tensors:
            cast = parameter.grad is not None
            if cast:
                master.grad = parameter.grad.float()
            if master.grad is not None:
                optimizer.step()
                parameter.detach().copy_(master.detach())
            if cast:
                master.grad = None

    def zero_grad(self, *, set_to_none: bool) -> None:
        for parameter, master, _optimizer in self.tensors:
            parameter.grad = None
            if master.grad is not None:
                master.grad.zero_()


def loss_of(outputs: Any) -> torch.Tensor:
    """Return the loss, or the sum of both losses.

    For a base model, which has none, return the sum of all its outputs.
    """
    if "mc_loss" in outputs:
        return outputs.loss + outputs.mc_loss
    if "loss" in outputs:
        return outputs.loss
    total: Any = sum(output.sum() for output in outputs.to_tuple() if isinstance(output, torch.Tensor))
    return total


def native_dropout(x: torch.Tensor, p: float, training: bool, inplace: bool = False) -> torch.Tensor:
    """Apply dropout as PyTorch does on CUDA."""
    assert not inplace
    return torch.native_dropout(x, p, True)[0] if training and 0 < p < 1 else _dropout(x, p, training)


_dropout = torch.nn.functional.dropout


def on_cpu(real: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Move a model on the meta device and its inputs to the CPU. Parameters and inputs are filled with zeros."""
    real.to_empty(device="cpu")
    real.tie_weights()  # ``to_empty`` unties them
    for tensor in (*real.parameters(), *real.buffers()):
        tensor.data.zero_()
    return real, {
        name: torch.zeros_like(value, device="cpu") if isinstance(value, torch.Tensor) else value
        for name, value in given.items()
    }


def inference_moments(real: Any, given: dict[str, Any]) -> list[Moment]:
    """Return the moments of a forward pass that saves nothing for a backward pass."""
    real.eval()
    gc.disable()
    try:
        live = Live(*real.parameters(), *real.buffers(), *given.values())
        moments = live.moments
        with live, torch.no_grad():
            live.phase = "forward"
            real(**given)
        return list(moments)  # a copy: later releases are not part of the pass
    finally:
        gc.enable()


def peak(moments: list[Moment]) -> Moment:
    """Return the first moment at which live memory is largest."""
    return max(moments, key=lambda moment: moment.live)
