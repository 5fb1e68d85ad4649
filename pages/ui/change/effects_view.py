"""The effects of the Change page's steps: the figures before and after, step by step, and in peft's format."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import streamlit as st

from bertcalc.change_steps.effects import StepEffect
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.changes.adapter import PeftChange, copies
from bertcalc.charts.bar_charts import Piece, PieceBar
from bertcalc.controls.stops import SLIDERS
from bertcalc.export.step_code import code
from bertcalc.model.change import CHANGE_SIZES
from bertcalc.model.formula import Formula, formula, trained_formula
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.digits import fixed, signed, signed_count
from bertcalc.text.live_choices import if_negative, quotient
from bertcalc.text.live_numbers import fill, grouped, joined
from pages.ui.session.present_model import own_name
from pages.ui.shell import live
from pages.ui.shell.controls import Fold, Select, sentence
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.present import presenting
from pages.ui.widgets.bars import draw_pieces
from pages.ui.widgets.metrics import show_metrics
from pages.ui.widgets.numbers import percent, short
from pages.ui.widgets.tables import show_rows

CODE = Fold("change_code", N_("Python code with the real libraries"))


class Figure(NamedTuple):
    """A figure of a model: its title, the name of its attribute in StepEffect, and its unit."""

    title: str
    field: str
    unit: str

    def of(self, effect: StepEffect) -> int | None:
        count: int | None = getattr(effect, self.field)
        return count

    def written(self, count: int) -> str:
        """Format a figure: all digits for parameters, abbreviated for other units."""
        return grouped(count) if self.unit == "parameters" else short(count, self.unit)

    def exactly(self, effect: StepEffect) -> str:
        """Format the figure of an effect with all digits, or as a dash if it is unknown."""
        count = self.of(effect)
        return "–" if count is None else fill("{count:,}{unit}", count=count, unit=" B" * (self.unit == "bytes"))


FIGURES = {
    "parameters": Figure(N_("Parameters"), "parameters", "parameters"),
    "trained": Figure(N_("Trained"), "trained", "parameters"),
    "memory": Figure(N_("In memory"), "memory_bytes", "bytes"),
    "file": Figure(N_("File"), "file_bytes", "bytes"),
    "peak": Figure(N_("Training step"), "peak", "bytes"),
    "flops": Figure(N_("Forward FLOPs"), "flops", "FLOPs"),
}
_MOST = "most"
FIGURE: Select[str] = Select(
    "figure",
    N_("Figure"),
    words={_MOST: N_("Largest change"), **{name: figure.title for name, figure in FIGURES.items()}},
    row=True,
    label_visibility="collapsed",
)
_HEIGHT, _HIGHEST, _LOWEST = 150, 40, 24  # in pixels: the height of all bars together, and the limits for each bar


def show_headline(figures: Sequence[StepEffect]) -> None:
    """Show the figures after the last step, most of them compared with the figures before the first step.

    Trained parameters are compared with all parameters instead. For a model with an adapter, the size of the adapter is
    shown below the size of the file. FLOPs, unknown figures and redundant figures are left out.
    """
    before, after = figures[0], figures[-1]
    shown = {}
    for name, figure in FIGURES.items():
        now, was = figure.of(after), figure.of(before)
        if now is None or was is None or name == "flops" or (name == "trained" and now == after.parameters):
            continue
        if name == "memory" and not after.changed.base:  # unquantized weights are float32 in memory and in the file
            continue
        if len(figures) == 1:
            below = ""
        elif name == "trained":
            below = fill(_("{share} of all"), share=percent(now, after.parameters, 2))
        elif name == "file" and after.adapter_bytes:
            below = fill(_("adapter: {size}"), size=short(after.adapter_bytes, "bytes"))
        elif name == "parameters":
            below = fill("{difference} · {share}", difference=signed_count(now - was), share=percent(now, was))
        else:
            below = fill(_("{share} of {whole}"), share=percent(now, was), whole=figure.written(was))
        shown[_(figure.title)] = figure.written(now), below
    show_metrics(shown)


def in_words_of_peft(effect: StepEffect) -> str:
    """The line that peft's print_trainable_parameters() prints for a model with an adapter; empty for other models."""
    trained, every = effect.trained, effect.parameters
    if trained is None or trained == every:
        return ""
    line = "trainable params: {trained:,} || all params: {every:,} || trainable%: {share}"
    return fill(line, trained=trained, every=every, share=fixed(quotient(100 * trained, every), 4))


def show_waterfall(names: Sequence[str], figures: Sequence[StepEffect]) -> None:
    """Draw a waterfall chart of what each step adds to or removes from a figure.

    The first name and the first figures belong to the model before the first step.
    """
    ends = figures[0], figures[-1]
    known = {name: figure for name, figure in FIGURES.items() if None not in map(figure.of, ends)}
    with st.container(horizontal=True, vertical_alignment="center"):
        chosen = FIGURE.show([_MOST, *known])
        figure = known[_most_changed(known, figures) if chosen == _MOST else chosen]
        if chosen == _MOST:
            st.markdown(f"**{_(figure.title)}**", width="content")
    names, amounts = _known_amounts(names, [figure.of(effect) for effect in figures])
    first, *_steps, last = amounts
    bars = [PieceBar(names[0], [Piece("together", 0, first)], figure.written(first), _exported(first, 0))]
    for name, (before, after) in zip(names[1:], pairwise(amounts), strict=True):
        kind = if_negative(after - before, "fewer", "more")
        label = signed(after - before, figure.written) or "±0"
        bars.append(PieceBar(name, [Piece(kind, before, after)], label, _exported(after, after - before)))
    label = joined(" · ", (figure.written(last), percent(last, first)))
    bars.append(PieceBar(_("Result"), [Piece("together", 0, last)], label))
    title = _(figure.title)
    legend = {"together": _("Total"), "fewer": _("Removed"), "more": _("Added")}
    kinds = {piece.kind for bar in bars for piece in bar.pieces}
    draw_pieces(
        bars,
        max(_LOWEST, min(_HIGHEST, _HEIGHT // len(bars))),
        numbers={"name": _("Step"), "amount": title, "difference": _("Difference")},
        alt=_("{figure}, step by step").format(figure=title),
        legend={kind: word for kind, word in legend.items() if kind in kinds},
    )


def _known_amounts(names: Sequence[str], amounts: Sequence[int | None]) -> tuple[list[str], list[int]]:
    """The names and amounts to draw. A step with an unknown amount is combined with the next step."""
    drawn, known, together = list[str](), list[int](), list[str]()
    for name, amount in zip(names, amounts, strict=True):
        together.append(name)
        if amount is not None:
            drawn.append(" + ".join(together))
            known.append(amount)
            together.clear()
    return drawn, known


def _exported(amount: int, difference: int) -> dict[str, object]:
    return {"amount": amount, "difference": difference}


def _most_changed(known: dict[str, Figure], figures: Sequence[StepEffect]) -> str:
    """The name of the figure with the largest relative change from the first effect to the last.

    Trained parameters are not considered.
    """

    def change(name: str) -> Fraction:
        before, after = known[name].of(figures[0]) or 0, known[name].of(figures[-1]) or 0
        return Fraction(abs(after - before), max(before, after, 1))

    return max((name for name in known if name != "trained"), key=change)


def show_table(names: Sequence[str], figures: Sequence[StepEffect]) -> None:
    """Show a table of all figures before the first step and after each step, and why figures are unknown."""
    steps = [f"{number} · {name}" if number else name for number, name in enumerate(names)]
    rows = [(_(figure.title), *(figure.exactly(effect) for effect in figures)) for figure in FIGURES.values()]
    with st.container(key="effects"):
        show_rows(("", *steps), rows, _("The model before the first step, and after each one"))
    with live.older("unknown"):
        for problem in figures[-1].unknown:
            st.caption(sentence(problem))
    if figures[-1].peak is not None and not presenting():
        loop = _(
            "The training step keeps only the loss, like transformers' Trainer; in the library, this is "
            "`training_peak_bytes(keep_outputs=False, fused_dropout=True)`."
        )
        st.caption(loop)


def show_details(model: Model, steps: Sequence[ChangeStep], figures: Sequence[StepEffect]) -> None:
    """Show the details of the changed model, in addition to the figures.

    These are peft's line with an explanation, the formulas, why a quantized model is not smaller, and Python code
    (not in projector view).
    """
    after = figures[-1].changed
    if words := in_words_of_peft(figures[-1]):
        live.code(words)
        if isinstance(steps[-1], PeftChange):
            with live.older("all-params"):
                _explain_all(figures)
    formulas = {"N": formula(after.model), **({"N_t": trained_formula(after.model)} if words else {})}
    for name, counted in formulas.items():
        st.latex(f"{name} = {counted.latex()}")
    with live.older("legend"):
        st.caption(_legend(after.model, formulas.values()))
    if after.base:
        with live.older("why-not-smaller"):
            st.markdown(sentence(after.base.why_not_smaller(), str))
            message = _("{bits} bits for each quantized weight. Source: {source}")
            st.caption(message.format(bits=fixed(after.base.bits_per_weight, 2), source=after.base.format.source))
        if caveat := after.base.format.caveat:
            st.caption(_(caveat))
    if not presenting() and (folder := CODE.unfolded()):
        folder.code(code(model, steps), language="python")


def _explain_all(figures: Sequence[StepEffect]) -> None:
    """Explain why peft's count of all parameters exceeds the model's count."""
    before, after = figures[-2].parameters, figures[-1].parameters
    saved = copies(figures[-1].changed.model)
    values = {"all": after, "model": before, "adapter": after - before - sum(saved.values())}
    if saved:
        message = _(
            "All {all:,} parameters: {model:,} in the model, {adapter:,} in the adapter, and {copies:,} in a "
            "trained copy of {modules}. peft also keeps the original modules, frozen."
        )
        modules = listed(f"`{name}`" for name in saved)
        st.markdown(fill(message, **values, copies=sum(saved.values()), modules=modules))
    elif after > before:
        message = _("All {all:,} parameters: {model:,} in the model and {adapter:,} in the adapter.")
        st.markdown(fill(message, **values))


def _legend(model: Model, formulas: Iterable[Formula]) -> str:
    """The letters of the formulas with their values and meanings, except letters that have a slider."""
    values = model.letter_values()
    letters = {
        field: letter for counted in formulas for field, letter in counted.letters.items() if field not in SLIDERS
    }
    words = {field: _(CHANGE_SIZES[field].meaning) if field in CHANGE_SIZES else own_name(field) for field in letters}
    return " · ".join(f"${letter}$ = {values[field]:,}: {words[field]}" for field, letter in letters.items())
