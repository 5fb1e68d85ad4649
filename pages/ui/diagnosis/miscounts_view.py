"""What leads to a number: the mistakes of a published hand count, the likeliest miscounts, and rarer ones."""

from collections.abc import Sequence

import streamlit as st

from bertcalc.diagnosis.diagnose import Diagnosis, Miscounted, told_apart
from bertcalc.diagnosis.known_counts import READINGS, HandCount
from bertcalc.diagnosis.miscounts import HABITS
from bertcalc.model.subject import Subject
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.digits import fixed, latex_fraction, signed_count
from pages.ui.diagnosis.cause_words import causes, describe
from pages.ui.diagnosis.counts_view import offer_presets
from pages.ui.shell.controls import Fold
from pages.ui.shell.i18n import _, in_a_row
from pages.ui.widgets.tables import show_rows, show_table

_MOST_FOLDED = 5
_AS_COMMON = 1.5  # bits by which an explanation may exceed the first without being called rarer
OTHERS = Fold("others", N_("Rarer explanations"))
POSSIBLE = Fold("possible", N_("Several mistakes together could lead to it as well"))


def show_hand_count(subject: Subject, hand: HandCount, miscounted: Miscounted, number: Typed) -> None:
    """Show the source of a published hand count, its mistakes, and a button that takes its model."""
    said = _("This is {whose}. Exactly, {model} has {count:,} parameters.")
    st.info(
        said.format(whose=_(hand.said), model=hand.preset, count=miscounted.model.parameters),
        icon=":material/article:",
    )
    _show_sums([miscounted], number)
    if subject.config != miscounted.model.subject.config:
        offer_presets([hand.preset])


def show_miscounted(found: Diagnosis, number: Typed, *, known: bool) -> None:
    """Show the likeliest explanations, how much they prove, and the terms that would tell them apart."""
    equals = found.miscounted
    said = [_summary(equals), _strength(found)]
    if known:
        said.insert(0, _("As a count of the model in the sidebar:"))
    st.info(in_a_row(said), icon=":material/troubleshoot:" if found.confident else ":material/help:")
    if len(equals) == 1 or len({(one.model, one.reading, one.total) for one in equals}) > 1:
        for one in equals:
            _show_sums([one], number)
        return
    _show_sums(equals, number)
    _show_what_tells_them_apart(equals)


def _summary(equals: Sequence[Miscounted]) -> str:
    """The number and kind of the explanations, in a sentence."""
    if equals[0].reading.exact is None:
        if len(equals) > 1:
            return _("Counted in one of these ways it rounds to your number, the likeliest first.")
        return _("Counted like this it rounds to your number.")
    if len(equals) > 1:
        return _("{count} explanations lead to exactly this number, the likeliest first.").format(count=len(equals))
    [one] = equals
    count = one.ideas + (one.reading.key != "parameters")
    if one.habit and one.ideas == 1:
        return _("One way of counting explains it exactly: {habit}.").format(habit=_(HABITS[one.habit].said))
    if count == 1:
        return _("One miscount explains it exactly.")
    return _("{count} miscounts together explain it exactly.").format(count=count)


def _strength(found: Diagnosis) -> str:
    """How much the explanations prove, in a sentence."""
    assert found.evidence
    one_in = found.evidence.one_in
    if found.confident:
        return _("Among nearby numbers, one in {count:,} could be explained just as simply.").format(count=one_in)
    if found.miscounted[0].reading.exact is None:
        return _("A rounded number leaves room for other mistakes: take it as a hint.")
    said = _("Among nearby numbers, one in {count:,} could be explained just as simply: take it as a hint.")
    return said.format(count=one_in)


def _show_what_tells_them_apart(equals: Sequence[Miscounted]) -> None:
    """Show the terms in which explanations of one number differ."""
    if not (rows := told_apart(equals)):
        return
    columns = {_("Your term would be"): [_(part) for part, _amounts in rows]}
    for number_of in range(len(equals)):
        columns[_("by explanation {number}").format(number=number_of + 1)] = [
            f"{amounts[number_of]:,}" for _part, amounts in rows
        ]
    st.markdown(_("**How to tell them apart**"))
    show_table(columns, _("The terms in which the explanations differ"))


def show_ways(some: Sequence[Miscounted], number: Typed, caption: str = "") -> None:
    """Show the way to the number for each of a few explanations, below a caption if there is one."""
    if caption:
        st.caption(caption)
    for one in some[:_MOST_FOLDED]:
        _show_sums([one], number)


def _show_sums(some: Sequence[Miscounted], number: Typed) -> None:
    """Show the way from the right count to the number, line by line; several ways are numbered.

    Below it stands the number, with its conversion if it is not a number of parameters.
    """
    first = some[0]
    rows = [(_("right: {model}").format(model=describe(first.model)), "", f"{first.model.right:,}")]
    for at, one in enumerate(some, 1):
        mark = f"**{at}.**" if one.bits <= first.bits + _AS_COMMON else _("**{number}.** rarer:").format(number=at)
        rows += [
            (f"{mark} {said}" if len(some) > 1 else said, formula, signed_count(amount))
            for said, formula, amount in causes(one.model, one.explanation)
        ]
    wrong, exact, (meaning, factor) = first.total, first.reading.exact, READINGS[first.reading.key]
    converted = first.reading.key != "parameters"
    last = [(_("in parameters"), "", f"{wrong:,}")] if converted or exact is None else []
    if converted:
        last.append((_(meaning), rf"$\div\ {latex_fraction(factor)}$", fixed(wrong / factor, 0)))
    last.append((_("**your number**"), "", f"**{int(number.value):,}**"))
    show_rows((_("What is counted"), _("Formula"), _("Parameters")), [*rows, *last], _("From the right count to yours"))
