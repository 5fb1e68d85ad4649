"""The largest batch or longest sequence that fits into memory, and what limits it."""

from collections.abc import Sequence
from math import inf, isqrt
from typing import Literal, NamedTuple, get_args

from bertcalc.text.arguments import checked
from bertcalc.text.live_numbers import grouped, mirrored

Limit = Literal["memory", "positions", "nothing"]
LIMITS: tuple[Limit, ...] = get_args(Limit)


class Polynomial(NamedTuple):
    """Bytes as a polynomial of one integer, with non-negative integer coefficients.

    The polynomial is valid from ``start`` up to ``end`` (exclusive). The value at 1 is ``first``. ``first`` can be
    smaller than the polynomial's value: for a single sequence or token, products with distances need no copy.
    """

    first: int
    constant: int
    linear: int
    square: int
    start: int = 2
    end: int | None = None

    def largest(self, limit: int) -> int | None:
        """The largest integer at which the value is within ``limit``.

        Returns 0 if the value at 1 exceeds the limit, and None if no value before ``end`` exceeds it.
        """
        room = limit - self.constant
        if self.square:
            last = (isqrt(self.linear**2 + 4 * self.square * max(room, 0)) - self.linear) // (2 * self.square)
        elif self.linear:
            last = room // self.linear
        elif room >= 0:
            return None
        else:
            last = 0
        if last < self.start:
            last = int(self.first <= limit) if self.start == 2 else self.start - 1
        return None if last and self.end and last + 1 >= self.end else last


class LargestFit(NamedTuple):
    """The largest batch or sequence: the limit that memory sets, with its polynomial, and the model's own limit."""

    memory: int | None  # the largest size that fits into memory; None if there is no limit
    growth: Polynomial
    positions: int | None = None  # the model's own limit: its number of positions, or one sequence per batch

    @property
    def number(self) -> int | None:
        """The largest possible batch size or sequence length; None if there is no limit, 0 if nothing fits."""
        limits = [number for number in (self.memory, self.positions) if number is not None]
        return min(limits, default=None)

    @property
    def limit(self) -> Limit:
        """The limit that decides: "memory", the model's "positions", or "nothing"."""
        if self.positions is not None and (self.memory is None or self.memory >= self.positions):
            return "positions"
        return "nothing" if self.memory is None else "memory"

    @property
    def numbers(self) -> tuple[int, int]:
        """``number``, which is -1 if there is no limit, and the index of ``limit`` in LIMITS."""
        return -1 if self.number is None else self.number, LIMITS.index(self.limit)


@mirrored
def most_fitting(growths: Sequence[Polynomial], usable: int, positions: int | None) -> tuple[int, int]:
    """The result of ``most`` as (largest size, index of its limit in LIMITS); a size of -1 means no limit.

    Both are live numbers if the growths are live.
    """
    return most([Polynomial(*growth) for growth in growths], usable, positions).numbers


@mirrored
def counted_or(number: int, without_limit: str, none: str) -> str:
    """Format a size from ``most_fitting``: ``without_limit`` for -1, ``none`` for 0."""
    return without_limit if number < 0 else grouped(number) if number else none


@checked
def most(growths: Sequence[Polynomial], usable: int, positions: int | None = None) -> LargestFit:
    """Find the largest size for which every polynomial stays within ``usable`` bytes.

    ``positions`` is the model's own limit. It affects ``number`` and ``limit`` of the result, but not ``memory``.
    """

    def end(growth: Polynomial) -> float:
        largest = growth.largest(usable)
        return inf if largest is None else largest

    first = min(growths, key=end)
    return LargestFit(first.largest(usable), first, positions)
