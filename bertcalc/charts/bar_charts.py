"""Bar charts: the parts of a model compared with the preset, a single bar divided into parts, and bars of pieces."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import altair as alt

from bertcalc.charts.blocks import (
    GRID,
    NARROW,
    Spec,
    by_width,
    colored,
    either,
    figures_axis,
    fitting,
    having,
    in_order,
    names_axis,
    spec_of,
    tooltip,
)
from bertcalc.charts.colors import BACKGROUND, COLORS, INK, NEUTRAL
from bertcalc.charts.columns import Columns, of_rows
from bertcalc.charts.labels import FONT, SMALL, halfway, in_lines, room_for_label, span, text_inside, widest
from bertcalc.explore.quantities import EVERY_QUANTITY
from bertcalc.text.live_choices import largest, smallest
from bertcalc.text.live_numbers import fill

_MANY = 9  # more bars than this are drawn closer together, so that the chart still fits on the first screen
_ROOM = 280  # pixels to the right of the axis, for the label of a bar as long as the axis
_GAP = 7
_PHONE_ROW = 28  # pixels: on a phone, a label and the bar below it
_PHONE_BAR = 6
_AXIS = 24  # height of the axis in pixels
_LINE = 34  # maximum number of letters per line of a name
_TWO_LINES = 30  # height in pixels of a bar with room for two lines
_WIDTH = 600  # pixels: the width of bars and labels for which _ROOM is set; narrower charts need more
# The color of each kind of piece. Quantities have a color that differs from the colors of components.
_KINDS = {
    look: {
        **dict.fromkeys(EVERY_QUANTITY, NEUTRAL[look]),
        **colors,
        "more": colors["embeddings"],
        "fewer": colors["encoder"],
        "together": INK[look],
    }
    for look, colors in COLORS.items()
}
_COLOR, _EDGE = alt.Color("color:N", scale=None), alt.Stroke("color:N", scale=None)


@lru_cache
def ranked_bars(appearance: str, count: int, unit: str, words: tuple[str, ...], *, low: bool = False) -> Spec:
    """The chart with a horizontal bar, labeled at its end, for each of ``count`` parts of a model.

    A bar is solid up to the preset's figure, which is marked. Additions are lighter; removals are dashed outlines.
    ``unit`` is the unit of the figures. ``words`` are the titles of the tooltip's lines: exact figure, share, formula,
    and the preset's figure. A ``low`` chart has thinner bars.
    """
    few = count <= _MANY
    step, font = (18 if low else 22, FONT) if few else (14 if low else 17, SMALL)
    axis = names_axis(appearance, font, labelLimit=300, labelFlush=False)
    scale = alt.Scale(nice=False, zero=True, range=[0, either("width - 12", f"width - min({_ROOM}, 0.4 * width)")])
    first = _x(
        "solid", scale=scale, axis=figures_axis(appearance, unit, tickCount=either(3, 6), gridOpacity=either(0, GRID))
    )
    # Two invisible layers: one sets the end of the axis, the other makes the whole row of a bar clickable.
    end = having("name").mark_tick(opacity=0).encode(x=_x("limit"))
    chosen = alt.selection_point(name="bar", fields=["path"], on="click", empty=False)
    rows = (
        having("name")
        .mark_bar(opacity=0, cursor="pointer")
        .encode(x=alt.value(0), x2=alt.value("width"), tooltip=_tooltip(words))
        .add_params(chosen)
    )
    bars, labels = _bars(first, step, INK[appearance]), _labels(appearance, font)
    layers = alt.layer(*bars, *labels, end, rows).encode(y=in_order("name", axis))
    return by_width(spec_of(layers, step * count + _AXIS), _PHONE_ROW * count + _AXIS)


def _x(field: str, **look: Any) -> Any:
    return alt.X(f"{field}:Q", title=None, stack=None, **look)


def _bars(first: Any, step: int, ink: str) -> list[Any]:
    """The layers of ranked bars: solid bars at ``first``, additions, removals, and the marks of the preset's figures.

    A row has ``step`` pixels; on a phone, there is room for the label above the bar.
    """
    chart = having("name")
    below = either((_PHONE_ROW - _PHONE_BAR - 11) / 2, 0)
    place = {"size": either(_PHONE_BAR, 0.7 * step), "yOffset": below}
    # aria=False: to a screen reader, an empty layer would be a picture without a name.
    return [
        chart.mark_bar(**place).encode(x=first, color=_COLOR),
        chart.transform_filter("datum.end > datum.solid")
        .mark_bar(**place, fillOpacity=0.3, strokeWidth=1.5, aria=False)
        .encode(x=_x("solid"), x2="end:Q", color=_COLOR, stroke=_EDGE),
        chart.transform_filter("datum.mark > datum.end")
        .mark_bar(**place, fillOpacity=0, strokeWidth=1.5, strokeDash=[4, 3], aria=False)
        .encode(x=_x("end"), x2="mark:Q", stroke=_EDGE),
        chart.transform_filter("isValid(datum.mark)")
        .mark_tick(
            color=ink, thickness=2.5, size=either(_PHONE_BAR + 4, step - 2), yOffset=place["yOffset"], aria=False
        )
        .encode(x=_x("mark")),
    ]


def _labels(appearance: str, font: int) -> list[Any]:
    """The layers of labels: a label is to the right of its bar, or further left if it would be cut off.

    On a phone, it is above the bar.
    """
    needed = f"scale('x', datum.far) + {font} * (datum.label_width + datum.more_width) + {4 * _GAP}"
    behind = f"{_GAP} + min(0, width - ({needed}))"
    over = "-scale('x', datum.far)"

    def text(narrow: str, wide: str, **look: Any) -> Any:
        shift = "" if narrow == "brief" else f" + {_GAP} + {{}} * datum.{{}}_width"
        dx = either(over + shift.format(SMALL, "brief"), behind + shift.format(font, "label"))
        look |= {"text": either(f"datum.{narrow}", f"datum.{wide}"), "fontSize": either(SMALL, font)}
        return (
            having("name")
            .mark_text(align="left", dx=dx, dy=either((14 - _PHONE_ROW) / 2, 0), **look)
            .encode(x=_x("far"))
        )

    # Each text is drawn twice, first as an outline in the background color, to be readable on top of its bar.
    paper = {"color": BACKGROUND[appearance], "stroke": BACKGROUND[appearance], "strokeWidth": either(0, 4)}
    paper["strokeJoin"] = "round"  # otherwise the outline has spikes, which cut into the bars of other rows
    return [
        text("brief", "label", **paper),
        text("brief", "label", color=INK[appearance]),
        text("more_brief", "more", fontWeight="bold", **paper),
        text("more_brief", "more", fontWeight="bold").encode(color=_COLOR),
    ]


@lru_cache
def proportional_bar(appearance: str, words: tuple[str, ...]) -> Spec:
    paper, tip = BACKGROUND[appearance], _tooltip(words)
    x = alt.X("start:Q", axis=None, scale=alt.Scale(nice=False))
    pieces = alt.Chart().mark_rect(stroke=paper, strokeWidth=1)
    pieces = pieces.encode(x=x, x2="end:Q", color=alt.Color("color:N", scale=None), tooltip=tip)
    labels = fitting(alt.Chart(), alt.X("middle:Q", axis=None), "name", appearance, tip, gap=_GAP)
    return spec_of(alt.layer(pieces, labels), 34)


def _tooltip(words: Sequence[str]) -> list[Any]:
    return tooltip("name", **dict(zip(("exact", "share", "formula", "was"), words, strict=True)))


class Piece(NamedTuple):
    """A piece of a bar: its kind, its ends, and a name to write inside if there is room.

    The kind determines the color. A piece that is not ``filled`` is an outline. ``figures`` are for export.
    """

    kind: str
    start: int
    end: int
    name: str = ""
    filled: bool = True
    figures: Mapping[str, object] = {}


class PieceBar(NamedTuple):
    """A bar: its name, its pieces, the label at its end, and figures of the whole bar for export."""

    name: str
    pieces: Sequence[Piece]
    label: str
    figures: Mapping[str, object] = {}
    shown: int = 1  # 0 for a bar that is hidden until a slider moves


def pieces_frame(bars: Sequence[PieceBar], step: int) -> Columns:
    """The data of ``piece_bars``: a row for each piece, and a row for the end of each bar.

    ``step`` is the number of pixels per bar.
    """
    ends = [0, *(end for bar in bars for piece in bar.pieces for end in (piece.start, piece.end))]
    least, most = smallest(ends), largest(ends)
    longest = widest([bar.label for bar in bars])
    ending = {
        "room": room_for_label(least, most, longest, _WIDTH / FONT, 12 / FONT),
        "most": most,
        "span": span(least, most),
        "longest": longest,
    }
    rows: list[dict[str, object]] = []
    for order, bar in enumerate(bars):
        letters = _LINE if step >= _TWO_LINES else 2 * _LINE
        name = in_lines(bar.name, letters)
        whole = {"name": name, "order": order, "shown": bar.shown}
        for kind, start, end, piece_name, filled, figures in bar.pieces:
            place = {"kind": kind, "start": start, "end": end, "middle": halfway(start, end)}
            inside = text_inside(piece_name, end - start, most - least)
            tip = fill("{name} {count:,}", name=piece_name, count=end - start) if piece_name else bar.label
            rows.append({**whole, **place, "inside": inside, "filled": filled, "tip": tip, **figures})
        last = largest([end for piece in bar.pieces for end in (piece.start, piece.end)])
        rows.append({**whole, "at": last, "label": bar.label, **ending, **bar.figures})
    return of_rows(rows)


@lru_cache
def piece_bars(look: str, step: int, named: tuple[tuple[str, str], ...]) -> Spec:
    """The chart of horizontal bars, ``step`` pixels per bar; on a phone, each name is above its bar.

    ``named`` are the (kind of piece, name) pairs of the legend; if it is empty, there is no legend.
    """
    paper, ink, font = BACKGROUND[look], INK[look], FONT if step >= _TWO_LINES else SMALL
    axis = names_axis(look, font, "split(datum.label, '\\n')", labelLimit=330, labelBaseline="middle", domain=False)
    legend = None
    if named:
        called = ", ".join(f"'{kind}': '{name}'" for kind, name in named)
        legend = alt.Legend(
            orient="top",
            title=None,
            values=[kind for kind, _name in named],
            labelExpr=f"({{{called}}})[datum.label]",
            labelColor=ink,
            labelFontSize=FONT,
            symbolType="square",
            symbolSize=180,
        )
    pieces, ends = (having(column).transform_filter("datum.shown") for column in ("kind", "label"))
    x = alt.X("start:Q", axis=None, scale=alt.Scale(nice=False, zero=True))
    look_of: dict[str, Any] = {"size": either(6, min(0.65 * step, 48)), "yOffset": either(6, 0)}
    place: dict[str, Any] = {"x": x, "x2": "end:Q", "tooltip": tooltip("name", "tip")}
    filled = pieces.transform_filter("datum.filled").mark_bar(stroke=paper, strokeWidth=1, **look_of)
    filled = filled.encode(**place, color=colored("kind", _KINDS[look], legend=legend))
    # aria=False: to a screen reader, an empty layer would be a picture without a name.
    outlined = pieces.transform_filter("!datum.filled && datum.end > datum.start")
    outlined = outlined.mark_bar(fillOpacity=0, strokeWidth=2, strokeDash=[5, 3], aria=False, **look_of)
    outlined = outlined.encode(**place, stroke=colored("kind", _KINDS[look], channel="Stroke"))
    inside = pieces.mark_text(fontSize=FONT - 1, color=paper, text=either("''", "datum.inside"))
    inside = inside.encode(x="middle:Q", tooltip=place["tooltip"])
    labels = ends.mark_text(
        align="left",
        dx=either("-scale('x', datum.at)", 8),
        dy=either(-6, 0),
        text=either("replace(datum.name, /\\n/g, ' ') + ' · ' + datum.label", "datum.label"),
        fontSize=either(SMALL, FONT),
        color=ink,
    ).encode(x="at:Q", tooltip=tooltip("name", "label"))
    share = f"min(0.6, ({FONT} * datum.longest + 12) / width)"
    more_room = f"{NARROW} || width > {_WIDTH} ? datum.room : datum.most + datum.span * {share} / (1 - {share})"
    room = ends.transform_calculate(room=more_room).mark_bar(opacity=0)
    room = room.encode(x=alt.X("room:Q", axis=None, stack=None))
    layers = alt.layer(room, filled, outlined, inside, labels).encode(y=in_order("name", axis))
    return spec_of(layers, alt.Step(step))
