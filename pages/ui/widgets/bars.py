"""Bar charts of a model's parts: one bar per part, compared with the preset, or a single bar divided into parts."""

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

import streamlit as st

from bertcalc import build
from bertcalc.charts.bar_charts import PieceBar, piece_bars, pieces_frame, proportional_bar, ranked_bars
from bertcalc.charts.columns import Columns
from bertcalc.charts.labels import ems, first_fitting, room_beside
from bertcalc.explore.factor_formulas import piece_growths
from bertcalc.families import CLASSES, counterpart, family_of
from bertcalc.families.presets import PRESETS
from bertcalc.live.formula_templates import templated, templated_by_nodes
from bertcalc.live.live_formulas import live_reading
from bertcalc.model.formula import bar_formulas
from bertcalc.model.model import Model
from bertcalc.model.names import PART_NAMES, norm_kind
from bertcalc.model.totals import Component, breakdown, openable
from bertcalc.text import N_, Translate
from bertcalc.text.digits import figure, signed
from bertcalc.text.live_choices import either, largest, smallest, unless_same
from bertcalc.text.live_numbers import grouped, joined
from pages.ui.session.present_model import linked
from pages.ui.session.scale import axis_end
from pages.ui.shell.controls import Select, set_values
from pages.ui.shell.i18n import _, translator
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import Choice
from pages.ui.shell.theme import appearance, colors
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.growth import grown_by, show_way_to_sweep
from pages.ui.widgets.live_chart import clicked
from pages.ui.widgets.numbers import percent, short

# Numbers that do not fit are abbreviated. Widths in ems: a line on a phone; the space beside the longest bar on a
# laptop; the longest bar itself.
_LINE, _BESIDE, _LONGEST = 24, 16.8, 28

_UNITS = {"parameters": N_("Parameters"), "FLOPs": "FLOPs", "MACs": "MACs", "bytes": N_("Bytes")}


WHOLE = "model"  # stands for the whole model in the link, since its path in the tree is empty


def openable_in(model: Model) -> list[str]:
    """The paths of the modules that the chart can open in a model."""
    return [WHOLE, *openable(model)[1:]]


# The options are the paths of all architectures. If the current model lacks the part, the chart shows the whole model.
OPEN = Select(
    "open",
    N_("Open"),
    dict.fromkeys(
        path or WHOLE for name, family in CLASSES.items() for path in openable(build(family.fullest(), name))
    ),
    {WHOLE: N_("the whole model")},
    available=lambda link: openable_in(linked(link).model()),
    label_visibility="collapsed",
    width=240,
)


class Bars(NamedTuple):
    """The data of a bar chart: the figure of each part, with its name, color, formula and path.

    ``before`` holds the figures of ``preset``, which can have other parts. It is empty if there is nothing to compare.
    A click on a bar opens the module at its path; a bar without a path cannot be opened.
    """

    figures: Mapping[Any, int]
    before: Mapping[Any, int]
    names: Sequence[str]
    colors: Sequence[str]
    formulas: Sequence[str]
    paths: Sequence[str] | None = None
    unit: str = "parameters"
    preset: str = ""
    factors: Sequence[str] = ()  # the factor by which each figure has grown, with the reason

    @property
    def changed(self) -> bool:
        """Whether any figure differs from the preset's figure; False if there is nothing to compare."""
        return bool(self.before) and dict(self.figures) != dict(self.before)


def preset_of(choice: Choice) -> Choice:
    """The choice with the preset's unchanged config, in the same architecture."""
    return choice._replace(model=preset_in_class(choice.preset, choice.architecture))


@lru_cache(maxsize=64)
def preset_in_class(preset: str, architecture: str) -> Model:
    """The model of a preset as ``architecture``, or as the class for the same task in the preset's family."""
    config = PRESETS[preset].config
    return Model(config, counterpart(architecture, family_of(config)))


def parameter_bars(choice: Choice, path: str = "") -> Bars:
    """The parameters of each part of the module at ``path``, with the preset's parameters for comparison.

    An empty ``path`` means the whole model.
    """
    return _parameter_bars(choice.model, choice.preset, path, tuple(colors().items()), translator())


@templated
def _parameter_bars(
    model: Model, preset: str, path: str, inks: tuple[tuple[Component, str], ...], _language: Translate
) -> Bars:
    start = preset_in_class(preset, model.architecture)
    pieces = live_reading(breakdown, model, path)
    try:
        before = breakdown(start, path)
    except KeyError:  # the preset has no such part
        before = []
    ink, norm = dict(inks), norm_kind(model)
    return Bars(
        {(piece.component, piece.name): piece.parameters for piece in pieces},
        {(piece.component, piece.name): piece.parameters for piece in before},
        [
            piece.name if path else _(PART_NAMES[piece.component, piece.name]).replace("LayerNorm", norm)
            for piece in pieces
        ],
        [ink[piece.component] for piece in pieces],
        bar_formulas(model, path=path),
        [piece.path for piece in pieces],
        preset=preset,
        factors=[grown_by(growth) for growth in piece_growths(start, model, path=path)],
    )


def draw_bars(bars: Bars, place: str, *looked_at: Hashable, alt: str, with_legend: bool = True, **options: Any) -> None:
    """Draw a bar for each part, and a legend if the model differs from the preset.

    The chart at ``place`` keeps its scale between runs until the preset or ``looked_at`` changes.
    """
    present, before = (largest([*figures.values()]) for figures in (bars.figures, bars.before))
    limit = axis_end(place, (bars.preset, *looked_at), with_room(before), present)
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
    if bars.changed and with_legend:
        show_legend(bars.preset)
        if any(bars.factors) and not presenting():
            show_way_to_sweep()


def with_room(before: int) -> int:
    """The end of an axis that leaves room for growth: a third more than the preset's figure."""
    return before * 4 // 3


def show_legend(preset: str) -> None:
    """Explain how the bars show differences from the preset."""
    legend = _("Mark: {preset}. Lighter: added. Dashed: removed.").format(preset=preset)
    if presenting():  # projector view hides captions
        st.markdown(f":small[{legend}]")
    else:
        st.caption(legend)


def open_clicked(control: Select[str], key: str) -> None:
    """Open the module of the clicked bar in the chart ``key``; bars of single tensors do nothing."""
    for bar in clicked(key, "bar"):
        path = bar.get("path")
        if isinstance(path, str) and path and control.wrong(path) is None:
            set_values({control.name: path})


def draw_proportions(bars: Bars) -> None:
    """Draw the whole model as one bar, divided into its parts."""
    draw_chart(
        proportions_frame(bars),
        proportional_bar(appearance(), words("parameters", _)),
        numbers={"name": _("Part"), "figure": _("Parameters"), "share": _("Share"), "formula": _("Formula")},
        alt=_("Share of each part in the whole model"),
    )


def words(unit: str, _: Translate) -> tuple[str, ...]:
    """The titles of a tooltip's rows: the figure, its share, its formula, and the preset's figure."""
    return _(_UNITS[unit]), _("Share"), _("Formula"), _("Preset")


def bars_frame(bars: Bars, limit: int) -> Columns:
    """The columns of the chart's data, with one row per part; ``limit`` is the end of the axis."""
    return _bars_frame(bars, limit, translator())


@templated_by_nodes
def _bars_frame(bars: Bars, limit: int, _language: Translate) -> Columns:
    columns, count = _shared_columns(bars), len(bars.figures)
    pairs = [(present, bars.before.get(key, 0) if bars.before else present) for key, present in bars.figures.items()]
    # All digits of FLOPs and bytes would be wider than their bars.
    exactly = grouped if bars.unit == "parameters" else partial(short, unit=bars.unit)
    digits, compact = partial(figure, unit=bars.unit), partial(short, unit=bars.unit)
    lines, brief_lines = [], []
    rows = zip(bars.names, pairs, columns["share"], bars.factors or [""] * count, strict=True)
    for name, pair, share, factor in rows:
        present, was = pair
        full, exact, short_form = (write(present) for write in (digits, exactly, compact))
        growth, short_growth = (joined(" · ", (signed(present - was, write), factor)) for write in (exactly, compact))
        wide = ((full, growth), (full, short_growth), (short_form, short_growth))
        narrow = ((exact, growth), (short_form, short_growth), (short_form, signed(present - was, compact)))
        alike = either(present, was, share, "")  # a bar with a difference shows no share
        room = room_beside(largest(pair), limit, _BESIDE, float(_LONGEST))
        lines.append(_line("", alike, wide, room))
        brief_lines.append(_line(name, alike, narrow, float(_LINE)))
    label, change = [text for text, _more in lines], [text for _label, text in lines]
    brief, brief_change = [text for text, _more in brief_lines], [text for _label, text in brief_lines]
    return {
        **columns,
        "path": bars.paths or [""] * count,
        "preset": [bars.before.get(key, 0) for key in bars.figures],
        "end": [present for present, _was in pairs],
        "solid": [smallest(pair) for pair in pairs],
        "far": [largest(pair) for pair in pairs],
        "mark": [unless_same(*pair) for pair in pairs],
        "limit": [limit] * count,
        "label": label,
        "brief": brief,
        "more": change,
        "more_brief": brief_change,
        "label_width": [ems(text) for text in label],
        "brief_width": [ems(text) for text in brief],
        "more_width": [ems(text) for text in change],
    }


def _line(name: str, share: str, texts: Sequence[tuple[str, str]], room: float) -> tuple[str, str]:
    """The label of a bar and the label of its change, in the longest format that fits into ``room``."""
    return first_fitting(tuple((joined(" · ", (name, figure, share)), change) for figure, change in texts), room)


def proportions_frame(bars: Bars) -> Columns:
    """The columns of the data for a single bar, with the start and end of each part."""
    ends = [0, *accumulate(bars.figures.values())]
    return {**_shared_columns(bars), "start": ends[:-1], "end": ends[1:], "width": list(map(ems, bars.names))}


def _shared_columns(bars: Bars) -> dict[str, Sequence[Any]]:
    figures = bars.figures.values()
    return {
        "name": bars.names,
        "order": range(len(figures)),
        "color": bars.colors,
        "figure": list(figures),
        "exact": [grouped(figure) for figure in figures],
        "was": [f"{bars.before.get(key, 0):,}" if bars.before else "–" for key in bars.figures],
        "share": [percent(figure, sum(figures)) for figure in figures],
        "formula": bars.formulas,
    }


def draw_pieces(
    bars: Sequence[PieceBar],
    step: int,
    *,
    numbers: Mapping[str, str],
    alt: str,
    legend: Mapping[str, str] | None = None,
) -> None:
    """Draw bars that consist of pieces, each bar ``step`` pixels high.

    ``legend`` maps each kind of piece to its name. For ``numbers`` and ``alt``, see ``draw_chart``.
    """
    spec = piece_bars(appearance(), step, tuple((legend or {}).items()))
    draw_chart(pieces_frame(bars, step), spec, numbers=numbers, alt=alt)
