"""A number that somebody has: which count it is, or the slips that lead to it."""

from collections.abc import Sequence

import streamlit as st

from bertcalc.check.diagnosis import Diagnosis, Match, Slipped, diagnose
from bertcalc.check.explain import MOST_FOUND, MOST_SLIPS
from bertcalc.check.known import READINGS, Known, Reading, published_counts, readings
from bertcalc.check.tools import tool_counts
from bertcalc.config import Problem
from bertcalc.formula import latex_fraction
from bertcalc.text import N_, shorten
from bertcalc.typed import LONGEST, Typed, TypedError, typed
from pages.ui.check.words import causes, describe
from pages.ui.controls import carry, sentence, set_values
from pages.ui.i18n import translator
from pages.ui.present import presenting
from pages.ui.sidebar import Choice, take_preset
from pages.ui.tables import escaped, show_table

# The number that everybody has heard of.
NUMBER = "110M"
# Totals to try: of the present model's configuration, the last is that of the first example.
NUMBERS: dict[str, str] = {"110M": "", "1.1e8": "", "437.9 MB": "", "75,641,856": "bert-base-chinese"}


def show_total(choice: Choice) -> None:
    """A number, and what it turns out to be."""
    _ = translator()
    number = _choose_number()
    if number is None:
        return
    known = Known(choice.config, choice.architecture, choice.add_pooling_layer, 0, choice.model().num_parameters())
    found = diagnose(known, number)
    _show_matches(choice, found.matches)
    tools = [name for name, count in tool_counts(choice.config) if number.low == count == number.high]
    if tools:
        st.info(_("The formula of {tools} gives exactly this: see Other tools.").format(tools=", ".join(tools)))
    if found.slipped:
        _show_slipped(found)
    elif not found.matches and not tools:
        _show_nothing(choice, number)


def _choose_number() -> Typed | None:
    """The number that is typed, or the last that could be read."""
    _ = translator()
    carry("number", NUMBER)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            _("A number of parameters, as you have it"),
            NUMBER,
            key="number",
            bind="query-params",
            max_chars=LONGEST,
            width=320,
        )
        for number, preset in NUMBERS.items():
            st.button(number, key=f"example {number}", on_click=_take_number, args=(number, preset))
    try:
        found = typed(text)
    except TypedError as error:
        st.error(sentence(Problem("number", text, error.message, error.values), escaped))
        last = st.session_state.get("last_number")
        if last is not None:
            st.caption(_("Shown is the last number that could be read: {text}").format(text=last))
        return None if last is None else typed(last)
    st.session_state["last_number"] = text
    return found


def _take_number(number: str, preset: str) -> None:
    set_values({"number": number})
    if preset:
        take_preset(preset)


def _show_matches(choice: Choice, matches: Sequence[Match]) -> None:
    """The known counts that a number may mean, by what it means."""
    _ = translator()
    groups: dict[Reading, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.reading, []).append(match)
    beside = presenting() and len(groups) > 1
    places = st.columns(len(groups)) if beside else [st.container() for _group in groups]
    here = choice.model().num_parameters()
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
    """What a number is taken to be, in words."""
    _ = translator()
    said = _(READINGS[reading.key][0])
    if reading.exact is not None:
        return _("Exactly a known count, as {meaning}:").format(meaning=said)
    bounds = {"meaning": said, "low": f"{float(reading.low):,.0f}", "high": f"{float(reading.high):,.0f}"}
    if reading.rounded:
        return _("If its last zeros are not meant, as {meaning}: from {low} to {high}").format(**bounds)
    return _("All that rounds to it, as {meaning}: from {low} to {high}").format(**bounds)


def _show_slipped(found: Diagnosis) -> None:
    """The shortest explanations: the first at once, those that are as short on request."""
    _ = translator()
    first, *others = found.slipped
    count = len(first.explanation) + (first.reading.key != "parameters")
    if count == 1:
        said = _("One slip explains it exactly.")
    else:
        said = _("{count} slips together explain it exactly; fewer do not.")
    st.info(said.format(count=count), icon=":material/troubleshoot:")
    _show_sum(first)
    if others:
        label = _("{count} other explanations are equally short")
        if len(others) >= MOST_FOUND - 1:  # there may be more
            label = _("At least {count} other explanations are equally short")
        label = label.format(count=len(others))
        if len(others) == 1:
            label = _("Another explanation is equally short")
        folder = st.expander(label, key="others", bind="query-params", on_change="rerun")
        if folder.open:
            with folder:
                for other in others:
                    _show_sum(other)


def _show_sum(slipped: Slipped) -> None:
    """From the right count to the number, line by line."""
    _ = translator()
    known = slipped.model
    rows = [(_("right: {model}").format(model=describe(known)), "", f"{known.parameters:,}")]
    rows += [
        (said, formula, f"{amount:+,}")
        for said, formula, amount in causes(known, slipped.explanation, lambda name: True)
    ]
    wrong = known.parameters + sum(cause.amount for cause in slipped.explanation)
    meaning, factor = READINGS[slipped.reading.key]
    if slipped.reading.key != "parameters":
        rows.append((_("in parameters"), "", f"{wrong:,}"))
        rows.append((_(meaning), rf"$\div\ {latex_fraction(factor)}$", f"{float(wrong / factor):,.0f}"))
    rows.append((_("**your number**"), "", f"**{shorten(st.session_state['last_number'])}**"))
    names = (_("What is counted"), _("Formula"), _("Parameters"))
    show_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), _("From the right count to yours"))


_UNEXPLAINED = N_(
    "No known count of this configuration, and no {most} slips or fewer, give {number}. It may be of another model: "
    "{architecture} of the sidebar has {count:,} parameters. The single terms of the count can tell more."
)
_UNKNOWN = N_(
    "No known count of this configuration rounds to {number}. It may be of another model: {architecture} of the "
    "sidebar has {count:,} parameters. The exact total, or the single terms of the count, can tell more."
)


_OFFERED = 3


def _published(number: Typed) -> list[str]:
    """The presets with a known count that a number may mean, in the first of its readings that there are any in."""
    for reading in readings(number):
        if found := [preset for total, (preset, _known) in published_counts().items() if reading.means(total)]:
            return list(dict.fromkeys(found))
    return []


def _show_nothing(choice: Choice, number: Typed) -> None:
    """That nothing explains a number: which published model has it, or what it may mean."""
    _ = translator()
    exact = [reading.exact for reading in readings(number) if reading.exact in published_counts()]
    if exact and exact[0] is not None:
        preset, known = published_counts()[exact[0]]
        st.success(
            _("Exactly a known count of another published model: {preset}, {model}").format(
                preset=preset, model=describe(known)
            ),
            icon=":material/check_circle:",
        )
        st.button(_("Take {preset}").format(preset=preset), on_click=take_preset, args=(preset,))
        return
    exactly = number.low == number.high
    if elsewhere := _published(number):
        st.success(
            _("Published models have counts that round to it: {models}.").format(models=", ".join(elsewhere)),
            icon=":material/check_circle:",
        )
        for preset in elsewhere[:_OFFERED]:
            st.button(_("Take {preset}").format(preset=preset), on_click=take_preset, args=(preset,))
        return
    st.warning(
        (_(_UNEXPLAINED) if exactly else _(_UNKNOWN)).format(
            most=MOST_SLIPS,
            number=shorten(st.session_state["last_number"]),
            architecture=choice.architecture,
            count=choice.model().num_parameters(),
        ),
        icon=":material/help:",
    )
    if not exactly:
        show_table(
            {
                _("If it is meant as"): [
                    _(READINGS[one.key][0]) + (f", {_('if its last zeros are not meant')}" if one.rounded else "")
                    for one in readings(number)
                ],
                _("Parameters"): [f"{float(one.low):,.0f} – {float(one.high):,.0f}" for one in readings(number)],
            },
            _("What the number may mean"),
        )
