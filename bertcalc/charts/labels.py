"""Labels on charts: their approximate width, and the placement of names beside points without overlaps."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, product
from math import cos, dist, pi, sin
from typing import NamedTuple
from unicodedata import east_asian_width

from bertcalc.text.live_numbers import mirrored

FONT, SMALL = 15, 13  # font sizes of a chart's labels, and of its axes
SUFFIXES = {"parameters": "", "FLOPs": "FLOPs", "MACs": "MACs", "bytes": "B"}  # after abbreviated figures, by unit
_WORDS = re.compile("[^ 、，：；]*[ 、，：；]|[^ 、，：；]+")
Line = tuple[tuple[float, float], tuple[float, float]]  # a (start, end) pair of points


@mirrored
def ems(text: str) -> float:
    """The approximate width of a text in ems; a chart in the browser cannot measure texts."""
    return sum([_EMS[sign] for sign in text], 0.0)


class _LetterWidths(dict[str, float]):
    def __missing__(self, sign: str) -> float:
        return 1.0 if east_asian_width(sign) in "WF" else 0.52


_EMS = _LetterWidths(dict.fromkeys("0123456789", 0.52) | dict.fromkeys(" ,.·()iljI", 0.25) | dict.fromkeys("%Mm", 0.83))


@mirrored
def first_fitting(pairs: tuple[tuple[str, str], ...], room: float) -> tuple[str, str]:
    """The first pair of texts that fit side by side into ``room`` ems; the last pair if none fits."""
    return next((pair for pair in pairs if ems(pair[0]) + ems(pair[1]) <= room), pairs[-1])


@mirrored
def room_beside(longest: int, limit: int, least: float, whole: float) -> float:
    """The width of the room to the right of the longest bar, in ems.

    The axis is ``whole`` ems wide and ends at ``limit``, and the longest bar ends at ``longest``. To the right of the
    axis, there are ``least`` more ems. If ``limit`` is 0, only these are returned.
    """
    return least + (1 - longest / limit) * whole if limit else least


@mirrored
def widest(texts: tuple[str, ...] | list[str]) -> float:
    """The width in ems of the widest of the texts."""
    return max(map(ems, texts))


@mirrored
def halfway(start: int, end: int) -> float:
    """The midpoint of two numbers, as a position in a chart."""
    return (start + end) / 2


@mirrored
def room_for_label(least: int, most: int, label: float, width: float, gap: float) -> float:
    """The end of an axis from ``least`` that leaves room for a gap and a label after ``most``.

    ``width`` is the width of the axis; ``width``, ``gap`` and ``label`` are in ems.
    """
    share = min(0.6, (label + gap) / width)
    return most + span(least, most) * share / (1 - share)


@mirrored
def span(least: int, most: int) -> int:
    """The difference between the two ends of an axis; 1 if they are equal."""
    return (most - least) or 1


@mirrored
def text_inside(text: str, length: int, whole: int) -> str:
    """The text if it fits into a piece of ``length`` on an axis of length ``whole``; otherwise ""."""
    return text if length > whole * 0.013 * (len(text) + 1) else ""


@mirrored
def part_of_column(column: int, figure: int, longest: int, most: float) -> float:
    """The end of the bar for ``figure`` in a column that is one unit wide and starts at ``column``.

    The bar for the largest figure, ``longest``, fills the fraction ``most`` of the column.
    """
    return column + most * figure / (longest or 1)


@mirrored
def place_in_order(figures: tuple[int, ...] | list[int], at: int, descending: bool) -> int:
    """The rank of the figure with index ``at`` among the sorted figures; equal figures keep their order."""
    own = figures[at]
    before = [figure > own if descending else figure < own for figure in figures]
    return sum(before) + sum(figure == own for figure in figures[:at])


@mirrored
def in_lines(text: str, most: int) -> str:
    r"""Wrap a text into lines of at most ``most`` letters; a wide letter, such as a Chinese one, counts twice.

    A line ends at a space, or after Chinese punctuation. Words that are longer than a line are split.

    >>> in_lines("当前模型、bitsandbytes NF4", 20).split("\n")
    ['当前模型、', 'bitsandbytes NF4']
    """
    lines = [""]
    for word in _WORDS.findall(text):
        if lines[-1] and text_width(lines[-1] + word.rstrip(" ")) > most:
            lines.append("")
        for sign in word:
            if sign != " " and lines[-1] and text_width(lines[-1] + sign) > most:
                lines.append("")
            lines[-1] += sign
    return "\n".join(line.rstrip(" ") for line in lines)


def text_width(text: str) -> int:
    """The width of a text, measured in Latin letters; a Chinese character counts as two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


class Box(NamedTuple):
    """A rectangle, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Whether the boxes overlap; touching edges do not count."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def within(self, other: "Box") -> bool:
        return (
            other.left <= self.left <= self.right <= other.right
            and other.top <= self.top <= self.bottom <= other.bottom
        )

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """The point of the box that is nearest to (x, y)."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)

    def crosses(self, line: "Line") -> bool:
        """Whether a line goes through the box; touching an edge does not count."""
        (x, y), (end_x, end_y) = line
        first, last = 0.0, 1.0  # the ends of the part inside the box, as fractions of the line
        for start, end, low, high in ((x, end_x, self.left, self.right), (y, end_y, self.top, self.bottom)):
            if start == end:
                if not low < start < high:
                    return False
                continue
            enters, leaves = sorted(((low - start) / (end - start), (high - start) / (end - start)))
            first, last = max(first, enters), min(last, leaves)
        return first < last


class Name(NamedTuple):
    """The box of a name, and the line from the box to the point that it names.

    ``leader`` is None if the name is right beside its point.
    """

    box: Box
    leader: Line | None

    def covers(self, other: "Name") -> bool:
        """Whether the boxes overlap, or the line of one name goes through the box of the other."""
        lines = ((self.box, other.leader), (other.box, self.leader))
        return self.box.overlaps(other.box) or any(line is not None and box.crosses(line) for box, line in lines)


def place(
    points: Sequence[tuple[float, float]], widths: Sequence[float], height: float, area: Box, first: int = 0
) -> list[Name | None]:
    """Place the name of each point as near to it as possible, without covering other names, lines or points.

    ``widths`` has the width of each name, and ``height`` is the height of all names, in pixels. The first ``first``
    names are placed before the others. Among the others, names that fit right beside their points come first, because
    a line takes room from other names. The result is None for a name that does not fit into ``area``.
    """
    marks = [_around(x, y, _MARK, _MARK) for x, y in points]
    names: dict[int, Name] = {}
    every = range(len(points))
    beside, farther = [_DISTANCES[:1]], [_DISTANCES[1:]]
    turns = chain(product(every[:first], [_DISTANCES]), product(every, beside), product(every, farther))
    for at, distances in turns:
        if at in names:
            continue
        free = (
            name
            for name in _candidates(points[at], widths[at], height, distances)
            if name.box.within(area)
            and not any(map(name.box.overlaps, marks))
            and not any(map(name.covers, names.values()))
        )
        if name := next(free, None):
            names[at] = name
    return [names.get(at) for at in every]


_BESIDE = 12  # pixels: a name farther than this from its point gets a line to it
_MARK = 10.0  # pixels: the side of the square around each point that names must not cover
_DIRECTIONS = 16
_DISTANCES = (0, 8, 18, 30, 44, 60)


def _candidates(point: tuple[float, float], width: float, height: float, distances: Sequence[int]) -> Iterator[Name]:
    """Possible places of a name around a point, the nearest first; at each distance, places to the right first."""
    x, y = point
    for distance in distances:
        for turn in range(_DIRECTIONS):
            angle = 2 * pi * turn / _DIRECTIONS
            across = (_MARK + width) / 2 + 1 + distance
            along = (_MARK + height) / 2 + 1 + distance
            box = _around(x + across * cos(angle), y - along * sin(angle), width, height)
            edge = box.nearest(x, y)
            yield Name(box, (edge, point) if dist(edge, point) > _BESIDE else None)


def _around(x: float, y: float, width: float, height: float) -> Box:
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
