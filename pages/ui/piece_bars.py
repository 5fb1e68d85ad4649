"""Bars made of pieces, with a label at the end of each bar: differences, models side by side, freezing."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from textwrap import wrap
from typing import Any, NamedTuple

import altair as alt

from bertcalc.explore.quantities import QUANTITIES
from pages.ui.charts import FONT, NARROW, SMALL, Spec, colored, either, having, in_order, names_axis, spec_of, tooltip
from pages.ui.columns import Columns, of_rows
from pages.ui.export.shown import draw_chart
from pages.ui.numbers import ems
from pages.ui.theme import BACKGROUND, COLORS, INK, NEUTRAL, appearance

_LEGEND = 40  # pixels
_LINE = 34  # letters of a name in one line
_TWO_LINES = 30  # pixels of a bar with room for two lines
_WIDTH = 600  # pixels that bars and labels have at least, except on phones
# Quantities have a colour that no component has.
_KINDS = {
    look: {
        **dict.fromkeys(QUANTITIES, NEUTRAL[look]),
        **colors,
        "more": colors["embeddings"],
        "fewer": colors["encoder"],
        "together": INK[look],
    }
    for look, colors in COLORS.items()
}


class Piece(NamedTuple):
    """A piece of a bar: its kind, which decides its colour, its ends, and a name, written inside if there is room.

    A piece that is not ``filled`` is an outline. ``figures`` are for export.
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


def draw_pieces(
    bars: Sequence[PieceBar],
    step: int,
    *,
    numbers: Mapping[str, str],
    alt: str,
    legend: Mapping[str, str] | None = None,
) -> None:
    """Draw the bars, each ``step`` pixels high, with a legend of these kinds of pieces."""
    named = tuple((legend or {}).items())
    draw_chart(pieces_frame(bars, step), piece_bars(appearance(), step, len(bars), named), numbers=numbers, alt=alt)


def pieces_frame(bars: Sequence[PieceBar], step: int) -> Columns:
    """The data of the chart: a row for each piece, and one for the end of each bar."""
    ends = [0, *(end for bar in bars for piece in bar.pieces for end in (piece.start, piece.end))]
    least, most = min(ends), max(ends)
    # The longest label takes this share of the width.
    share = min(0.6, (FONT * max(ems(bar.label) for bar in bars) + 12) / _WIDTH)
    room = most + ((most - least) or 1) * share / (1 - share)
    rows: list[dict[str, object]] = []
    for order, bar in enumerate(bars):
        name = "\n".join(wrap(bar.name, _LINE if step >= _TWO_LINES else 2 * _LINE))
        whole = {"name": name, "order": order}
        for kind, start, end, said, filled, figures in bar.pieces:
            place = {"kind": kind, "start": float(start), "end": float(end), "middle": (start + end) / 2}
            inside = said if end - start > (most - least) * 0.013 * (len(said) + 1) else ""
            tip = f"{said} {end - start:,}" if said else bar.label
            rows.append({**whole, **place, "inside": inside, "filled": filled, "tip": tip, **figures})
        at = float(max((end for piece in bar.pieces for end in (piece.start, piece.end)), default=0))
        rows.append({**whole, "at": at, "room": room, "label": bar.label, **bar.figures})
    return of_rows(rows)


@lru_cache
def piece_bars(look: str, step: int, count: int, named: tuple[tuple[str, str], ...]) -> Spec:
    """``count`` bars from top to bottom; on a phone the name of each stands before its label, over the bar."""
    paper, ink, font = BACKGROUND[look], INK[look], FONT if step >= _TWO_LINES else SMALL
    lines = f"{NARROW} ? '' : split(datum.label, '\\n')"
    axis = names_axis(look, font, labelLimit=330, labelExpr=lines, labelBaseline="middle", domain=False)
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
    pieces, ends = having("kind"), having("label")
    x = alt.X("start:Q", axis=None, scale=alt.Scale(nice=False, zero=True))
    look_of: dict[str, Any] = {"size": either(6, min(0.65 * step, 48)), "yOffset": either(8, 0)}
    place: dict[str, Any] = {"x": x, "x2": "end:Q", "tooltip": tooltip("name", "tip")}
    filled = pieces.transform_filter("datum.filled").mark_bar(stroke=paper, strokeWidth=1, **look_of)
    filled = filled.encode(**place, color=colored("kind", _KINDS[look], legend=legend))
    # aria=False: a layer that is empty would be a picture without a name to a screen reader.
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
    room = ends.mark_bar(opacity=0).encode(x=alt.X("room:Q", axis=None, stack=None))
    layers = alt.layer(room, filled, outlined, inside, labels).encode(y=in_order("name", axis))
    return spec_of(layers, step * count + (_LEGEND if named else 0))
