"""The chart of the Design page: width and depth of the models near a budget."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from bertcalc.explore.design import Budget, Design
from pages.ui.charts import Spec, spec_of
from pages.ui.columns import Columns
from pages.ui.theme import COLORS, INK

_FONT = 15


def designs_frame(
    designs: Sequence[Design], budget: Budget, numbered: int, sides: tuple[str, str], said: Callable[[int], str]
) -> Columns:
    """The data of the chart: a row for each design, the first of them ``numbered``; ``sides``: within, above it."""
    return {
        "hidden": [one.hidden_size for one in designs],
        "intermediate": [one.intermediate_size for one in designs],
        "layers": [one.num_hidden_layers for one in designs],
        "heads": [one.num_attention_heads for one in designs],
        "figure": [one.value for one in designs],
        "rank": [f"{rank}" if rank <= numbered else "" for rank in range(1, len(designs) + 1)],
        "above": [one.value > budget.amount for one in designs],
        "side": [sides[one.value > budget.amount] for one in designs],
        "label": [said(one.value) for one in designs],
    }


@lru_cache
def near_budget(appearance: str, sides: tuple[str, str]) -> Spec:
    """Layers over hidden size: circles within the budget, triangles above it, and the first with their numbers."""
    import altair as alt

    ink, colors = INK[appearance], COLORS[appearance]
    look: dict[str, Any] = {"labelColor": ink, "titleColor": ink, "labelFontSize": 13, "titleFontSize": _FONT}

    axis = alt.Axis(grid=False, format=",d", tickMinStep=1, **look)
    x = alt.X("hidden:Q", title="H", scale=alt.Scale(type="log", nice=False, padding=20), axis=axis)
    y = alt.Y("layers:Q", title="L", scale=alt.Scale(nice=False, zero=False, padding=20), axis=axis)
    legend = alt.Legend(title=None, orient="top", labelFontSize=13, labelColor=ink)
    color = alt.Color(
        "side:N", scale=alt.Scale(domain=sides, range=[colors["embeddings"], colors["encoder"]]), legend=legend
    )
    shape = alt.Shape("side:N", scale=alt.Scale(domain=sides, range=["circle", "triangle-up"]), legend=legend)
    tooltip = [
        alt.Tooltip("hidden:Q", title="H", format=",d"),
        alt.Tooltip("layers:Q", title="L", format=",d"),
        alt.Tooltip("intermediate:Q", title="I", format=",d"),
        alt.Tooltip("label:N", title=" "),
    ]
    numbered = "datum.rank != ''"
    points = (
        alt.Chart()
        .mark_point(filled=True)
        .encode(
            x=x,
            y=y,
            color=color,
            shape=shape,
            tooltip=tooltip,
            size=alt.condition(numbered, alt.value(140), alt.value(45)),
            opacity=alt.condition(numbered, alt.value(1), alt.value(0.45)),
        )
    )
    # On either side of a width, so that those of neighbouring depths do not cover each other.
    places: tuple[tuple[str, dict[str, Any]], ...] = (
        ("datum.above", {"dx": 11, "align": "left"}),
        ("!datum.above", {"dx": -11, "align": "right"}),
    )
    ranks = [
        alt.Chart()
        .transform_filter(f"{numbered} && {where}")
        .mark_text(**place, fontSize=_FONT, fontWeight="bold", color=ink)
        .encode(x=x, y=y, text="rank:N", tooltip=tooltip)
        for where, place in places
    ]
    return spec_of(alt.layer(points, *ranks).properties(width="container", height=360))
