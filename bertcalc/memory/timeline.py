"""The timeline of a simulated step: its allocations, releases and moves, in order."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from bertcalc.text.arguments import checked

Area = Literal["weights", "buffers and batch", "gradients", "optimizer states", "kept activations", "temporaries"]
AREAS: tuple[Area, ...] = get_args(Area)
Phase = Literal["before", "forward", "loss", "backward", "optimizer"]


class MemoryChange(NamedTuple):
    """An allocation in an area, a release (negative bytes), or a move from another area."""

    phase: Phase
    where: str  # the change's step of the forward pass, the loss, or the name of a parameter
    area: Area
    num_bytes: int
    storage: int  # a number that an allocation shares with its release and its moves
    moved_from: Area | None = None


@checked
def alive(changes: Sequence[MemoryChange]) -> list[MemoryChange]:
    """The allocations of the storages that are still alive after all changes, each with its latest area."""
    allocations: dict[int, MemoryChange] = {}
    for change in changes:
        if change.moved_from:
            allocations[change.storage] = allocations[change.storage]._replace(area=change.area)
        elif change.storage in allocations:
            del allocations[change.storage]
        else:
            allocations[change.storage] = change
    return list(allocations.values())
