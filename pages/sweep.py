"""Sweep: how a quantity grows along one dimension, or its map over two."""

from functools import partial

import streamlit as st

from bertcalc.charts.sweep_charts import LOW, LOW_MAP, Curve, Mark, curves, curves_frame, equal_values, map_frame
from bertcalc.explore.growth_formulas import growth
from bertcalc.explore.live_quantity_formulas import live_quantity, same_curves
from bertcalc.explore.quantities import PEAKS, QUANTITIES
from bertcalc.explore.sweep import published
from bertcalc.model.letters import LETTER_OF
from bertcalc.text.live_choices import inside
from bertcalc.text.live_numbers import fill
from pages.ui.shell import live
from pages.ui.shell.controls import label_of
from pages.ui.shell.i18n import _, filled, in_a_row
from pages.ui.shell.present import lower, presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.shell.theme import appearance
from pages.ui.sweep import growth_view, map_view
from pages.ui.sweep.sweep_view import array, choose, moving
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.numbers import short
from pages.ui.widgets.quantity_words import title_of

look = appearance()
swept = choose(current_choice())
sweep, quantity, unit, logs = swept.sweep, swept.quantity, swept.quantity.unit, swept.logs
labels = [label_of(field) for field in sweep.dimensions]
titles = [f"{label} {LETTER_OF[field]}" for label, field in zip(labels, sweep.dimensions, strict=True)]
present = [sweep.present(field) for field in sweep.dimensions]
measure = _(quantity.meaning)

if len(sweep.dimensions) == 1:
    [field], [label], [title], [size] = sweep.dimensions, labels, titles, present
    trend = growth(swept.measure, sweep)
    st.latex(growth_view.growth_formula(swept, trend, look))
    figures = growth_view.present_and_doubled(swept)
    growth_view.show_in_words(swept, trend, figures)
    values = sweep.values(field, *swept.ranges[field])
    in_range = {value: figure for value, figure in figures.items() if values[0] <= value <= values[-1]}
    letter = LETTER_OF[field]
    now = moving(field, size)
    places = {value: now if value == size else 2 * now for value in in_range}
    marks = [
        Mark(
            inside(places[value], values[0], values[-1]),
            figure,
            fill("{letter} = {at:,}: {figure}", letter=letter, at=places[value], figure=short(figure, unit)),
        ).on(same_curves(sweep))
        for value, figure in in_range.items()
    ]
    rows = [Curve(name, _(QUANTITIES[name].meaning), sweep.row(name, values, array)) for name in swept.quantities]
    with live.container_within(same_curves(sweep)):
        draw_chart(
            curves_frame(values, rows, swept.measure, marks, look, logs=logs),
            lower(curves(look, title, unit, logs=logs), LOW),
            numbers={"x": label, "name": _("Quantity"), "y": _("Number")},
            alt=filled(
                _("{measure} as a function of {field}, with the current model at {field} = {value} marked"),
                measure=measure,
                field=label,
                value=f"{size:,}",
            ),
        )
    if swept.measure in PEAKS:
        st.caption(
            _(
                "This is the formula of the step at which memory peaks now; at other sizes, memory may "
                "peak at a different step."
            )
        )
    growth_view.show_range(trend)
    if sweep.following and len(values) < growth_view.FEW:
        message = _(
            "Only multiples of {unit} are valid here, because the sizes that depend on this field must be whole "
            "numbers."
        )
        st.caption(message.format(unit=f"{sweep.unit(field):,}"))
    if not presenting():
        growth_view.GROWTHS.around(growth_view.show_each_quantity, swept)
else:
    drawn = map_view.map_of(sweep, tuple(swept.ranges.values()), swept.measure)
    figure = live_quantity(swept.measure, sweep.case)
    map_view.show_present(swept, drawn, figure)
    # A new key after every click creates a chart without a selection. Clearing the selection when the pointer leaves
    # would cause one more run, which can interrupt the click's run before the browser has all values.
    chart = f"{map_view.CHART} {st.session_state.get(map_view.CLICKS, 0)}"
    place_x, place_y = (moving(field, size) for field, size in zip(sweep.dimensions, present, strict=True))
    with live.container_within(same_curves(sweep)):
        draw_chart(
            map_frame(
                drawn.cells,
                drawn.figures,
                [(short(level, unit), places) for level, places in drawn.lines],
                map_view.published_points(swept),
                [Mark(place_x, place_y, short(figure, unit)).on(same_curves(sweep))] if swept.includes(present) else [],
                logs=logs,
            ),
            lower(equal_values(look, *titles, measure, logs=logs), LOW_MAP),
            numbers={**dict(zip("xy", labels, strict=True)), "figure": title_of(quantity)},
            key=chart,
            on_select=partial(map_view.take_clicked, sweep, chart),
            alt=filled(
                _("Contour lines of {measure} over {x} and {y}, with the published models and the current model"),
                measure=measure,
                x=labels[0],
                y=labels[1],
            ),
        )
    if not sweep.grows:
        st.caption(
            _("No contour lines: with relative positions, more heads mean narrower tables, so the values can fall.")
        )
    sentences = [_("Click to use the model at that point{along}.").format(along=map_view.along(sweep))]
    if sweep.grows:
        sentences.insert(
            0, _("All points of a line have the same value, shown at its end: {measure}.").format(measure=measure)
        )
    if published(sweep.dimensions):
        sentences.append(_("Published models can differ in fields other than these two."))
    st.caption(in_a_row(sentences))
