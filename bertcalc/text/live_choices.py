"""Choices and comparisons of live numbers and texts (see ``live_numbers``); the browser has the same functions.

>>> largest([3, 5]), either(1, 2, "the same", "another")
(5, 'another')
"""

from fractions import Fraction
from math import nan

from bertcalc.text.live_numbers import MINUS, mirrored


@mirrored
def largest(figures: tuple[int, ...] | list[int]) -> int:
    """The largest of several integers; 0 if there are none."""
    return max(figures, default=0)


@mirrored
def smallest(figures: tuple[int, ...] | list[int]) -> int:
    """The smallest of several integers."""
    return min(figures)


@mirrored
def distance(count: int, other: int) -> int:
    """The absolute difference of two integers."""
    return abs(count - other)


@mirrored
def unless_same(count: int, other: int) -> float:
    """``other`` as a position in a chart, or NaN if it equals ``count``."""
    return nan if count == other else float(other)


@mirrored
def if_negative(count: int, text: str, otherwise: str) -> str:
    """``text`` if a number is below 0; otherwise ``otherwise``."""
    return text if count < 0 else otherwise


@mirrored
def differ(figures: tuple[int, ...] | list[int], others: tuple[int, ...] | list[int]) -> int:
    """1 if two lists of integers differ; otherwise 0."""
    return int(list(figures) != list(others))


@mirrored
def if_between(low: int | Fraction, count: int, high: int | Fraction, inside: str, outside: str) -> str:
    """``inside`` if a count is in a range, both ends included; otherwise ``outside``."""
    return inside if low <= count <= high else outside


@mirrored
def with_sign(difference: int, text: str) -> str:
    """Put the sign of a difference before its text; the result is empty for 0."""
    return f"{MINUS if difference < 0 else '+'}{text}" if difference else ""


@mirrored
def quotient(part: int, whole: int) -> Fraction:
    """The exact ratio of two integers."""
    return Fraction(part, whole)


@mirrored
def nearest(number: Fraction | int) -> int:
    """Round to the nearest integer; a tie rounds to the even integer."""
    return round(number)


@mirrored
def rounded_up(part: int, whole: int) -> int:
    """The ratio of two integers, rounded up."""
    return -(-part // whole)


@mirrored
def place_of_largest(figures: tuple[int, ...] | list[int]) -> int:
    """The index of the largest of several integers; the first index if there is a tie."""
    return figures.index(max(figures))


@mirrored
def either(count: int, other: int, same: str, different: str) -> str:
    """``same`` if two numbers are equal; otherwise ``different``."""
    return same if count == other else different


@mirrored
def text_at(texts: tuple[str, ...], place: int) -> str:
    """The text at an index."""
    return texts[place]


@mirrored
def inside(count: int, low: int, high: int) -> float:
    """``count`` as a position in a chart, or NaN if it is not between ``low`` and ``high``, both included."""
    return float(count) if low <= count <= high else nan


_FAR = 8  # a bar is hard to read if the axis is more than this many times as long
_TENTHS = (10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100)


@mirrored
def widened(limit: int, largest: int) -> int:
    """The end of an axis: ``limit`` while the largest figure fits and is readable, otherwise a new round number."""
    return round_figure(largest) if largest > limit or _FAR * largest < limit else limit


@mirrored
def round_figure(largest: int) -> int:
    """A round number that exceeds ``largest`` by at least a tenth, and is at least 10."""
    wanted = max(100, 11 * largest)
    tenth: int = 10 ** (len(f"{wanted}") - 2)
    return next(steps * tenth for steps in _TENTHS if steps * tenth >= wanted) // 10
