"""What charts share. Each chart is built with Altair once for each appearance; after that only data is sent.

Altair checks its whole schema when it writes a chart, which takes ten times as long as anything else on a page.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd

from bertcalc.tree.freezing import Split
from bertcalc.tree.totals import Component
from pages.ui.columns import Columns
from pages.ui.numbers import SUFFIXES
from pages.ui.theme import COLORS, INK

Spec = dict[str, Any]
# Pixels: a phone, where what is said of a bar has a line of its own above it. Of these two Vega looks again only when
# width changes: a chart may be drawn before its page has its width.
NARROW = "containerSize()[0] + 0 * width < 560"
_FONT = 15


def frozen_frame(splits: Mapping[Component, Split], names: Sequence[str], label: str) -> Columns:
    """The data of the freezing chart, one row for each component; ``label`` is a format with both counts."""
    return {
        "name": names,
        "component": list(splits),
        "trainable": [split.trainable for split in splits.values()],
        "parameters": [split.total for split in splits.values()],
        "label": [label.format(**split._asdict()) for split in splits.values()],
        "room": [1.7 * max(split.total for split in splits.values())] * len(splits),
    }


@lru_cache
def frozen_bars(appearance: str) -> Spec:
    """One bar for each component: the trained part is filled, the frozen part is a dashed outline."""
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
    room = alt.Chart().mark_bar(opacity=0).encode(x="room:Q", y=names, tooltip=tooltip(alt, "name", "label"))
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


def tooltip(alt: Any, *fields: str, **titled: str) -> list[Any]:
    """A tooltip: the first field is its heading, the others have titles."""
    # What is called "title" is written large, and alone.
    titles = {field: " " if at else "title" for at, field in enumerate(fields)} | titled
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


def short_expression(unit: str) -> str:
    """What numbers.short says, as Vega writes it at an axis."""
    suffix = SUFFIXES[unit]
    written = f"regexp('([a-zA-Z]?)$'), ' $1{suffix}'" if suffix else "'G', 'B'"
    return f"datum.value ? replace(format(datum.value, '~s'), {written}) : '0'"


def figures_axis(alt: Any, appearance: str, unit: str, **look: Any) -> Any:
    """An axis with abbreviated figures of a unit, and faint grid lines."""
    ink = INK[appearance]
    colors = {"labelColor": ink, "gridColor": ink, "gridOpacity": 0.12}
    return alt.Axis(
        title=None, labelExpr=short_expression(unit), labelFontSize=13, labelPadding=5, grid=True, **colors, **look
    )


def either(alt: Any, narrow: object, wide: object) -> Any:
    """An expression with one value for narrow charts (phones) and another for wide ones."""
    return alt.ExprRef(f"{NARROW} ? {narrow} : {wide}")


def spec_of(chart: Any) -> Spec:
    """The Vega-Lite specification of a chart, without data and without padding.

    What Altair puts into a layer without data is a pyarrow.Table here: Streamlit would make one in every run.
    """
    import pyarrow as pa  # Streamlit imports it for the first table

    spec = json_of(chart)
    given = spec.pop("datasets", {}).items()
    spec["datasets"] = {name: pa.Table.from_pandas(pd.DataFrame(rows)) for name, rows in given}
    return spec


def json_of(chart: Any) -> Spec:
    """The same as plain JSON."""
    spec: Spec = chart.properties(padding={"left": 0, "top": 0, "right": 0, "bottom": 0}).to_dict()
    spec.pop("data", None)
    # Streamlit's theme would have a mark without a tooltip show the fields that it is drawn from.
    spec["config"] = {**spec.get("config", {}), "mark": {"tooltip": None}}
    return spec
