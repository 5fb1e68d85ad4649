"""What the steps of the Change page do: before and after, step by step, and in peft's words."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import streamlit as st

from bertcalc.change_steps.effects import StepEffect
from bertcalc.change_steps.step_code import code
from bertcalc.change_steps.step_texts import Step
from bertcalc.charts.bar_charts import Piece, PieceBar
from bertcalc.model.formula import formula, trained_formula
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.digits import fixed, scaled, size
from bertcalc.text.live_choices import if_negative, quotient
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.shell import live
from pages.ui.shell.controls import Fold, sentence
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.widgets.bars import draw_pieces
from pages.ui.widgets.metrics import show_metrics
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.tables import show_rows

CODE = Fold("change_code", N_("Python with the real libraries"))
_HEIGHT = 34  # pixels of a bar


def show_headline(figures: Sequence[StepEffect]) -> None:
    """Show the figures after the last step, each with its share of the figure before the first one."""
    before, after = figures[0], figures[-1]
    shown: dict[str, tuple[str, str]] = {
        _("Parameters"): (grouped(after.parameters), percent(after.parameters, before.parameters)),
        _("Trained"): _trained(after),
        _("In memory"): (size(after.memory_bytes), percent(after.memory_bytes, before.memory_bytes)),
        _("File"): (size(after.file_bytes), percent(after.file_bytes, before.file_bytes)),
    }
    if after.peak and before.peak:
        shown[_("Training step")] = (size(after.peak), percent(after.peak, before.peak))
    show_metrics(shown)
    if words := in_words_of_peft(after):
        live.code(words)


def _trained(effect: StepEffect) -> tuple[str, str]:
    if effect.trained is None:
        return "–", ""
    return grouped(effect.trained), percent(effect.trained, effect.parameters, 4)


def in_words_of_peft(effect: StepEffect) -> str:
    """The line that peft prints for a model with an adapter: print_trainable_parameters()."""
    trained, every = effect.trained, effect.parameters
    if trained is None or trained == every:
        return ""
    line = "trainable params: {trained:,} || all params: {every:,} || trainable%: {share}"
    return fill(line, trained=trained, every=every, share=fixed(quotient(100 * trained, every), 4))


def show_table(names: Sequence[str], figures: Sequence[StepEffect]) -> None:
    """Show the figures before the first step, and after each one."""
    titles = (_("After"), _("Parameters"), _("Trained"), _("In memory"), _("File"), _("FLOPs"), _("Training step"))
    rows = [
        (
            name,
            grouped(effect.parameters),
            _trained(effect)[0],
            size(effect.memory_bytes),
            grouped(effect.file_bytes),
            "–" if effect.flops is None else scaled(effect.flops, "FLOPs"),
            "–" if effect.peak is None else size(effect.peak),
        )
        for name, effect in zip(names, figures, strict=True)
    ]
    show_rows(titles, rows, _("The model before the first step, and after each one"))
    for problem in dict.fromkeys(sentence(problem) for effect in figures for problem in effect.unknown):
        st.caption(problem)


def show_waterfalls(names: Sequence[str], figures: Sequence[StepEffect]) -> None:
    """Draw what each step adds to the parameters and to the bytes, or takes from them."""
    if not presenting():
        st.markdown(_("**Parameters**"))
        _waterfall(names, [effect.parameters for effect in figures], grouped, _("Parameters, step by step"))
    st.markdown(_("**Bytes in memory**"))
    _waterfall(names, [effect.memory_bytes for effect in figures], size, _("Bytes in memory, step by step"))


def _waterfall(names: Sequence[str], amounts: Sequence[int], text: Callable[[int], str], alt: str) -> None:
    bars = [PieceBar(names[0], [Piece("together", 0, amounts[0])], text(amounts[0]), {"amount": amounts[0]})]
    for name, (before, after) in zip(names[1:], pairwise(amounts), strict=True):
        kind = if_negative(after - before, "fewer", "more")
        bars.append(PieceBar(name, [Piece(kind, before, after)], text(after), {"amount": after}))
    draw_pieces(bars, _HEIGHT, numbers={"name": _("After"), "amount": _("Amount")}, alt=alt)


def show_details(model: Model, steps: Sequence[Step], figures: Sequence[StepEffect]) -> None:
    """Show the formulas, why a quantized model is not smaller, and the code."""
    after = figures[-1].changed
    st.latex(f"N = {formula(after.model).latex()}")
    if in_words_of_peft(figures[-1]):
        st.latex(rf"N_t = {trained_formula(after.model).latex()}")
    if after.base:
        with live.older("why-not-smaller"):
            st.markdown(sentence(after.base.why_not_smaller(), str))
        bits = fixed(after.base.bits_per_weight, 2)
        st.caption(
            _("{bits} bits for each quantized weight. Source: {source}").format(
                bits=bits, source=after.base.format.source
            )
        )
        if not after.base.format.is_measured:
            st.caption(_("By the documentation of the format: there is nothing to measure it with."))
    if not presenting() and (folder := CODE.unfolded()):
        folder.code(code(model, steps), language="python")
