"""What charts share. Each chart is built with Altair once for each appearance; after that only data is sent.

Altair checks its whole schema when it writes a chart, which takes ten times as long as anything else on a page.
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from pages.ui.numbers import SUFFIXES
from pages.ui.theme import BACKGROUND, INK

Spec = dict[str, Any]
# Pixels: a phone, where what is said of a bar has a line of its own above it. Of these two Vega looks again only when
# width changes: a chart may be drawn before its page has its width.
NARROW = "containerSize()[0] + 0 * width < 560"
FONT, SMALL = 15, 13  # of what a chart says, and of its axes


def having(field: str) -> Any:
    """A chart of the rows that have something in a column: of none before the data are there."""
    return alt.Chart().transform_filter(f"isValid(datum.{field})")


def axis_look(appearance: str) -> dict[str, Any]:
    """How the words at an axis look."""
    ink = INK[appearance]
    return {"labelColor": ink, "titleColor": ink, "labelFontSize": SMALL, "titleFontSize": FONT}


def names_axis(appearance: str, font: int = FONT, **look: Any) -> Any:
    return alt.Axis(labelColor=INK[appearance], labelFontSize=font, labelOverlap=False, ticks=False, **look)


def in_order(field: str, axis: Any) -> Any:
    """Names from top to bottom by the column ``order``.

    Not in the order in which they come: in a chart that gets new data, those that it had before would be first.
    """
    return alt.Y(f"{field}:N", sort=alt.EncodingSortField("order", op="min"), title=None, axis=axis)


def colored(field: str, colors: Mapping[Any, str], *, channel: str = "Color", legend: Any = None) -> Any:
    """The encoding that gives each value of a column its colour; ``channel`` is Color, Fill or Stroke."""
    scale = alt.Scale(domain=list(colors), range=list(colors.values()))
    return getattr(alt, channel)(f"{field}:N", legend=legend, scale=scale)


def tooltip(*fields: str, **titled: str) -> list[Any]:
    """A tooltip: the first field is its heading, the others have titles."""
    # What is called "title" is written large, and alone.
    titles = {field: " " if at else "title" for at, field in enumerate(fields)} | titled
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


def inside(appearance: str, **look: Any) -> Any:
    """The names that lie on areas, in the colour of paper."""
    text = having("label").mark_text(fontSize=FONT, fontWeight="bold", color=BACKGROUND[appearance], **look)
    return text.encode(text="label:N", tooltip=tooltip("label"))


def whole_number(field: str, title: str) -> Any:
    """A line of a tooltip with a whole number."""
    return alt.Tooltip(f"{field}:Q", title=title, format=",d")


def short_expression(unit: str) -> str:
    """What numbers.short says, as Vega writes it at an axis."""
    suffix = SUFFIXES[unit]
    written = f"regexp('([a-zA-Z]?)$'), ' $1{suffix}'" if suffix else "'G', 'B'"
    return f"datum.value ? replace(format(datum.value, '~s'), {written}) : '0'"


def figures_axis(appearance: str, unit: str, **look: Any) -> Any:
    """An axis with abbreviated figures of a unit, and faint grid lines."""
    words: dict[str, Any] = {"labelExpr": short_expression(unit), "labelFontSize": SMALL, "labelPadding": 5}
    lines: dict[str, Any] = {"grid": True, "gridColor": INK[appearance], "gridOpacity": 0.12}
    return alt.Axis(title=None, labelColor=INK[appearance], **words, **lines, **look)


def either(narrow: object, wide: object) -> Any:
    """An expression with one value for narrow charts (phones) and another for wide ones."""
    return alt.ExprRef(f"{NARROW} ? {narrow} : {wide}")


def spec_of(chart: Any, height: Any, **look: Any) -> Spec:
    """The Vega-Lite specification of a chart, without data and without padding.

    What Altair puts into a layer without data is a pyarrow.Table here: Streamlit would make one in every run.
    """
    import pyarrow as pa  # Streamlit imports it for the first table

    spec = json_of(chart, height, **look)
    given = spec.pop("datasets", {}).items()
    spec["datasets"] = {name: pa.Table.from_pandas(pd.DataFrame(rows)) for name, rows in given}
    return spec


def json_of(chart: Any, height: Any, **look: Any) -> Spec:
    """The same as plain JSON."""
    padding = dict.fromkeys(("left", "top", "right", "bottom"), 0)
    spec: Spec = chart.properties(width="container", height=height, padding=padding, **look).to_dict()
    spec.pop("data", None)
    # Streamlit's theme would have a mark without a tooltip show the fields that it is drawn from.
    spec["config"] = {**spec.get("config", {}), "mark": {"tooltip": None}}
    return spec
