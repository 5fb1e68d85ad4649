"""The live parts of a lecture's screens. Each part shows an aspect of the current model, such as a count or a chart."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import streamlit as st

from bertcalc import build
from bertcalc.charts.labels import text_width
from bertcalc.compute.flops import PYTORCH
from bertcalc.config import LETTERS
from bertcalc.controls.stops import SLIDERS
from bertcalc.diagnosis.known_counts import known_counts, readings
from bertcalc.diagnosis.part_words import known_in_words
from bertcalc.explore.compare import WELL_KNOWN
from bertcalc.explore.model_values import FIELDS, values_of
from bertcalc.families import CLASSES
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.forward.outputs import Call, possible, run
from bertcalc.forward.step_formulas import live_steps
from bertcalc.forward.walk import walk
from bertcalc.live.live_formulas import live_reading, live_size
from bertcalc.model.batch import Batch
from bertcalc.model.formula import shape_letters, symbolic_model
from bertcalc.model.model import Model
from bertcalc.model.modules import split_layer
from bertcalc.model.totals import component_at, submodule
from bertcalc.model.trace import Step
from bertcalc.model_ref import ModelRef, item_of
from bertcalc.proof.real_model import installed
from bertcalc.teach.lecture_screens import Show, Vocabulary
from bertcalc.text.amounts import typed
from bertcalc.text.live_choices import differ, either, if_between
from bertcalc.text.live_numbers import fill, grouped, joined
from bertcalc.transformers4.version import RELATIVE
from pages.ui.compare.compare_words import change_words, relative
from pages.ui.compare.comparison import GLANCE, ComparedModel, Comparison
from pages.ui.compare.differences import show_parts as show_differences
from pages.ui.compare.glance import draw_models
from pages.ui.compute.count import Count
from pages.ui.compute.forward import show_figures, show_parts
from pages.ui.diagnosis.terms_view import show_in_short
from pages.ui.shell import live
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _
from pages.ui.shell.sidebar import Choice
from pages.ui.shell.theme import colors
from pages.ui.walk.picture import show_place
from pages.ui.walk.walk_steps import show_heads
from pages.ui.widgets import drawing
from pages.ui.widgets.bars import draw_bars, draw_proportions, parameter_bars
from pages.ui.widgets.live_formula import show_formula, show_node_formula
from pages.ui.widgets.metrics import show_metric
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.tables import show_checks, show_rows
from pages.ui.widgets.total_formula.show import show_total_formula
from pages.ui.widgets.verdict import show_verdict, verdict_of

_IN_A_LINE = 64  # squares for the elements of a row
_HIDDEN: dict[str, Any] = {"aria-hidden": "true"}
_HEADS = Show("heads", {})
_ROUNDED = ("base", "pretraining")  # the tasks whose counts round to the papers' figures
_YOURS = ""  # stands for the current model in a list of presets
_MOST_CHECKS = 4  # a screen shows only the first checks, which are about the whole model


class ScreenPart(NamedTuple):
    """The function that draws a part, and a mapping from its arguments to their valid values; None allows any text."""

    draw: Callable[..., None]
    arguments: Mapping[str, Collection[str] | None] = {}


def _row(choice: Choice, path: str) -> None:
    """Draw a row of an embedding table: its number of elements, and a square for each element."""
    numbers = live_reading(_row_length, choice.model, path)
    lines = live_reading(_full_lines, choice.model, path)
    letters = _row_length(symbolic_model(choice.model), path)
    color = _color(choice, path)
    _metric(_("One row of {table}").format(table=f"`{path}`"), grouped(numbers))
    written = rf"\textcolor{{{color}}}{{{shape_letters((letters,))}}}"
    show_formula(written, fill("= {numbers:,}", numbers=numbers), path)
    full = drawing.box("lines", style={"--lines": lines})
    rest = drawing.box("rest", style={"--numbers": numbers - _IN_A_LINE * lines})
    squares = drawing.box("squares", full, rest, style={"--color": color}, **_HIDDEN)
    drawing.draw(squares, f"squares of {path}")
    st.markdown(_("Each square is one element of this row."))


def _row_length(model: Model, path: str) -> int:
    length: int = submodule(model, path).parameters["weight"][-1]
    return length


def _full_lines(model: Model, path: str) -> int:
    return _row_length(model, path) // _IN_A_LINE


def _parameters_of(model: Model, path: str) -> int:
    return submodule(model, path).num_parameters()


def _color(choice: Choice, path: str) -> str:
    return colors()[component_at(choice.model, path)]


def _count(choice: Choice, path: str) -> None:
    """Draw the parameter count of the module at ``path``, its share of the model, and its formula."""
    count = live_reading(_parameters_of, choice.model, path)
    whole = live_reading(Model.num_parameters, choice.model)
    share = fill(_("{share} of {whole:,}"), share=percent(count, whole), whole=whole)
    _metric(f"`{split_layer(path)[1]}`", grouped(count), share)
    show_node_formula(choice.model, path, count, _color(choice, path))


def _bars(choice: Choice, path: str) -> None:
    bars = parameter_bars(choice, path)
    if not bars.figures:
        raise KeyError(path)
    alt = _("Parameters of each part of {opened}").format(opened=path)
    # A legend would push the content below the bars off the screen. The label of each bar states the change.
    draw_bars(bars, "lecture", choice.architecture, path, alt=alt, with_legend=False)


def _so_far(choice: Choice, path: str) -> None:
    """Draw the number of parameters from the model's input to the end of the module at ``path``, as a progress bar."""
    stops = walk(_steps(choice))
    inside = [stop for stop in stops if f"{stop.name}.".startswith(f"{path}.")]
    if not inside:
        raise KeyError(path)
    sums = {"so_far": inside[-1].so_far, "total": stops[-1].so_far}
    caption = drawing.box("said", text=fill(_("So far {so_far:,} of {total:,}"), **sums))
    filled = drawing.box("filled", style={"--so-far": sums["so_far"], "--total": sums["total"]})
    drawing.draw(drawing.box("so-far", caption, drawing.box("track", filled, **_HIDDEN)), f"so-far {path}")


def _heads(choice: Choice) -> None:
    """Draw the query, key and value matrices, per head and as whole matrices: as a table of products and as areas."""
    show_heads(choice.model)
    heads = live_size("num_attention_heads", choice.config.num_attention_heads)
    style = {"--heads": heads, "--color": _color(choice, place(_HEADS, choice))}
    slices, whole = (drawing.box("matrices", *[drawing.box(kind)] * 3) for kind in ("slices", "slices whole"))
    equation = drawing.box("heads", slices, drawing.box("equals", text="="), whole, style=style, **_HIDDEN)
    drawing.draw(equation, "heads of the screen")


def _total(choice: Choice) -> None:
    bars = parameter_bars(choice)
    whole = sum(bars.figures.values())
    _metric(_("Parameters in {architecture}").format(architecture=choice.architecture), grouped(whole))
    show_total_formula(choice.model)
    draw_proportions(bars)


def _rounding(choice: Choice, number: str) -> None:
    """Draw a table of the config's known counts, and of whether each rounds to ``number``, such as "110M"."""
    config = choice.config
    counts = [
        count
        for count in known_counts(config)
        if count.model.cls.task in _ROUNDED and count.model.config == config and not count.buffers
    ]
    counts.sort(key=lambda count: count.total)
    exactly, roughly = (reading for reading in readings(typed(number)) if reading.key == "parameters")
    rounds, digits = _("Rounds to {number}").format(number=number), _("Or to two significant digits")
    totals = [live_reading(Model.num_parameters, count.model) for count in counts]
    rows = [
        (
            sentence(known_in_words(count)),
            fill("**{total:,}**", total=total),
            *(if_between(reading.low, total, reading.high, _("✓ yes"), _("✗ no")) for reading in (exactly, roughly)),
        )
        for count, total in zip(counts, totals, strict=True)
    ]
    titles = (_("Count"), _("Parameters"), rounds, digits)
    show_rows(titles, rows, _("Which counts round to {number}").format(number=number))


def _compare(choice: Choice, preset: str) -> None:
    """Draw the parameter counts of the current model and a preset, and the difference between them as bars.

    If the current model started from this preset, compare it with the default preset instead.
    """
    pair = (DEFAULT_PRESET, _YOURS) if choice.preset == preset else (_YOURS, preset)
    _explain(_comparison(choice, *pair))


def _costs(choice: Choice, preset: str, batch_size: str) -> None:
    comparison = _comparison(choice, preset, _YOURS, measure="training_memory")
    draw_models(comparison._replace(batch=comparison.batch._replace(batch_size=int(batch_size)), order="chosen"))


def _relatives(choice: Choice, sort: str) -> None:
    draw_models(_comparison(choice, *WELL_KNOWN, _YOURS, measure=sort))


def _comparison(choice: Choice, *presets: str, measure: str = "parameters") -> Comparison:
    """A comparison of presets and the current model, with the default batch and a live current model."""
    models = [
        ComparedModel(ModelRef(preset), preset, ModelRef(preset).model()) if preset else _yours(choice, presets)
        for preset in presets
    ]
    return Comparison("", models, Batch(*_call(choice).batch.shape), measure, "descending")


def _yours(choice: Choice, presets: Collection[str]) -> ComparedModel:
    """The current model, named after its preset and its changes; it is hidden while it equals one of ``presets``."""
    item = item_of(choice.model, choice.preset)
    before, after = values_of(ModelRef(choice.preset).model()), values_of(choice.model)
    sizes = [field for field in FIELDS if field in SLIDERS and field in before and field in after]
    named = {field: change_words(field, value) for field, value in item.changes if field not in sizes}
    named |= {
        field: either(size, before[field], "", change_words(field, size))
        for field in sizes
        for size in [live_size(field, after[field])]
    }
    ordered = sorted(named, key=lambda field: (field != "architecture", FIELDS.index(field)))
    name = joined(_(", "), (choice.preset, *(named[field] for field in ordered)))
    differs = differ([before[field] for field in sizes], [live_size(field, after[field]) for field in sizes])
    is_shown = differs if choice.preset in presets and {field for field, _value in item.changes} <= {*sizes} else 1
    return ComparedModel(item, name, choice.model, frozenset(SLIDERS), is_shown)


def _explain(comparison: Comparison, *, changing: bool = False) -> None:
    first, last = comparison.models[0], comparison.models[-1]
    explanation = comparison.explain(last)
    with st.container(horizontal=True):
        _metric(first.name, grouped(explanation.before))
        _metric(last.name, grouped(explanation.after), relative(explanation))
    show_differences(comparison, explanation, changing=changing)


def _compute(choice: Choice) -> None:
    call = _call(choice)
    count = Count(choice, call, PYTORCH, run(choice.model, call))
    live.note_sizes(count.sizes)
    show_figures(count)
    show_parts(count, "lecture compute")


def _proof(choice: Choice) -> None:
    """Build the real model and show the comparison with it; without torch, show that torch is missing."""
    if not installed():
        st.info(_("Comparing with the real model requires torch and transformers, which are not installed here."))
        return
    place = st.empty()  # hides the verdict on the previous model while PyTorch builds this model
    with place, st.spinner(_("Building the real model ...")):
        verdict_of(choice.model)
    with place.container():
        show_checks(show_verdict(choice.model).checks[:_MOST_CHECKS])


def _steps(choice: Choice) -> list[Step]:
    return live_steps(choice.model, _call(choice))


def _metric(label: str, value: str, below: str = "") -> None:
    show_metric(label, value, below, least=max(290, 12 * text_width(label)))


def place(show: Show, choice: Choice) -> str:
    """The path of the module that a part shows; "" if the part shows the whole model or several modules.

    For the part "heads", it is the path of the first attention module.
    """
    if show.part != "heads":
        return show.arguments.get("path", "")
    return next(step.name.rpartition(".")[0] for step in _steps(choice) if step.core)


def draw_place(choice: Choice, paths: Collection[str]) -> None:
    """Draw the model as a picture, in which the modules at ``paths`` are marked."""
    show_place(walk(_steps(choice)), paths, choice.config)


def _call(choice: Choice) -> Call:
    """The default call, or the nearest call that the model can run."""
    return possible(choice.model, Call())


# A lecture can refer to the modules of all families. A screen shows a note if the current model lacks the module.
_MODELS = [build(family.fullest(**RELATIVE), name) for name, family in CLASSES.items()]
PATHS = dict.fromkeys(
    model.without_prefix(path)
    for model in _MODELS
    for path, module, _copies in model.modules()
    if path and module.num_parameters()
)
_ROLES = ("word", "position", "token type")
TABLES = dict.fromkeys(
    model.without_prefix(path)
    for model in _MODELS
    for path, module, _copies in model.modules()
    if module.place.role in _ROLES
)
PARTS: dict[str, ScreenPart] = {
    "row": ScreenPart(_row, {"path": TABLES}),
    "count": ScreenPart(_count, {"path": PATHS}),
    "bars": ScreenPart(_bars, {"path": PATHS}),
    "so_far": ScreenPart(_so_far, {"path": PATHS}),
    "heads": ScreenPart(_heads),
    "total": ScreenPart(_total),
    "formula": ScreenPart(lambda choice: show_total_formula(choice.model)),
    "rounding": ScreenPart(_rounding, {"number": ("110M", "340M")}),
    "compare": ScreenPart(_compare, {"preset": PRESETS}),
    "since": ScreenPart(
        lambda choice, preset: _explain(_comparison(choice, preset, _YOURS), changing=True), {"preset": PRESETS}
    ),
    "costs": ScreenPart(_costs, {"preset": PRESETS, "batch_size": ("1", "32")}),
    "relatives": ScreenPart(_relatives, {"sort": GLANCE}),
    "compute": ScreenPart(_compute),
    "hand_count": ScreenPart(lambda choice, terms: show_in_short(choice.model, terms), {"terms": None}),
    "proof": ScreenPart(_proof),
}
# The placeholders that the texts of a screen can contain.
PLACEHOLDERS = (*LETTERS, "attention_head_size", "embedding_size", "architecture", "parameters")
VOCABULARY = Vocabulary({name: part.arguments for name, part in PARTS.items()}, tuple(SLIDERS), PLACEHOLDERS, PRESETS)


def values(choice: Choice) -> dict[str, str]:
    """The values of the placeholders for the current model, as live texts keyed by placeholder."""
    sizes = live_reading(_sizes, choice.model)
    return {**{name: grouped(size) for name, size in sizes.items()}, "architecture": choice.architecture}


def _sizes(model: Model) -> dict[str, int]:
    config = model.config
    return {
        **{name: getattr(config, name) for name in (*LETTERS, "attention_head_size")},
        "embedding_size": getattr(config, "embedding_size", config.hidden_size),
        "parameters": model.num_parameters(),
    }
