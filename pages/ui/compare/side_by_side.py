"""The views Table, Bars and Scatter plot of the Compare page, with the models side by side."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import streamlit as st

from bertcalc.charts.bar_charts import Piece, PieceBar
from bertcalc.charts.compare_charts import ModelPoint, points_frame, scatter
from bertcalc.discover.results.comparable import DiscoveredModel
from bertcalc.explore.compare import Breakdown, differing
from bertcalc.explore.figure_formulas import LiveCase, live_shapes
from bertcalc.explore.model_values import FIELDS, STEPS, model_of_preset, values_of
from bertcalc.explore.quantities import EVERY_QUANTITY, Case
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.live.live_formulas import live_size
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import split_layer
from bertcalc.model.totals import COMPONENTS
from bertcalc.text.digits import figure, scaled
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.compare.compare_words import relative, signed, steps_text, value_text
from pages.ui.compare.comparison import ComparedModel, Comparison
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.theme import appearance
from pages.ui.widgets.bars import draw_pieces
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.numbers import times, unbroken
from pages.ui.widgets.quantity_words import title_of
from pages.ui.widgets.tables import shape_text, show_table

_HEIGHT = 246  # height in pixels of all bars together; with many bars, it is exceeded to keep labels readable
_WIDE = 5  # maximum number of models in columns of the table; if there are more, each model is a row


def show_side_by_side(comparison: Comparison) -> None:
    """Show differing fields, figures and shapes in a table with a column for each model.

    If there are more than _WIDE models, each model is a row. This table omits the shapes, and columns in which all
    values are equal.
    """
    models = comparison.models
    alt = _("The models side by side")
    fields, figures = _field_rows(models), _figure_rows(comparison)
    if len(models) <= _WIDE:
        rows = [*fields, *figures, *_shape_rows(models)]
        columns = {"": [name for name, _cells in rows]}
        with st.container(key="side-by-side"):  # on a phone, window.css shows a row's name above its values
            show_table(
                columns | {model.name: [cells[column] for _n, cells in rows] for column, model in enumerate(models)},
                alt,
            )
    else:
        # Columns with equal values are omitted and figures come first, so that the differences fit on the screen.
        columns = {_("Model"): [model.name for model in models]}
        show_table(columns | {name: cells for name, cells in [*figures, *fields] if len(set(cells)) > 1}, alt)


def _field_rows(compared: Sequence[ComparedModel]) -> list[tuple[str, list[str]]]:
    models = [shown.model for shown in compared]
    ours = [model for model in models if isinstance(model, Model)]
    values = [model.values() if isinstance(model, DiscoveredModel) else values_of(model) for model in models]
    sizes = [model.values() for model in models if isinstance(model, DiscoveredModel)]
    varying = {field for row in sizes for field in row if any(row[field] != other.get(field) for other in values)}
    differ = {*(differing(ours) if ours else ()), *varying}
    fields = [*(field for field in FIELDS if field in differ), *sorted(differ.difference(FIELDS))]
    if "architecture" in fields and "add_pooling_layer" in fields:
        fields.remove("add_pooling_layer")  # the row of the architecture implies it
    if all(map(_names_class, compared)):
        fields = [field for field in fields if field != "architecture"]
    sides = [
        {field: live_size(field, value) if field in shown.follows else value for field, value in row.items()}
        for shown, row in zip(compared, values, strict=True)
    ]
    rows = [(f"`{field}`", [value_text(row[field]) if field in row else "–" for row in sides]) for field in fields]
    steps = [steps_text(shown.steps) if shown.steps else "–" for shown in compared]
    return [*rows, (f"`{STEPS}`", steps)] if len(set(steps)) > 1 else rows


def _names_class(compared: ComparedModel) -> bool:
    """Whether a model's name makes its class clear: it contains the class, or the class is the family's base model."""
    model = compared.model
    if isinstance(model, DiscoveredModel):
        return model.architecture in compared.name
    return model.architecture in (*compared.name.split(", "), family_of(model.config).base.name)


def _shape_rows(compared: Sequence[ComparedModel]) -> list[tuple[str, list[str]]]:
    """The table rows with the shapes of a few matrices. Shapes that are equal in all models are left out."""
    columns = [
        live_shapes(LiveCase(Case(shown.model), shown.follows)) if isinstance(shown.model, Model) else {}
        for shown in compared
    ]
    return [
        (f"`{split_layer(name)[1]}`", [shape_text(column[name]) if name in column else "–" for column in columns])
        for name in dict.fromkeys(name for column in columns for name in column)
        if len({column.get(name) for column in columns if column}) > 1
    ]


def _figure_rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    models = comparison.models
    parts, names = [comparison.components(model) for model in models], comparison.names()

    def row(name: str) -> tuple[str, list[str]]:
        quantity = EVERY_QUANTITY[name]
        figures = [comparison.figure_of(model, name) for model in models]
        return _(quantity.meaning), ["–" if value is None else figure(value, quantity.unit) for value in figures]

    name, totals = row("parameters")
    differences = [comparison.explained(model) for model in models[1:]]
    relation = _("relative to the baseline: {quantity}").format(quantity=title_of(comparison.quantity))
    components = [
        (names[component], [grouped(counts[component]) if component in counts else "–" for counts in parts])
        for component in COMPONENTS
        if any(component in counts for counts in parts)
    ]
    return [
        (f"**{name}**", [fill("**{total}**", total=total) for total in totals]),
        (relation, ["", *("–" if explanation is None else _changed(explanation) for explanation in differences)]),
        *components,
        *map(row, comparison.figures),
    ]


def _changed(explanation: Breakdown) -> str:
    difference = signed(explanation.difference)
    return fill("{difference} ({factor})", difference=difference, factor=unbroken(relative(explanation)))


def show_bars(comparison: Comparison) -> None:
    """Draw the chosen quantity as a bar for each model; parameters are stacked by component."""
    quantity = comparison.quantity
    names = comparison.names()
    counted = {model.name: _pieces(comparison, model) for model in comparison.models}
    legend = {kind: text for kind, text in names.items() if any(kind in counts for counts in counted.values())}
    first = sum(next(iter(counted.values())).values())
    bars = []
    for position, (name, counts) in enumerate(counted.items()):
        ends = pairwise(accumulate(counts.values(), initial=0))
        pieces = [
            Piece(kind, start, end, part, figures={"part": part, "figure": end - start})
            for (kind, part), (start, end) in zip(((kind, names.get(kind, "")) for kind in counts), ends, strict=True)
        ]
        bars.append(
            PieceBar(name, pieces, _label(comparison, sum(counts.values()), position and first) if counts else "–")
        )
    st.markdown(f"**{_(quantity.meaning)}**")
    parts = {"part": _("Part")} if legend else {}
    draw_pieces(
        bars,
        max(24, min(90, _HEIGHT // len(bars))),
        numbers={"name": _("Model"), **parts, "figure": title_of(quantity)},
        alt=_("The models side by side as bars"),
        legend=legend,
    )


def _pieces(comparison: Comparison, model: ComparedModel) -> dict[str, int]:
    """The pieces of a model's bar; empty if the figure cannot be computed."""
    if comparison.measure != "parameters":
        count = comparison.figure_of(model)
        return {} if count is None else {comparison.measure: count}
    return comparison.components(model)


def _label(comparison: Comparison, count: int, first: int) -> str:
    """A figure as text, followed by its ratio to ``first`` unless ``first`` is 0."""
    unit = comparison.quantity.unit
    short = scaled(count, unit) if unit == "FLOPs" else figure(count, unit)
    return fill("{short}  ·  {times}", short=short, times=times(count, first)) if first else short


def show_scatter(comparison: Comparison) -> None:
    """Draw a scatter plot of all presets and the compared models, with the chosen quantity against parameters."""
    figures = [
        (model.name, comparison.figure_of(model, "parameters"), comparison.figure_of(model))
        for model in comparison.models
    ]
    compared = [ModelPoint(name, count, other, True) for name, count, other in figures if count and other]
    titles = title_of(EVERY_QUANTITY["parameters"]), title_of(comparison.quantity)
    presets = _presets(comparison.batch, comparison.measure)
    moves = any(model.follows for model in comparison.models)
    with live.older("scatter") if moves else st.container():  # not live, because the server places the labels
        draw_chart(
            points_frame([*compared, *presets]),
            scatter(appearance(), *titles, projector=presenting()),
            numbers={"name": _("Model"), **dict(zip(("parameters", "flops"), titles, strict=True))},
            alt=_("Parameters and FLOPs of every preset"),
        )
    st.caption(
        _(
            "Every preset without a head; diamonds are the models of the comparison. Hover over an unnamed point "
            "to see its name. Both axes are logarithmic."
        )
    )
    if len(presets) < len(PRESETS):
        st.caption(_("Presets whose memory is not simulated yet are left out."))


@lru_cache(maxsize=64)
def _presets(batch: Batch, measure: str) -> tuple[ModelPoint, ...]:
    points = []
    for name in PRESETS:
        case = Case(model_of_preset(name), batch)
        parameters, figure = case.model.num_parameters(), EVERY_QUANTITY[measure].known(case)
        short = re.sub(r"bert_uncased_(L-\d+)_(H-\d+)_A-\d+", r"\1 \2", name)  # shortens BERT miniatures to L-2 H-128
        if figure is not None:
            points.append(ModelPoint(short, parameters, figure, False))
    return tuple(points)
