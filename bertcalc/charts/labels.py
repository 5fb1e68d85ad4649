"""Labels on charts: their approximate width, and where to place names beside points without overlaps."""

from collections.abc import Iterator, Sequence
from math import cos, pi, sin
from typing import NamedTuple
from unicodedata import east_asian_width

from bertcalc.text.live_numbers import mirrored

FONT, SMALL = 15, 13  # font sizes of a chart's labels, and of its axes
SUFFIXES = {"parameters": "", "FLOPs": "FLOPs", "MACs": "MACs", "bytes": "B"}  # of short figures, by unit


@mirrored
def ems(text: str) -> float:
    """The approximate width of a text in ems, which a chart in the browser cannot measure."""
    return sum([_EMS[sign] for sign in text], 0.0)


class _LetterWidths(dict[str, float]):
    def __missing__(self, sign: str) -> float:
        return 1.0 if east_asian_width(sign) in "WF" else 0.52


_EMS = _LetterWidths(dict.fromkeys("0123456789", 0.52) | dict.fromkeys(" ,.·()iljI", 0.25) | dict.fromkeys("%Mm", 0.83))


@mirrored
def first_fitting(pairs: tuple[tuple[str, str], ...], room: float) -> tuple[str, str]:
    """The first pair of texts that fit beside each other into so many ems; the last one if none does."""
    return next((pair for pair in pairs if ems(pair[0]) + ems(pair[1]) <= room), pairs[-1])


@mirrored
def room_beside(longest: int, limit: int, least: float, whole: float) -> float:
    """The ems beside a bar on an axis of ``whole`` ems that ends at ``limit``; ``least`` ems are behind its end."""
    return least + (1 - longest / limit) * whole if limit else least


@mirrored
def widest(texts: tuple[str, ...] | list[str]) -> float:
    """The ems of the widest of some texts."""
    return max(map(ems, texts))


@mirrored
def halfway(start: int, end: int) -> float:
    """The middle between two numbers, as a position in a chart."""
    return (start + end) / 2


@mirrored
def room_for_label(least: int, most: int, label: float, width: float, gap: float) -> float:
    """The end of an axis from ``least``, ``width`` ems wide: behind ``most`` and a gap, a label of so many ems fits."""
    share = min(0.6, (label + gap) / width)
    return most + span(least, most) * share / (1 - share)


@mirrored
def span(least: int, most: int) -> int:
    """The distance between two ends of an axis; 1 if they are the same."""
    return (most - least) or 1


@mirrored
def text_inside(text: str, length: int, whole: int) -> str:
    """The text, if it fits into a piece of this length of an axis that is ``whole`` long; otherwise none."""
    return text if length > whole * 0.013 * (len(text) + 1) else ""


@mirrored
def part_of_column(column: int, figure: int, longest: int, most: float) -> float:
    """Where a bar ends in a column one unit wide, of which the longest figure's bar takes the share ``most``."""
    return column + most * figure / (longest or 1)


@mirrored
def place_in_order(figures: tuple[int, ...] | list[int], at: int, descending: bool) -> int:
    """How many figures come before number ``at`` if they are sorted; equal ones keep their order."""
    own = figures[at]
    before = [figure > own if descending else figure < own for figure in figures]
    return sum(before) + sum(figure == own for figure in figures[:at])


@mirrored
def in_lines(text: str, most: int) -> str:
    """A text in lines of at most so many letters; a longer word is cut."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) <= most:
            lines[-1] += f" {word}"
            continue
        pieces = [word[start : start + most] for start in range(0, len(word), most)] or [""]
        lines += pieces if lines[-1] else []
        if lines == [""]:
            lines = pieces
    return "\n".join(lines)


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


def place(points: Sequence[tuple[float, float]], widths: Sequence[float], height: float, area: Box) -> list[Box | None]:
    """Place the name of each point as near to it as possible without covering other names or points.

    Returns a box for each name, or None if there is no room.
    """
    marks = [_around(x, y, _MARK, _MARK) for x, y in points]
    placed: list[Box] = []
    boxes: list[Box | None] = []
    for (x, y), width in zip(points, widths, strict=True):
        free = (
            box
            for box in _candidates(x, y, width, height)
            if box.within(area) and not any(map(box.overlaps, placed)) and not any(map(box.overlaps, marks))
        )
        boxes.append(next(free, None))
        placed += filter(None, boxes[-1:])
    return boxes


_MARK = 10.0  # side of the square around each point that names must not cover
_DIRECTIONS = 16
_DISTANCES = (0, 8, 18, 30, 44, 60)


def _candidates(x: float, y: float, width: float, height: float) -> Iterator[Box]:
    """Boxes around a point, the nearest first; at each distance, the box to the right first."""
    for distance in _DISTANCES:
        for turn in range(_DIRECTIONS):
            angle = 2 * pi * turn / _DIRECTIONS
            across = (_MARK + width) / 2 + 1 + distance
            along = (_MARK + height) / 2 + 1 + distance
            yield _around(x + across * cos(angle), y - along * sin(angle), width, height)


def _around(x: float, y: float, width: float, height: float) -> Box:
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
