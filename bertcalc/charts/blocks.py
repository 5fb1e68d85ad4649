"""Building blocks of all charts.

Altair builds each chart only once per appearance, because it validates each chart against its whole schema, which takes
longer than anything else on a page. After that, the server sends only data.
"""

import json
from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from bertcalc.charts.colors import BACKGROUND, INK, for_paper
from bertcalc.charts.columns import Columns
from bertcalc.charts.labels import FONT, SMALL, SUFFIXES

Spec = dict[str, Any]
GRID = 0.12  # the opacity of grid lines
# In a chart narrower than 560 pixels (on a phone), the label of a bar is in a separate line above it. ``width`` makes
# Vega evaluate the expression again, unlike a change of containerSize(): a chart may be drawn before its page has its
# final width.
NARROW = "containerSize()[0] + 0 * width < 560"
_WIDER = 1.08  # digits are 0.52 em wide in the font of the page, but 0.556 em in the font of images


def having(field: str) -> Any:
    """A chart of only the rows that have a value in the column ``field``; it is empty before the data arrive."""
    return alt.Chart().transform_filter(f"isValid(datum.{field})")


def axis_look(appearance: str) -> dict[str, Any]:
    """The colors and font sizes of the labels and title of an axis."""
    ink = INK[appearance]
    return {"labelColor": ink, "titleColor": ink, "labelFontSize": SMALL, "titleFontSize": FONT, "labelFlush": False}


def names_axis(appearance: str, font: int, name: str = "datum.label", **look: Any) -> Any:
    """The axis with bar names, which are the values of the Vega expression ``name``; hidden on narrow charts.

    ``font`` is the font size.
    """
    look |= {"labelColor": INK[appearance], "labelFontSize": font, "labelExpr": f"{NARROW} ? '' : {name}"}
    return alt.Axis(labelOverlap=False, ticks=False, **look)


def in_order(field: str, axis: Any) -> Any:
    """The encoding that places names from top to bottom, sorted by the column ``order``.

    Without sorting, the names of the previous data would come first when the chart gets new data.
    """
    return alt.Y(f"{field}:N", sort=alt.EncodingSortField("order", op="min"), title=None, axis=axis)


def colored(field: str, colors: Mapping[Any, str], *, channel: str = "Color", legend: Any = None) -> Any:
    """The encoding that gives each value of a column its color; ``channel`` is Color, Fill or Stroke.

    ``legend`` is an Altair legend, or None for no legend.
    """
    scale = alt.Scale(domain=list(colors), range=list(colors.values()))
    return getattr(alt, channel)(f"{field}:N", legend=legend, scale=scale)


def tooltip(*fields: str, **titled: str) -> list[Any]:
    """A tooltip with a line for each field. The first field is the heading; ``titled`` maps other fields to titles."""
    # Vega shows the field with the title "title" as a heading.
    titles = {field: " " if index else "title" for index, field in enumerate(fields)} | titled
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


def inside(appearance: str, **look: Any) -> Any:
    """The names on the areas of a chart, from the column "label", in the background color."""
    text = having("label").mark_text(fontSize=FONT, fontWeight="bold", color=BACKGROUND[appearance], **look)
    return text.encode(text="label:N", tooltip=tooltip("label"))


def fitting(bar: Any, x: Any, field: str, appearance: str, tip: list[Any], *, gap: int) -> Any:
    """The names in the pieces of a bar, from the column ``field``, with the tooltip ``tip``.

    A name is hidden if it does not fit into its piece with a gap of ``gap`` pixels.
    """
    room = "scale('x', datum.end) - scale('x', datum.start)"
    name = alt.ExprRef(f"{room} > {FONT} * datum.width + {gap} ? datum.{field} : ''")
    text = bar.transform_calculate(middle="(datum.start + datum.end) / 2").mark_text(fontSize=FONT, text=name)
    return text.encode(x=x, color=alt.value(BACKGROUND[appearance]), tooltip=tip)


def whole_number(field: str, title: str) -> Any:
    """A line of a tooltip that shows the column ``field`` as a whole number."""
    return alt.Tooltip(f"{field}:Q", title=title, format=",d")


def short_expression(unit: str) -> str:
    """A Vega expression that formats the labels of an axis like ``short`` of pages/ui/widgets/numbers.py."""
    suffix = SUFFIXES[unit]
    written = f"regexp('([a-zA-Z]?)$'), ' $1{suffix}'" if suffix else "'G', 'B'"
    return f"datum.value ? replace(format(datum.value, '~s'), {written}) : '0'"


def figures_axis(appearance: str, unit: str, **look: Any) -> Any:
    """An axis with abbreviated figures in ``unit``, and with faint grid lines."""
    words: dict[str, Any] = {"labelExpr": short_expression(unit), "labelFontSize": SMALL, "labelPadding": 5}
    lines: dict[str, Any] = {"grid": True, "gridColor": INK[appearance], "gridOpacity": GRID, "labelFlush": False}
    return alt.Axis(title=None, labelColor=INK[appearance], **words, **(lines | look))


def either(narrow: object, wide: object) -> Any:
    """An expression with one value for narrow charts (phones) and another for wide ones."""
    return alt.ExprRef(f"{NARROW} ? {narrow} : {wide}")


def spec_of(chart: Any, height: Any, **look: Any) -> Spec:
    """The Vega-Lite specification of a chart without data and without padding.

    ``height`` is the height in pixels, or an ``alt.Step`` for the height of a row.
    """
    padding = dict.fromkeys(("left", "top", "right", "bottom"), 0)
    spec: Spec = chart.properties(width="container", height=height, padding=padding, **look).to_dict()
    spec.pop("data", None)
    # Otherwise marks without a tooltip would show the fields that they are drawn from.
    spec["config"] = {"mark": {"tooltip": None}}
    return spec


def by_width(spec: Spec, narrow: int) -> Spec:
    """A specification with the height ``narrow`` on a phone. Vega-Lite has only fixed heights: see ``compiled``."""
    return spec | {"usermeta": {"height": f"{NARROW} ? {narrow} : {spec['height']}"}}


def svg(chart: Mapping[str, Any], data: Columns) -> str:
    """Draw a Vega-Lite chart with its data as SVG, in the colors of a light page.

    vl-convert draws it on the server, without network access.
    """
    import vl_convert  # imported late: it needs 65 MB, and half a second for the first chart

    return str(vl_convert.vegalite_to_svg(_on_paper(chart, data), allowed_base_urls=[]))


def png(chart: Mapping[str, Any], data: Columns) -> bytes:
    """Draw a Vega-Lite chart with its data as PNG, like ``svg`` but at twice the size in pixels."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(_on_paper(chart, data), scale=2, allowed_base_urls=[]))


def _on_paper(chart: Mapping[str, Any], data: Columns) -> Spec:
    wider = {
        name: [width and _WIDER * width for width in column] if name.endswith("_width") else column
        for name, column in data.items()
    }
    rows = json.loads(pd.DataFrame(wider, dtype=object).to_json(orient="records"))
    # Altair names the data of a chart without data "empty"; Streamlit also puts the data there.
    spec: Spec = {**chart, "data": {"name": "empty"}, "datasets": {"empty": rows}, "padding": 8}
    if spec.get("width") == "container":
        spec["width"] = 900  # pixels, as on a lecture screen beside the sidebar
    recolored: Spec = for_paper(with_config("light", spec))
    return recolored


def with_config(appearance: str, spec: Mapping[str, Any]) -> Spec:
    """The specification with the default look of a light or a dark page."""
    return {**spec, "config": {**_config_of(appearance), **spec.get("config", {})}}


def _config_of(appearance: str) -> dict[str, Any]:
    """The default look of charts in Streamlit's light or dark theme, as the "config" of a Vega-Lite specification."""
    ink = INK[appearance]
    words = {"labelColor": ink, "titleColor": ink, "labelFontSize": 13, "titleFontSize": 13}
    lines = {"gridColor": f"{ink}22", "domain": False, "ticks": False, "labelPadding": 8, "titleFontWeight": "normal"}
    return {
        "background": BACKGROUND[appearance],
        "font": "Source Sans, Arial, sans-serif",
        "autosize": {"type": "fit", "contains": "padding"},
        "axis": words | lines,
        "legend": words,
        "text": {"color": ink},
        "view": {"stroke": None},
    }
