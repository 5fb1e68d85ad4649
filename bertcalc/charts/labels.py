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
    return sum((_EMS.get(sign) or (1.0 if east_asian_width(sign) in "WF" else 0.52) for sign in text), 0.0)


_EMS = dict.fromkeys(" ,.·()iljI", 0.25) | dict.fromkeys("%Mm", 0.83)


@mirrored
def first_fitting(pairs: tuple[tuple[str, str], ...], room: float) -> tuple[str, str]:
    """The first pair of texts that fit beside each other into so many ems; the last one if none does."""
    return next((pair for pair in pairs if ems(pair[0]) + ems(pair[1]) <= room), pairs[-1])


@mirrored
def room_beside(longest: int, limit: int, least: float, whole: float) -> float:
    """The ems beside a bar on an axis of ``whole`` ems that ends at ``limit``; ``least`` ems are behind its end."""
    return least + (1 - longest / limit) * whole if limit else least


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
