"""The page Step by step: a walk through the forward pass. Each stop has a lesson, shapes and a formula."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from math import prod
from typing import Any

import streamlit as st

from bertcalc import Config, Module, build
from bertcalc.config import absent
from bertcalc.families import CLASSES
from bertcalc.forward.outputs import Call, attends
from bertcalc.forward.step_formulas import live_steps
from bertcalc.forward.walk import AFTER, KerasRow, Stop, factors, in_layer, per_head, walk
from bertcalc.live.live_formulas import live_reading, live_sizes, with_formula, with_formulas
from bertcalc.model.batch import Batch
from bertcalc.model.formula import Formula, formula, in_numbers, shape_letters, symbolic_model, symbolic_steps
from bertcalc.model.model import Model
from bertcalc.model.modules import Attention, Dropout, Shape, split_layer
from bertcalc.teach.lessons import Question, lesson
from bertcalc.text import N_, written
from bertcalc.text.amounts import whole
from bertcalc.text.live_numbers import between, fill, grouped, is_live, without_start
from bertcalc.transformers4.version import RELATIVE_BOTH_WAYS
from pages.ui.session.present_model import linked
from pages.ui.shell import live, stepping
from pages.ui.shell.controls import Fold, Number, Select
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.widgets import drawing
from pages.ui.widgets.batch_controls import present_batch
from pages.ui.widgets.live_formula import show_formula
from pages.ui.widgets.numbers import unbroken
from pages.ui.widgets.tables import shape_text, show_rows, show_table

LAYER = Number("layer", N_("Layer"), 0, width=66)  # the index of the layer that the walk shows step by step
HEADS = Fold("heads", N_("Query, key and value, head by head"))
ROWS = Fold("rows", N_("The whole forward pass, one Keras-style row for each layer"))


def _steps_of(link: Mapping[str, str]) -> list[str]:
    model = linked(link).model()
    number = whole(link.get(LAYER.name, ""))
    layer = max(0, min(number if isinstance(number, int) else 0, model.config.num_hidden_layers - 1))
    return [stop.name for stop in stops_of(model, present_batch(model.config), layer)]


# Together, the walks of all architectures with each of these sets of config fields contain every possible stop.
_FULLEST: tuple[dict[str, str], ...] = ({}, RELATIVE_BOTH_WAYS)
STEP = Select(
    "step",
    N_("Step"),
    dict.fromkeys(
        stop.name
        for name, family in CLASSES.items()
        for config in dict.fromkeys(family.fullest(**fields) for fields in _FULLEST)
        for stop in walk(build(config, name).steps(Batch(encoder_sequence_length=1)), layer=1)
    ),
    available=_steps_of,
    label_visibility="collapsed",
)


def stops_of(model: Model, batch: Batch, layer: int) -> list[Stop]:
    """The stops of the walk through a model, with live numbers; ``layer`` is the opened layer."""
    return walk(live_steps(model, call_of(model, batch)), layer)


def call_of(model: Model, batch: Batch) -> Call:
    """The forward call of the walk. An encoder output for cross-attention is as long as the sequence."""
    return Call(*batch.shape, encoder_sequence_length=model.encoder_length(batch.sequence_length))


def choose_stop(stops: Sequence[Stop]) -> int:
    """Draw the choice of a stop between the buttons Previous and Next; return the index of the chosen stop."""
    names = [stop.name for stop in stops]
    wanted = st.session_state.get(STEP.name, names[0])
    if wanted not in names:  # the stop of another model: replace it with the most similarly named stop
        st.session_state["step"] = get_close_matches(wanted, names, n=1, cutoff=0)[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        back = st.empty()
        with st.container():
            name = STEP.show(names)
        position = names.index(name)
        with back:
            stepping.button(_("Previous"), "step", -1, end=position == 0)
        stepping.button(_("Next"), "step", 1, end=position + 1 == len(names))
    stepping.listen("step", names, name)
    return position


def heading(stops: Sequence[Stop], position: int, rows: Sequence[KerasRow]) -> str:
    """The heading of a stop as Markdown: its number, its name and, except in projector view, its Keras-style name."""
    stop = stops[position]
    name = f"## {position + 1} / {len(stops)} · {_(lesson(stop).label)}\n"
    row = next(row for row in rows if stop in row.stops)
    keras = fill(_("In a Keras summary: {keras}, row {number}"), keras=row.keras, number=row.number)
    return name if presenting() else fill("{name}:small[{keras}]\n\n", name=name, keras=keras)


def show_progress(config: Config, stops: Sequence[Stop], position: int, layer: int) -> None:
    """Show how many parameters the walk has passed in the model.

    If the stop is in a layer, also show how many it has passed in this layer.
    """
    stop, last = stops[position], stops[-1]
    bars = []
    if layer_now := in_layer(stops, position):
        alike = _("Layer {number:,} of {layers:,}, all identical: {so_far:,} of {total:,}")
        other = _("Layer {number:,} of {layers:,}, the first lacks one LayerNorm: {so_far:,} of {total:,}")
        place = alike if all(stop.alike for stop in stops) else other
        layers = live_sizes(config)["num_hidden_layers"]
        text = fill(place, number=layer + 1, layers=layers, **layer_now._asdict())
        bars.append(_progress(text, *layer_now))
    learned = _("So far {so_far:,} of {total:,} parameters, {parameters:,} of them in this step")
    learned = fill(learned, so_far=stop.so_far, total=last.so_far, parameters=stop.parameters)
    bars.append(_progress(learned, stop.so_far, last.so_far))
    drawing.draw(drawing.box("slim", *bars), "progress")


def _progress(text: str, so_far: int, total: int) -> drawing.Box:
    """A text above a progress bar, which is filled to ``so_far`` of ``total``."""
    filled = drawing.box("filled", style={"--so-far": so_far, "--total": total})
    attributes: dict[str, Any] = {"role": "progressbar", "aria-label": text}
    bar = drawing.box("track", filled, **attributes)
    return drawing.box("so-far", drawing.box("said", text=text), bar)


def show_question(question: Question, values: Mapping[str, str]) -> None:
    """Show a question with its answer. Projector view hides the answer in a tooltip, so that students answer first."""
    asked, answer = f"**{_(question.question)}**", fill(_(question.answer), **values)
    if presenting():
        st.markdown(asked, help=answer)
    else:
        live.info(fill("{asked}  \n{answer}", asked=asked, answer=answer))


def show_keras_rows(rows: Sequence[KerasRow]) -> None:
    """Show the whole walk as a table like a Keras summary, with Hugging Face's names beside the Keras-style names."""
    titles = (_("Row"), _("Keras-style name"), "Hugging Face", _("Output shape"), _("Parameters"), _("So far"))
    cells = []
    for row in rows:
        theirs, shape = ", ".join(stop.inside for stop in row.stops), unbroken(shape_text(row.shape))
        counts = (grouped(row.parameters), grouped(row.stops[-1].so_far))
        cells.append((f"{row.number}", row.keras, theirs, shape, *counts))
    show_rows(titles, cells, _("The whole forward pass"))


def show_heads(model: Model) -> None:
    """Show that query, key and value have the same parameter count as matrices per head and as one matrix each."""
    letters = symbolic_model(model).first_attention()
    numbers = model.first_attention()
    assert isinstance(letters, Attention)
    assert isinstance(numbers, Attention)
    sizes = model.config.shared()
    count = with_formula(numbers.num_attention_heads, letters.num_attention_heads, sizes)
    heads = fill(_("{heads:,} heads, each with its own matrices"), heads=count)
    columns = {
        "": [*[_("weights"), _("biases")][: len(factors(numbers))], _("together")],
        heads: _products(per_head(letters), per_head(numbers), sizes),
        _("One matrix for all heads"): _products(letters, numbers, sizes),
    }
    show_table(columns, _("Query, key and value, counted per head and as one matrix each"))


def _head_size(model: Model) -> int:
    return model.config.attention_head_size


def values_of(model: Model, stop: Stop, batch: Batch) -> dict[str, str]:
    """The values of the placeholders in a lesson, as texts; values that depend on sizes are live."""
    config = model.config
    values: dict[str, Any] = {
        **absent(type(config)),
        **live_sizes(config),
        **batch.sizes(),
        "attention_head_size": live_reading(_head_size, model),
        "position_buckets": getattr(config, "distances", 0),  # DeBERTa v1 has no field position_buckets
        "layers": stop.layers,
        "parameters": stop.parameters,
        "probability": next((step.module.p for step in stop.steps if isinstance(step.module, Dropout)), 0.0),
    }
    return {name: grouped(value) if is_live(value) else written(value) for name, value in values.items()}


def in_letters(model: Model, stop: Stop, batch: Batch) -> tuple[Stop, list[Formula]]:
    """Return the stop with symbolic shapes, and the parameter formulas of its steps that have parameters."""
    steps = symbolic_steps(model, cross=attends(model, call_of(model, batch)))
    by_name = {symbolic.step.name: symbolic for symbolic in steps}
    mine = [by_name[step.name] for step in stop.steps]
    return stop._replace(steps=tuple(symbolic.step for symbolic in mine)), [s.parameters for s in mine if s.parameters]


def show_shapes(stop: Stop, letters: Stop, layer: int, model: Model) -> None:
    """Show the names and shapes of a stop's inputs, outputs and parameters.

    Names in the opened layer omit the layer's prefix. ``letters`` is the stop with symbolic shapes.
    """
    where = split_layer(stop.name)[0].replace("*", f"{layer}")
    prefix = f"{where}." if where else ""
    kinds = [_("input")] * len(stop.takes) + [_("output")] * len(stop.gives) + [_("parameters")] * len(stop.tensors)
    rows = [
        (
            kind,
            reduce(without_start, (model.body_prefix, prefix), name),
            *map(unbroken, (shape_letters(symbols), shape_text(shape))),
        )
        for kind, (name, shape), (_name, symbols) in zip(kinds, _shapes(stop), _shapes(letters), strict=True)
    ]
    titles = ("", _("Name"), _("In symbols"), _("In numbers"))
    show_rows(titles, rows, _("Inputs, outputs and parameters"))


def _shapes(stop: Stop) -> list[tuple[str, Shape]]:
    """The (name, shape) pairs of a stop's inputs, outputs and parameters."""
    values = [(value.name, value.shape) for value in (*stop.takes, *stop.gives)]
    return values + [(tensor.name, tensor.shape) for tensor in stop.tensors]


def _products(letters: Module, numbers: Module, values: Mapping[str, Any]) -> list[str]:
    """The products that count a module's weights and biases, "letters = numbers = product", and their sum."""
    symbols = factors(letters)
    sizes = with_formulas(factors(numbers), symbols, values)
    line = "{letters} = {numbers} = {product:,}"
    lines = [
        fill(line, letters=shape_letters(symbols[name]), numbers=shape_text(shape), product=prod(shape))
        for name, shape in sizes.items()
    ]
    return [*lines, grouped(sum(map(prod, sizes.values())))]


def show_stop_formula(model: Model, stop: Stop, layer: int, formulas: Sequence[Formula]) -> None:
    """Show the parameter count of a stop with letters and with numbers; ``formulas`` are the formulas of its steps."""
    letters, numbers = "{}", "{numbers}"
    if stop.layers:
        formulas = [formula(model, path=split_layer(stop.steps[0].name)[0])]
        count = rf"\left(L - {layer + 1}\right)" if stop.key == AFTER else f"{stop.layers}"
        letters, numbers = rf"{count} \cdot \left({{}}\right)", "{layers:,} · ({numbers})"
    sizes = live_sizes(model.config)
    filled = between(" + ", [in_numbers(term.expression, sizes) for term in formulas])
    text = fill(f"= {numbers} = {{count:,}}", numbers=filled, layers=stop.layers, count=stop.parameters)
    show_formula(letters.format(" + ".join(term.latex() for term in formulas)), text, "stop")
