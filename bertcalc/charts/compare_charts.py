"""Charts of the Compare page: models at a glance, with a column of bars per quantity, and a scatter plot."""

import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import exp, log
from typing import Any, NamedTuple

import altair as alt

from bertcalc.charts.blocks import (
    NARROW,
    Spec,
    axis_look,
    colored,
    either,
    having,
    in_order,
    names_axis,
    spec_of,
    tooltip,
)
from bertcalc.charts.colors import COLORS, INK, NEUTRAL
from bertcalc.charts.columns import Columns, of_rows
from bertcalc.charts.labels import SMALL, Box, ems, part_of_column, place, widest
from bertcalc.text.live_choices import largest
from bertcalc.text.live_numbers import fill

_BAR = 0.42  # the longest bar's share of a column; the rest is for its label
_HEIGHT = 286
_ROW = 30
_FONT = 14
_SMALL_FONT = 12  # the font size where columns are narrow
_GAP = 7  # pixels between a bar and its label
OTHER = "other"  # the kind of a bar that is not a component
# The areas in pixels in which names are placed, on a screen and on a phone; wider charts have more room between names.
_AREA, _PHONE = Box(0, 0, 780, 264), Box(0, 0, 255, 264)
_AXIS = 42  # additional height for the lower axis
_NAME = 12
_LONGEST = 34  # maximum number of letters of a name on a phone
_BOLD = 1.06  # the width of bold letters, relative to normal ones


class Cell(NamedTuple):
    """A figure of a model: the pieces of its bar (empty if the figure is unknown), its label, and its exact text."""

    pieces: Mapping[str, int]
    label: str
    exact: str

    @property
    def figure(self) -> int:
        return sum(self.pieces.values())


class ModelRow(NamedTuple):
    """A model: its name with its family, the link that opens it, and a figure for each column."""

    name: str
    link: str
    cells: Sequence[Cell]
    order: int  # the model's place from the top
    shown: int = 1  # 0 for a model that is hidden until a slider moves


def glance_frame(titles: Sequence[str], rows: Sequence[ModelRow]) -> Columns:
    """The data of ``glance_bars``: a column of bars for each title, with the titles in a row above the models."""
    data: list[dict[str, Any]] = [
        {
            "row": "",
            "order": -1,
            "column": column,
            "end": float(column),
            "label": title,
            "head": True,
            "shown": 1,
            "label_width": ems(title),
            "wrapped": _wrapped(title),
        }
        for column, title in enumerate(titles)
    ]
    longest = [largest([row.cells[column].figure for row in rows]) for column in range(len(titles))]
    widths = [widest([row.cells[column].label for row in rows]) for column in range(len(titles))]
    for row in rows:
        for column, (title, cell) in enumerate(zip(titles, row.cells, strict=True)):
            place = {
                "row": row.name,
                "order": row.order,
                "shown": row.shown,
                "column": column,
                "link": row.link,
                "tip": fill("{title}: {exact}", title=title, exact=cell.exact),
                "widest": widths[column],
            }
            start, figure = float(column), 0
            for component, count in cell.pieces.items():
                figure += count
                end = part_of_column(column, figure, longest[column], _BAR)
                data.append({**place, "component": component, "start": start, "end": end})
                start = end
            texts = {"label": cell.label, "head": False}
            if cell.pieces:
                texts |= {"name": row.name, "quantity": title, "figure": cell.figure}
            data.append({**place, **texts, "end": start})
    return of_rows(data)


def _wrapped(title: str) -> str:
    words = title.split(" ")
    breaks = [f"{' '.join(words[:at])}\n{' '.join(words[at:])}" for at in range(1, len(words))]
    return min([title, *breaks], key=lambda lines: max(map(ems, lines.split("\n"))))


@lru_cache
def glance_bars(appearance: str, rows: int, columns: int, phone_column: int, *, linked: bool) -> Spec:
    """The chart of models at a glance, with ``rows`` models and ``columns`` quantities.

    A phone shows only the column with the index ``phone_column``. If the chart is ``linked``, a click opens a model's
    link.
    """
    step, ink, place = min(_ROW, _HEIGHT // (rows + 1)), INK[appearance], _GlanceColumns(columns, phone_column)
    colors: dict[Any, str] = {OTHER: NEUTRAL[appearance], **COLORS[appearance]}
    models = place.within(having("tip"))
    thin = {"size": either(6, 0.62 * step), "yOffset": either(step / 2 - 4, 0)}
    bars = models.transform_filter("isValid(datum.component)").mark_bar(clip=True, **thin)
    bars = bars.encode(x=place.x("start"), x2="end:Q", color=colored("component", colors))
    labelled = models.transform_filter("isValid(datum.label)")
    labels = place.text(labelled, fontSize=either(SMALL, place.font), color=ink)
    titles = alt.Chart().transform_filter("datum.head === true")
    large = either(_FONT, place.font)
    # The title of the embeddings column has their color, so it explains the pieces of this color in other columns.
    of_title = alt.condition("datum.column == 1", alt.value(colors["embeddings"]), alt.value(ink))
    heads = place.text(titles, fontSize=large, lineHeight=large, fontWeight="bold", color=ink).encode(color=of_title)
    link = {"href": "link:N"} if linked else {}
    cells = (
        labelled.transform_calculate(left="datum.column", right="datum.column + 1")
        .mark_bar(opacity=0, clip=True)
        .encode(x=place.x("left"), x2="right:Q", tooltip=tooltip("row", "tip"), **link)
    )
    axis = names_axis(appearance, _FONT, labelLimit=330, domain=False)
    layers = alt.layer(bars, labels, heads, cells).encode(y=in_order("row", axis))
    return spec_of(layers.transform_filter("datum.shown"), step * (rows + 1))


class _GlanceColumns(NamedTuple):
    """The columns of models at a glance; a phone shows only the column with the index ``phone_column``.

    Columns are narrow on a tablet, so titles can have two lines, fonts are smaller, and bars leave room for their
    labels.
    """

    number: int
    phone_column: int

    @property
    def width(self) -> str:
        return f"(width / {self.number})"

    @property
    def font(self) -> str:
        return f"({self.width} < 150 ? {_SMALL_FONT} : {_FONT})"

    def x(self, field: str) -> Any:
        # On a phone, the scale puts all columns except one outside the chart.
        low, high = (f"{place} * width" for place in (-self.phone_column, self.number - self.phone_column))
        scale = alt.Scale(
            domain=[0, self.number], range=[either(low, 0), either(high, "width")], nice=False, zero=False
        )
        return alt.X(f"{field}:Q", axis=None, scale=scale)

    def within(self, chart: Any) -> Any:
        bar = f"1 - ({2 * _GAP} + {self.font} * datum.widest) / {self.width}"
        shrunk = f"({NARROW} ? 1 : clamp(({bar}) / {_BAR}, 0.1, 1))"
        ends = {field: f"datum.column + {shrunk} * (datum.{field} - datum.column)" for field in ("start", "end")}
        return chart.transform_calculate(**ends)

    def text(self, chart: Any, **look: Any) -> Any:
        """The labels or titles; on a phone, the name is before the label, above the bar."""
        name = "(datum.head ? '' : datum.row + ' · ')"
        only = f"datum.column == {self.phone_column} ? {name} + datum.label : ''"
        two_lines = f"datum.head && {self.width} < {self.font} * datum.label_width"
        lines = f"{two_lines} ? split(datum.wrapped, '\\n') : datum.label"
        return chart.mark_text(
            align="left",
            text=either(f"({only})", f"({lines})"),
            dx=either("-scale('x', datum.end)", f"datum.head ? 0 : {_GAP}"),
            dy=either("datum.head ? 0 : -4", f"({two_lines} ? -{self.font} / 2 : 0)"),
            **look,
        ).encode(x=self.x("end"))


class ModelPoint(NamedTuple):
    name: str
    parameters: int
    flops: int
    compared: bool


def points_frame(points: Sequence[ModelPoint]) -> Columns:
    """The data of ``scatter``. Models at the same place are one point; names are shown if there is room."""
    groups: dict[tuple[int, int], list[ModelPoint]] = {}
    for point in points:
        groups.setdefault((point.parameters, point.flops), []).append(point)
    # Names of compared models are placed first.
    grouped = sorted(groups.items(), key=lambda group: not any(point.compared for point in group[1]))
    names = [" = ".join(dict.fromkeys(point.name for point in group)) for _at, group in grouped]
    (left, right), (low, high) = (_ends([position[axis] for position, _group in grouped]) for axis in (0, 1))
    rows: list[dict[str, object]] = []
    for ((parameters, flops), group), name in zip(grouped, names, strict=True):
        texts = {"name": name, "compared": any(point.compared for point in group)}
        figures = {"parameters": float(parameters), "flops": float(flops)}
        rows.append({**texts, **figures, "tip": f"{parameters:,}", "flops_tip": f"{flops:,}"})
    compared = sum(any(point.compared for point in group) for _at, group in grouped)
    # On a phone, a point has only its first name, and a long name is shortened.
    firsts = [textwrap.shorten(group[0].name, _LONGEST, placeholder=" …") for _at, group in grouped]
    for area, labels in ((_AREA, names), (_PHONE, firsts)):
        across, down = area.right / (right - left), area.bottom / (high - low)
        pixels = [(across * (log(count) - left), down * (high - log(flops))) for (count, flops), _group in grouped]
        widths = [_NAME * (_BOLD * ems(name) + 0.4) for name in labels]
        places = place(pixels, widths, _NAME + 2, area, compared)
        for row, name, named, position in zip([*rows], labels, places, pixels, strict=True):
            if named:
                box = named.box
                ends = named.leader[0] if named.leader else position
                middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
                (x, y), (edge_x, edge_y) = ((exp(left + x / across), exp(high - y / down)) for x, y in (middle, ends))
                placed = {"x": x, "y": y, "edge_x": edge_x, "edge_y": edge_y}
                if area is _AREA:
                    row |= {"label": name, **placed}
                else:
                    copied = {field: row[field] for field in ("parameters", "flops", "compared")}
                    rows.append({"brief": name, **copied, **placed})
    # Invisible points at the corners fix the axes for which the names were placed.
    corners = [{"corner_x": exp(x), "corner_y": exp(y)} for x, y in ((left, low), (right, high))]
    return of_rows([*rows, *corners])


def _ends(values: Sequence[int]) -> tuple[float, float]:
    """Both ends of a logarithmic axis, as logarithms, slightly beyond the values."""
    low, high = log(min(values)), log(max(values))
    return low - 0.05 * (high - low) - 0.05, high + 0.05 * (high - low) + 0.05


@lru_cache
def scatter(appearance: str, parameters: str, flops: str, *, projector: bool = False) -> Spec:
    """The scatter plot: models as points with names, on logarithmic axes.

    ``parameters`` and ``flops`` are the titles of the axes. On a projector, the chart is wider and has room for larger
    names.
    """
    ink = INK[appearance]
    scale = alt.Scale(type="log", nice=False)
    # Small padding: with Streamlit's padding, the projector has no room for the lower title.
    near: dict[str, Any] = {"labelPadding": 6, "titlePadding": 5}
    axis = alt.Axis(format="~s", gridOpacity=0.35, tickCount=6, **near, **axis_look(appearance))
    # 10**9 is written 1B for parameters, and 1G for FLOPs.
    billions = alt.Axis(labelExpr="replace(datum.label, 'G', 'B')", **axis.to_dict())
    x = alt.X("parameters:Q", title=parameters, scale=scale, axis=billions)
    y = alt.Y("flops:Q", title=flops, scale=scale, axis=axis)
    palette = COLORS[appearance]
    compared = "datum.compared"
    color = alt.condition(compared, alt.value(palette["encoder"]), alt.value(palette["embeddings"]))
    hover = tooltip("name", tip=parameters, flops_tip=flops)
    models = having("name")
    ends = {"x": alt.X("corner_x:Q", title=parameters), "y": alt.Y("corner_y:Q", title=flops)}
    corners = alt.Chart().mark_point(opacity=0).encode(**ends)
    leaders = [
        having(column).mark_rule(color=ink, opacity=opacity).encode(x=x, y=y, x2="edge_x:Q", y2="edge_y:Q")
        for column, opacity in (("label", either(0, 0.45)), ("brief", either(0.45, 0)))
    ]
    points = models.mark_point(filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=color,
        size=alt.condition(compared, alt.value(150), alt.value(50)),
        shape=alt.condition(compared, alt.value("diamond"), alt.value("circle")),
        tooltip=hover,
    )
    names = {"x": alt.X("x:Q", scale=scale), "y": alt.Y("y:Q", scale=scale)}
    texts = [
        having(column)
        .transform_filter(f"{sign}{compared}")
        .mark_text(fontSize=SMALL if projector else _NAME, color=ink, text=text, fontWeight=weight)
        .encode(**names, **tip)
        for column, text, tip in (
            ("label", either("''", "datum.label"), {"tooltip": hover}),
            ("brief", either("datum.brief", "''"), {}),  # these rows have no name and no figures for a tooltip
        )
        for sign, weight in (("", "bold"), ("!", "normal"))
    ]
    return spec_of(alt.layer(corners, *leaders, points, *texts), _AREA.bottom + _AXIS)
