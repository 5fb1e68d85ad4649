"""The Sweep page over two dimensions: a map with contour lines, where a click loads a model."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from bertcalc.charts.sweep_charts import MapPoint
from bertcalc.explore.sweep import Sweep, around, levels, line, published
from bertcalc.model.letters import LETTER_OF
from bertcalc.text.live_numbers import fill
from pages.ui.session.present_model import take_preset
from pages.ui.shell import live
from pages.ui.shell.controls import change
from pages.ui.shell.i18n import _, listed, with_colon
from pages.ui.sweep.sweep_view import SweepChoice, array, followed
from pages.ui.widgets.live_chart import clicked

_FINE = 316  # values per dimension for computing the contour lines: 100,000 models in all
_CELLS = 48  # clickable values per dimension, coarse enough to hit with a finger
# Only four of the 24 BERT miniatures were named by their authors. The others are points without a label.
_NAMES = {
    "bert_uncased_L-2_H-128_A-2": "Tiny",
    "bert_uncased_L-4_H-256_A-4": "Mini",
    "bert_uncased_L-4_H-512_A-8": "Small",
    "bert_uncased_L-8_H-512_A-8": "Medium",
}
CHART, CLICKS = "sweep map", "clicks on the sweep map"


class Map(NamedTuple):
    """The data of the map: the figures of the clickable models, and the contour lines as (level, points) pairs.

    For each dimension, ``steps`` has all values and ``cells`` the clickable values.
    """

    steps: tuple[Sequence[int], Sequence[int]]
    cells: tuple[Sequence[int], Sequence[int]]
    figures: Mapping[tuple[int, int], int]
    lines: Sequence[tuple[int, Sequence[tuple[float, float]]]]


def published_points(swept: SweepChoice) -> list[MapPoint]:
    """The published models on the map; models with the same sizes share a point."""
    points = []
    for entry in published(swept.sweep.dimensions):
        if swept.includes(entry.place):
            first, names = entry.presets[0], ", ".join(entry.presets)
            points.append(MapPoint(entry.place, first, _name(first), first.startswith("all-"), names))
    return points


def _name(preset: str) -> str:
    if preset.startswith("bert_"):
        return _NAMES.get(preset, "")
    return preset.removeprefix("all-").removesuffix("-v2").removesuffix("-uncased")


@lru_cache(maxsize=48)  # each entry takes a quarter of a MB
def map_of(sweep: Sweep, ranges: tuple[tuple[int, int], tuple[int, int]], measure: str) -> Map:
    """Compute the map of a quantity over the ranges of two dimensions."""
    xs, ys = (sweep.values(field, *ends, _FINE) for field, ends in zip(sweep.dimensions, ranges, strict=True))
    table = sweep.table(measure, xs, ys, array)
    counts = [figure for row in table for figure in row if figure is not None]
    lines = [(level, line(xs, ys, table, level)) for level in levels(min(counts), max(counts))] if sweep.grows else []
    across, up = (sweep.values(field, *ends, _CELLS) for field, ends in zip(sweep.dimensions, ranges, strict=True))
    columns = zip(across, sweep.table(measure, across, up, array), strict=True)
    figures = {(x, y): figure for x, row in columns for y, figure in zip(up, row, strict=True) if figure is not None}
    return Map((xs, ys), (across, up), figures, [(level, places) for level, places in lines if len(places) > 1])


def show_present(swept: SweepChoice, drawn: Map, figure: int) -> None:
    """Show the figure of the current model and, for keyboard users, buttons that load its neighbors on the map."""
    sweep = swept.sweep
    with st.container(horizontal=True, vertical_alignment="center"):
        title = with_colon(_(swept.quantity.meaning), "**{figure}**")
        live.markdown(fill(title, figure=swept.number(figure)), width="content")
        with live.older("neighbors", horizontal=True, vertical_alignment="center", width="content"):
            _show_neighbors(sweep, drawn)


def _show_neighbors(sweep: Sweep, drawn: Map) -> None:
    present = {field: sweep.present(field) for field in sweep.dimensions}
    for field, values, signs in zip(sweep.dimensions, drawn.steps, ("←→", "↓↑"), strict=True):
        possible = [value for value in values if sweep.exists(**{**present, field: value})]
        for sign, value in zip(signs, around(possible, present[field]), strict=True):
            st.button(
                f"{sign} {LETTER_OF[field]} = {value:,}" if value else sign,
                key=f"{CHART} {sign}",
                disabled=value is None,
                on_click=change,
                args=(sweep.fields(**{field: value}) if value else {},),
            )


def along(sweep: Sweep) -> str:
    """A phrase with the sizes that follow hidden_size after a click on the map; empty if no size follows it."""
    fields = listed(f"${LETTER_OF[field]} = {followed(sweep, field)}$" for field in sweep.following)
    return _(", with {fields}").format(fields=fields) if fields else ""


def take_clicked(sweep: Sweep, chart: str) -> None:
    """Load the clicked model: a published model, or the current model with the two sizes at the clicked place."""
    for place in clicked(chart, "place"):
        st.session_state[CLICKS] = st.session_state.get(CLICKS, 0) + 1
        if preset := place.get("preset"):
            take_preset(preset)
        else:
            sizes = {field: int(place[axis]) for field, axis in zip(sweep.dimensions, "xy", strict=True)}
            change(sweep.fields(**sizes))
