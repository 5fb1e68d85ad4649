"""Somebody's number: the count that it is, or the mistakes that lead to it."""

import math
from collections.abc import Sequence

import streamlit as st

from bertcalc.arithmetic import LONGEST
from bertcalc.config import letters
from bertcalc.diagnosis.cause_formulas import count_formula
from bertcalc.diagnosis.diagnose import MOST_MISCOUNTS, Diagnosis, Match, Miscounted, Own, diagnose
from bertcalc.diagnosis.explain import MOST_FOUND
from bertcalc.diagnosis.known import READINGS, HandCount, Known, Reading, published_counts, readings
from bertcalc.diagnosis.tools import tool_counts
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.formula import latex_fraction
from bertcalc.forward.steps import batch_problems
from bertcalc.problem import InputError
from bertcalc.subject import Subject
from bertcalc.text import N_, literal, shorten
from bertcalc.typed import Typed, amount
from pages.ui.any_model.way import show_way_of_count
from pages.ui.batch import linked_batch
from pages.ui.controls import Fold, Text, sentence, set_values, view
from pages.ui.diagnosis.cause_words import causes, describe, own_count
from pages.ui.i18n import _, listed
from pages.ui.model import take_preset
from pages.ui.numbers import signed_count, size
from pages.ui.present import presenting
from pages.ui.tables import show_table

# The number that everybody has heard of.
NUMBER = "110M"
# Totals to try: of the present model, and the last is that of the first example of terms.
NUMBERS = ("110M", "1.1e8", "437.9 MB", "75,641,856")
_MOST_ROWS = 12
VIEW = view("explain", {"total": N_("One number"), "terms": N_("Term by term")})
YOURS = Text("number", N_("Your number"), NUMBER, LONGEST, placeholder="12*7087872", width=320)
OTHERS = Fold("others", N_("Another explanation is equally short"))


def show_total(subject: Subject) -> None:
    """Ask for a number, and say where it comes from."""
    text = _choose_number()
    try:
        number = amount(text, names=letters(subject.config))
    except InputError as error:
        st.error(sentence(error.problem))
        return
    known = Known(subject, subject.model().num_parameters())
    found = diagnose(known, number)
    if found.hand:
        _show_hand_count(subject, *found.hand, number)
    _show_matches(subject, found.matches)
    tools = [name for name, count in tool_counts(subject.config) if number.low == count == number.high]
    if tools:
        st.info(_("The formula of {tools} gives exactly this: see Other tools.").format(tools=listed(tools)))
    elsewhere = _show_peaks(subject, number) or (not found.matches and _show_elsewhere(number))
    if found.own:
        _show_own(subject, found.own)
    elif found.miscounted and not elsewhere:
        _show_miscounted(found, number)
    elif not (found.hand or found.matches or tools or elsewhere):
        _show_nothing(subject, number, text)


def _show_peaks(subject: Subject, number: Typed) -> bool:
    """Say which peak of memory a number of bytes is, for the batch of the Memory page; whether it is one."""
    batch = linked_batch()
    if number.unit != "bytes" or any(batch_problems(subject.config, batch._asdict())):
        return False
    peaks = {name: QUANTITIES[name].known(Case(subject, *batch)) for name in PEAKS}
    found = {name: count for name, count in peaks.items() if count is not None and number.means(count)}
    for name, count in found.items():
        said = _("**{quantity}** is {size} here, for {batch_size:,} × {sequence_length:,} tokens: see Memory.")
        st.info(said.format(quantity=_(QUANTITIES[name].meaning), size=size(count), **batch._asdict()))
    return bool(found)


def _choose_number() -> str:
    """Draw the field for the number, and examples."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = YOURS.show()
        for number in NUMBERS:
            st.button(number, key=f"example {number}", on_click=set_values, args=({"number": number},))
    return text


def _show_matches(subject: Subject, matches: Sequence[Match]) -> None:
    """The known counts that a number may stand for, a table for each way to read the number."""
    groups: dict[Reading, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.reading, []).append(match)
    beside = presenting() and len(groups) > 1
    places = st.columns(len(groups)) if beside else [st.container() for _group in groups]
    here = subject.model().num_parameters()
    for place, (reading, some) in zip(places, groups.items(), strict=True):
        with place:
            if reading.exact is None:
                st.markdown(f"**{_meaning(reading)}**")
            else:
                st.success(_meaning(reading), icon=":material/check_circle:")
            show_table(
                {
                    _("Parameters"): [
                        f"**{match.total:,}**" if match.total == here else f"{match.total:,}" for match in some
                    ],
                    _("Which count it is"): ["  \n".join(map(describe, match.models)) for match in some],
                },
                _("Known counts"),
            )


def _meaning(reading: Reading) -> str:
    """One way to read a number, in words."""
    said = _(READINGS[reading.key][0])
    if reading.exact is not None:
        return _("Exactly a known count, as {meaning}:").format(meaning=said)
    bounds = {"meaning": said, "low": f"{float(reading.low):,.0f}", "high": f"{float(reading.high):,.0f}"}
    if reading.rounded:
        return _("If the trailing zeros are not significant, as {meaning}: {low} to {high}").format(**bounds)
    return _("Every count that rounds to it, as {meaning}: {low} to {high}").format(**bounds)


def _show_hand_count(subject: Subject, hand: HandCount, miscounted: Miscounted, number: Typed) -> None:
    """Whose published count a number is, its mistakes, and a button that takes its model."""
    said = _("This is {whose}. Exactly, {model} has {count:,} parameters.")
    st.info(
        said.format(whose=_(hand.said), model=hand.preset, count=miscounted.model.parameters),
        icon=":material/article:",
    )
    _show_sum(miscounted, number)
    if subject.config != miscounted.model.subject.config:
        st.button(_("Use {preset}").format(preset=hand.preset), on_click=take_preset, args=(hand.preset,))


def _show_own(subject: Subject, found: Sequence[Own]) -> None:
    """The parts of the present model with this count, with formulas."""
    reading = found[0].reading
    layers = subject.config.num_hidden_layers
    said = _(READINGS[reading.key][0])
    if reading.exact is None:
        st.markdown(_("**Parts of this model round to it, as {meaning}:**").format(meaning=said))
    else:
        st.success(
            _("Exactly a part of this model, as {meaning}:").format(meaning=said), icon=":material/check_circle:"
        )
    shown = [one.counted for one in found[:_MOST_ROWS]]
    formulas = [count_formula(subject, count) for count in shown]
    show_table(
        {
            _("What is counted"): [own_count(count, layers) for count in shown],
            _("Formula"): [f"${formula.latex()} = {formula.latex(subject.config)}$" for formula in formulas],
            _("Parameters"): [f"{count.right:,}" for count in shown],
        },
        _("Parts of the model with this count"),
    )
    if len(found) > len(shown):
        st.caption(_("And {count:,} more.").format(count=len(found) - len(shown)))


def _show_miscounted(found: Diagnosis, number: Typed) -> None:
    """The shortest explanation; others of the same length are folded away."""
    first, *others = found.miscounted
    count = len(first.explanation) + (first.reading.key != "parameters")
    if count == 1:
        said = _("One miscount explains it exactly.")
    else:
        said = _("{count} miscounts together explain it exactly; fewer do not.")
    st.info(said.format(count=count), icon=":material/troubleshoot:")
    _show_sum(first, number)
    if others:
        label = _("{count} other explanations are equally short")
        if len(others) >= MOST_FOUND - 1:  # there may be more
            label = _("At least {count} other explanations are equally short")
        label = label.format(count=len(others))
        if len(others) == 1:
            label = OTHERS.title
        if folder := OTHERS.unfolded(label=label):
            with folder:
                for other in others:
                    _show_sum(other, number)


def _show_sum(miscounted: Miscounted, number: Typed) -> None:
    """From the right count to the number, line by line."""
    known = miscounted.model
    rows = [(_("right: {model}").format(model=describe(known)), "", f"{known.parameters:,}")]
    rows += [
        (said, formula, signed_count(amount))
        for said, formula, amount in causes(known, miscounted.explanation, lambda name: True)
    ]
    wrong = known.parameters + sum(cause.amount for cause in miscounted.explanation)
    meaning, factor = READINGS[miscounted.reading.key]
    if miscounted.reading.key != "parameters":
        rows.append((_("in parameters"), "", f"{wrong:,}"))
        rows.append((_(meaning), rf"$\div\ {latex_fraction(factor)}$", f"{float(wrong / factor):,.0f}"))
    rows.append((_("**your number**"), "", f"**{int(number.value):,}**"))
    names = (_("What is counted"), _("Formula"), _("Parameters"))
    show_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), _("From the right count to yours"))


_OFFERED = 3


def _published(number: Typed) -> list[str]:
    """The presets whose known counts the number may stand for, in the first reading that has any."""
    for reading in readings(number):
        if found := [preset for total, (preset, _known) in published_counts().items() if reading.means(total)]:
            return list(dict.fromkeys(found))
    return []


def _show_elsewhere(number: Typed) -> bool:
    """Say which published model has a number, if there is one."""
    exact = [reading.exact for reading in readings(number) if reading.exact in published_counts()]
    if exact and exact[0] is not None:
        preset, known = published_counts()[exact[0]]
        st.success(
            _("Exactly the count of another published model: {preset}, {model}").format(
                preset=preset, model=describe(known)
            ),
            icon=":material/check_circle:",
        )
        _offer([preset])
    elif elsewhere := _published(number):
        st.success(
            _("It is the rounded count of published models: {models}.").format(models=listed(elsewhere)),
            icon=":material/check_circle:",
        )
        _offer(elsewhere)
    else:
        return False
    return True


def _offer(presets: Sequence[str]) -> None:
    for preset in presets[:_OFFERED]:
        st.button(_("Use {preset}").format(preset=preset), on_click=take_preset, args=(preset,))


_UNEXPLAINED = N_(
    "Nothing plausible gives {number}: no known count of this configuration, no part of it, and no combination of up "
    "to {most} miscounts. It may belong to another model: {architecture} in the sidebar has {count:,} parameters. The "
    "individual terms of the count would tell more."
)
_UNKNOWN = N_(
    "No known count of this configuration rounds to {number}. It may belong to another model: "
    "{architecture} in the sidebar has {count:,} parameters. The exact total, or the individual terms"
    " of the count, would tell more."
)


def _show_nothing(subject: Subject, number: Typed, text: str) -> None:
    """Say that nothing explains a number, and how else it can be read."""
    exactly = number.low == number.high
    st.warning(
        (_(_UNEXPLAINED) if exactly else _(_UNKNOWN)).format(
            most=MOST_MISCOUNTS,
            number=literal(shorten(text)),
            architecture=subject.architecture,
            count=subject.model().num_parameters(),
        ),
        icon=":material/help:",
    )
    show_way_of_count(math.ceil(number.low), math.floor(number.high))
    if not exactly:
        zeros = _("if the trailing zeros are not significant")
        show_table(
            {
                _("If it means"): [
                    listed([_(READINGS[one.key][0]), *([zeros] if one.rounded else [])]) for one in readings(number)
                ],
                _("Parameters"): [f"{float(one.low):,.0f} – {float(one.high):,.0f}" for one in readings(number)],
            },
            _("What the number may mean"),
        )
