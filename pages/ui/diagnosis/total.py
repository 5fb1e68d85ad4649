"""The view of one number: the count that it is, or the mistakes that lead to it."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

import streamlit as st

from bertcalc.arithmetic import LONGEST
from bertcalc.config import letters
from bertcalc.diagnosis.cause_formulas import count_formula
from bertcalc.diagnosis.diagnose import Diagnosis, Elsewhere, Match, Miscounted, OwnPart, diagnose, told_apart
from bertcalc.diagnosis.known import (
    HAND_COUNTS,
    PUBLISHED_CONFIGS,
    READINGS,
    Claim,
    HandCount,
    Known,
    Reading,
    readings,
)
from bertcalc.diagnosis.miscounts import HABITS, MISCOUNTS, MiscountSizes, counted, total
from bertcalc.diagnosis.slips import Slip
from bertcalc.diagnosis.tools import tool_counts
from bertcalc.digits import fixed, latex_fraction, scientific, signed_count, size
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.families import build
from bertcalc.forward.steps import batch_problems
from bertcalc.presets import PRESETS
from bertcalc.problem import InputError
from bertcalc.subject import Subject
from bertcalc.text import N_, literal, shorten
from bertcalc.typed import Typed, amount
from pages.ui.any_model.way import show_way_of_count
from pages.ui.batch import linked_batch
from pages.ui.controls import Fold, Text, sentence, set_values, view
from pages.ui.diagnosis.cause_words import causes, describe, own_count
from pages.ui.i18n import _, in_a_row, listed
from pages.ui.model import take_preset
from pages.ui.present import presenting
from pages.ui.tables import show_rows, show_table

_MOST_ROWS = 12
VIEW = view("explain", {"total": N_("One number"), "terms": N_("Term by term")})
YOURS = Text("number", N_("Your number"), "110M", LONGEST, placeholder="12*7087872", width=320)
OTHERS = Fold("others", N_("Rarer explanations"))
POSSIBLE = Fold("possible", N_("Several mistakes together could lead to it as well"))


def show_total(subject: Subject) -> None:
    """Ask for a number, and explain it."""
    text = _choose_number(subject)
    if not text.strip():
        return
    try:
        number = amount(text, names=letters(subject.config))
    except InputError as error:
        st.error(sentence(error.problem))
        return
    _show_reading(number)
    known = Known(subject, subject.model().num_parameters())
    found = diagnose(known, number)
    if found.hand:
        _show_hand_count(subject, *found.hand, number)
    _show_matches(subject, found.matches)
    tools = [name for name, count in tool_counts(subject.config) if number.low == count == number.high]
    if tools:
        st.info(_("The formula of {tools} gives exactly this: see Other tools.").format(tools=listed(tools)))
    peaks = _show_peaks(subject, number)
    if found.own:
        _show_own(subject, found.own)
    if not peaks:
        if found.usual:
            _show_miscounted(found, number, known=bool(tools or found.matches or found.own))
        _show_claims(subject, found.claims)
        _show_elsewhere(found.elsewhere)
        _show_slips(known, found.slips, number)
        if found.miscounted and not found.usual:
            _show_miscounted(found, number, known=bool(tools or found.known))
    explained = found.hand or found.known or found.slips or found.miscounted or tools or peaks
    if not explained:
        _show_nothing(subject, number, text)
    if not peaks:
        _show_folded(found, number)


def _show_reading(number: Typed) -> None:
    """Show how the text was read."""
    values = {name: _written(getattr(number, name)) for name in ("value", "low", "high")}
    if number.unit == "bytes":
        said = _("Read as {value} bytes.") if number.low == number.high else _("Read as {low} to {high} bytes.")
    elif number.low == number.high:
        said = _("Read as {value}, exactly.")
    else:
        said = _("Read as anything from {low} to {high}.")
    st.caption(said.format(**values))


def _written(value: Fraction) -> str:
    """A number with thousands separators, and decimals only if it is not whole."""
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):,}"


def _show_peaks(subject: Subject, number: Typed) -> bool:
    """Show the peaks of memory that a number of bytes means, for the Memory page's batch; whether there is one."""
    batch = linked_batch()
    if number.unit != "bytes" or any(batch_problems(subject.config, batch._asdict())):
        return False
    peaks = {name: QUANTITIES[name].known(Case(subject, *batch)) for name in PEAKS}
    found = {name: count for name, count in peaks.items() if count is not None and number.means(count)}
    for name, count in found.items():
        said = _("**{quantity}** is {size} here, for {batch_size:,} × {sequence_length:,} tokens: see Memory.")
        st.info(said.format(quantity=_(QUANTITIES[name].meaning), size=size(count), **batch._asdict()))
    return bool(found)


def _choose_number(subject: Subject) -> str:
    """Draw the field for the number, and examples."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = YOURS.show()
        for number in numbers_to_try(subject):
            st.button(number, key=f"example {number}", on_click=set_values, args=({"number": number},))
    return text


def numbers_to_try(subject: Subject) -> list[str]:
    """Examples: the present model's count rounded, as a power of ten and in bytes, and a wrong count.

    The wrong count is a published hand count of the family if there is one.
    """
    model = subject.model()
    count = model.num_parameters()
    wrong = total(MISCOUNTS["LayerNorm"].make(counted(model), MiscountSizes.of(subject.config)))
    hands = [hand.parameters for hand in HAND_COUNTS if type(PRESETS[hand.preset].config) is type(subject.config)]
    rounded = f"{fixed(count / 10**6, int(count < 10**7))}M"
    return [rounded, scientific(count, 2), f"{fixed(count / 250_000)} MB", f"{(hands or [wrong])[0]:,}"]


def _show_matches(subject: Subject, matches: Sequence[Match]) -> None:
    """Show the known counts that a number may mean, in a table for each reading of the number."""
    groups = [(reading, list(some)) for reading, some in groupby(matches, lambda match: match.reading)]
    beside = presenting() and len(groups) > 1
    places = st.columns(len(groups)) if beside else [st.container() for _group in groups]
    here = subject.model().num_parameters()
    for place, (reading, some) in zip(places, groups, strict=True):
        with place:
            if reading.exact is None:
                st.markdown(f"**{_meaning(reading)}**")
            else:
                st.success(_meaning(reading), icon=":material/check_circle:")
            counts = [f"**{match.total:,}**" if match.total == here else f"{match.total:,}" for match in some]
            names = ["  \n".join(map(describe, match.models)) for match in some]
            show_table({_("Parameters"): counts, _("Which count it is"): names}, _("Known counts"))


def _meaning(reading: Reading) -> str:
    """A reading of a number in words."""
    said = _(READINGS[reading.key][0])
    if reading.exact is not None:
        return _("Exactly a known count, as {meaning}:").format(meaning=said)
    bounds = {"meaning": said, "low": fixed(reading.low, 0), "high": fixed(reading.high, 0)}
    if reading.rounded:
        return _("If the trailing zeros are not significant, as {meaning}: {low} to {high}").format(**bounds)
    return _("Every count that rounds to it, as {meaning}: {low} to {high}").format(**bounds)


def _show_hand_count(subject: Subject, hand: HandCount, miscounted: Miscounted, number: Typed) -> None:
    """Show the source of a published hand count, its mistakes, and a button that takes its model."""
    said = _("This is {whose}. Exactly, {model} has {count:,} parameters.")
    st.info(
        said.format(whose=_(hand.said), model=hand.preset, count=miscounted.model.parameters),
        icon=":material/article:",
    )
    _show_sum(miscounted, number)
    if subject.config != miscounted.model.subject.config:
        st.button(_("Use {preset}").format(preset=hand.preset), on_click=take_preset, args=(hand.preset,))


def _show_own(subject: Subject, found: Sequence[OwnPart]) -> None:
    """Show the parts of the present model with this count, with formulas."""
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
    rows = []
    for count in shown:
        formula = count_formula(subject, count)
        in_letters_and_numbers = f"${formula.latex()} = {formula.latex(subject.config)}$"
        rows.append((own_count(count, layers), in_letters_and_numbers, f"{count.right:,}"))
    titles = (_("What is counted"), _("Formula"), _("Parameters"))
    show_rows(titles, rows, _("Parts of the model with this count"))
    if len(found) > len(shown):
        st.caption(_("And {count:,} more.").format(count=len(found) - len(shown)))


def _show_miscounted(found: Diagnosis, number: Typed, *, known: bool) -> None:
    """Show the likeliest explanations, how much they prove, and the terms that would tell them apart."""
    equals = found.miscounted
    said = [_summary(equals), _strength(found)]
    if known:
        said.insert(0, _("As a count of the model in the sidebar:"))
    st.info(in_a_row(said), icon=":material/troubleshoot:" if found.confident else ":material/help:")
    if len(equals) == 1 or len({(one.model, one.reading, one.total) for one in equals}) > 1:
        for one in equals:
            _show_sum(one, number)
        return
    _show_equals(equals, number)
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


def _show_equals(equals: Sequence[Miscounted], number: Typed) -> None:
    """Show several ways from the right count to the number in one table."""
    first = equals[0]
    rows = [(_("right: {model}").format(model=describe(first.model)), "", f"{first.model.parameters:,}")]
    for number_of, one in enumerate(equals, 1):
        number_said = f"**{number_of}.**" if one.bits <= first.bits + _AS_COMMON else _("**{number}.** rarer:")
        rows += [
            (f"{number_said.format(number=number_of)} {said}", formula, signed_count(amount))
            for said, formula, amount in causes(one.model, one.explanation)
        ]
    _show_way([*rows, *_last_rows(first, number)])


_AS_COMMON = 1.5  # bits by which an explanation may exceed the first without being called rarer


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


def _show_slips(present: Known, slips: Sequence[Slip], number: Typed) -> None:
    """Show the known counts that may have been mistyped; the present model's or a direct neighbor is likely."""
    if not slips:
        return
    counts = listed([_slip(present.subject, slip) for slip in slips])
    if any(slip.meant == present.total or abs(slip.meant - number.value) == 1 for slip in slips):
        said = _("Probably a typo: it is one digit away from a known count, {counts}.")
    else:
        said = _("Perhaps a typo: it is one digit away from a known count, {counts}.")
    st.info(said.format(counts=counts), icon=":material/keyboard:")


def _slip(subject: Subject, slip: Slip) -> str:
    name = describe(slip.model)
    if slip.preset and slip.model.subject.config != subject.config:
        name = f"{slip.preset} {name}"
    return _("{count:,} ({name})").format(count=slip.meant, name=name)


def _show_folded(found: Diagnosis, number: Typed) -> None:
    """Show rarer explanations and mere possibilities, folded."""
    for fold, some in ((OTHERS, found.behind), (POSSIBLE, found.possible)):
        if some and (folder := fold.unfolded()):
            with folder:
                if fold is POSSIBLE:
                    st.caption(_("Several mistakes lead to nearly any number: this proves nothing."))
                for one in some[:_MOST_FOLDED]:
                    _show_sum(one, number)


_MOST_FOLDED = 5


def _show_sum(miscounted: Miscounted, number: Typed) -> None:
    """Show the way from the right count to the number, line by line."""
    known = miscounted.model
    rows = [(_("right: {model}").format(model=describe(known)), "", f"{known.right:,}")]
    rows += [(said, formula, signed_count(amount)) for said, formula, amount in causes(known, miscounted.explanation)]
    _show_way([*rows, *_last_rows(miscounted, number)])


def _last_rows(miscounted: Miscounted, number: Typed) -> list[tuple[str, str, str]]:
    """The last rows of a table: the number, and its conversion if it is not a number of parameters."""
    rows = []
    wrong = miscounted.total
    meaning, factor = READINGS[miscounted.reading.key]
    if miscounted.reading.key != "parameters" or miscounted.reading.exact is None:
        rows.append((_("in parameters"), "", f"{wrong:,}"))
    if miscounted.reading.key != "parameters":
        rows.append((_(meaning), rf"$\div\ {latex_fraction(factor)}$", fixed(wrong / factor, 0)))
    return [*rows, (_("**your number**"), "", f"**{int(number.value):,}**")]


def _show_way(rows: Sequence[tuple[str, str, str]]) -> None:
    titles = (_("What is counted"), _("Formula"), _("Parameters"))
    show_rows(titles, rows, _("From the right count to yours"))


_OFFERED = 3


def _show_elsewhere(found: Sequence[Elsewhere]) -> None:
    """Show the published models that have the number."""
    if not found:
        return
    first = found[0]
    presets = list(dict.fromkeys(one.preset for one in found))
    icon = ":material/check_circle:"
    if first.reading.exact is None:
        said = _("It is the rounded count of published models: {models}.")
        if first.counted:
            said = _("Parts of published models round to it: {models}.")
        names = [f"{one.preset} ({_part_of(one)})" if one.counted else one.preset for one in found]
        st.info(said.format(models=listed(names[:_MOST_ROWS])), icon=":material/info:")
    elif first.known:
        said = _("Exactly the count of another published model: {preset}, {model}")
        st.success(said.format(preset=first.preset, model=describe(first.known)), icon=icon)
    else:
        said = _("Exactly a part of another published model: {part} of {preset}")
        st.success(said.format(preset=first.preset, part=_part_of(first)), icon=icon)
    if first.reading.key != "parameters":
        st.caption(_("This holds if the number means {meaning}.").format(meaning=_(READINGS[first.reading.key][0])))
    _offer(presets)


def _show_claims(subject: Subject, claims: Sequence[Claim]) -> None:
    """Show the models for which this number was published although it is not their count."""
    for claim in claims:
        said = _("For {preset} this number was published: {whose} ({source}). Exactly, it has {count:,} parameters.")
        count = build(PRESETS[claim.preset].config).num_parameters()
        st.info(
            said.format(preset=claim.preset, whose=_(claim.said), source=claim.source, count=count),
            icon=":material/article:",
        )
    _offer([claim.preset for claim in claims if PRESETS[claim.preset].config != subject.config])


def _part_of(one: Elsewhere) -> str:
    assert one.counted
    return own_count(one.counted, PUBLISHED_CONFIGS[one.preset].num_hidden_layers)


def _offer(presets: Sequence[str]) -> None:
    for preset in [preset for preset in presets if preset in PRESETS][:_OFFERED]:
        st.button(_("Use {preset}").format(preset=preset), on_click=take_preset, args=(preset,))


def _show_nothing(subject: Subject, number: Typed, text: str) -> None:
    """Say that nothing explains the number, and show its other readings."""
    if exactly := number.low == number.high:
        said = _(
            "Nothing simple gives {number}: no known count of this configuration, no part of it, and no mistake that "
            "is often made. It may belong to another model: {architecture} in the sidebar has {count:,} parameters. "
            "The individual terms of the count would tell more."
        )
    else:
        said = _(
            "No known count of this configuration rounds to {number}. It may belong to another model: {architecture} "
            "in the sidebar has {count:,} parameters. The exact total, or the individual terms of the count, would "
            "tell more."
        )
    shown = f"{math.floor(number.low):,}" if exactly else literal(shorten(text))
    count = subject.model().num_parameters()
    st.warning(said.format(number=shown, architecture=subject.architecture, count=count), icon=":material/help:")
    show_way_of_count(math.ceil(number.low), math.floor(number.high))
    if not exactly:
        zeros = _("if the trailing zeros are not significant")
        rows = [
            (
                listed([_(READINGS[one.key][0]), *([zeros] if one.rounded else [])]),
                f"{fixed(one.low, 0)} – {fixed(one.high, 0)}",
            )
            for one in readings(number)
        ]
        show_rows((_("If it means"), _("Parameters")), rows, _("What the number may mean"))
