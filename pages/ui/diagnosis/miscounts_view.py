"""Show mistakes that lead to a number: mistakes of a published hand count, likely miscounts, and rarer miscounts."""

from collections.abc import Sequence

import streamlit as st

from bertcalc.diagnosis.diagnose import Diagnosis, Miscounted, told_apart
from bertcalc.diagnosis.known_counts import READINGS, HandCount
from bertcalc.diagnosis.miscounts import HABITS
from bertcalc.diagnosis.part_words import known_in_words
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.digits import fixed, latex_fraction, signed_count
from pages.ui.diagnosis.cause_words import causes
from pages.ui.diagnosis.counts_view import offer_presets
from pages.ui.shell.controls import Fold, sentence
from pages.ui.shell.i18n import _, filled, in_a_row
from pages.ui.widgets.tables import show_rows, show_table

_MOST_FOLDED = 5
_AS_COMMON = 1.5  # an explanation with over this many bits more than the first is called less common
OTHERS = Fold("others", N_("Less common explanations"))
POSSIBLE = Fold("possible", N_("Combinations of mistakes that lead to the same number"))


def show_hand_count(model: Model, hand: HandCount, miscounted: Miscounted, number: Typed) -> None:
    """Show the source and the mistakes of a published hand count, and a button that loads its model."""
    message = _("This is {whose}. The exact count of {model} is {count:,} parameters.")
    st.info(
        filled(message, whose=_(hand.description), model=hand.preset, count=miscounted.known_count.parameters),
        icon=":material/article:",
    )
    _show_sums([miscounted], number)
    if model.config != miscounted.known_count.model.config:
        offer_presets([hand.preset])


def show_miscounted(diagnosis: Diagnosis, number: Typed, *, explained: bool) -> None:
    """Show the likeliest explanations, the strength of the evidence, and the terms in which the explanations differ.

    ``explained`` says whether the page also shows explanations that need no mistake.
    """
    equals = diagnosis.miscounted
    sentences = [_summary(equals), _strength(diagnosis)]
    if explained:
        sentences.insert(0, _("As a count of the current model:"))
    st.info(in_a_row(sentences), icon=":material/troubleshoot:" if diagnosis.confident else ":material/help:")
    if (
        len(equals) == 1
        or len({(miscounted.known_count, miscounted.reading, miscounted.total) for miscounted in equals}) > 1
    ):
        for miscounted in equals:
            _show_sums([miscounted], number)
        return
    _show_sums(equals, number)
    _show_what_tells_them_apart(equals)


def _summary(equals: Sequence[Miscounted]) -> str:
    if equals[0].reading.exact is None:
        if len(equals) > 1:
            return _(
                "Each of these ways of counting gives a total that rounds to your number; the most likely "
                "one comes first."
            )
        return _("Counted this way, the total rounds to your number.")
    if len(equals) > 1:
        return _("{count} explanations lead to exactly this number; the most likely one comes first.").format(
            count=len(equals)
        )
    [miscounted] = equals
    count = miscounted.ideas + (miscounted.reading.key != "parameters")
    if miscounted.habit and miscounted.ideas == 1:
        return _("One way of counting explains your number exactly: {habit}.").format(
            habit=_(HABITS[miscounted.habit].description)
        )
    if count == 1:
        return _("One miscount explains your number exactly.")
    return _("{count} miscounts together explain your number exactly.").format(count=count)


def _strength(diagnosis: Diagnosis) -> str:
    assert diagnosis.evidence
    one_in = diagnosis.evidence.one_in
    if diagnosis.confident:
        return _("About 1 in {count:,} nearby numbers has an equally simple explanation.").format(count=one_in)
    if diagnosis.miscounted[0].reading.exact is None:
        return _("Other mistakes may lead to the same rounded number: treat this as a hint.")
    message = _("About 1 in {count:,} nearby numbers has an equally simple explanation: treat this as a hint.")
    return message.format(count=one_in)


def _show_what_tells_them_apart(equals: Sequence[Miscounted]) -> None:
    if not (rows := told_apart(equals)):
        return
    columns = {_("Term"): [_(part) for part, _amounts in rows]}
    for number_of in range(len(equals)):
        columns[_("With explanation {number}").format(number=number_of + 1)] = [
            f"{amounts[number_of]:,}" for _part, amounts in rows
        ]
    st.markdown(_("**How to tell them apart**"))
    show_table(columns, _("The terms in which the explanations differ"))


def show_ways(explanations: Sequence[Miscounted], number: Typed, caption: str = "") -> None:
    """Show the steps of the first few explanations, below an optional caption."""
    if caption:
        st.caption(caption)
    for miscounted in explanations[:_MOST_FOLDED]:
        _show_sums([miscounted], number)


def _show_sums(explanations: Sequence[Miscounted], number: Typed) -> None:
    """Show the steps from the right count to the number; several explanations are numbered.

    The last row is the number. If the number does not count parameters, the row before it shows the conversion.
    """
    first = explanations[0]
    known = first.known_count
    rows = [(_("right: {model}").format(model=sentence(known_in_words(known))), "", f"{known.right:,}")]
    for rank, miscounted in enumerate(explanations, 1):
        mark = (
            f"**{rank}.**"
            if miscounted.bits <= first.bits + _AS_COMMON
            else _("**{number}.** Less common:").format(number=rank)
        )
        rows += [
            (f"{mark} {text}" if len(explanations) > 1 else text, formula, signed_count(amount))
            for text, formula, amount in causes(miscounted.known_count, miscounted.explanation)
        ]
    wrong, exact, (meaning, factor) = first.total, first.reading.exact, READINGS[first.reading.key]
    converted = first.reading.key != "parameters"
    last = [(_("in parameters"), "", f"{wrong:,}")] if converted or exact is None else []
    if converted:
        last.append((_(meaning), rf"$\div\ {latex_fraction(factor)}$", fixed(wrong / factor, 0)))
    last.append((_("**your number**"), "", f"**{int(number.value):,}**"))
    show_rows((_("What is counted"), _("Formula"), _("Parameters")), [*rows, *last], _("From the right count to yours"))
