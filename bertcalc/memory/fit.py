"""How much of a batch a memory is enough for, and what else sets a limit."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from bertcalc.memory.footprint import Polynomial, binding

Limit = Literal["memory", "positions", "nothing"]


class Most(NamedTuple):
    """The largest batch, or the longest sequence; what by memory alone it would be; and what grows fastest."""

    memory: int | None  # None: any
    growth: Polynomial
    positions: int | None = None  # no sequence is longer than that

    @property
    def number(self) -> int | None:
        """The answer; None is any number, 0 none."""
        known = [number for number in (self.memory, self.positions) if number is not None]
        return min(known, default=None)

    @property
    def limit(self) -> Limit:
        """What it is limited by."""
        if self.positions is not None and (self.memory is None or self.memory >= self.positions):
            return "positions"
        return "nothing" if self.memory is None else "memory"


def most(growths: Sequence[Polynomial], usable: int, positions: int | None = None) -> Most:
    """The most for which every figure stays within so many bytes."""
    first = binding(growths, usable)
    return Most(first.largest(usable), first, positions)
