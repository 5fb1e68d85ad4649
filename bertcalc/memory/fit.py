"""How much of a batch a memory is enough for, and what else sets a limit."""

from collections.abc import Sequence
from math import inf, isqrt
from typing import Literal, NamedTuple

Limit = Literal["memory", "positions", "nothing"]


class Polynomial(NamedTuple):
    """A figure as a polynomial of a whole number from 2 on, with whole coefficients that are not negative.

    At 1 it can be less: a single sequence or token needs not be laid out anew for products with distances. It can also
    be one from another ``start`` on, below which it says nothing, or below an ``end``, from which on it says nothing.
    """

    first: int
    constant: int
    linear: int
    square: int
    start: int = 2
    end: int | None = None

    def largest(self, limit: int) -> int | None:
        """The last whole number at which the figure is within a limit: 0 if not even 1, None if every number."""
        last = self._largest(limit)
        return None if last and self.end and last + 1 >= self.end else last

    def _largest(self, limit: int) -> int | None:
        room = limit - self.constant
        if room >= 0 and not self.square and not self.linear:
            return None
        if self.square:
            last = (isqrt(self.linear**2 + 4 * self.square * max(room, 0)) - self.linear) // (2 * self.square)
        else:
            last = room // self.linear if self.linear else 0
        if last >= self.start:
            return last
        return int(self.first <= limit) if self.start == 2 else self.start - 1


class Most(NamedTuple):
    """The largest batch, or the longest sequence; what by memory alone it would be; and what grows fastest."""

    memory: int | None  # None: any
    growth: Polynomial
    positions: int | None = None  # no sequence is longer than that, or no batch larger

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

    def end(growth: Polynomial) -> float:
        largest = growth.largest(usable)
        return inf if largest is None else largest

    first = min(growths, key=end)
    return Most(first.largest(usable), first, positions)
