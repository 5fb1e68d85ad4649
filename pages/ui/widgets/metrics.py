"""Metrics: numbers in large type, each with a label above and a short text below."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import ceil
from typing import Any

import streamlit as st

from bertcalc.charts.labels import ems, text_width
from bertcalc.text.digits import signed_count
from bertcalc.text.live_numbers import grouped, is_live, joined
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.widgets.numbers import metric_width

_LARGE, _SMALL = 36, 15  # an em in pixels: in a number, and in the text below it
_FEW = 4  # maximum number of metrics in large type that fit into a window of 1,280 pixels


class _ThreadRow(threading.local):
    """The row that this thread is drawing: its container's key, and the count of numbers drawn so far."""

    key = ""
    count = 0


_ROW = _ThreadRow()


@contextmanager
def metric_row(key: str = "", **look: Any) -> Iterator[None]:
    """Context manager for a row of metrics, which share one container.

    Separate containers would slow down the first visit to the page.
    """
    outer = _ROW.key, _ROW.count
    _ROW.key, _ROW.count = key or live.key("metrics"), 0
    try:
        with st.container(horizontal=True, key=_ROW.key, **look):
            yield
        live.note_count(_ROW.key, _ROW.count)
    finally:
        _ROW.key, _ROW.count = outer


def show_figure(label: str, count: int, *, least: int = 130) -> None:
    """Show a count that is not live as a metric at least ``least`` pixels wide."""
    value = f"{count:,}"
    st.metric(label, value, width=metric_width(least, value, label))


def show_metric(label: str, value: str, below: str, *, least: int, **look: Any) -> None:
    """Show a metric that is at least ``least`` pixels wide.

    The text below it has no arrow and no color. ``look`` overrides these and other arguments of ``st.metric``.
    """
    width = metric_width(least, value, below)
    with _place(label, value, below):
        st.metric(label, value, below, **{"delta_color": "off", "delta_arrow": "off", "width": width, **look})


def _place(label: str, value: str, below: str) -> AbstractContextManager[object]:
    """Register a metric's live texts; return a container for a live metric outside a row, otherwise a null context."""
    key, at = _ROW.key or live.key(), _ROW.count
    for role, text in (("label", label), ("value", value), ("delta", below)):
        live.put(key, role, at, text)
    if _ROW.key:
        _ROW.count += 1
        return nullcontext()
    return st.container(key=key, width="content") if is_live((label, value, below)) else nullcontext()


def show_total(
    architecture: str, total: int, difference: int, against: str, grown: str, *, room: int = 9, lines: int = 1
) -> None:
    """Show the parameter count of an architecture and, below it, its difference from the count of another model.

    ``against`` names the other model: "vs. bert-base-uncased". ``grown`` is the growth factor as text. The width allows
    for a difference as large as the total and a factor of ``room`` characters, so that the first change does not shift
    the layout. With ``lines=2``, ``against`` can wrap to a second line (style.css).
    """
    label = _("Parameters in {architecture}").format(architecture=architecture)
    change = joined(" · ", (signed_count(difference), grown))
    first, second = max(text_width(change), len(signed_count(total)) + room), text_width(f" {against}")
    below = first + second if lines == 1 else max(first, second)
    width = metric_width(max(290, 7 * text_width(label), 7 * below + 10), f"{total:,}", "")
    show_metric(label, grouped(total), change, least=0, delta_description=against, width=width)


def show_metrics(figures: Mapping[str, tuple[str, str]], longest_below: str = "") -> None:
    """Show several numbers side by side; ``figures`` maps each label to its number and the text below it.

    Except in projector view, more than four numbers are in smaller type. The first number leaves room for
    ``longest_below``, the longest text that can appear below it while a slider moves.
    """
    many = len(figures) > _FEW and not presenting()
    with metric_row("many-figures" if many else ""):
        for place, (label, (value, below)) in enumerate(figures.items()):
            room = "00" if is_live(value) else ""  # a slider can lengthen the number: 294,912 becomes 1,179,648
            longest = max(below, *([] if place else [longest_below]), "", key=ems)
            width = ceil(max(10 * text_width(label), _LARGE * ems(value + room) + 10, _SMALL * ems(longest) + 40))
            if many:  # style.css shrinks the numbers, but not the texts below them
                width = max(3 * width // 4, 7 * text_width(below) + 26)
            show_metric(label, value, below, least=0, width=width)
