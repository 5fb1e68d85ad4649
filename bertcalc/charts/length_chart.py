"""The chart of each part's share of the compute over the sequence length, and the parts' colors."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import altair as alt

from bertcalc.charts.blocks import Spec, axis_look, colored, having, inside, spec_of, tooltip, whole_number
from bertcalc.charts.colors import COLORS, ENCODER, INK
from bertcalc.charts.columns import Columns, of_rows
from bertcalc.charts.labels import FONT, SMALL, ems
from bertcalc.compute.flops import PARTS, Part

_LABELLED = 0.07  # the smallest share with room for a name


def part_colors(appearance: str) -> dict[Part, str]:
    """The color of each part of the model's compute."""
    inside = iter(ENCODER[appearance])
    components: dict[str, str] = dict(COLORS[appearance].items())
    return {part: components.get(part) or next(inside) for part in PARTS}


def length_frame(
    lengths: Sequence[int],
    costs: Sequence[Mapping[Part, int]],
    names: Mapping[Part, str],
    marks: Sequence[tuple[float, str]],
    percent: Callable[[int, int], str],
) -> Columns:
    """The data of ``length_areas``: rows for each part at each length, for each label, and for each mark.

    ``costs`` has the cost of each part at each length. ``marks`` are (length, text) pairs. ``percent`` formats a share
    from its two arguments, the cost and the total cost.
    """
    areas = []
    widest: dict[Part, tuple[float, float, int]] = {}  # share, middle and length where the name has the most room
    inner = lengths[len(lengths) // 7], lengths[-len(lengths) // 7]  # names at the ends would be cut off
    for length, by_part in zip(lengths, costs, strict=True):
        whole, below = sum(by_part.values()), 0.0
        for order, (part, cost) in enumerate(by_part.items()):
            share = cost / whole
            place = {"length": length, "part": part, "name": names[part]}
            areas.append({**place, "share": share, "percent": percent(cost, whole), "order": order})
            if inner[0] < length < inner[1]:
                widest[part] = max(widest.get(part, (0.0, 0.0, 0)), (share, below + share / 2, length))
            below += share
    labels = [
        {"length": length, "label": names[part], "middle": middle, "wide": ems(names[part])}
        for part, (share, middle, length) in widest.items()
        if share > _LABELLED
    ]
    texts = [{"length": length, "text": text, "row": row} for row, (length, text) in enumerate(marks)]
    return of_rows([*areas, *labels, *texts])


@lru_cache
def length_areas(appearance: str, share: str) -> Spec:
    """The chart of the parts' shares over the sequence length: stacked areas, with a line at each mark.

    ``share`` is the title of the share in tooltips.
    """
    ink, look = INK[appearance], axis_look(appearance)
    scale = alt.Scale(type="log", base=2, nice=False)
    x = alt.X("length:Q", title="S", scale=scale, axis=alt.Axis(grid=False, format=",d", **look))
    whole = alt.Scale(domain=[0, 1])
    y = alt.Y("share:Q", title=None, stack="zero", scale=whole, axis=alt.Axis(format="%", **look))
    parts, color = having("part"), colored("part", part_colors(appearance))
    places = {"x": x, "y": y, "order": "order:Q"}
    areas = parts.mark_area(opacity=0.9).encode(**places, color=color, tooltip=tooltip("name"))
    # An area has only one tooltip, so points along its edge show the figures at each length.
    figures = [*tooltip("name", percent=share), whole_number("length", "S")]
    edges = parts.mark_point(opacity=0, size=400).encode(**places, detail="part:N", tooltip=figures)
    middle = alt.Y("middle:Q", axis=None, scale=whole)
    # Keep names inside the chart; on a phone they would extend beyond it, white on white.
    half, across = f"{FONT} * datum.wide / 2", "scale('x', datum.length)"
    labels = inside(appearance, dx=alt.ExprRef(f"clamp({across}, {half}, width - {half}) - {across}")).encode(
        x=x, y=middle
    )
    marks = having("text")
    rules = marks.mark_rule(color=ink, strokeWidth=2, strokeDash=[6, 4]).encode(x=x)
    rows = alt.Y("row:Q", axis=None, scale=alt.Scale(domain=[0, 3], range=[-10, -58]))
    texts = marks.mark_text(fontSize=SMALL, color=ink).encode(x=x, y=rows, text="text:N")
    return spec_of(alt.layer(alt.layer(areas, edges), labels, rules, texts).resolve_scale(y="independent"), 335)
