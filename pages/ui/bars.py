"""Bar charts of a model's parts: a bar for each, compared with the preset; and one bar divided into the parts.

Each chart is built with Altair once for an appearance and a language; after that only data is sent.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

import altair as alt
import streamlit as st

from bertcalc import build
from bertcalc.digits import figure, signed
from bertcalc.families import CLASSES
from bertcalc.family import Model
from bertcalc.formula import piece_formulas
from bertcalc.presets import PRESETS
from bertcalc.subject import Subject
from bertcalc.text import N_, Translate
from bertcalc.tree.names import PART_NAMES, norm_kind
from bertcalc.tree.totals import breakdown, openable
from pages.ui.charts import (
    FONT,
    NARROW,
    SMALL,
    Spec,
    either,
    figures_axis,
    having,
    in_order,
    names_axis,
    spec_of,
    tooltip,
)
from pages.ui.columns import Columns
from pages.ui.controls import Select, set_values
from pages.ui.export.shown import draw_chart
from pages.ui.i18n import _
from pages.ui.model import linked
from pages.ui.numbers import ems, percent, short
from pages.ui.present import presenting
from pages.ui.scale import kept
from pages.ui.sidebar import Choice
from pages.ui.theme import BACKGROUND, INK, appearance, colors

_MANY = 9  # more bars than this are drawn closer, so that the chart still ends on the first screen
_LINE = 24  # ems in a line on a phone: numbers whose digits do not fit are abbreviated
_ROOM = 250  # pixels right of the axis, for the label of a bar that is as long as the axis
_GAP = 7
_AXIS = 24  # pixels of the chart's height that the axis takes

_UNITS = {"parameters": N_("Parameters"), "FLOPs": "FLOPs", "MACs": "MACs", "bytes": N_("Bytes")}


WHOLE = "model"  # what the link says for the whole model: its path in the tree is empty


def openable_in(model: Model) -> list[str]:
    """The paths of all that the chart can open in a model."""
    return [WHOLE, *openable(model)[1:]]


# The paths of all architectures; the chart shows the whole model if the present one has no such part.
OPEN = Select(
    "open",
    N_("Open"),
    dict.fromkeys(
        path or WHOLE for name, family in CLASSES.items() for path in openable(build(family.fullest(), name))
    ),
    {WHOLE: N_("the whole model")},
    here=lambda link: openable_in(linked(link).subject().model()),
    label_visibility="collapsed",
    width=240,
)


class Bars(NamedTuple):
    """The data of a bar chart: a figure for each part, with its name, colour, formula and path.

    ``before`` are the figures of ``preset``, which can have other parts; empty if there is nothing to compare with.
    A click opens the path of a bar; a bar without a path cannot be opened.
    """

    figures: Mapping[Any, int]
    before: Mapping[Any, int]
    names: Sequence[str]
    colors: Sequence[str]
    formulas: Sequence[str]
    paths: Sequence[str] | None = None
    unit: str = "parameters"
    preset: str = ""

    @property
    def changed(self) -> bool:
        """Whether any figure differs from the preset's."""
        return bool(self.before) and dict(self.figures) != dict(self.before)


def preset_of(choice: Choice) -> Choice:
    """The unchanged preset, in the same architecture."""
    return choice._replace(subject=Subject(PRESETS[choice.preset].config, choice.architecture))


def parameter_bars(choice: Choice, path: str = "") -> Bars:
    """The parameters of each part of the module at a path, beside the preset's."""
    pieces = breakdown(choice.model(), path)
    try:
        before = breakdown(preset_of(choice).model(), path)
    except KeyError:  # the preset has no such part
        before = []
    inks, norm = colors(), norm_kind(choice.subject.model())
    return Bars(
        {(piece.component, piece.name): piece.parameters for piece in pieces},
        {(piece.component, piece.name): piece.parameters for piece in before},
        [
            piece.name if path else _(PART_NAMES[piece.component, piece.name]).replace("LayerNorm", norm)
            for piece in pieces
        ],
        [inks[piece.component] for piece in pieces],
        piece_formulas(choice.subject, path=path),
        [piece.path for piece in pieces],
        preset=choice.preset,
    )


def draw_bars(bars: Bars, place: str, *looked_at: Hashable, alt: str, **options: Any) -> None:
    """Draw a bar for each part, and a legend if the preset differs; ``place`` names the scale, which is kept.

    ``looked_at`` says, together with the preset, what the figures describe: another subject starts a new scale.
    """
    present, before = (max(figures.values(), default=0) for figures in (bars.figures, bars.before))
    limit = kept(place, (bars.preset, *looked_at), with_room(before), present)
    numbers = {"name": _("Part"), "figure": _(_UNITS[bars.unit]), "share": _("Share"), "formula": _("Formula")}
    if bars.changed:
        numbers["preset"] = bars.preset
    draw_chart(
        bars_frame(bars, limit),
        ranked_bars(appearance(), len(bars.figures), bars.unit, words(bars.unit, _), low=presenting()),
        numbers=numbers,
        alt=alt,
        **options,
    )
    if bars.changed:
        show_legend(bars.preset)


def with_room(before: int) -> int:
    """A third more than the preset's figure: the scale outlasts small changes, and most of the axis is used."""
    return before * 4 // 3


def show_legend(preset: str) -> None:
    """Explain how the bars show differences from the preset."""
    said = _("Solid up to the mark: {preset}. Lighter beyond it: added. Dashed: removed.").format(preset=preset)
    if presenting():  # where captions are left out
        st.markdown(f":small[{said}]")
    else:
        st.caption(said)


def open_clicked(control: Select[str], key: str) -> None:
    """Open the bar that was clicked in the chart ``key``; a single tensor has nothing to open."""
    for bar in st.session_state[key]["selection"]["bar"]:
        if bar["path"]:
            set_values({control.name: bar["path"]})


def draw_proportions(bars: Bars) -> None:
    """Draw the whole model as one bar, divided into its parts."""
    draw_chart(
        proportions_frame(bars),
        proportional_bar(appearance(), words("parameters", _)),
        numbers={"name": _("Part"), "figure": _("Parameters"), "share": _("Share"), "formula": _("Formula")},
        alt=_("Share of each part in the whole model"),
    )


def words(unit: str, _: Translate) -> tuple[str, ...]:
    """The titles in a tooltip: figure, share, formula, the preset's figure."""
    return _(_UNITS[unit]), _("Share"), _("Formula"), _("Preset")


def bars_frame(bars: Bars, limit: int) -> Columns:
    """The data of the bars, one row for each part; ``limit`` is the end of the axis."""
    said, count = _said(bars), len(bars.figures)
    pairs = [(now, bars.before.get(key, 0) if bars.changed else now) for key, now in bars.figures.items()]
    exact = [f"{figure(now, bars.unit)} · {share}" for (now, _was), share in zip(pairs, said["share"], strict=True)]
    compact = partial(short, unit=bars.unit)
    # All digits of FLOPs and bytes would be wider than their bars.
    exactly = "{:,}".format if bars.unit == "parameters" else compact
    more = [signed(now - was, exactly) for now, was in pairs]
    lines = [
        _line(name, now, was, share, (exactly, compact))
        for name, (now, was), share in zip(bars.names, pairs, said["share"], strict=True)
    ]
    brief, more_brief = [line for line, _more in lines], [more for _line, more in lines]
    return {
        **said,
        "path": bars.paths or [""] * count,
        "preset": [bars.before.get(key, 0) for key in bars.figures],
        # Positions are floats, as a browser's numbers are.
        "end": [float(now) for now, _was in pairs],
        "solid": [float(min(pair)) for pair in pairs],
        "far": [float(max(pair)) for pair in pairs],
        "mark": [float(was) if bars.changed else None for _now, was in pairs],
        "limit": [float(limit)] * count,
        "label": exact,
        "brief": brief,
        "more": more,
        "more_brief": more_brief,
        "label_width": [ems(text) for text in exact],
        "brief_width": [ems(text) for text in brief],
        "more_width": [ems(text) for text in more],
    }


def _line(name: str, now: int, was: int, share: str, ways: Sequence[Callable[[int], str]]) -> tuple[str, str]:
    """The labels of a bar and of its difference on a phone, in the first of the formats ``ways`` that fits on a line.

    A bar with a difference shows no share.
    """
    for written in ways:
        line = " · ".join((name, written(now), *([share] if now == was else [])))
        more = signed(now - was, written)
        if ems(line + more) <= _LINE:
            break
    return line, more


def proportions_frame(bars: Bars) -> Columns:
    ends = [0, *accumulate(bars.figures.values())]
    return {
        **_said(bars),
        "start": ends[:-1],
        "end": ends[1:],
        "width": list(map(ems, bars.names)),
    }


def _said(bars: Bars) -> dict[str, Sequence[Any]]:
    """The columns that both charts have."""
    figures = bars.figures.values()
    return {
        "name": bars.names,
        "order": range(len(figures)),
        "color": bars.colors,
        "figure": list(figures),
        "exact": [f"{figure:,}" for figure in figures],
        "was": [f"{bars.before.get(key, 0):,}" if bars.before else "–" for key in bars.figures],
        "share": [percent(figure, sum(figures)) for figure in figures],
        "formula": bars.formulas,
    }


@lru_cache
def ranked_bars(appearance: str, count: int, unit: str, words: tuple[str, ...], *, low: bool = False) -> Spec:
    """One horizontal bar for each of ``count`` parts, in their order, with its label at its end; ``low`` saves height.

    A bar is solid up to the preset's figure, which has a mark; what was added is lighter, what was removed is a dashed
    outline.
    """
    few, ink = count <= _MANY, INK[appearance]
    step, font, thin = ((18, FONT, 4) if low else (22, FONT, 6)) if few else (14 if low else 17, SMALL, 3)

    label = f"{NARROW} ? '' : datum.label"
    axis = names_axis(appearance, font, labelExpr=label, labelLimit=300, labelFlush=False)
    scale = alt.Scale(nice=False, zero=True, range=[0, either("width - 12", f"width - min({_ROOM}, 0.36 * width)")])

    def x(field: str, **look: Any) -> Any:
        return alt.X(f"{field}:Q", title=None, stack=None, **look)

    chart = having("name")
    color, edge = alt.Color("color:N", scale=None), alt.Stroke("color:N", scale=None)
    place = {"size": either(thin, 0.7 * step), "yOffset": either((step - thin - 1) / 2, 0)}
    first = x("solid", scale=scale, axis=figures_axis(appearance, unit, tickCount=either(3, 6)))
    solid = chart.mark_bar(**place).encode(x=first, color=color)
    # aria=False: a layer that is empty would be a picture without a name to a screen reader.
    added = (
        chart.transform_filter("datum.end > datum.solid")
        .mark_bar(**place, fillOpacity=0.3, strokeWidth=1.5, aria=False)
        .encode(x=x("solid"), x2="end:Q", color=color, stroke=edge)
    )
    missing = (
        chart.transform_filter("datum.mark > datum.end")
        .mark_bar(**place, fillOpacity=0, strokeWidth=1.5, strokeDash=[4, 3], aria=False)
        .encode(x=x("end"), x2="mark:Q", stroke=edge)
    )
    marks = (
        chart.transform_filter("isValid(datum.mark)")
        .mark_tick(color=ink, thickness=2.5, size=either(thin + 4, step - 2), yOffset=place["yOffset"], aria=False)
        .encode(x=x("mark"))
    )
    # A label stands to the right of its bar, further left if it would be cut off; on a phone, in a line above the bar.
    needed = f"scale('x', datum.far) + {font} * (datum.label_width + datum.more_width) + {4 * _GAP}"
    behind = f"{_GAP} + min(0, width - ({needed}))"
    over = "-scale('x', datum.far)"

    def text(narrow: str, wide: str, **look: Any) -> Any:
        shift = "" if narrow == "brief" else f" + {_GAP} + {{}} * datum.{{}}_width"
        dx = either(over + shift.format(SMALL, "brief"), behind + shift.format(font, "label"))
        said = {"text": either(f"datum.{narrow}", f"datum.{wide}"), "fontSize": either(SMALL, font)}
        return chart.mark_text(align="left", dx=dx, dy=either((14 - step) / 2, 0), **said, **look).encode(x=x("far"))

    # Each text twice, first as an outline in the background colour: a label on top of its bar stays readable.
    paper = {"color": BACKGROUND[appearance], "stroke": BACKGROUND[appearance], "strokeWidth": either(0, 4)}
    texts = (
        text("brief", "label", **paper),
        text("brief", "label", color=ink),
        text("more_brief", "more", fontWeight="bold", **paper),
        text("more_brief", "more", fontWeight="bold").encode(color=color),
    )
    # Two invisible layers: one sets the end of the axis, the other takes clicks and tooltips anywhere in a bar's row.
    end = chart.mark_tick(opacity=0).encode(x=x("limit"))
    chosen = alt.selection_point(name="bar", fields=["path"], on="click", empty=False)
    rows = (
        chart.mark_bar(opacity=0, cursor="pointer")
        .encode(x=alt.value(0), x2=alt.value("width"), tooltip=_tooltip(words))
        .add_params(chosen)
    )
    layers = alt.layer(solid, added, missing, marks, *texts, end, rows).encode(y=in_order("name", axis))
    return spec_of(layers, step * count + _AXIS)


@lru_cache
def proportional_bar(appearance: str, words: tuple[str, ...]) -> Spec:
    paper, said = BACKGROUND[appearance], _tooltip(words)
    x = alt.X("start:Q", axis=None, scale=alt.Scale(nice=False))
    room = "scale('x', datum.end) - scale('x', datum.start)"
    pieces = alt.Chart().mark_rect(stroke=paper, strokeWidth=1)
    pieces = pieces.encode(x=x, x2="end:Q", color=alt.Color("color:N", scale=None), tooltip=said)
    labels = (
        alt.Chart()
        .transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(fontSize=FONT, text=alt.ExprRef(f"{room} > {FONT} * datum.width + {_GAP} ? datum.name : ''"))
        .encode(x=alt.X("middle:Q", axis=None), color=alt.value(paper), tooltip=said)
    )
    return spec_of(alt.layer(pieces, labels), 34)


def _tooltip(words: Sequence[str]) -> list[Any]:
    return tooltip("name", **dict(zip(("exact", "share", "formula", "was"), words, strict=True)))
