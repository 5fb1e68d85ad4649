"""What PyTorch's CPU allocator hands out in a step: it also sees what kernels allocate for themselves.

Which is not much, and gone before the next operation: the backward pass of LayerNorm has 2 H numbers for each thread, a
lookup and its backward pass lay ids out in order if they are not (8 bytes a token), and a Python number becomes a
tensor of 8 bytes, beside which the kernel has it in its own type.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile, record_function

_MEASURED = "measured"


def most_allocated(run: Callable[[], object], there: Iterable[torch.Tensor]) -> int:
    """The most bytes that are handed out while something runs for the second time, with what is ``there`` before.

    The first time is watched too: the profiler does not see the release of what it has not seen come.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        run()
        with record_function(_MEASURED):
            run()
    changes: list[tuple[int, int, bool]] = []

    def read(events: Any, measured: bool) -> None:
        for event in events:
            if event.tag == _EventType.Allocation:
                changes.append((event.start_time_ns, event.extra_fields.alloc_size, measured))
            read(event.children, measured or event.name == _MEASURED)

    read(watched.profiler.kineto_results.experimental_event_tree(), False)
    live = most = 0
    for _time, num_bytes, measured in sorted(changes, key=lambda change: change[0]):
        live += num_bytes
        most = max(most, live * measured)
    sizes: dict[int, int] = {storage._cdata: storage.nbytes() for storage in map(_storage, there)}
    return most + sum(sizes.values())


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage:
    return tensor.untyped_storage()


def training_allocated(real: Any, given: dict[str, Any], *, keep_outputs: bool) -> int:
    """The most in a training step of a model on the CPU, in the loop of ``training_moments``."""
    real.train()
    optimizer = torch.optim.AdamW(real.parameters(), foreach=False)
    held: list[Any] = []

    def step() -> None:
        outputs = real(**given)
        held[:] = [outputs] if keep_outputs else [outputs.loss]
        loss = outputs.loss
        del outputs
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    states = [value for state in optimizer.state.values() for value in state.values()]
    return most_allocated(step, chain(real.parameters(), real.buffers(), _tensors(given), states))


def inference_allocated(real: Any, given: dict[str, Any]) -> int:
    """The most in a forward pass under ``torch.no_grad()`` of a model on the CPU."""
    real.eval()
    with torch.no_grad():
        return most_allocated(lambda: real(**given), chain(real.parameters(), real.buffers(), _tensors(given)))


def _tensors(given: dict[str, Any]) -> list[torch.Tensor]:
    return [value for value in given.values() if isinstance(value, torch.Tensor)]
