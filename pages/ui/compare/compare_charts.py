"""Charts of a comparison: how a difference comes about, bars side by side, parameters against FLOPs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import dist, exp, log
from textwrap import wrap
from typing import Any, NamedTuple

import altair as alt

from bertcalc.explore.chart_labels import Box, place
from bertcalc.explore.quantities import QUANTITIES
from pages.ui.charts import (
    FONT,
    NARROW,
    SMALL,
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
from pages.ui.columns import Columns, of_rows
from pages.ui.theme import BACKGROUND, COLORS, INK

HEIGHT = 270  # of the bars together, as far as their labels stay readable
LOW = 170  # where the sidebar lies below the page
_STACKED = 246  # the same of bars with a legend, which takes some of it
_LEGEND = 40
_LINE = 34  # letters of a name in one line
# The chart of points is laid out in this many pixels; where it is wider, names have only more room.
_AREA = Box(0, 0, 780, 264)
_AXIS = 65  # what its lower axis takes in addition
_NAME = 12
_BESIDE = 12
NEUTRAL = {"light": "#5b4bb5", "dark": "#b5a6ff"}
_MANY = 8  # more bars than this have names of one line


class ModelPoint(NamedTuple):
    """A model in the scatter plot."""

    name: str
    parameters: int
    flops: int
    compared: bool


def parts_frame(
    parts: Sequence[tuple[str, int]], labels: Sequence[str], together: str, height: int = HEIGHT
) -> Columns:
    """The data of a waterfall chart: each part starts where the one before ends; the last row is the sum."""
    line = _LINE if height == HEIGHT else 2 * _LINE  # low bars have room for one line each
    sums = [0, *accumulate(difference for _name, difference in parts)]
    starts, ends = [*sums[:-1], 0], [*sums[1:], sums[-1]]
    least, most = min(0, *ends), max(0, *ends)
    text = min(0.6, 0.02 + 0.017 * max(map(len, labels)))  # the share of the width that the longest label takes
    names = [*(name for name, _difference in parts), together]
    return {
        "name": ["\n".join(wrap(name, line)) for name in names],
        "difference": [*(difference for _name, difference in parts), sums[-1]],
        "start": [float(start) for start in starts],
        "end": [float(end) for end in ends],
        "kind": [*("more" if difference >= 0 else "fewer" for _name, difference in parts), "together"],
        "label": labels,
        "order": range(len(names)),
        "at": [float(max(start, end)) for start, end in zip(starts, ends, strict=True)],
        "room": [most + ((most - least) or 1) * text / (1 - text)] * len(names),
    }


@lru_cache
def difference_bars(appearance: str, count: int, height: int = HEIGHT) -> Spec:
    """A waterfall chart with ``count`` bars, of which the last is the sum."""
    step = max(22, min(42, height // count))
    names = _names(appearance, narrow=False)
    palette = COLORS[appearance]
    colors = {"more": palette["embeddings"], "fewer": palette["encoder"], "together": INK[appearance]}
    said = tooltip("name", "label")
    x = alt.X("start:Q", axis=None, scale=alt.Scale(nice=False, zero=True))
    parts, color = having("name"), colored("kind", colors)
    # On a phone the name stands before its label, over the bar.
    thin = {"size": either(6, 0.62 * step), "yOffset": either(step / 2 - 5, 0)}
    bars = parts.mark_bar(**thin).encode(x=x, x2="end:Q", y=names, color=color, tooltip=said)
    labels = parts.mark_text(
        align="left",
        dx=either("-scale('x', datum.at)", 8),
        dy=either(8 - step / 2, 0),
        text=either("replace(datum.name, /\\n/g, ' ') + ' · ' + datum.label", "datum.label"),
        fontSize=either(SMALL, FONT),
        color=INK[appearance],
    ).encode(x="at:Q", y=names, tooltip=said)
    room = parts.mark_bar(opacity=0).encode(x=alt.X("room:Q", stack=None), y=names, tooltip=said)
    return spec_of(alt.layer(bars, labels, room), step * count)


def bars_frame(models: Mapping[str, Mapping[str, int]], totals: Sequence[str], names: Mapping[str, str]) -> Columns:
    """The data of the stacked bars: a row for each piece of each model, and one for the number at its end.

    ``names`` are those of components; a piece under another name has the colour of text.
    """
    longest = max(sum(pieces.values()) for pieces in models.values()) or 1
    rows: list[dict[str, object]] = []
    for order, ((model, pieces), total) in enumerate(zip(models.items(), totals, strict=True)):
        start, name = 0, "\n".join(wrap(model, _LINE)) if len(models) <= _MANY else model
        for piece, count in pieces.items():
            end = start + count
            part = names.get(piece, "")
            inside = part if count > longest * 0.013 * (len(part) + 1) else ""
            piece_of = {"name": name, "order": order, "component": piece, "part": part, "figure": count}
            place = {"start": float(start), "end": float(end), "middle": (start + end) / 2}
            rows.append({**piece_of, **place, "inside": inside, "tip": f"{part} {count:,}".strip()})
            start = end
        rows.append({"name": name, "order": order, "end": float(start), "label": total})
    return {**of_rows(rows), "room": [1.45 * longest] * len(rows)}


@lru_cache
def side_by_side(appearance: str, count: int, components: tuple[tuple[str, str], ...]) -> Spec:
    """A horizontal bar for each of ``count`` models with its number at its end.

    ``components`` are what the bars are made of, with the names for the legend; none where they have no parts.
    """
    step = max(24, min(90, _STACKED // count))
    names = _names(appearance, FONT if count <= _MANY else SMALL)
    x = alt.X("start:Q", axis=None, scale=alt.Scale(nice=False))
    paper = BACKGROUND[appearance]
    # What is one of the components has its colour, everything else the colour of none of them.
    colors: dict[Any, str] = {**dict.fromkeys(QUANTITIES, NEUTRAL[appearance]), **COLORS[appearance]}
    legend = None
    if components:
        called = ", ".join(f"'{component}': '{name}'" for component, name in components)
        legend = alt.Legend(
            orient="top",
            title=None,
            values=[component for component, _name in components],
            labelExpr=f"({{{called}}})[datum.label]",
            labelColor=INK[appearance],
            labelFontSize=FONT,
            symbolType="square",
            symbolSize=180,
        )
    pieces, said = having("component"), tooltip("name", "tip")
    color = colored("component", colors, legend=legend)
    bars = pieces.mark_bar(size=min(0.66 * step, 48), stroke=paper, strokeWidth=1)
    bars = bars.encode(x=x, x2="end:Q", y=names, color=color, tooltip=said)
    inside = pieces.mark_text(fontSize=FONT - 1, color=paper)
    inside = inside.encode(x="middle:Q", y=names, text="inside:N", tooltip=said)
    ends = having("label")
    labels = ends.mark_text(align="left", dx=8, fontSize=FONT, color=INK[appearance])
    labels = labels.encode(x="end:Q", y=names, text="label:N", tooltip=tooltip("name", "label"))
    room = ends.mark_bar(opacity=0).encode(x=alt.X("room:Q", axis=None, stack=None), y=names)
    return spec_of(alt.layer(room, bars, inside, labels), step * count + (_LEGEND if components else 0))


def points_frame(points: Sequence[ModelPoint]) -> Columns:
    """The data of the scatter plot: models at one place are one point; a name is shown where there is room for it."""
    groups: dict[tuple[int, int], list[ModelPoint]] = {}
    for point in points:
        groups.setdefault((point.parameters, point.flops), []).append(point)
    # Those that are compared get their places first.
    found = sorted(groups.items(), key=lambda group: not any(point.compared for point in group[1]))
    names = [" = ".join(dict.fromkeys(point.name for point in group)) for _at, group in found]
    (left, right), (low, high) = (_ends([at[axis] for at, _group in found]) for axis in (0, 1))
    across, down = _AREA.right / (right - left), _AREA.bottom / (high - low)
    pixels = [(across * (log(count) - left), down * (high - log(flops))) for (count, flops), _group in found]
    boxes = place(pixels, [_NAME * (0.54 * len(name) + 0.4) for name in names], _NAME + 2, _AREA)

    def model(x: float, y: float) -> tuple[float, float]:
        return exp(left + x / across), exp(high - y / down)

    rows: list[dict[str, object]] = []
    for ((parameters, flops), group), name, box, at in zip(found, names, boxes, pixels, strict=True):
        said = {"name": name, "compared": any(point.compared for point in group)}
        figures = {"parameters": float(parameters), "flops": float(flops)}
        rows.append({**said, **figures, "tip": f"{parameters:,}", "flops_tip": f"{flops:,}"})
        if box:
            x, y = model((box.left + box.right) / 2, (box.top + box.bottom) / 2)
            # A line to the name only where it is not beside its point.
            edge = box.nearest(*at)
            edge_x, edge_y = model(*(edge if dist(edge, at) > _BESIDE else at))
            rows[-1] |= {"label": name, "x": x, "y": y, "edge_x": edge_x, "edge_y": edge_y}
    # The corners make the axes what the places were found for.
    corners = [{"corner_x": exp(x), "corner_y": exp(y)} for x, y in ((left, low), (right, high))]
    return of_rows([*rows, *corners])


def _ends(values: Sequence[int]) -> tuple[float, float]:
    """Both ends of a logarithmic axis, a little beyond the values."""
    low, high = log(min(values)), log(max(values))
    return low - 0.05 * (high - low) - 0.05, high + 0.05 * (high - low) + 0.05


@lru_cache
def scatter(appearance: str, parameters: str, flops: str) -> Spec:
    """Every model as a point with its name, on logarithmic axes with these titles."""
    ink = INK[appearance]
    scale = alt.Scale(type="log", nice=False)
    axis = alt.Axis(format="~s", gridOpacity=0.35, tickCount=6, **axis_look(appearance))
    x = alt.X("parameters:Q", title=parameters, scale=scale, axis=axis)
    y = alt.Y("flops:Q", title=flops, scale=scale, axis=axis)
    palette = COLORS[appearance]
    compared = "datum.compared"
    color = alt.condition(compared, alt.value(palette["encoder"]), alt.value(palette["embeddings"]))
    said = tooltip("name", tip=parameters, flops_tip=flops)
    models = having("name")
    ends = {"x": alt.X("corner_x:Q", title=parameters), "y": alt.Y("corner_y:Q", title=flops)}
    corners = alt.Chart().mark_point(opacity=0).encode(**ends)
    labelled = having("label")
    leaders = labelled.mark_rule(color=ink, opacity=0.45).encode(x=x, y=y, x2="edge_x:Q", y2="edge_y:Q")
    points = models.mark_point(filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=color,
        size=alt.condition(compared, alt.value(150), alt.value(50)),
        shape=alt.condition(compared, alt.value("diamond"), alt.value("circle")),
        tooltip=said,
    )
    names = {"x": alt.X("x:Q", scale=scale), "y": alt.Y("y:Q", scale=scale), "text": "label:N", "tooltip": said}
    texts = (
        labelled.transform_filter(compared).mark_text(fontSize=_NAME, fontWeight="bold", color=ink).encode(**names),
        labelled.transform_filter(f"!{compared}").mark_text(fontSize=_NAME, color=ink).encode(**names),
    )
    return spec_of(alt.layer(corners, leaders, points, *texts), _AREA.bottom + _AXIS)


def _names(appearance: str, font: int = FONT, *, narrow: bool = True) -> Any:
    """The axis with the names; without ``narrow`` phones do not have it."""
    lines = "split(datum.label, '\\n')" if narrow else f"{NARROW} ? '' : split(datum.label, '\\n')"
    look = {"labelLimit": 330, "labelExpr": lines, "labelBaseline": "middle", "domain": False}
    return in_order("name", names_axis(appearance, font, **look))
