"""The stacked bar of the Memory page."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import altair as alt
import streamlit as st

from bertcalc.digits import signed, size
from bertcalc.memory.devices import Device
from bertcalc.memory.tape import Area
from bertcalc.text import N_
from pages.ui.charts import FONT, Spec, colored, figures_axis, having, spec_of, tooltip
from pages.ui.columns import Columns, number, of_rows
from pages.ui.export.shown import draw_chart
from pages.ui.i18n import _
from pages.ui.numbers import ems, percent
from pages.ui.scale import kept
from pages.ui.sidebar import Choice
from pages.ui.theme import BACKGROUND, INK, appearance

AREA_WORDS: dict[Area, str] = {
    "weights": N_("weights"),
    "buffers and batch": N_("buffers and batch"),
    "gradients": N_("gradients"),
    "optimizer states": N_("optimizer states"),
    "kept activations": N_("kept activations"),
    "temporaries": N_("temporaries"),
}
# Neighbors differ in lightness, too: a test simulates color blindness.
COLORS: dict[str, dict[Area, str]] = {
    look: dict(zip(AREA_WORDS, inks, strict=True))
    for look, inks in {
        "light": ("#0066ff", "#5a3795", "#007f3f", "#4e1d01", "#b14f88", "#1d262d"),
        "dark": ("#1e77fe", "#c3a3ff", "#7effbb", "#f4794d", "#fbb5e9", "#797f86"),
    }.items()
}
_FREE = {"light": "#dfe3ea", "dark": "#363d4a"}  # the part of a device's memory that is kept free


class DeviceUse(NamedTuple):
    """The used parts of a device's memory with their formulas, and the preset's parts."""

    parts: Mapping[Area, int]
    before: Mapping[Area, int]
    formulas: Mapping[Area, str]
    device: Device


def show_bar(choice: Choice, use: DeviceUse) -> None:
    """Show the parts as one stacked bar with marks at the preset's total and at the limit, and a legend below."""
    now, was, device = sum(use.parts.values()), sum(use.before.values()), use.device
    end = kept("fit", (choice.preset, choice.architecture, device), max(was, device.num_bytes), now)
    words = (_("Bytes"), _("Size"), _("Share"), _("Formula"))
    inks = [(_(AREA_WORDS[area]), COLORS[appearance()][area]) for area, count in use.parts.items() if count]
    if device.kept_free:
        inks.append((_("kept free"), _FREE[appearance()]))
    draw_chart(
        bar_frame(use, choice.preset, end),
        stacked_bar(appearance(), words, tuple(inks)),
        numbers={"name": _("Part"), "bytes": _("Bytes"), "share": _("Share"), "formula": _("Formula")},
        alt=_("The parts in proportion"),
    )
    if was not in (0, now):
        text = _("The thin mark is {preset} with the same input: {size}, a difference of {difference}.")
        st.caption(text.format(preset=choice.preset, size=size(was), difference=signed(now - was, size)))


def bar_frame(use: DeviceUse, preset: str, end: int) -> Columns:
    """The data of the bar: a row for each part, for each mark ("limit" and "was"), and for the end of the axis.

    The memory that is kept free is at the end of the device, below the parts if these overlap it.
    """
    rows: list[dict[str, Any]] = []
    whole, at, device = sum(use.parts.values()), 0, use.device
    for part, count in use.parts.items():
        if count:
            name, share = _(AREA_WORDS[part]), percent(count, whole)
            rows.append(
                {"part": part, "name": name, "bytes": number(count), "start": float(at), "end": float(at + count)}
                | {"exact": f"{count:,}", "size": size(count), "share": share, "formula": use.formulas.get(part, "")}
                | {"label": f"{name} {share}", "width": ems(f"{name} {share}")}
            )
        at += count
    was = sum(use.before.values())
    marks = (("limit", _("Usable memory"), device.usable), ("was", preset, was if was != whole else 0))
    rows += [
        {mark: float(count), "name": name, "exact": f"{count:,}", "size": size(count)}
        for mark, name, count in marks
        if count
    ]
    if device.kept_free:
        free = {"start": float(device.usable), "end": float(device.num_bytes), "name": _("kept free")}
        rows.append({"free": True, **free, "exact": f"{device.kept_free:,}", "size": size(device.kept_free)})
    return of_rows([*rows, {"axis": float(end)}])


def legend(look: str) -> Any:
    """The legend below a chart, with as many columns as there is room for."""
    return alt.Legend(
        orient="bottom",
        direction="horizontal",
        columns=alt.ExprRef("max(1, floor(width / 132))"),
        symbolType="square",
        symbolSize=150,
        symbolStrokeColor=INK[look],
        symbolStrokeWidth=0.5,
        labelFontSize=FONT,
        labelColor=INK[look],
        labelLimit=0,
        title=None,
        offset=4,
    )


@lru_cache
def stacked_bar(look: str, words: tuple[str, ...], inks: tuple[tuple[str, str], ...]) -> Spec:
    """The parts of memory as one stacked bar, with a line at the limit and a thin one at the preset's total.

    ``inks``: the names of the parts with their colors.
    """
    paper, ink = BACKGROUND[look], INK[look]
    scale = alt.Scale(nice=False, zero=True)
    said = tooltip("name", **dict(zip(("exact", "size", "share", "formula"), words, strict=True)))
    color = colored("name", dict(inks), legend=legend(look))

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=scale, axis=figures_axis(look, "bytes", tickCount=6))

    free = having("free").mark_rect().encode(x=x("start"), x2="end:Q", color=color, tooltip=said[:3])
    parts = having("part")
    pieces = parts.mark_rect(stroke=paper, strokeWidth=2).encode(x=x("start"), x2="end:Q", color=color, tooltip=said)
    room = "scale('x', datum.end) - scale('x', datum.start)"
    labels = (
        parts.transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(fontSize=FONT, text=alt.ExprRef(f"{room} > {FONT} * datum.width + 6 ? datum.label : ''"))
        .encode(x=x("middle"), color=alt.value(paper), tooltip=said)
    )
    marks = [
        having(mark).mark_rule(color=ink, strokeWidth=stroke, aria=False).encode(x=x(mark), tooltip=said[:3])
        for mark, stroke in (("was", 2), ("limit", 4))
    ]
    end = having("axis").mark_rule(opacity=0, aria=False).encode(x=x("axis"))
    # With "fit-x" the bar keeps its height, however many lines the legend takes.
    grown = alt.AutoSizeParams(type="fit-x", contains="padding")
    return spec_of(alt.layer(free, pieces, labels, *marks, end), 32, autosize=grown)
