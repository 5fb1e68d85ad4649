"""The chart of the Design page: width and depth of the models near a budget."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import altair as alt

from bertcalc.charts.blocks import Spec, axis_look, colored, spec_of, whole_number
from bertcalc.charts.colors import COLORS, INK
from bertcalc.charts.columns import Columns
from bertcalc.charts.labels import FONT, SMALL
from bertcalc.explore.design import Budget, Design


def designs_frame(
    designs: Sequence[Design], budget: Budget, numbered: int, sides: tuple[str, str], formatted: Callable[[int], str]
) -> Columns:
    """The data of ``near_budget``. The first ``numbered`` designs show ranks.

    ``sides`` are the words for designs within the budget and for designs above it. ``formatted`` formats a figure.
    """
    return {
        "hidden": [design.hidden_size for design in designs],
        "intermediate": [design.intermediate_size for design in designs],
        "layers": [design.num_hidden_layers for design in designs],
        "heads": [design.num_attention_heads for design in designs],
        "figure": [design.value for design in designs],
        "rank": [f"{rank}" if rank <= numbered else "" for rank in range(1, len(designs) + 1)],
        "above": [design.value > budget.amount for design in designs],
        "side": [sides[design.value > budget.amount] for design in designs],
        "label": [formatted(design.value) for design in designs],
    }


@lru_cache
def near_budget(appearance: str, sides: tuple[str, str]) -> Spec:
    """The chart of layers over hidden size: circles within the budget, triangles above it, with their ranks.

    ``sides`` are the words for both in the legend.
    """
    ink, colors = INK[appearance], COLORS[appearance]
    axis = alt.Axis(grid=False, format=",d", tickMinStep=1, **axis_look(appearance))
    x = alt.X("hidden:Q", title="H", scale=alt.Scale(type="log", nice=False, padding=20), axis=axis)
    y = alt.Y("layers:Q", title="L", scale=alt.Scale(nice=False, zero=False, padding=20), axis=axis)
    legend = alt.Legend(title=None, orient="top", labelFontSize=SMALL, labelColor=ink)
    hues = dict(zip(sides, (colors["embeddings"], colors["encoder"]), strict=True))
    color = colored("side", hues, legend=legend)
    shape = alt.Shape("side:N", scale=alt.Scale(domain=sides, range=["circle", "triangle-up"]), legend=legend)
    sizes = [whole_number(field, letter) for field, letter in (("hidden", "H"), ("layers", "L"), ("intermediate", "I"))]
    tooltip = [*sizes, alt.Tooltip("label:N", title=" ")]
    numbered = "datum.rank != ''"
    seen = {
        "size": alt.condition(numbered, alt.value(140), alt.value(45)),
        "opacity": alt.condition(numbered, alt.value(1), alt.value(0.45)),
    }
    points = alt.Chart().mark_point(filled=True)
    points = points.encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip, **seen)
    # Ranks are on different sides of the points, to avoid overlaps at neighboring depths.
    places: tuple[tuple[str, dict[str, Any]], ...] = (
        ("datum.above", {"dx": 11, "align": "left"}),
        ("!datum.above", {"dx": -11, "align": "right"}),
    )
    ranks = [
        alt.Chart()
        .transform_filter(f"{numbered} && {where}")
        .mark_text(**place, fontSize=FONT, fontWeight="bold", color=ink)
        .encode(x=x, y=y, text="rank:N", tooltip=tooltip)
        for where, place in places
    ]
    return spec_of(alt.layer(points, *ranks), 360)
