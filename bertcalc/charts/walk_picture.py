"""The picture of the walk through a model: a box for each stop, a frame around the layer, slices for heads."""

from functools import lru_cache, partial
from typing import Any

import altair as alt

from bertcalc.charts.blocks import Spec, colored, spec_of, tooltip
from bertcalc.charts.colors import BACKGROUND, COLORS, INK
from bertcalc.charts.labels import SMALL

_HEIGHT, _LOW = 484, 420  # heights in pixels on the page, and on the projector, which has a larger font
_LARGE = 20  # the largest font size on the projector, in pixels
_OF_A_ROW = 0.6  # the largest font size, as a share of the height of a row


@lru_cache
def picture(look: str, rows: int, *, low: bool = False) -> Spec:
    """The specification of a picture with ``rows`` rows, for the data of ``picture_frame``.

    A ``low`` picture is shorter, and its font can be larger.
    """
    ink, paper = INK[look], BACKGROUND[look]
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[rows, 0], nice=False))
    chosen = alt.selection_point(name="box", fields=["step"], on="click", empty=False)
    color = partial(colored, "component", COLORS[look])

    def shapes(mark: str) -> Any:
        return alt.Chart().transform_filter(f"datum.mark == '{mark}'").encode(x=x, y=y)

    frame = shapes("frame").mark_rect(fill=None, stroke=ink, strokeWidth=1.5, cornerRadius=6).encode(x2="x2", y2="y2")
    # aria=False: arcs and slices are empty layers if there are no residual sums or too many heads. To a screen reader,
    # an empty layer would be a picture without a name.
    arcs = shapes("arc").mark_rule(color=ink, strokeWidth=1.5, aria=False).encode(x2="x2", y2="y2")
    filled = {"fill": color(channel="Fill"), "fillOpacity": alt.FillOpacity("weight:Q", scale=None)}
    boxes = shapes("box").mark_rect(cornerRadius=4, cursor="pointer", strokeWidth=1.2).add_params(chosen)
    tip = tooltip("what", "step")
    boxes = boxes.encode(x2="x2", y2="y2", stroke=color(channel="Stroke"), tooltip=tip, **filled)
    layers = alt.layer(frame, arcs, boxes, _slices(ink), _labels(rows, _LARGE if low else SMALL, ink, paper))
    return spec_of(layers, _LOW if low else _HEIGHT)


def _slices(ink: str) -> Any:
    return (
        alt.Chart()
        .transform_filter("datum.heads > 0")
        .transform_calculate(head="sequence(datum.heads)", width="(datum.x2 - datum.x) / datum.heads")
        .transform_flatten(["head"])
        .transform_calculate(
            start="datum.x + (datum.head + 0.15) * datum.width",
            end="datum.x + (datum.head + 0.85) * datum.width",
            top="datum.y2 - 0.2",
        )
        .mark_rect(fill=ink, fillOpacity=0.6, aria=False)
        .encode(x=alt.X("start:Q", axis=None), x2="end", y=alt.Y("top:Q", axis=None), y2="y2")
    )


def _labels(rows: int, largest: int, ink: str, paper: str) -> Any:
    """The labels of the boxes, all of the same size: the largest that fits into the rows and into each box.

    If that size is too small, all labels are shortened; otherwise, only the labels that do not fit.
    """
    rows_allow = f"{_OF_A_ROW} * height / {rows}"
    short = f"width / datum.longest < {SMALL}"
    fitting = f"width / ({short} ? datum.longest_brief : datum.longest)"
    size = f"min({largest}, {rows_allow}, {fitting})"
    too_long = f"{size} * datum.ems > scale('x', datum.x2) - scale('x', datum.x)"
    label = f"({short} || {too_long}) ? datum.brief : datum.label"
    return (
        alt.Chart()
        .transform_filter("datum.label != ''")
        .transform_calculate(
            middle="(datum.x + datum.x2) / 2", line="(datum.y + datum.y2) / 2 - (datum.heads > 0 ? 0.1 : 0)"
        )
        .mark_text(fontSize=alt.ExprRef(size), text=alt.ExprRef(label))
        .encode(x=alt.X("middle:Q", axis=None), y=alt.Y("line:Q", axis=None))
        .encode(color=alt.condition("datum.weight == 1", alt.value(paper), alt.value(ink)))
    )
