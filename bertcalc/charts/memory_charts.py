"""Charts of the Memory page: a stacked bar, and the allocated memory after each operation of a step, by area."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import altair as alt

from bertcalc.charts import colors
from bertcalc.charts.blocks import Spec, colored, figures_axis, fitting, having, inside, spec_of, tooltip
from bertcalc.charts.colors import BACKGROUND, INK
from bertcalc.charts.columns import Columns, number, of_rows
from bertcalc.charts.labels import FONT, SMALL
from bertcalc.memory.peak import Moment
from bertcalc.memory.timeline import AREAS, Area, Phase

AREA_COLORS: dict[str, dict[Area, str]] = {
    look: dict(zip(AREAS, inks, strict=True)) for look, inks in colors.AREAS.items()
}
_CROSSED = 0.07  # fraction of the peak: a line nearer than this to the middle of a name crosses it
_HEIGHT, _EDGE = 32, 7  # pixels: the height of the stacked bar, and of the marks at its upper and lower edge
_NAMED = 0.1  # fraction of the peak: an area thinner than this has no room for its name


def legend(look: str) -> Any:
    """The legend below a chart, with as many columns as fit."""
    return alt.Legend(
        orient="bottom",
        direction="horizontal",
        columns=alt.ExprRef("max(1, floor(width / 132))"),
        symbolType="square",
        symbolSize=150,
        symbolStrokeColor=INK[look],
        symbolStrokeWidth=0.5,
        labelFontSize=FONT,
        labelColor=INK[look],
        labelLimit=0,
        title=None,
        offset=4,
    )


@lru_cache
def stacked_bar(look: str, words: tuple[str, ...], inks: tuple[tuple[str, str], ...]) -> Spec:
    """The parts of memory as one stacked bar, with a thick line at the limit and a thin mark at the preset's total.

    ``words`` are the titles of the tooltip's lines: exact bytes, size, share and formula. ``inks`` are (name, color)
    pairs of the parts.
    """
    paper, ink = BACKGROUND[look], INK[look]
    scale = alt.Scale(nice=False, zero=True)
    tip = tooltip("name", **dict(zip(("exact", "size", "share", "formula"), words, strict=True)))
    color = colored("name", dict(inks), legend=legend(look))

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=scale, axis=figures_axis(look, "bytes", tickCount=6))

    free = having("free").mark_rect().encode(x=x("start"), x2="end:Q", color=color, tooltip=tip[:3])
    parts = having("part")
    pieces = parts.mark_rect(stroke=paper, strokeWidth=2).encode(x=x("start"), x2="end:Q", color=color, tooltip=tip)
    labels = fitting(parts, x("middle"), "label", look, tip, gap=6)
    # The thin mark is at both edges of the bar: as a line, it would cross the name of a part.
    marks = [
        having(mark)
        .mark_rule(color=ink, strokeWidth=stroke, aria=False)
        .encode(x=x(mark), y=alt.value(start), y2=alt.value(end), tooltip=tip[:3])
        for mark, stroke, start, end in (
            ("was", 2, 0, _EDGE),
            ("was", 2, _HEIGHT - _EDGE, _HEIGHT),
            ("limit", 4, 0, _HEIGHT),
        )
    ]
    end = having("axis").mark_rule(opacity=0, aria=False).encode(x=x("axis"))
    # With "fit-x", the bar keeps its height, however many lines the legend has.
    grown = alt.AutoSizeParams(type="fit-x", contains="padding")
    return spec_of(alt.layer(free, pieces, labels, *marks, end), _HEIGHT, autosize=grown)


def step_frame(
    moments: Sequence[Moment],
    names: Mapping[Area, str],
    phases: Mapping[Phase, str],
    preset: tuple[str, int],
    end: int,
    size: Callable[[int], str],
) -> Columns:
    """The data of ``step_areas``.

    There is a row for each area at each point in time, for each name that fits, for each phase, for the peak, and for
    the end of the axis in bytes (``end``). ``preset`` is a (name, peak) pair; it has a row if its peak differs.
    ``names`` and ``phases`` have the words for areas and phases; areas without a name are left out. ``size`` formats a
    number of bytes.
    """
    rows: list[dict[str, Any]] = []
    top = max(moments, key=lambda moment: moment.live)
    # Where each area's name has the most room: bytes, distance from the ends, middle in bytes, point in time.
    widest: dict[Area, tuple[int, int, int, int]] = {}
    for index, moment in enumerate(moments):
        below = 0
        for area, name in names.items():
            count = moment.areas[area]
            ends = {"start": float(below), "end": float(below + count), "bytes": number(count)}
            texts = {"name": name, "size": size(count), "where": moment.where, "live": size(moment.live)}
            rows.append({"at": index, "area": name, **ends, **texts})
            if len(moments) // 8 < index < len(moments) * 7 // 8:  # no room for a name at the ends
                around = moments[index - len(moments) // 14 : index + len(moments) // 14 + 1]
                thick = min(moment.areas[area] for moment in around)
                inside = min(index, len(moments) - index)
                widest[area] = max(widest.get(area, (0, 0, 0, 0)), (thick, inside, below + count // 2, index))
            below += count
    start, was = preset
    rows += [
        {"at": index, "label": names[area], "middle": _beside(middle, count, was, top.live)}
        for area, (count, _inside, middle, index) in widest.items()
        if count > _NAMED * top.live
    ]
    for phase, name in phases.items():
        within = [index for index, moment in enumerate(moments) if moment.phase == phase]
        if within:
            rows.append({"at": within[0], "until": within[-1] + 1, "phase": name})
    rows.append({"at": moments.index(top), "peak": float(top.live), "text": size(top.live).split(" (")[0]})
    if was != top.live:
        rows.append({"was": float(was), "name": start, "size": size(was)})
    return of_rows([*rows, {"axis": float(end)}])


def _beside(middle: int, thick: int, line: int, top: int) -> float:
    """The vertical position of a name in its area: the middle of the area.

    If ``line`` would cross the name there, the position is the middle of the larger part of the area beside the line.
    """
    if abs(middle - line) > _CROSSED * top or line == top:
        return float(middle)
    return (line + middle + (thick if middle > line else -thick) / 2) / 2


@lru_cache
def step_areas(look: str, names: tuple[tuple[Area, str], ...], step: str) -> Spec:
    """The chart of allocated memory over a step: stacked areas, the phases above them, and a mark at the peak.

    ``names`` are the areas that occur in the step, with their names. ``step`` is the title of the operation in
    tooltips.
    """
    ink, paper = INK[look], BACKGROUND[look]
    inks = {name: AREA_COLORS[look][area] for area, name in names}
    x = alt.X("at:Q", title=None, axis=None, scale=alt.Scale(nice=False))
    y = alt.Y("start:Q", axis=figures_axis(look, "bytes", tickCount=4), scale=alt.Scale(zero=True))
    color = colored("area", inks, legend=legend(look))
    tip = tooltip("name", "size", where=step)
    areas = having("area").mark_area(interpolate="step-after", opacity=0.9)
    areas = areas.encode(x=x, y=y, y2="end:Q", color=color, tooltip=tooltip("name"))
    # An area has only one tooltip in Vega-Lite, so points along its edge show the numbers.
    edges = (
        alt.Chart()
        .transform_filter("isValid(datum.area) && datum.bytes > 0")
        .mark_point(opacity=0, size=200)
        .encode(x=x, y="end:Q", tooltip=tip)
    )
    labels = inside(look).encode(x=x, y="middle:Q")
    peak, was, bands = having("peak"), having("was"), having("phase")
    mark = peak.mark_point(filled=True, size=90, color=ink, opacity=1).encode(x=x, y="peak:Q", tooltip=["text:N"])
    number = _outlined(peak, paper, fontSize=FONT, fontWeight="bold", dy=-14, color=ink)
    number = [text.encode(x=x, y="peak:Q", text="text:N") for text in number]
    # The preset's peak is drawn over areas of any color, so its line and name are outlined in the page's color.
    before = [
        was.mark_rule(color=color, strokeWidth=width).encode(y="was:Q", tooltip=tooltip("name", "size"))
        for color, width in ((paper, 4), (ink, 2))
    ]
    top = having("axis").mark_rule(opacity=0, aria=False).encode(y="axis:Q")
    rules = bands.mark_rule(color=ink, strokeDash=[4, 4], opacity=0.6).encode(x=x)
    room = "scale('x', datum.until) - scale('x', datum.at) > 60 ? datum.phase : ''"
    phases = (
        bands.transform_calculate(center="(datum.at + datum.until) / 2")
        .mark_text(fontSize=SMALL, color=ink, text=alt.ExprRef(room))
        .encode(x=alt.X("center:Q"), y=alt.value(-22), tooltip=tooltip("phase"))
    )
    named = _outlined(was, paper, align="left", dy=-10, fontSize=SMALL, color=ink)
    named = [text.encode(x=alt.value(6), y="was:Q", text="name:N") for text in named]
    return spec_of(alt.layer(areas, edges, rules, *before, *named, labels, mark, *number, phases, top), 230)


def _outlined(chart: Any, paper: str, **look: Any) -> list[Any]:
    """A text drawn twice, first as an outline in the background color, to be readable on a line."""
    return [
        chart.mark_text(**look, **edge) for edge in ({"stroke": paper, "strokeWidth": 4, "strokeJoin": "round"}, {})
    ]
