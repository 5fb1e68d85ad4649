"""Charts of the Sweep page: curves along one dimension, and a map with contour lines over two."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import log, sqrt
from typing import Any, Literal, NamedTuple

import altair as alt

from bertcalc.charts.blocks import Spec, axis_look, either, having, short_expression, spec_of, whole_number
from bertcalc.charts.colors import BACKGROUND, COLORS, INK
from bertcalc.charts.columns import Columns, of_rows
from bertcalc.charts.labels import FONT, SMALL, ems
from bertcalc.explore.quantities import Unit
from bertcalc.text.live_numbers import FigureBound, within

_HEIGHT, _MAP_HEIGHT = 270, 340
LOW, LOW_MAP = 220, 280  # heights in pixels on the projector
_BELOW = 63  # pixels of a chart's height that the axis and its title take up
_LINE_OF_TEXT = 21 / (LOW - _BELOW)  # minimum distance between names, as a fraction of the curves' height
# Quantities that have the color of a component. A quantity and its component are never on the same chart.
_COLORED_AS = {
    "forward": "embeddings",
    "training": "encoder",
    "weights": "embeddings",
    "activations": "encoder",
    "inference_memory": "pooler",
}
_CLOSE = 16  # pixels between names on a phone
# The alignment of a mark's text, its dx, and the dx on a phone, which keeps the text inside the chart.
_SIDES: tuple[tuple[Literal["left", "right"], int, str], ...] = (
    ("left", 8, "min(8, width - scale('x', datum.x) - 14 * datum.mark_width)"),
    ("right", -10, "max(-10, 14 * datum.mark_width - scale('x', datum.x))"),
)
Lines = Sequence[tuple[str, Sequence[tuple[float, float]]]]  # contour lines: (level as text, (x, y) places) pairs
_LEFT = 0.2  # a mark before this share of the axis has its text on its right
_NARROW = 300  # pixels: the width of the chart on a phone
_MARK_DY = -14  # pixels from a point to its text
_TOP = 0.75  # above this height, there is no room for two lines of text
# Placeholders for the titles. Altair is slow, so each chart is built only once for all dimensions.
_TITLES = ("title of x", "title of y", "title of figure")


class Curve(NamedTuple):
    """A curve: its quantity, its name, and for each value a figure, or None if there is no figure."""

    quantity: str
    name: str
    figures: Sequence[int | None]


class Mark(NamedTuple):
    """The position of a model on a chart, and the text beside it."""

    x: float
    y: float
    text: str

    def on(self, bounds: tuple[FigureBound, ...]) -> "Mark":
        """The mark as live numbers that are valid only within ``bounds``.

        Outside the bounds, the mark stays where it was.
        """
        return Mark(*(within(part, bounds) for part in self))


class _Range(NamedTuple):
    """The range of an axis; ``logs`` is True for a logarithmic axis."""

    low: float
    high: float
    logs: bool

    def part(self, figure: float) -> float:
        """The relative position of a figure, from 0 to 1; 0 if the ends are equal."""
        low, high, logs = self
        if high <= low:
            return 0.0
        return log(figure / low) / log(high / low) if logs else (figure - low) / (high - low)


class MapPoint(NamedTuple):
    """Presets at one place of the map: the preset that a click selects, its label, and the names of all presets."""

    place: tuple[int, int]
    preset: str
    label: str
    above: bool  # whether the label is above the point instead of to its right
    presets: str


def hue(quantity: str, appearance: str) -> str:
    """The color of a quantity; components have the same color everywhere."""
    components: dict[str, str] = dict(COLORS[appearance].items())
    return components.get(_COLORED_AS.get(quantity, quantity), INK[appearance])


def curves_frame(
    values: Sequence[int], curves: Sequence[Curve], chosen: str, marks: Sequence[Mark], appearance: str, *, logs: bool
) -> Columns:
    """The data of the curves: a row for each figure, for each name at the end of a curve, and for each mark.

    ``chosen`` is the quantity with the thickest curve. With ``logs``, the axes are logarithmic.
    """
    rows: list[dict[str, Any]] = []
    for curve in curves:
        width = 4 if curve.quantity == chosen else 2
        look = {"color": hue(curve.quantity, appearance), "name": curve.name, "width": width}
        figures = zip(values, curve.figures, strict=True)
        rows += [{"x": x, "y": y, **look} for x, y in figures if y is not None and (y or not logs)]
    up = _up(curves, logs=logs)
    heights = _heights(curves, up)
    downwards = sorted(heights, reverse=True)
    for curve, height in zip(curves, heights, strict=True):
        look = {"color": hue(curve.quantity, appearance), "width": 600 if curve.quantity == chosen else 400}
        rows.append({"x": values[-1], "end": curve.name, "height": height, "rank": downwards.index(height), **look})
    across = _Range(values[0], values[-1], logs)
    # Texts are to the left of their points. If the first text has no room there, all texts are to the right.
    align = "left" if marks and across.part(marks[0].x) < _LEFT else "right"
    lines = _mark_heights(marks, across, up)
    rows += [
        {"x": mark.x, "y": mark.y, "mark": mark.text, "align": align, "mark_width": ems(mark.text), "mark_dy": dy}
        for mark, dy in zip(marks, lines, strict=True)
    ]
    return of_rows(rows)


def _mark_heights(marks: Sequence[Mark], across: _Range, up: _Range) -> Iterator[int]:
    """The vertical offset, in pixels, of each mark's text. On a phone, a text that would cover another is moved."""
    taken: list[tuple[float, float]] = []
    for mark in marks:
        place = across.part(mark.x), up.part(max(mark.y, up.low))
        close = any(
            abs(place[0] - x) * _NARROW < 14 * ems(mark.text) + 10 and abs(place[1] - y) < _LINE_OF_TEXT
            for x, y in taken
        )
        taken.append(place)
        above = place[1] < _TOP
        yield (2 * _MARK_DY - 7 if above else 22) if close else _MARK_DY


def _up(curves: Sequence[Curve], *, logs: bool) -> _Range:
    figures = [figure for curve in curves for figure in curve.figures if figure or (figure == 0 and not logs)]
    return _Range(min(figures, default=1) if logs else 0, max(figures, default=1), logs)


def _heights(curves: Sequence[Curve], up: _Range) -> list[float]:
    """Heights from 0 to 1 for the curves' names, as near to the curves' ends as possible without overlaps."""
    drawn = [[figure for figure in curve.figures if figure is not None] for curve in curves]
    heights = [up.part(max(curve[-1] if curve else up.low, up.low)) for curve in drawn]
    upwards = sorted(range(len(heights)), key=heights.__getitem__)
    for below, above in pairwise(upwards):
        heights[above] = max(heights[above], heights[below] + _LINE_OF_TEXT)
    return heights


def map_frame(
    cells: tuple[Sequence[int], Sequence[int]],
    figures: Mapping[tuple[int, int], int],
    lines: Lines,
    points: Sequence[MapPoint],
    marks: Sequence[Mark],
    *,
    logs: bool,
) -> Columns:
    """The data of the map: a row for each cell, each point of a line, each published model, and each mark.

    ``cells`` are the values along both axes, and ``figures`` has the figure of each (x, y) cell. ``lines`` go from the
    top left to the bottom right; the area beyond them is filled. ``marks`` show the current model. With ``logs``, the
    axes are logarithmic.
    """
    xs, ys = cells
    across, up = _Range(xs[0], xs[-1], logs), _Range(ys[0], ys[-1], logs)
    columns, bands = _edges(xs, logs=logs), _edges(ys, logs=logs)
    rows: list[dict[str, Any]] = []
    for (x, y), figure in figures.items():
        (x0, x1), (y0, y1) = columns[x], bands[y]
        rows.append({"kind": "cell", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "x": x, "y": y, "figure": figure})
    for name, places in lines:
        rows += [{"kind": "line", "x0": x, "y0": y, "y1": up.high, "name": name} for x, y in places]
        if places[-1][0] < across.high:  # the area beyond a line that ends at the bottom extends to the right
            fill = {"kind": "fill", "y0": up.low, "y1": up.high, "name": name}
            rows += [{**fill, "x0": x} for x in (places[-1][0], across.high)]
    for narrow in (False, True):
        labels = _line_labels(lines, across, up, _LETTER[narrow])
        rows += [{**label, "narrow": narrow} for label in labels]
    wide, brief = (_room_for_labels(points, marks, across, up, letter) for letter in _LETTER)
    rings = {(mark.x, mark.y) for mark in marks}
    for point, label, on_a_phone in zip(points, wide, brief, strict=True):
        x, y = point.place
        texts = {"label": label, "brief": on_a_phone}
        named = {**texts, "preset": point.preset, "above": point.above, "name": point.presets}
        named["beside"] = _BESIDE_RING if point.place in rings else _BESIDE_POINT
        rows.append({"kind": "point", "x0": x, "y0": y, "x": x, "y": y, **named})
    rows += [{"kind": "here", "x0": mark.x, "y0": mark.y, "name": mark.text} for mark in marks]
    return of_rows(rows)


def _edges(values: Sequence[int], *, logs: bool) -> dict[int, tuple[float, float]]:
    """The edges of the cell around each value: halfway to its neighbors, geometrically on a logarithmic axis."""
    between = [sqrt(low * high) if logs else (low + high) / 2 for low, high in pairwise(values)]
    return dict(zip(values, pairwise([values[0], *between, values[-1]]), strict=True))


def _line_labels(lines: Lines, across: _Range, up: _Range, letter: float) -> list[dict[str, Any]]:
    """The labels of the lines; ``letter`` is a letter's width as a fraction of the chart's width.

    A label is above the upper end of its line. Without room there, it is to the right of the lower end if the line
    reaches the right edge. Without room there either, the line has no label.
    """
    labels: list[dict[str, Any]] = []
    taken = {"top": -1.0, "right": 2.0}
    for name, places in lines:
        (x, y), (last_x, last_y) = places[0], places[-1]
        start, level = across.part(x), up.part(last_y)
        if start > 0 and start - taken["top"] > letter * (len(name) + 1):
            labels.append({"kind": "top", "x0": x, "y0": y, "name": name})
            taken["top"] = start
        elif last_x >= across.high and abs(level - taken["right"]) > _LABEL_HEIGHT:
            labels.append({"kind": "right", "x0": last_x, "y0": last_y, "name": name})
            taken["right"] = level
    return labels


def _room_for_labels(
    points: Sequence[MapPoint], marks: Sequence[Mark], across: _Range, up: _Range, letter: float
) -> list[str]:
    """The labels of the points; a label without room is empty.

    A label must not cover an earlier label, a point or the current model, and must not leave the chart. ``letter`` is
    the width of a letter as a fraction of the chart's width.
    """
    places = [(across.part(point.place[0]), up.part(point.place[1])) for point in points]
    rings = {(mark.x, mark.y) for mark in marks}
    boxes = [box for mark in marks for box in _around_here(mark, across, up, letter)]
    labels = []
    for point, (x, y) in zip(points, places, strict=True):
        wide = letter * len(point.label)
        beside = 1.7 * letter if point.place in rings else letter / 2
        start, level = (x - wide / 2, y + _LABEL_HEIGHT) if point.above else (x + beside, y)
        box = start, start + wide, level
        others = [*boxes, *((other[0], *other) for other in places if other != (x, y))]
        free = all(
            box[1] < left or right < start or abs(level - taken) > _LABEL_HEIGHT for left, right, taken in others
        )
        free = free and start >= 0 and start + wide <= 1
        labels.append(point.label if free else "")
        if free and point.label:
            boxes.append(box)
    return labels


def _around_here(mark: Mark, across: _Range, up: _Range, letter: float) -> list[tuple[float, float, float]]:
    """The (left, right, height) boxes that labels must not cover: both halves of the ring, and its figure's places."""
    x, y = across.part(mark.x), up.part(mark.y)
    half = 0.6 * letter * len(mark.text)
    figure = [(x - half, x + half, y + above) for above in _ABOVE_RING]
    return [(x - letter, x + letter, y + beside) for beside in (-0.04, 0.04)] + figure


# The distance of a figure above its ring on the page and on the projector, as a fraction of the chart's height.
_ABOVE_RING = (0.08, 0.1)
_BESIDE_POINT, _BESIDE_RING = 9, 17  # pixels from the middle of a point to its name
_LETTER = (0.01, 0.035)  # the width of a letter as a fraction of the chart's width, on a screen and on a phone
_LABEL_HEIGHT = 0.06  # height of a label as a fraction of the chart's height on the projector, the smallest one


@lru_cache(maxsize=256)
def curves(appearance: str, title: str, unit: Unit, *, logs: bool) -> Spec:
    """The chart of curves, named at their ends. The current and the doubled model are points with figures.

    ``title`` is the title of the x axis, and ``unit`` is the unit of the figures. With ``logs``, the axes are
    logarithmic.
    """
    return _titled(_curves(appearance, unit, logs), title)


@lru_cache(maxsize=256)
def equal_values(appearance: str, x_title: str, y_title: str, figure_title: str, *, logs: bool) -> Spec:
    """The map: lines with their levels, and published models with their names. A click selects a cell or a model.

    ``x_title``, ``y_title`` and ``figure_title`` name the axes and the figure in tooltips. With ``logs``, the axes are
    logarithmic.
    """
    return _titled(_equal_values(appearance, logs), x_title, y_title, figure_title)


def _titled(spec: str, *titles: str) -> Spec:
    for stand_in, title in zip(_TITLES, titles, strict=False):
        spec = spec.replace(json.dumps(stand_in), json.dumps(title))
    titled: Spec = json.loads(spec)
    return titled


@lru_cache
def _curves(appearance: str, unit: Unit, logs: bool) -> str:
    ink, paper = INK[appearance], BACKGROUND[appearance]
    scale = alt.Scale(type="log", nice=False) if logs else alt.Scale(zero=False, nice=False)
    title = _TITLES[0]
    x = alt.X("x:Q", title=title, scale=scale, axis=_axis(appearance, logs=logs))
    tall = alt.Scale(type="log", nice=False) if logs else alt.Scale(zero=True, nice=False)
    y = alt.Y("y:Q", title=None, scale=tall, axis=_axis(appearance, unit, logs=logs))
    color = alt.Color("color:N", scale=None)
    tooltip = [alt.Tooltip("name:N", title=" "), whole_number("x", title), whole_number("y", " ")]
    data = having("name")
    width = alt.StrokeWidth("width:Q", scale=None)
    lines = data.mark_line().encode(x=x, y=y, color=color, strokeWidth=width, detail="name:N")
    targets = data.mark_point(size=120, opacity=0, filled=True).encode(x=x, y=y, tooltip=tooltip)
    height = alt.Y("height:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    # On a phone, the names are listed, with a halo, in the top left corner, which growing curves leave free.
    ended = having("end")
    beside = {
        "align": "left",
        "dx": either("8 - scale('x', datum.x)", 8),
        "dy": either(f"8 + {_CLOSE} * datum.rank - (1 - datum.height) * height", 0),
        "fontSize": either(SMALL, FONT),
    }
    ends = [
        ended.mark_text(**beside, stroke=paper, strokeWidth=either(5, 0)).encode(x=x, y=height, text="end:N"),
        ended.mark_text(**beside).encode(x=x, y=height, text="end:N", color=color),
    ]
    marked = having("mark")
    rules = marked.mark_rule(color=ink, strokeDash=[6, 4], strokeWidth=1.5).encode(x=x)
    points = marked.mark_point(size=140, filled=True, color=ink, stroke=paper, strokeWidth=2, opacity=1)
    points = points.encode(x=x, y=y)
    bold = {"dy": alt.ExprRef("datum.mark_dy"), "fontSize": either(SMALL, FONT), "fontWeight": "bold"}
    texts = [
        marked.transform_filter(f"datum.align == '{side}'")
        .mark_text(align=side, dx=either(inside, dx), **bold, **look)
        .encode(x=x, y=y, text="mark:N")
        for side, dx, inside in _SIDES
        for look in ({"stroke": paper, "strokeWidth": 5, "color": paper}, {"color": ink})
    ]
    under = alt.layer(lines, rules, points, *texts, targets)
    return json.dumps(spec_of(alt.layer(under, *ends).resolve_scale(y="independent"), _HEIGHT))


@lru_cache
def _equal_values(appearance: str, logs: bool) -> str:
    ink, paper = INK[appearance], BACKGROUND[appearance]
    hue_of_lines = COLORS[appearance]["embeddings"]
    scale = alt.Scale(type="log", nice=False) if logs else alt.Scale(zero=False, nice=False)
    x_title, y_title, figure_title = _TITLES
    x = alt.X("x0:Q", title=x_title, scale=scale, axis=_axis(appearance, logs=logs))
    y = alt.Y("y0:Q", title=y_title, scale=scale, axis=_axis(appearance, logs=logs))
    place = [whole_number("x", x_title), whole_number("y", y_title)]

    def of(*kinds: str) -> Any:
        return alt.Chart().transform_filter(" || ".join(f"datum.kind == '{kind}'" for kind in kinds))

    chosen = alt.selection_point(name="place", fields=["x", "y", "preset"], on="click", empty=False)
    fills = of("line", "fill").mark_area(color=hue_of_lines, opacity=0.07).encode(x=x, y=y, y2="y1", detail="name:N")
    lines = of("line").mark_line(color=hue_of_lines, strokeWidth=2).encode(x=x, y=y, detail="name:N")
    cells = (
        of("cell")
        .mark_rect(opacity=0, cursor="pointer")
        .encode(x=x, x2="x1", y=y, y2="y1", tooltip=[*place, whole_number("figure", figure_title)])
        .add_params(chosen)
    )
    names = alt.Tooltip("name:N", title=" ")
    points = (
        of("point")
        .mark_point(size=90, filled=True, color=ink, stroke=paper, strokeWidth=1, opacity=1, cursor="pointer")
        .encode(x=x, y=y, tooltip=[names, *place])
    )
    labels = [
        of("point")
        .transform_filter(f"datum.above == {above}")
        .mark_text(fontSize=SMALL, color=ink, text=either("datum.brief", "datum.label"), **look)
        .encode(x=x, y=y)
        for above, look in (("true", {"dy": -12}), ("false", {"align": "left", "dx": alt.ExprRef("datum.beside")}))
    ]
    accent = COLORS[appearance]["encoder"]
    ring = of("here").mark_point(size=420, filled=False, color=accent, strokeWidth=3.5, opacity=1).encode(x=x, y=y)
    figure = (
        of("here").mark_text(dy=-22, fontSize=FONT, fontWeight="bold", color=accent).encode(x=x, y=y, text="name:N")
    )
    level = either("(datum.narrow ? datum.name : '')", "(datum.narrow ? '' : datum.name)")
    bold = {"fontSize": SMALL, "fontWeight": "bold", "color": hue_of_lines, "text": level}
    ends = [
        of(kind).mark_text(**bold, **look).encode(x=x, y=y)
        for kind, look in (("top", {"baseline": "bottom", "dy": -4}), ("right", {"align": "left", "dx": 5}))
    ]
    return json.dumps(spec_of(alt.layer(fills, lines, ring, cells, points, *labels, figure, *ends), _MAP_HEIGHT))


def _axis(appearance: str, unit: Unit | None = None, *, logs: bool) -> Any:
    text = "format(datum.value, ',d')" if unit is None else short_expression(unit)
    # A logarithmic axis has many ticks. Only 1, 2 and 5 times a power of ten get a label.
    round_ones = f"indexof('125', slice(format(datum.value, '.0e'), 0, 1)) >= 0 ? ({text}) : ''"
    label = round_ones if logs else text
    return alt.Axis(grid=True, gridOpacity=0.25, labelExpr=label, **axis_look(appearance))
