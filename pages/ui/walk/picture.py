"""The picture on the page Step by step: a diagram of the model, with a box for each stop of the walk.

A frame encloses the layer, slices show the heads, and arcs show the residual connections.
"""

import re
from collections.abc import Collection, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import streamlit as st

from bertcalc import Config
from bertcalc.charts.columns import Columns, of_rows
from bertcalc.charts.labels import ems
from bertcalc.charts.walk_picture import picture
from bertcalc.forward.walk import Stop
from bertcalc.live.live_formulas import live_size
from bertcalc.model.modules import split_layer
from bertcalc.teach.lessons import lesson
from bertcalc.text.live_numbers import fill, grouped, is_live
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.present import presenting
from pages.ui.shell.theme import appearance
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.live_chart import clicked

# Each tuple lists the roles of stops that share a row; any other stop has its own row.
_EMBEDDINGS = (
    ("input_ids", "token_type_ids"),
    ("word", "token type", "position"),
    ("add_token_type", "add_position"),
    ("norm", "dropout"),
)
_ATTENTION = (
    ("query", "key", "value"),
    ("distance", "query_distances", "key_distances"),
    ("scores", "add_distances", "scale", "mask"),
    ("softmax", "weights_dropout", "context"),
    ("merge_heads", "output", "dropout"),
    ("add", "norm"),
)
_ROWS: dict[str, tuple[tuple[str, ...], ...]] = {
    "embeddings": _EMBEDDINGS,
    "attention": _ATTENTION,
    "cross-attention": _ATTENTION,
    "feed-forward": (("up", "activation"), ("down", "dropout"), ("add", "norm")),
    "pooler": (("first_token", "dense", "activation"),),
    "language model": (("transform", "activation", "norm"),),
    "head": (
        ("decoder", "next sentence"),
        ("answer span", "split"),
        ("first_token", "classifier_dropout", "dense", "activation", "dropout", "classifier", "reshape"),
    ),
}
_GAP, _LEFT, _RIGHT = 0.012, 0.075, 0.987  # as fractions of the picture's width
_BOX = 0.84  # the height of a box as a fraction of a row
_MARGIN, _NARROW_MARGIN = 2, 1.1  # the extra width of a box beyond its label, in ems; _MARGIN includes the mark
_SPARE = 0.6  # the free space beside the label in a box, in ems
_MOST_HEADS = 64  # more slices would be too narrow to tell apart


def show_picture(stops: Sequence[Stop], position: int, config: Config, layer: int) -> None:
    """Draw the walk and mark the stop at index ``position``; a click on a box goes to its stop."""
    # The key changes after every click. Streamlit then draws a picture without a selection, where the reader can click
    # any box, including the box of the last click.
    key = f"picture {st.session_state.get('pictures', 0)}"
    alt = _("The model from top to bottom; the current step, {step}, is marked").format(step=stops[position].name)
    _draw(stops, {stops[position].name}, config, layer, alt, key=key, on_select=partial(_go_to_clicked, key))


def show_place(stops: Sequence[Stop], paths: Collection[str], config: Config) -> None:
    """Draw the walk and mark the stops that have parameters in the modules at ``paths``."""
    # The picture shows the first layer if it differs from the others, so "layer.*" also matches "layer.0".
    starts = tuple(f"{start}." for path in paths for start in (path, path.replace(".*", ".0")))
    marked = {stop.name for stop in stops if stop.parameters and f"{stop.name}.".startswith(starts)}
    alt = _("The model from top to bottom, with {paths} marked").format(paths=listed(paths))
    _draw(with_parameters(stops), marked, config, 0, alt, close=True)


def with_parameters(stops: Sequence[Stop]) -> list[Stop]:
    """The stops with parameters, and the attention heads, for the picture in a lecture.

    A lecture is about parameters, and fewer boxes leave room for larger labels.
    """
    return [stop for stop in stops if stop.parameters or stop.key.endswith(".heads")]


def _draw(
    stops: Sequence[Stop],
    marked: Collection[str],
    config: Config,
    layer: int,
    alt: str,
    *,
    close: bool = False,
    **options: Any,
) -> None:
    frame, rows = picture_frame(stops, marked, config, layer, close=close)
    spec = picture(appearance(), rows, low=presenting())
    draw_chart(frame, spec, numbers={"step": "Hugging Face", "what": _("Step")}, alt=alt, **options)


def picture_frame(
    stops: Sequence[Stop], marked: Collection[str], config: Config, layer: int, *, close: bool = False
) -> tuple[Columns, int]:
    """Return the data of the picture, with one shape per data row, and the number of rows in the picture.

    ``marked`` holds the names of the marked stops. If it is a single stop, the stop also gets the sign ▶. With
    ``close``, boxes have no sign and are only slightly wider than their labels.
    """
    margin = _NARROW_MARGIN if close else _MARGIN
    shapes: list[dict[str, Any]] = []
    row = top = bottom = residual = 0
    for _number, members in groupby(stops, key=_row_of):
        group = list(members)
        inside = group[0].in_layer
        if inside and not top:
            name = split_layer(group[0].name)[0].replace("*", f"{layer}")
            numbers: dict[str, Any] = {
                "number": layer + 1,
                "layers": live_size("num_hidden_layers", config.num_hidden_layers),
            }
            label, brief = _("Layer {number} of {layers}: {name}"), _("Layer {number} of {layers}")
            title = {"label": fill(label, name=name, **numbers), "brief": fill(brief, **numbers)}
            shapes.append(_shape("title", _LEFT, _RIGHT, row, row + 1, **title, **_widths(**title)))
            top, row = row, row + 1
            residual = row
        left, right = (_LEFT, _RIGHT) if inside else (0.0, 1.0)
        labels = [_label(stop, config) for stop in group]
        widths = [margin + ems(label) for label in labels]
        scale = (right - left) / sum(widths)
        x = left
        for stop, label, width in zip(group, labels, widths, strict=True):
            mark = "" if stop.name not in marked else "▶ " if len(marked) == 1 and not close else " "
            x2 = x + scale * width
            shapes.append(_box(stop, config, x, x2 - _GAP, row, label, mark))
            x = x2
            if inside and stop.key.endswith(".add"):
                shapes += _arc(residual, row)
                residual = row + 1
        row += 1
        bottom = row if inside else bottom
    frame = _shape("frame", 0, 1, top, bottom)
    boxes = [shape for shape in shapes if shape["mark"] == "box"]
    longest = {
        "longest": max((shape["ems"] + _SPARE) / (shape["x2"] - shape["x"]) for shape in boxes),
        "longest_brief": max((shape["brief_ems"] + _SPARE) / (shape["x2"] - shape["x"]) for shape in boxes),
    }
    return of_rows([shape | longest for shape in (frame, *shapes)]), row


def _widths(label: str, brief: str) -> dict[str, float]:
    return {"ems": ems(label), "brief_ems": ems(brief)}


def _row_of(stop: Stop) -> tuple[str, int | str]:
    block, _dot, role = stop.key.partition(".")
    block = "head" if role == "decoder" else block  # the outputs of both pre-training heads share a row
    return block, next((number for number, roles in enumerate(_ROWS.get(block, ())) if role in roles), stop.name)


def _label(stop: Stop, config: Config) -> str:
    if stop.layers:
        return fill(_("{count} × the same layer"), count=grouped(stop.layers))
    if stop.key.endswith(".heads"):
        return fill(_("heads: {heads:,}"), heads=_heads(config))
    return _(lesson(stop).label)


def _heads(config: Config) -> int:
    return live_size("num_attention_heads", config.num_attention_heads)


def _box(stop: Stop, config: Config, x: float, x2: float, row: int, label: str, mark: str) -> dict[str, Any]:
    few = stop.key.endswith(".heads") and config.num_attention_heads <= _MOST_HEADS
    heads = _heads(config) if few else 0
    marked = {"label": label, "brief": _without_brackets(label)}
    texts = {name: fill("{mark}{text}", mark=mark.lstrip(), text=text) for name, text in marked.items()}
    columns = {**texts, **_widths(**texts), "what": label, "step": stop.name}
    weight = 1 if mark else 0.25 if stop.parameters else 0.03
    component = stop.steps[0].place.component
    return _shape("box", x, x2, row, row + _BOX, **columns, component=component, weight=weight, heads=heads)


def _without_brackets(label: str) -> str:
    """The label for a narrow box, without words in brackets unless it is live: "dropout (weights)" is "dropout"."""
    return label if is_live(label) else re.sub(r" ?[(（].*[)）]$", "", label)


def _arc(start: float, end: float) -> list[dict[str, Any]]:
    """The three lines of an arc from above row ``start``, along the left side, to the first box of row ``end``."""
    middle, edge = end + _BOX / 2, _LEFT / 2
    above = start - (1 - _BOX) / 2
    return [
        _shape("arc", edge, (_LEFT + _RIGHT) / 2, above, above),
        _shape("arc", edge, edge, above, middle),
        _shape("arc", edge, _LEFT, middle, middle),
    ]


def _shape(mark: str, x: float, x2: float, y: float, y2: float, **columns: Any) -> dict[str, Any]:
    texts = {"label": "", "brief": "", "ems": 0.0, "brief_ems": 0.0, "what": ""}
    blank = {**texts, "step": None, "component": "", "weight": 0, "heads": 0}
    return {"mark": mark, "x": x, "x2": x2, "y": y, "y2": y2, **blank, **columns}


def _go_to_clicked(key: str) -> None:
    for box in clicked(key, "box"):
        st.session_state["step"] = box["step"]
        st.session_state["pictures"] = st.session_state.get("pictures", 0) + 1
