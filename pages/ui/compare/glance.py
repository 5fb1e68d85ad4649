"""The view At a glance of the Compare page: a few figures of many models, sorted. A click or a link opens a model."""

from urllib.parse import urlencode

import streamlit as st

from bertcalc.change_steps.step_texts import written as written_steps
from bertcalc.charts.compare_charts import OTHER, Cell, ModelRow, glance_bars, glance_frame
from bertcalc.charts.labels import place_in_order
from bertcalc.controls.chosen_model import ChosenModel
from bertcalc.discover.results.comparable import DiscoveredModel
from bertcalc.families import family_of
from bertcalc.model.batch import Batch
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from bertcalc.model_ref import PRESENT
from bertcalc.text.digits import fixed, size
from bertcalc.text.live_choices import quotient
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.any_model.link_to import link_of
from pages.ui.compare.comparison import GLANCE, ComparedModel, Comparison
from pages.ui.shell.any_model import PAGE
from pages.ui.shell.i18n import _
from pages.ui.shell.sidebar import Choice
from pages.ui.shell.theme import appearance
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.numbers import percent, short
from pages.ui.widgets.tables import show_rows


def show_links(comparison: Comparison, choice: Choice) -> None:
    """Show a table of the models, with links to them and with exact figures."""
    rows = [
        (
            f"[{model.name}]({_link(model, choice)})",
            _family(model),
            *(cell.exact for cell in cells_of(comparison, model)),
        )
        for model in in_order(comparison)
    ]
    titles = (_("Model"), _("Family"), *_titles(comparison.batch))
    with st.container(key="glance"):  # window.css styles this table
        show_rows(titles, rows, _("The models, with a link to each"))


def in_order(comparison: Comparison) -> list[ComparedModel]:
    """The models in the order of the comparison; models without a figure come last."""
    placed = zip(comparison.models, places_of(comparison), strict=True)
    return [model for model, _place in sorted(placed, key=lambda pair: pair[1])]


def places_of(comparison: Comparison) -> list[int]:
    """The place of each model in the order of ``in_order``, counted from 0."""
    models = comparison.models
    if comparison.order == "chosen":
        return [*range(len(models))]
    figures = [comparison.figure_of(model) for model in models]
    known = [figure for figure in figures if figure is not None]
    descending = comparison.order == "descending"
    places = iter([place_in_order(known, at, descending) for at in range(len(known))])
    last = iter(range(len(known), len(models)))
    return [next(last if figure is None else places) for figure in figures]


def draw_models(comparison: Comparison, choice: Choice | None = None) -> None:
    """Draw the chart, which shows only the chosen quantity on a phone. With ``choice``, a click opens a model."""
    models, places = comparison.models, places_of(comparison)
    rows = [
        ModelRow(_named(model), _link(model, choice) if choice else "", cells_of(comparison, model), at, model.shown)
        for model, at in sorted(zip(models, places, strict=True), key=lambda pair: pair[1])
    ]
    column = GLANCE.index(comparison.measure)
    draw_chart(
        glance_frame(_titles(comparison.batch), rows),
        glance_bars(appearance(), sum(bool(row.shown) for row in rows), len(GLANCE), column, linked=choice is not None),
        numbers={"name": _("Model"), "quantity": _("Quantity"), "figure": _("Figure")},
        alt=_("Models at a glance: parameters, embeddings, FLOPs per token, memory of a training step"),
    )


def _titles(batch: Batch) -> list[str]:
    memory = _("Training memory, {letter} = {size:,}")
    memory = memory.format(letter=CALL_LETTERS["batch_size"], size=batch.batch_size)
    return [_("Parameters"), _("Embeddings"), _("FLOPs per token"), memory]


def cells_of(comparison: Comparison, model: ComparedModel) -> list[Cell]:
    """The figures of a model, in the order of the columns in ``GLANCE``."""
    count, embeddings, flops, memory = (comparison.figure_of(model, name) for name in GLANCE)
    parts, batch = comparison.components(model), comparison.batch
    whole, part, unknown = sum(parts.values()), embeddings or 0, Cell({}, "–", "–")
    label = fill("{part} · {share}", part=short(part, "parameters"), share=percent(part, whole, decimals=0))
    per_token = quotient(flops or 0, batch.batch_size * batch.sequence_length)
    exact = fill("{part:,} ({share})", part=part, share=percent(part, whole))
    return [
        Cell(parts, short(whole, "parameters"), grouped(whole if count is None else count)),
        Cell({"embeddings": part}, label, exact),
        # FLOPs are abbreviated like parameters, because the title of the column has the unit.
        unknown if flops is None else Cell({OTHER: flops}, short(per_token, "parameters"), fixed(per_token, 0)),
        unknown if memory is None else Cell({OTHER: memory}, short(memory, "bytes"), size(memory)),
    ]


def _family(compared: ComparedModel) -> str:
    """The name of a model's family, as in its class names; for a discovered model, its model type."""
    if isinstance(compared.model, DiscoveredModel):
        return compared.model.discovery.model_type
    return family_of(compared.model.config).config.__name__.removesuffix("Config")


def _named(model: ComparedModel) -> str:
    """A model's name, followed by its family if the name does not contain it."""
    family = _family(model)
    is_named = family.lower() in model.name.lower().replace("-", "")
    return model.name if is_named else f"{model.name} · {family}"


def _link(compared: ComparedModel, choice: Choice) -> str:
    """The relative URL that opens a model, with the language and projector view of this page."""
    kept = {name: st.query_params[name] for name in ("lang", "present") if name in st.query_params}
    item, model = compared.item, compared.model
    if item.is_discovered:
        return f"./{PAGE}?{urlencode({**link_of(item), **kept})}"
    assert isinstance(model, Model)
    preset = choice.preset if item.base == PRESENT else item.base
    steps = written_steps(compared.steps)
    chosen = ChosenModel(preset, model.config, model.architecture, model.add_pooling_layer, changes=steps)
    return f"./?{urlencode({'preset': preset, **chosen.link(), **kept})}"
