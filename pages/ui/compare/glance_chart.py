"""The chart of models at a glance: a row for each model, a column of bars for each quantity."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import altair as alt

from pages.ui.charts import NARROW, SMALL, Spec, colored, either, having, in_order, names_axis, spec_of, tooltip
from pages.ui.columns import Columns, of_rows
from pages.ui.theme import COLORS, INK, NEUTRAL

_BAR = 0.42  # the longest bar's share of a column; the rest is for its label
_HEIGHT = 286
_ROW = 30
_FONT = 14
OTHER = "other"  # the kind of a bar that is not a component


class Cell(NamedTuple):
    """A figure of a model: the pieces of its bar (none if it is not known), its label, and its exact text."""

    pieces: Mapping[str, int]
    label: str
    exact: str

    @property
    def figure(self) -> int:
        return sum(self.pieces.values())


class ModelRow(NamedTuple):
    """A model: its name with its family, the link that opens it, and a figure for each column."""

    name: str
    link: str
    cells: Sequence[Cell]


def glance_frame(titles: Sequence[str], rows: Sequence[ModelRow]) -> Columns:
    """The data of the chart; the titles are a row above those of the models."""
    found: list[dict[str, Any]] = [
        {"row": "", "order": -1, "column": at, "end": float(at), "label": title, "head": True}
        for at, title in enumerate(titles)
    ]
    longest = [max(row.cells[at].figure for row in rows) or 1 for at in range(len(titles))]
    for order, row in enumerate(rows):
        for at, (title, cell) in enumerate(zip(titles, row.cells, strict=True)):
            place = {"row": row.name, "order": order, "column": at, "link": row.link, "tip": f"{title}: {cell.exact}"}
            start = float(at)
            for component, count in cell.pieces.items():
                end = start + _BAR * count / longest[at]
                found.append({**place, "component": component, "start": start, "end": end})
                start = end
            said = {"label": cell.label, "head": False}
            if cell.pieces:
                said |= {"name": row.name, "quantity": title, "figure": cell.figure}
            found.append({**place, **said, "end": start})
    return of_rows(found)


@lru_cache
def glance_bars(appearance: str, rows: int, columns: int, shown: int, *, linked: bool) -> Spec:
    """The chart for a number of rows and columns; a phone shows only the column ``shown``. A click opens the link."""
    step, ink = min(_ROW, _HEIGHT // (rows + 1)), INK[appearance]
    colors: dict[Any, str] = {OTHER: NEUTRAL[appearance], **COLORS[appearance]}
    label = f"{NARROW} ? '' : datum.label"
    axis = names_axis(appearance, _FONT, labelExpr=label, labelLimit=330, domain=False)
    # On a phone the scale puts all columns but one outside of the chart.
    ends = [either(f"{-shown} * width", 0), either(f"{columns - shown} * width", "width")]
    scale = alt.Scale(domain=[0, columns], range=ends, nice=False, zero=False)

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", axis=None, scale=scale)

    models = having("tip")
    said = tooltip("row", "tip")
    thin = {"size": either(6, 0.62 * step), "yOffset": either(step / 2 - 4, 0)}
    bars = models.transform_filter("isValid(datum.component)").mark_bar(clip=True, **thin)
    bars = bars.encode(x=x("start"), x2="end:Q", color=colored("component", colors))
    # On a phone the name stands before the label, above the bar.
    name = "(datum.head ? '' : datum.row + ' · ')"
    only = f"datum.column == {shown} ? {name} + datum.label : ''"

    def text(chart: Any, **look: Any) -> Any:
        return chart.mark_text(
            align="left",
            text=either(f"({only})", "datum.label"),
            dx=either("-scale('x', datum.end)", "datum.head ? 0 : 7"),
            dy=either("datum.head ? 0 : -4", 0),
            **look,
        ).encode(x=x("end"))

    labelled = models.transform_filter("isValid(datum.label)")
    labels = text(labelled, fontSize=either(SMALL, _FONT), color=ink)
    titles = alt.Chart().transform_filter("datum.head === true")
    # The title of the embeddings, in their color, is the legend for their piece of the other bars.
    of_title = alt.condition("datum.column == 1", alt.value(colors["embeddings"]), alt.value(ink))
    heads = text(titles, fontSize=_FONT, fontWeight="bold", color=ink).encode(color=of_title)
    cells = (
        labelled.transform_calculate(left="datum.column", right="datum.column + 1")
        .mark_bar(opacity=0, clip=True)
        .encode(x=x("left"), x2="right:Q", tooltip=said, **({"href": "link:N"} if linked else {}))
    )
    layers = alt.layer(bars, labels, heads, cells).encode(y=in_order("row", axis))
    return spec_of(layers, step * (rows + 1))
