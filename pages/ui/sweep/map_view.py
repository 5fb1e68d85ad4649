"""Two dimensions on the Sweep page: a map with lines of equal value, on which every place is a model to be taken."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import streamlit as st

from bertcalc.explore.sweep import Sweep, around, levels, line, published
from pages.ui.charts import short
from pages.ui.controls import change, label_of
from pages.ui.i18n import in_a_row, listed, translator
from pages.ui.model import take_preset
from pages.ui.present import lower
from pages.ui.quantity_words import title_of
from pages.ui.sweep.sweep_charts import Mark, Point, equal_values, map_frame
from pages.ui.sweep.swept import LETTER_OF, Swept, array, followed
from pages.ui.take.shown import draw_chart

_FINE = 316  # values of each dimension from which the lines are drawn: 100,000 models
_CELLS = 48  # what a screen can show, and a finger can hit
# The four miniatures that their authors named; the twenty others are points without a name.
_NAMES = {
    "bert_uncased_L-2_H-128_A-2": "Tiny",
    "bert_uncased_L-4_H-256_A-4": "Mini",
    "bert_uncased_L-4_H-512_A-8": "Small",
    "bert_uncased_L-8_H-512_A-8": "Medium",
}
_CHART, _CLICKS = "sweep map", "clicks on the sweep map"


class Map(NamedTuple):
    """What is drawn: the models that can be clicked, each with its figure, and the lines with their levels.

    ``steps`` are the values of both dimensions, ``cells`` those that can be clicked.
    """

    steps: tuple[Sequence[int], Sequence[int]]
    cells: tuple[Sequence[int], Sequence[int]]
    figures: Mapping[tuple[int, int], int]
    lines: Sequence[tuple[int, Sequence[tuple[float, float]]]]


def show_map(swept: Swept, appearance: str) -> None:
    """Draw all of it."""
    _ = translator()
    sweep, unit = swept.sweep, swept.quantity.unit
    found = _map(sweep, tuple(swept.ranges.values()), swept.measure)
    x, y = sweep.dimensions
    present = sweep.present(x), sweep.present(y)
    figure = swept.quantity.of(sweep.case)
    _show_present(swept, found, figure)
    points = [
        Point(
            one.place, one.presets[0], _name(one.presets[0]), one.presets[0].startswith("all-"), ", ".join(one.presets)
        )
        for one in published(sweep.dimensions)
        if _inside(one.place, swept)
    ]
    # A new chart after every click, so that nothing is chosen in it. A choice that is cleared as the pointer leaves
    # causes one more run, which can cut the click's off before the browser has all values.
    chart = f"{_CHART} {st.session_state.get(_CLICKS, 0)}"
    draw_chart(
        map_frame(
            found.cells,
            found.figures,
            [(short(level, unit), places) for level, places in found.lines],
            points,
            [Mark(*present, short(figure, unit))] if _inside(present, swept) else [],
            logs=swept.logs,
        ),
        lower(
            equal_values(
                appearance,
                f"{label_of(x)} {LETTER_OF[x]}",
                f"{label_of(y)} {LETTER_OF[y]}",
                _(swept.quantity.meaning),
                logs=swept.logs,
            ),
            280,
        ),
        numbers={"x": label_of(x), "y": label_of(y), "figure": title_of(swept.quantity)},
        key=chart,
        on_select=partial(_take_clicked, sweep, chart),
        alt=_("Lines of equal {measure} over {x} and {y}, with the published models and the current one").format(
            measure=_(swept.quantity.meaning), x=label_of(x), y=label_of(y)
        ),
    )
    if not sweep.grows:
        st.caption(_("No lines: with relative positions more heads have shorter distances, and the figures can fall."))
    said = _("Click to use the model at that point{along}.").format(along=_along(sweep))
    if published(sweep.dimensions):
        said = in_a_row([said, _("Published models can differ in fields other than these two.")])
    st.caption(said)


def _inside(place: Sequence[int], swept: Swept) -> bool:
    return all(low <= value <= high for value, (low, high) in zip(place, swept.ranges.values(), strict=True))


def _name(preset: str) -> str:
    """What a published model is called where there is little room."""
    if preset.startswith("bert_"):
        return _NAMES.get(preset, "")
    return preset.removeprefix("all-").removesuffix("-v2").removesuffix("-uncased")


@lru_cache(maxsize=256)
def _map(sweep: Sweep, ranges: tuple[tuple[int, int], tuple[int, int]], measure: str) -> Map:
    xs, ys = (sweep.values(field, *ends, _FINE) for field, ends in zip(sweep.dimensions, ranges, strict=True))
    table = sweep.table(measure, xs, ys, array)
    known = [figure for row in table for figure in row if figure is not None]
    lines = [(level, line(xs, ys, table, level)) for level in levels(min(known), max(known))] if sweep.grows else []
    across, up = (sweep.values(field, *ends, _CELLS) for field, ends in zip(sweep.dimensions, ranges, strict=True))
    shown = zip(across, sweep.table(measure, across, up, array), strict=True)
    figures = {(x, y): figure for x, row in shown for y, figure in zip(up, row, strict=True) if figure is not None}
    return Map((xs, ys), (across, up), figures, [(level, places) for level, places in lines if len(places) > 1])


def _show_present(swept: Swept, found: Map, figure: int) -> None:
    """The present model in words; and a step to its neighbours, for those who do not point."""
    _ = translator()
    sweep = swept.sweep
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{_(swept.quantity.meaning)}: **{swept.number(figure)}**", width="content")
        present = {field: sweep.present(field) for field in sweep.dimensions}
        for field, values, signs in zip(sweep.dimensions, found.steps, ("←→", "↓↑"), strict=True):
            possible = [value for value in values if sweep.exists(**{**present, field: value})]
            for sign, value in zip(signs, around(possible, present[field]), strict=True):
                st.button(
                    f"{sign} {LETTER_OF[field]} = {value:,}" if value else sign,
                    key=f"{_CHART} {sign}",
                    disabled=value is None,
                    on_click=change,
                    args=(sweep.fields(**{field: value}) if value else {},),
                )


def _along(sweep: Sweep) -> str:
    _ = translator()
    fields = listed(f"${LETTER_OF[field]} = {followed(sweep, field)}$" for field in sweep.following)
    return _(", with {fields}").format(fields=fields) if fields else ""


def _take_clicked(sweep: Sweep, chart: str) -> None:
    """Take the model that was clicked: a published one as it is, or the present one moved to a place."""
    for place in st.session_state[chart]["selection"]["place"]:
        st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1
        if preset := place.get("preset"):
            take_preset(preset)
        else:
            change(
                sweep.fields(**{field: int(place[axis]) for field, axis in zip(sweep.dimensions, "xy", strict=True)})
            )
