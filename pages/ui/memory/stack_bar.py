"""The stacked bar of the Memory page, which shows how much of a device's memory each area uses."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bertcalc.charts.colors import FREE
from bertcalc.charts.columns import Columns, number, of_rows
from bertcalc.charts.labels import ems
from bertcalc.charts.memory_charts import AREA_COLORS, stacked_bar
from bertcalc.memory.devices import Device
from bertcalc.memory.timeline import Area
from bertcalc.text import N_
from bertcalc.text.digits import decimal_size, signed, size
from bertcalc.text.live_choices import unless_same
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.session.scale import axis_end
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.sidebar import Choice
from pages.ui.shell.theme import appearance
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.numbers import percent

AREA_WORDS: dict[Area, str] = {
    "weights": N_("weights"),
    "buffers and batch": N_("buffers and batch"),
    "gradients": N_("gradients"),
    "optimizer states": N_("optimizer states"),
    "kept activations": N_("saved activations"),
    "temporaries": N_("temporaries"),
}


class DeviceUse(NamedTuple):
    """The bytes of each area in a device's memory with their formulas, and the preset's bytes (``before``)."""

    parts: Mapping[Area, int]
    before: Mapping[Area, int]
    formulas: Mapping[Area, str]
    device: Device


def show_bar(choice: Choice, use: DeviceUse) -> None:
    """Draw a stacked bar with marks at the preset's total and at the device's limit, and a legend below."""
    total, was, device = sum(use.parts.values()), sum(use.before.values()), use.device
    end = axis_end("fit", (choice.preset, choice.architecture, device), max(was, device.num_bytes), total)
    words = (_("Bytes"), _("Size"), _("Share"), _("Formula"))
    inks = [(_(AREA_WORDS[area]), AREA_COLORS[appearance()][area]) for area, count in use.parts.items() if count]
    if device.for_tensors < device.num_bytes:
        inks.append((_("not available for tensors"), FREE[appearance()]))
    draw_chart(
        bar_frame(use, choice.preset, end),
        stacked_bar(appearance(), words, tuple(inks)),
        numbers={"name": _("Part"), "bytes": _("Bytes"), "share": _("Share"), "formula": _("Formula")},
        alt=_("The parts in proportion"),
    )
    if was not in (0, total):
        text = _("The thin mark shows {preset} with the same input: {size}, a difference of {difference}.")
        live.caption(fill(text, preset=choice.preset, size=size(was), difference=signed(total - was, decimal_size)))


def bar_frame(use: DeviceUse, preset: str, end: int) -> Columns:
    """The data of the bar, with a row for each part, for each mark ("limit" and "was"), and for the end of the axis.

    Memory that is not available to tensors is at the end of the device's memory: it is reserved, or the allocator uses
    it. Parts that extend into this memory are drawn over it.
    """
    rows: list[dict[str, Any]] = []
    whole, position, device = sum(use.parts.values()), 0, use.device
    for part, count in use.parts.items():
        if count:
            name, share = _(AREA_WORDS[part]), percent(count, whole)
            label = fill("{name} {share}", name=name, share=share)
            rows.append(
                {"part": part, "name": name, "bytes": number(count), "start": position, "end": position + count}
                | {"exact": grouped(count), "size": size(count), "share": share, "formula": use.formulas.get(part, "")}
                | {"label": label, "width": ems(label)}
            )
        position += count
    was = sum(use.before.values())
    rows.append(_mark("limit", _("Room for tensors"), device.for_tensors, float(device.for_tensors)))
    if was:
        rows.append(_mark("was", preset, was, unless_same(whole, was)))
    if room := device.num_bytes - device.for_tensors:
        free = {
            "start": float(device.for_tensors),
            "end": float(device.num_bytes),
            "name": _("not available for tensors"),
        }
        rows.append({"free": True, **free, "exact": f"{room:,}", "size": size(room)})
    return of_rows([*rows, {"axis": end}])


def _mark(mark: str, name: str, count: int, place: float) -> dict[str, Any]:
    return {mark: place, "name": name, "exact": f"{count:,}", "size": size(count)}
