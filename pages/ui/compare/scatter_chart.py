"""The scatter plot of a comparison: parameters against FLOPs or another quantity."""

from collections.abc import Sequence
from functools import lru_cache
from math import dist, exp, log
from typing import Any, NamedTuple

import altair as alt

from bertcalc.explore.chart_labels import Box, place
from pages.ui.charts import SMALL, Spec, axis_look, either, having, spec_of, tooltip
from pages.ui.columns import Columns, of_rows
from pages.ui.theme import COLORS, INK

# The pixels for which names are placed, on a screen and on a phone; a wider chart only leaves more room between them.
_AREA, _PHONE = Box(0, 0, 780, 264), Box(0, 0, 255, 264)
_AXIS = 42  # additional height for the lower axis
_NAME = 12
_BESIDE = 12


class ModelPoint(NamedTuple):
    name: str
    parameters: int
    flops: int
    compared: bool


def points_frame(points: Sequence[ModelPoint]) -> Columns:
    """The data of the scatter plot: models at the same place are one point; names are shown where there is room."""
    groups: dict[tuple[int, int], list[ModelPoint]] = {}
    for point in points:
        groups.setdefault((point.parameters, point.flops), []).append(point)
    # Names of compared models are placed first.
    found = sorted(groups.items(), key=lambda group: not any(point.compared for point in group[1]))
    names = [" = ".join(dict.fromkeys(point.name for point in group)) for _at, group in found]
    (left, right), (low, high) = (_ends([at[axis] for at, _group in found]) for axis in (0, 1))
    rows: list[dict[str, object]] = []
    for ((parameters, flops), group), name in zip(found, names, strict=True):
        said = {"name": name, "compared": any(point.compared for point in group)}
        figures = {"parameters": float(parameters), "flops": float(flops)}
        rows.append({**said, **figures, "tip": f"{parameters:,}", "flops_tip": f"{flops:,}"})
    firsts = [group[0].name for _at, group in found]  # a phone has no room for all names of a point
    for area, shown in ((_AREA, names), (_PHONE, firsts)):
        across, down = area.right / (right - left), area.bottom / (high - low)
        pixels = [(across * (log(count) - left), down * (high - log(flops))) for (count, flops), _group in found]
        boxes = place(pixels, [_NAME * (0.54 * len(name) + 0.4) for name in shown], _NAME + 2, area)
        for row, name, box, at in zip([*rows], shown, boxes, pixels, strict=True):
            if box:
                # A leader line only if the name is not right beside its point.
                edge = box.nearest(*at)
                ends = edge if dist(edge, at) > _BESIDE else at
                middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
                (x, y), (edge_x, edge_y) = ((exp(left + x / across), exp(high - y / down)) for x, y in (middle, ends))
                placed = {"x": x, "y": y, "edge_x": edge_x, "edge_y": edge_y}
                if area is _AREA:
                    row |= {"label": name, **placed}
                else:
                    copied = {field: row[field] for field in ("parameters", "flops", "compared")}
                    rows.append({"brief": name, **copied, **placed})
    # Invisible points at the corners force the axes for which the names were placed.
    corners = [{"corner_x": exp(x), "corner_y": exp(y)} for x, y in ((left, low), (right, high))]
    return of_rows([*rows, *corners])


def _ends(values: Sequence[int]) -> tuple[float, float]:
    """Both ends of a logarithmic axis, as logarithms, a little beyond the values."""
    low, high = log(min(values)), log(max(values))
    return low - 0.05 * (high - low) - 0.05, high + 0.05 * (high - low) + 0.05


@lru_cache
def scatter(appearance: str, parameters: str, flops: str, *, projector: bool = False) -> Spec:
    """The scatter plot: models as points with their names, on logarithmic axes with these titles.

    A projector has room for larger names, as its chart is wider.
    """
    ink = INK[appearance]
    scale = alt.Scale(type="log", nice=False)
    near: dict[str, Any] = {
        "labelPadding": 6,
        "titlePadding": 5,
    }  # with Streamlit's own, the projector has no room for the lower title
    axis = alt.Axis(format="~s", gridOpacity=0.35, tickCount=6, **near, **axis_look(appearance))
    x = alt.X("parameters:Q", title=parameters, scale=scale, axis=axis)
    y = alt.Y("flops:Q", title=flops, scale=scale, axis=axis)
    palette = COLORS[appearance]
    compared = "datum.compared"
    color = alt.condition(compared, alt.value(palette["encoder"]), alt.value(palette["embeddings"]))
    said = tooltip("name", tip=parameters, flops_tip=flops)
    models = having("name")
    ends = {"x": alt.X("corner_x:Q", title=parameters), "y": alt.Y("corner_y:Q", title=flops)}
    corners = alt.Chart().mark_point(opacity=0).encode(**ends)
    leaders = [
        having(column).mark_rule(color=ink, opacity=shown).encode(x=x, y=y, x2="edge_x:Q", y2="edge_y:Q")
        for column, shown in (("label", either(0, 0.45)), ("brief", either(0.45, 0)))
    ]
    points = models.mark_point(filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=color,
        size=alt.condition(compared, alt.value(150), alt.value(50)),
        shape=alt.condition(compared, alt.value("diamond"), alt.value("circle")),
        tooltip=said,
    )
    names = {"x": alt.X("x:Q", scale=scale), "y": alt.Y("y:Q", scale=scale)}
    texts = [
        having(column)
        .transform_filter(f"{sign}{compared}")
        .mark_text(fontSize=SMALL if projector else _NAME, color=ink, text=shown, fontWeight=weight)
        .encode(**names, **tip)
        for column, shown, tip in (
            ("label", either("''", "datum.label"), {"tooltip": said}),
            ("brief", either("datum.brief", "''"), {}),  # whose rows have no name and no figures for a tooltip
        )
        for sign, weight in (("", "bold"), ("!", "normal"))
    ]
    return spec_of(alt.layer(corners, *leaders, points, *texts), _AREA.bottom + _AXIS)
