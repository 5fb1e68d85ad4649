"""Emulate torch.autocast for CUDA on the meta device: PyTorch's own dispatcher makes every cast, without a GPU.

``Autocasted`` has the dispatch keys of CUDA, so PyTorch's autocast casts it. PyTorch asks for a tensor's device in two
situations, and gives no other sign of either. Autocast asks before a cast, and needs the answer CUDA. Autograd records
the device of an operation's output as soon as it exists, and of a parameter at its first use. The autograd engine needs
a device that exists.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._pytree import tree_map

META, CUDA = torch.device("meta"), torch.device("cuda:0")


# Without these kernels, a build without CUDA would decompose the operations before Python sees them. The kernels never
# run.
_CUDA_KERNELS = torch.library.Library("aten", "IMPL")
for _name in ("silu_backward", "mish_backward"):
    _CUDA_KERNELS.impl(_name, lambda *_args: None, "CUDA")


class Autocasted(torch.Tensor):  # type: ignore[misc]  # mypy does not follow torch's types
    """A tensor on the meta device with the dispatch keys of CUDA."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    device = property(lambda self: META)
    is_meta = True
    meta: torch.Tensor
    new: bool  # until autograd has recorded the tensor's device
    asked: bool | None = None  # of a new leaf until autograd has recorded its device: whether autocast has asked for it

    @staticmethod
    def __new__(cls, meta: torch.Tensor, *, new: bool = False) -> "Autocasted":
        tensor: Autocasted = torch.Tensor._make_subclass(
            cls, meta, False, dispatch_device=True, device_for_backend_keys=CUDA
        )
        tensor.meta, tensor.new = meta, new
        return tensor

    def requires_grad_(self, requires_grad: bool = True) -> "Autocasted":
        """Mark a new leaf: autograd records its device in its first operation, maybe within autocast's kernel."""
        if requires_grad and self.is_leaf and not self.requires_grad:
            self.asked = False
        super().requires_grad_(requires_grad)
        return self

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(function, function, args, kwargs or {})


def run(function: Any, kernel: Any, args: Any, kwargs: Any) -> Any:
    """Call ``kernel`` in place of an operation, on tensors without the dispatch keys."""
    if function is torch.ops.prim.device.default:
        return _device(args[0])
    recorded = torch.is_grad_enabled() and any(_records(value) for value in (*args, *kwargs.values()))
    if function._schema.is_mutable and isinstance(args[0], Autocasted):
        args[0].new = recorded
    outputs = kernel(*tree_map(_meta, args), **tree_map(_meta, kwargs))
    return tree_map(lambda x: Autocasted(x, new=recorded) if _is_cast(x) else x, outputs)


def _is_cast(value: Any) -> bool:
    """Whether autocast can cast a value.

    Values that a model reads stay on the CPU, and ids keep their dtype.
    """
    return isinstance(value, torch.Tensor) and value.is_meta and value.is_floating_point()


def _records(value: Any) -> bool:
    values = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(tensor, torch.Tensor) and tensor.requires_grad for tensor in values)


def _meta(value: Any) -> Any:
    if isinstance(value, Autocasted):
        return value.meta
    return META if isinstance(value, torch.device) and value == CUDA else value


def _device(tensor: Autocasted) -> torch.device:
    in_kernel = entered and not torch.is_autocast_enabled("cuda")  # autocast's own kernels run with autocast disabled
    if tensor.asked is not None:
        recorded = tensor.asked or not in_kernel
        tensor.asked = None if recorded else True
        return META if recorded else CUDA
    device = CUDA if in_kernel and not tensor.new else META
    tensor.new = False
    return device


def autocasted(real: Any, batch: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a model on the meta device and its batch with tensors that autocast can cast."""
    parameters: dict[int, torch.nn.Parameter] = {}
    for module in real.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.is_floating_point():
                if id(parameter) not in parameters:
                    copy = torch.nn.Parameter(Autocasted(parameter.detach()), requires_grad=parameter.requires_grad)
                    parameters[id(parameter)] = copy
                module._parameters[name] = parameters[id(parameter)]
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.is_floating_point():
                module._buffers[name] = Autocasted(buffer)
    # Makes autograd record the device.
    real.held_leaves = [p.expand_as(p).grad_fn for p in parameters.values() if p.requires_grad]
    return real, {name: _floating(value) for name, value in batch.items()}


def _floating(value: Any) -> Any:
    return Autocasted(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


entered: list[torch.dtype] = []


@contextmanager
def checkpoints() -> Iterator[None]:
    """Let torch.utils.checkpoint enter autocast when it recomputes a layer. Otherwise it would find no CUDA."""

    def again(device_type: str, *, enabled: bool, dtype: torch.dtype, **_options: Any) -> Any:
        return autocast(dtype if enabled and device_type == "cuda" else None)

    with patch("torch.utils.checkpoint._infer_device_type", lambda *_args: "cuda"), patch("torch.amp.autocast", again):
        yield


@contextmanager
def autocast(dtype: torch.dtype | None) -> Iterator[None]:
    """Enable torch.autocast("cuda", dtype) without CUDA. Do nothing if ``dtype`` is None."""
    if dtype is None:
        yield
        return
    entered.append(dtype)
    torch.set_autocast_dtype("cuda", dtype)
    torch.set_autocast_enabled("cuda", True)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        entered.pop()
        torch.set_autocast_enabled("cuda", bool(entered))
