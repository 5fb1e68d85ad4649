"""Show the explanations of a number: known counts, FLOPs, memory, common mistakes, and other models."""

from pathlib import Path

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.diagnosis.count_lines import wrong_result
from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.number_meanings import is_answered, meanings_of, number_asked, whole_line_of_peft
from bertcalc.diagnosis.other_tools import tools_with
from bertcalc.diagnosis.stored_sizes import sizes_of_steps
from bertcalc.model.model import Model
from bertcalc.text.amounts import Typed
from pages.ui.diagnosis import counts_view, miscounts_view
from pages.ui.diagnosis.your_number import read_number, show_nothing, show_reading
from pages.ui.session.style import style_page
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _, listed

_STYLE = Path(__file__).with_suffix(".css")


def show_number(model: Model, text: str, *, is_named: bool = False, changed: ChangedModel | None = None) -> None:
    """Show how a text was read as a number, and the number's explanations, the likeliest first.

    If the text is a line that peft prints, asks about a config field, or states a size of the changed model, only the
    answer to this is shown. With ``is_named``, the page has already stated an exact number, so only a range is shown.
    ``changed`` is the model after all steps; ``model`` does not include their quantization.
    """
    if whole_line_of_peft(text):
        for meaning in meanings_of(model, text).sentences:
            st.info(sentence(meaning))
        return
    asked = number_asked(text)
    if wrong := wrong_result(text, model.config):
        st.error(sentence(wrong))
    if number := read_number(asked, model.config):
        if not is_named or number.low != number.high:
            show_reading(number)
        style_page(_STYLE)
        with st.container(key="number-view"):
            if is_answered(text):
                _show_other_meanings(model, number, text)
            elif changed and (sizes := [*sizes_of_steps(changed, number, asked)]):
                for size in sizes:
                    st.success(sentence(size), icon=":material/check_circle:")
            else:
                _show_explanations(model, number, asked)


def _show_explanations(model: Model, number: Typed, text: str) -> None:
    present = KnownCount(model, model.num_parameters())
    diagnosis, tools = diagnose(present, number), tools_with(number, model.config)
    if diagnosis.hand:
        miscounts_view.show_hand_count(model, *diagnosis.hand, number)
    if diagnosis.parts_first:
        counts_view.show_own_parts(model, diagnosis.parts)
    counts_view.show_matches(model, diagnosis.matches)
    counts_view.show_changed(diagnosis.changed, f"{int(number.value):,}")
    if tools:
        st.info(_("The formula of {tools} gives exactly this number: see Other tools.").format(tools=listed(tools)))
    counts_view.show_flops(diagnosis.flops)
    peaks = counts_view.show_peaks(model, number)
    if diagnosis.parts and not diagnosis.parts_first:
        counts_view.show_own_parts(model, diagnosis.parts)
    if not peaks:
        if diagnosis.miscounted and diagnosis.miscounts_first:
            miscounts_view.show_miscounted(
                diagnosis, number, explained=bool(tools or diagnosis.matches or diagnosis.parts)
            )
        counts_view.show_claims(model, diagnosis.claims)
        counts_view.show_elsewhere(diagnosis.elsewhere)
        counts_view.show_slips(present, diagnosis.slips, number)
        if diagnosis.miscounted and not diagnosis.miscounts_first:
            miscounts_view.show_miscounted(diagnosis, number, explained=bool(tools or diagnosis.known))
        if not (tools or diagnosis.hand or diagnosis.known or diagnosis.slips or diagnosis.miscounted):
            _show_other_meanings(model, number, text)
        if diagnosis.behind:
            miscounts_view.OTHERS.around(miscounts_view.show_ways, diagnosis.behind, number)
        if diagnosis.possible:
            caption = _("A combination of mistakes can give nearly any number, so this proves nothing.")
            miscounts_view.POSSIBLE.around(miscounts_view.show_ways, diagnosis.possible, number, caption)


def _show_other_meanings(model: Model, number: Typed, text: str) -> None:
    """Show other meanings of a number: a file size, buffers, an adapter, or twice a count. If nothing fits, say so."""
    if meanings := meanings_of(model, text).sentences:
        for meaning in meanings:
            st.info(sentence(meaning))
    else:
        show_nothing(model, number, text)
