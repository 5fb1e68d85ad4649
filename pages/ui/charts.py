"""Charts: each is built with Altair once for an appearance; after that only data is sent.

Altair checks its whole schema when it writes a chart, which takes ten times as long as anything else on a page.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import streamlit as st
from streamlit.dataframe_util import convert_anything_to_arrow_bytes

from bertcalc.tree.freezing import Split
from bertcalc.tree.totals import Bar, Component
from pages.ui.columns import Columns
from pages.ui.i18n import translator
from pages.ui.numbers import percent
from pages.ui.theme import BACKGROUND, COLORS, INK

Spec = dict[str, Any]
WHOLE = "model"  # what the link says for the whole model: its path in the tree is empty
_FONT = 15
_MANY = 9  # more bars than this are drawn closer, so that the chart still ends on the first screen


def bars_frame(bars: Sequence[Bar], names: Sequence[str], whole: int) -> Columns:
    """The data of both charts: one row a bar, with its name as it is read, its count and its share of ``whole``."""
    ends = [0]
    for bar in bars:
        ends.append(ends[-1] + bar.parameters)
    return {
        "name": names,
        "path": [bar.path for bar in bars],
        "component": [bar.component for bar in bars],
        "parameters": [bar.parameters for bar in bars],
        "label": [f"{bar.parameters:,}  ·  {percent(bar.parameters, whole)}" for bar in bars],
        "room": [1.4 * max(bar.parameters for bar in bars)] * len(bars),
        "start": ends[:-1],
        "end": ends[1:],
        "short": [name if bar.parameters > whole / 6 else "" for bar, name in zip(bars, names, strict=True)],
    }


def bars_numbers() -> dict[str, str]:
    """What is taken of a chart of parts, with what a reader calls it."""
    _ = translator()
    return {"name": _("Part"), "parameters": _("Parameters")}


def frozen_frame(splits: Mapping[Component, Split], names: Sequence[str], label: str) -> Columns:
    """The data of the chart of freezing: one row a component; ``label`` has places for both of its numbers."""
    return {
        "name": names,
        "component": list(splits),
        "trainable": [split.trainable for split in splits.values()],
        "parameters": [split.total for split in splits.values()],
        "label": [label.format(**split._asdict()) for split in splits.values()],
        "room": [1.7 * max(split.total for split in splits.values())] * len(splits),
    }


def open_clicked(key: str) -> None:
    """Open what was clicked in the chart ``key``; a single tensor has nothing to open."""
    for bar in st.session_state[key]["selection"]["bar"]:
        if bar["path"]:
            st.session_state["open"] = bar["path"]


@lru_cache
def ranked_bars(appearance: str, count: int) -> Spec:
    """One horizontal bar for each of ``count`` parts, in the order of the model, with its number at its end."""
    import altair as alt

    step, font = (23, _FONT) if count <= _MANY else (17, 13)
    names = _names(alt, appearance, font)
    chosen = alt.selection_point(name="bar", fields=["path"], on="click", empty=False)
    bars = (
        alt.Chart().mark_bar(cornerRadiusEnd=3).encode(x=_length(alt), y=names, color=component_color(alt, appearance))
    )
    labels = (
        alt.Chart()
        .mark_text(align="left", dx=6, fontSize=font)
        .encode(x=_length(alt), y=names, text="label:N", color=alt.value(INK[appearance]))
    )
    # An invisible bar over each row: it takes the clicks, also where the bar is too thin to hit, and it makes the
    # axis long enough for the label behind the longest bar.
    room = (
        alt.Chart()
        .mark_bar(opacity=0, cursor="pointer")
        .encode(x="room:Q", y=names, tooltip=_tooltip(alt))
        .add_params(chosen)
    )
    return spec_of(alt.layer(bars, labels, room).properties(width="container", height=step * count))


@lru_cache
def proportional_bar(appearance: str) -> Spec:
    """The whole model as one bar, cut into its parts in proportion."""
    import altair as alt

    x = alt.X("start:Q", axis=None, scale=alt.Scale(nice=False))
    paper = BACKGROUND[appearance]
    pieces = (
        alt.Chart()
        .mark_rect(stroke=paper, strokeWidth=1)
        .encode(x=x, x2="end:Q", color=component_color(alt, appearance), tooltip=_tooltip(alt))
    )
    labels = (
        alt.Chart()
        .transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(fontSize=_FONT)
        .encode(x=alt.X("middle:Q", axis=None), text="short:N", color=alt.value(paper))
    )
    return spec_of(alt.layer(pieces, labels).properties(width="container", height=34))


@lru_cache
def frozen_bars(appearance: str) -> Spec:
    """One bar for each component: what is trained is filled, what is frozen has only a dashed edge."""
    import altair as alt

    names, trainable = _names(alt, appearance, _FONT), alt.X("trainable:Q", axis=None, scale=alt.Scale(nice=False))
    trained = alt.Chart().mark_bar(size=26).encode(x=trainable, y=names, color=component_color(alt, appearance))
    frozen = (
        alt.Chart()
        .transform_filter("datum.trainable < datum.parameters")
        .mark_bar(size=26, fillOpacity=0, strokeWidth=2, strokeDash=[5, 3])
        .encode(x=trainable, x2="parameters:Q", y=names, stroke=component_color(alt, appearance, "Stroke"))
    )
    labels = (
        alt.Chart()
        .mark_text(align="left", dx=8, fontSize=_FONT)
        .encode(x=_length(alt), y=names, text="label:N", color=alt.value(INK[appearance]))
    )
    room = alt.Chart().mark_bar(opacity=0).encode(x="room:Q", y=names, tooltip=_tooltip(alt))
    return spec_of(alt.layer(trained, frozen, labels, room).properties(width="container", height=alt.Step(40)))


def _length(alt: Any) -> Any:
    return alt.X("parameters:Q", axis=None, scale=alt.Scale(nice=False))


def _names(alt: Any, appearance: str, font: int) -> Any:
    axis = alt.Axis(
        labelColor=INK[appearance],
        labelFontSize=font,
        labelLimit=300,
        labelOverlap=False,
        labelFlush=False,
        ticks=False,
    )
    return alt.Y("name:N", sort=None, title=None, axis=axis)


def component_color(alt: Any, appearance: str, channel: str = "Color") -> Any:
    """The encoding that gives each component its colour; ``channel`` is Color, Fill or Stroke."""
    palette: dict[Component, str] = COLORS[appearance]
    scale = alt.Scale(domain=list(palette), range=list(palette.values()))
    return getattr(alt, channel)("component:N", legend=None, scale=scale)


def _tooltip(alt: Any) -> Any:
    return [alt.Tooltip("name:N", title=" "), alt.Tooltip("label:N", title=" ")]


def spec_of(chart: Any) -> Spec:
    """A chart as what is stored: without data, and without space around it.

    What Altair puts into a layer without data is written here as it is sent: Streamlit would write it in every run.
    """
    spec = json_of(chart)
    spec["datasets"] = {name: convert_anything_to_arrow_bytes(rows) for name, rows in spec.pop("datasets", {}).items()}
    return spec


def json_of(chart: Any) -> Spec:
    """The same, with nothing in it that JSON does not hold."""
    spec: Spec = chart.properties(padding={"left": 0, "top": 0, "right": 0, "bottom": 0}).to_dict()
    spec.pop("data", None)
    return spec
