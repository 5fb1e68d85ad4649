"""The large numbers and the bar of the Memory page."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import streamlit as st

from bertcalc.memory.optimizers import PARTS, Part
from pages.ui.charts import Spec, spec_of
from pages.ui.columns import Columns, of_rows
from pages.ui.i18n import translator
from pages.ui.numbers import metric_width, percent, size, text_width
from pages.ui.take.shown import draw_chart
from pages.ui.theme import BACKGROUND, INK, appearance

_FONT = 15
# Okabe and Ito's hues again, darkened or lightened as in theme.py, with a violet and two greys.
COLORS: dict[str, tuple[str, ...]] = {
    "light": ("#0072b2", "#5b4bb5", "#007556", "#b34700", "#a8437d", "#5f6673", "#7a6200", "#a8437d"),
    "dark": ("#56b4e9", "#b5a6ff", "#2fc79b", "#f0a050", "#e391c0", "#a9b0bd", "#e3d04f", "#e391c0"),
}


def show_metrics(figures: Mapping[str, tuple[str, str]]) -> None:
    """Large numbers with something small under each."""
    with st.container(horizontal=True):
        for label, (value, below) in figures.items():
            width = metric_width(10 * text_width(label), "0" * text_width(value), "0" * text_width(below))
            st.metric(label, value, below, delta_color="off", delta_arrow="off", width=width)


def show_bar(found: Mapping[Part, int], limit: int | None = None) -> None:
    """One bar cut in proportion, with a mark at the limit."""
    _ = translator()
    draw_chart(
        bar_frame(found, [_(part) for part in found], limit),
        stacked_bar(appearance()),
        numbers={"name": _("Part"), "bytes": _("Bytes")},
        alt=_("The parts in proportion"),
    )


def bar_frame(found: Mapping[Part, int], names: Sequence[str], limit: int | None) -> Columns:
    """The data of the bar: a row for each part, and one for the limit if there is one."""
    whole, rows, end = max(sum(found.values()), limit or 0), [], 0
    for (part, count), name in zip(found.items(), names, strict=True):
        if count:
            label = f"{name} {percent(count, sum(found.values()))}"
            short = label if count > whole * len(label) / 90 else ""
            rows.append(
                {"part": part, "name": name, "bytes": count, "start": end, "end": end + count}
                | {"label": f"{name}  ·  {size(count)}", "short": short}
            )
        end += count
    return of_rows([*rows, *([{"limit": limit, "label": size(limit)}] if limit else [])])


@lru_cache
def stacked_bar(look: str) -> Spec:
    """Parts of memory as one bar, cut in proportion; a line where the memory of the device ends."""
    import altair as alt

    paper, ink = BACKGROUND[look], INK[look]
    scale = alt.Scale(nice=False, zero=True)
    tooltip = [alt.Tooltip("label:N", title=" ")]
    color = alt.Color("part:N", legend=None, scale=alt.Scale(domain=list(PARTS), range=list(COLORS[look])))
    parts = alt.Chart().transform_filter("isValid(datum.part)")
    x = alt.X("start:Q", axis=None, scale=scale)
    pieces = parts.mark_rect(stroke=paper, strokeWidth=1).encode(x=x, x2="end:Q", color=color, tooltip=tooltip)
    labels = (
        parts.transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(fontSize=_FONT)
        .encode(x=alt.X("middle:Q", axis=None), text="short:N", color=alt.value(paper))
    )
    limit = (
        alt.Chart()
        .transform_filter("isValid(datum.limit)")
        .mark_rule(color=ink, strokeWidth=4)
        .encode(x=alt.X("limit:Q", axis=None), tooltip=tooltip)
    )
    return spec_of(alt.layer(pieces, labels, limit).properties(width="container", height=44))
