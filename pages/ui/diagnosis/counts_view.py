"""Possible meanings of a number: known counts, model parts, published models' counts, and memory peaks."""

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from bertcalc.change_steps.step_texts import written
from bertcalc.diagnosis.cause_formulas import count_formula
from bertcalc.diagnosis.changed_counts import ChangedCount
from bertcalc.diagnosis.diagnose import Match, OtherModelMatch, OwnPart
from bertcalc.diagnosis.flop_counts import FlopCount
from bertcalc.diagnosis.known_counts import PUBLISHED_CONFIGS, READINGS, Claim, KnownCount, Reading
from bertcalc.diagnosis.part_words import known_in_words, part_in_words
from bertcalc.diagnosis.typos import Slip
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.families import build
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import batch_problems
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.digits import fixed, signed_count, size
from pages.ui.session.present_model import link, take_preset
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _, filled, listed
from pages.ui.shell.navigation import page_at
from pages.ui.shell.present import presenting
from pages.ui.widgets.batch_controls import linked_batch
from pages.ui.widgets.tables import show_rows, show_table

_MOST_ROWS = 12
_OFFERED = 4


def show_matches(model: Model, matches: Sequence[Match]) -> None:
    """Show the known counts that a number can refer to, with a table for each reading of the number."""
    groups = [(reading, list(group)) for reading, group in groupby(matches, lambda match: match.reading)]
    beside = presenting() and len(groups) > 1
    places = st.columns(len(groups)) if beside else [st.container() for _group in groups]
    present = model.num_parameters()
    for place, (reading, group) in zip(places, groups, strict=True):
        with place:
            if reading.exact is None:
                st.markdown(f"**{_meaning(reading)}**")
            else:
                st.success(_meaning(reading), icon=":material/check_circle:")
            counts = [f"**{match.total:,}**" if match.total == present else f"{match.total:,}" for match in group]
            names = ["  \n".join(sentence(known_in_words(count)) for count in match.known_counts) for match in group]
            columns = {_("Count"): names}
            if any(match.total != present for match in group):
                title = _("Difference from {architecture}").format(architecture=model.architecture)
                columns[title] = [_beyond(match, model, present) for match in group]
            show_table(columns | {_("Parameters"): counts}, _("Known counts"))


def _beyond(match: Match, model: Model, present: int) -> str:
    """The difference between a match and the current model's count, split into parts if there are several.

    The parts come from the match's first known count.
    """
    parts = match.known_counts[0].beyond(model)
    whole = signed_count(match.total - present)
    part = _("{difference} ({name})")
    words = " ".join(part.format(difference=signed_count(parts[name]), name=_(name)) for name in parts)
    return f"{whole} = {words}" if len(parts) > 1 else words or whole


def _meaning(reading: Reading) -> str:
    meaning = _(READINGS[reading.key][0])
    if reading.exact is not None:
        return _("Exact match with a known count ({meaning}):").format(meaning=meaning)
    bounds = {"meaning": meaning, "low": fixed(reading.low, 0), "high": fixed(reading.high, 0)}
    if reading.rounded:
        return _("If the trailing zeros are not significant ({meaning}): {low} to {high}").format(**bounds)
    return _("Known counts that round to your number, from {low} to {high} ({meaning})").format(**bounds)


def show_peaks(model: Model, number: Typed) -> bool:
    """Show the memory peaks, for the batch in the link, that match a number of bytes; return whether there are any."""
    batch = linked_batch()
    if number.unit != "bytes" or any(batch_problems(model.config, batch.sizes())):
        return False
    peaks = {name: QUANTITIES[name].known(Case(model, batch)) for name in PEAKS}
    meant = {name: count for name, count in peaks.items() if count is not None and number.means(count)}
    for name, count in meant.items():
        message = _(
            "For this model and {batch_size:,} × {sequence_length:,} tokens, **{quantity}** is {size}: see the "
            "Memory page."
        )
        st.info(message.format(quantity=_(QUANTITIES[name].meaning), size=size(count), **batch.sizes()))
    return bool(meant)


def show_own_parts(model: Model, parts: Sequence[OwnPart]) -> None:
    """Show the parts of the current model whose count matches the number, with their formulas."""
    reading = parts[0].reading
    meaning = _(READINGS[reading.key][0])
    if reading.exact is None:
        st.markdown(_("**Parts of this model whose count rounds to your number ({meaning}):**").format(meaning=meaning))
    else:
        st.success(
            _("Exact match with a part of this model ({meaning}):").format(meaning=meaning),
            icon=":material/check_circle:",
        )
    visible = parts[:_MOST_ROWS]
    rows = []
    for part in visible:
        counts = (part.counted, part.added) if part.added else (part.counted,)
        formulas = [count_formula(model, count) for count in counts]
        letters = " + ".join(formula.latex() for formula in formulas)
        numbers = " + ".join(formula.latex(model.config, **model.change_letter_values()) for formula in formulas)
        names = " + ".join(sentence(part_in_words(count, model)) for count in counts)
        rows.append((names, f"${letters} = {numbers}$", f"{part.right:,}"))
    titles = (_("What is counted"), _("Formula"), _("Parameters"))
    show_rows(titles, rows, _("Parts of the model with this count"))
    if len(parts) > len(visible):
        st.caption(_("And {count:,} more.").format(count=len(parts) - len(visible)))


def show_changed(counts: Sequence[ChangedCount], number: str) -> None:
    """Show the changed models whose count is ``number``, with links that open them on the Change page."""
    for count in counts:
        st.success(sentence(count.in_words(number)), icon=":material/check_circle:")
        query = {**link(), "architecture": count.model.architecture, "changes": written(count.model.changes)}
        st.page_link(page_at("change"), label=_("Show this change →"), query_params=query)


def show_flops(counts: Sequence[FlopCount]) -> None:
    """Show the batches and conventions for which the model takes the reader's number of FLOPs or MACs, if any."""
    if not counts:
        return
    st.success(
        _("By common conventions, the model takes this number of operations for the following batches:"),
        icon=":material/check_circle:",
    )
    rows = [
        (
            _("forward pass") if count.phase == "forward" else _("training step"),
            f"{count.batch_size:,} × {count.sequence_length:,}",
            _(_CONVENTIONS[count.rule]) if count.rule in _CONVENTIONS else count.rule,
            f"{fixed(count.operations, 0)} {count.unit}",
        )
        for count in counts
    ]
    titles = (_("What is counted"), _("Batch × tokens"), _("Convention"), _("FLOPs or MACs"))
    show_rows(titles, rows, _("FLOPs or MACs with this count"))


_CONVENTIONS = {
    "": N_("matrix products, as PyTorch counts them"),
    "all": N_("all operations, including element-wise ones"),
}


def show_claims(model: Model, claims: Sequence[Claim]) -> None:
    """Show the published models for which a source states the number, together with their exact counts."""
    for claim in claims:
        message = _(
            "This number was published for {preset}: {whose} ({source}). The exact count is {count:,} parameters."
        )
        count = build(PRESETS[claim.preset].config).num_parameters()
        st.info(
            message.format(preset=claim.preset, whose=_(claim.description), source=claim.source, count=count),
            icon=":material/article:",
        )
    offer_presets([claim.preset for claim in claims if PRESETS[claim.preset].config != model.config])


def show_elsewhere(origins: Sequence[OtherModelMatch]) -> None:
    """Show the published models, if any, whose count or part's count is the number, exactly or rounded."""
    if not origins:
        return
    first = origins[0]
    presets = list(dict.fromkeys(origin.preset for origin in origins))
    icon = ":material/check_circle:"
    if first.reading.exact is None:
        message = _("This is the rounded count of published models: {models}.")
        if first.counted:
            message = _("Parts of published models whose count rounds to this number: {models}.")
        names = [f"{origin.preset} ({_part_of(origin)})" if origin.counted else origin.preset for origin in origins]
        st.info(message.format(models=listed(names[:_MOST_ROWS])), icon=":material/info:")
    elif first.known_count:
        message = _("Exact match with another published model: {preset}, {model}")
        st.success(message.format(preset=first.preset, model=sentence(known_in_words(first.known_count))), icon=icon)
    else:
        message = _("Exact match with a part of another published model: {part} of {preset}")
        st.success(filled(message, preset=first.preset, part=_part_of(first)), icon=icon)
    if first.reading.key != "parameters":
        st.caption(_("This holds if your number means: {meaning}.").format(meaning=_(READINGS[first.reading.key][0])))
    if first.reading.rounded:
        low, high = first.reading.bounds
        message = _("This holds if the trailing zeros are not significant: {low:,} to {high:,} parameters.")
        st.caption(message.format(low=low, high=high))
    offer_presets(presets)


def _part_of(origin: OtherModelMatch) -> str:
    assert origin.counted
    return sentence(part_in_words(origin.counted, build(PUBLISHED_CONFIGS[origin.preset])))


def offer_presets(presets: Sequence[str]) -> None:
    """Draw buttons that load the first few presets."""
    for preset in [preset for preset in presets if preset in PRESETS][:_OFFERED]:
        st.button(_("Use {preset}").format(preset=preset), on_click=take_preset, args=(preset,))


def show_slips(present: KnownCount, slips: Sequence[Slip], number: Typed) -> None:
    """Show the known counts that the reader may have meant if the number has a typo.

    A typo is called probable if one of these counts is the current model's, or differs from the number by 1.
    """
    if not slips:
        return
    counts = listed([_slip(present.model, slip) for slip in slips])
    if any(slip.meant == present.total or abs(slip.meant - number.value) == 1 for slip in slips):
        message = _("Probably a typo: this number is one digit away from a known count, {counts}.")
    else:
        message = _("Perhaps a typo: this number is one digit away from a known count, {counts}.")
    st.info(message.format(counts=counts), icon=":material/keyboard:")


def _slip(model: Model, slip: Slip) -> str:
    name = sentence(known_in_words(slip.known_count))
    if slip.preset and slip.known_count.model.config != model.config:
        name = f"{slip.preset} {name}"
    return _("{count:,} ({name})").format(count=slip.meant, name=name)
