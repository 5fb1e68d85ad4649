"""Measure the memory that PyTorch's CPU allocator hands out in a step, including temporary memory of kernels.

Kernels allocate little themselves, and release it before the next operation. The backward pass of LayerNorm allocates 2
H values for each thread. An embedding lookup and its backward pass make ids contiguous if they are not (8 bytes a
token). A Python number becomes a tensor of 8 bytes, of which the kernel makes a copy in its own dtype.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile, record_function

_MEASURED = "measured"


def most_allocated(run: Callable[[], object], there: Iterable[torch.Tensor]) -> int:
    """Run a function twice and return the peak of allocated bytes in the second run.

    The tensors in ``there`` are counted as allocated before. The first run is profiled too: the profiler reports the
    release of a block only if it has recorded its allocation.
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
    """Return the peak in bytes of a training step on the CPU, in the loop of ``training_moments``."""
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
    """Return the peak in bytes of a forward pass on the CPU under ``torch.no_grad()``."""
    real.eval()
    with torch.no_grad():
        return most_allocated(lambda: real(**given), chain(real.parameters(), real.buffers(), _tensors(given)))


def _tensors(given: dict[str, Any]) -> list[torch.Tensor]:
    return [value for value in given.values() if isinstance(value, torch.Tensor)]
