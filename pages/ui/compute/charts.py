"""Charts of compute: where the FLOPs go, and how that changes with the sequence length."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from bertcalc.compute.flops import PARTS, Part
from pages.ui.charts import Spec, spec_of
from pages.ui.columns import Columns, of_rows
from pages.ui.numbers import percent
from pages.ui.theme import BACKGROUND, COLORS, INK

_FONT = 15
# The parts of the encoder have hues of their own, of Okabe and Ito's too; the others are components and keep theirs.
_ENCODER = {
    "light": ("#7a6200", "#5b4bb5", "#b34700", "#5f6673"),
    "dark": ("#e3d04f", "#b5a6ff", "#f0a050", "#a9b0bd"),
}


def part_colors(appearance: str) -> dict[Part, str]:
    """The colour of each part of the model's compute."""
    inside = iter(_ENCODER[appearance])
    components: dict[str, str] = dict(COLORS[appearance].items())
    return {part: components.get(part) or next(inside) for part in PARTS}


def parts_frame(costs: Mapping[Part, int], names: Sequence[str]) -> Columns:
    """The data of the bars: one row a part."""
    whole = sum(costs.values())
    return {
        "name": names,
        "part": list(costs),
        "flops": list(costs.values()),
        "cost": [float(cost) for cost in costs.values()],  # the browser's numbers are floats in any case
        "label": [f"{percent(cost, whole)}  ·  {cost:,}" for cost in costs.values()],
        "room": [1.7 * max(costs.values())] * len(costs),
    }


def length_frame(
    lengths: Sequence[int],
    costs: Sequence[Mapping[Part, int]],
    names: Mapping[Part, str],
    marks: Sequence[tuple[float, str]],
) -> Columns:
    """The data of the areas, a row for each part at each length; and of the marks, a row each with its text."""
    areas = []
    widest: dict[Part, tuple[float, float, int]] = {}  # share, middle and length where a name has the most room
    inner = lengths[len(lengths) // 7], lengths[-len(lengths) // 7]  # away from the ends, where a name has no room
    for length, at in zip(lengths, costs, strict=True):
        whole, below = sum(at.values()), 0.0
        for order, (part, cost) in enumerate(at.items()):
            share = cost / whole
            areas.append({"length": length, "part": part, "name": names[part], "share": share, "order": order})
            if inner[0] < length < inner[1]:
                widest[part] = max(widest.get(part, (0.0, 0.0, 0)), (share, below + share / 2, length))
            below += share
    labels = [
        {"length": length, "label": names[part], "middle": middle}
        for part, (share, middle, length) in widest.items()
        if share > _LABELLED
    ]
    texts = [{"length": length, "text": text, "row": row} for row, (length, text) in enumerate(marks)]
    return of_rows([*areas, *labels, *texts])


_LABELLED = 0.07  # a thinner area has no room for its name


@lru_cache
def part_bars(appearance: str) -> Spec:
    """One horizontal bar for each part, in the order of the model, with its share and its cost at its end."""
    import altair as alt

    axis = alt.Axis(labelColor=INK[appearance], labelFontSize=_FONT, labelLimit=300, labelOverlap=False, ticks=False)
    names = alt.Y("name:N", sort=None, title=None, axis=axis)
    length = alt.X("cost:Q", axis=None, scale=alt.Scale(nice=False))
    tooltip = [alt.Tooltip("name:N", title=" "), alt.Tooltip("label:N", title=" ")]
    bars = alt.Chart().mark_bar(cornerRadiusEnd=3).encode(x=length, y=names, color=_color(alt, appearance))
    labels = (
        alt.Chart()
        .mark_text(align="left", dx=6, fontSize=_FONT)
        .encode(x=length, y=names, text="label:N", color=alt.value(INK[appearance]))
    )
    room = alt.Chart().mark_bar(opacity=0).encode(x="room:Q", y=names, tooltip=tooltip)
    return spec_of(alt.layer(bars, labels, room).properties(width="container", height=alt.Step(27)))


@lru_cache
def length_areas(appearance: str) -> Spec:
    """Each part's share over the sequence length, stacked; with a line at each mark."""
    import altair as alt

    ink = INK[appearance]
    look: dict[str, Any] = {"labelColor": ink, "titleColor": ink, "labelFontSize": 13, "titleFontSize": _FONT}
    scale = alt.Scale(type="log", base=2, nice=False)
    x = alt.X("length:Q", title="S", scale=scale, axis=alt.Axis(grid=False, format=",d", **look))
    whole = alt.Scale(domain=[0, 1])
    y = alt.Y("share:Q", title=None, stack="zero", scale=whole, axis=alt.Axis(format="%", **look))
    tooltip = [
        alt.Tooltip("name:N", title=" "),
        alt.Tooltip("length:Q", title="S", format=",d"),
        alt.Tooltip("share:Q", title=" ", format=".1%"),
    ]
    areas = (
        alt.Chart()
        .transform_filter("isValid(datum.part)")
        .mark_area(opacity=0.9)
        .encode(x=x, y=y, color=_color(alt, appearance), order="order:Q", tooltip=tooltip)
    )
    labels = (
        alt.Chart()
        .transform_filter("isValid(datum.label)")
        .mark_text(fontSize=_FONT, fontWeight="bold", color=BACKGROUND[appearance])
        .encode(x=x, y=alt.Y("middle:Q", axis=None, scale=whole), text="label:N")
    )
    marks = alt.Chart().transform_filter("isValid(datum.text)")
    rules = marks.mark_rule(color=ink, strokeWidth=2, strokeDash=[6, 4]).encode(x=x)
    rows = alt.Y("row:Q", axis=None, scale=alt.Scale(domain=[0, 3], range=[-10, -58]))
    texts = marks.mark_text(fontSize=13, color=ink).encode(x=x, y=rows, text="text:N")
    return spec_of(
        alt.layer(areas, labels, rules, texts).resolve_scale(y="independent").properties(width="container", height=350)
    )


def _color(alt: Any, appearance: str) -> Any:
    colors = part_colors(appearance)
    return alt.Color("part:N", legend=None, scale=alt.Scale(domain=list(colors), range=list(colors.values())))
