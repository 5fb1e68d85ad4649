"""Large numbers, each with something small under it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.ui.i18n import _
from pages.ui.numbers import metric_width, signed_count, text_width


def show_metric(label: str, value: str, below: str = "", *, least: int, **look: Any) -> None:
    """One number, at least so many pixels wide; what is below it is no change, unless ``look`` says so."""
    width = metric_width(least, value, below)
    st.metric(label, value, below, **{"delta_color": "off", "delta_arrow": "off", "width": width, **look})


def show_total(architecture: str, total: int, difference: int, against: str) -> None:
    """The parameters of a class, and under them how they differ from others."""
    label, said = _("Parameters in {architecture}").format(architecture=architecture), signed_count(difference)
    arrow = "up" if difference > 0 else "down" if difference else "off"
    width = metric_width(max(290, 7 * text_width(label)), f"{total:,}", "0" * text_width(f"{said} {against}"))
    show_metric(label, f"{total:,}", said, least=0, delta_arrow=arrow, delta_description=against, width=width)


def show_metrics(figures: Mapping[str, tuple[str, str]]) -> None:
    """Several side by side, by their labels: the number, and what is below it."""
    with st.container(horizontal=True):
        for label, (value, below) in figures.items():
            width = metric_width(10 * text_width(label), "0" * text_width(value), "0" * text_width(below))
            show_metric(label, value, below, least=0, width=width)
