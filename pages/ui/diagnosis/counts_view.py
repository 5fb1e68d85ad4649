"""What a number is: known counts, parts of the model, counts of published models, and peaks of memory."""

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from bertcalc.diagnosis.cause_formulas import count_formula
from bertcalc.diagnosis.diagnose import Elsewhere, Match, OwnPart
from bertcalc.diagnosis.flop_counts import FlopCount
from bertcalc.diagnosis.known_counts import PUBLISHED_CONFIGS, READINGS, Claim, Known, Reading
from bertcalc.diagnosis.typos import Slip
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.families import build
from bertcalc.families.presets import PRESETS
from bertcalc.model.steps import batch_problems
from bertcalc.model.subject import Subject
from bertcalc.text import N_
from bertcalc.text.amounts import Typed
from bertcalc.text.digits import fixed, size
from pages.ui.diagnosis.cause_words import describe, own_count
from pages.ui.session.model import take_preset
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.present import presenting
from pages.ui.widgets.batch import linked_batch
from pages.ui.widgets.tables import show_rows, show_table

_MOST_ROWS = 12
_OFFERED = 3


def show_matches(subject: Subject, matches: Sequence[Match]) -> None:
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


def show_peaks(subject: Subject, number: Typed) -> bool:
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


def show_own(subject: Subject, found: Sequence[OwnPart]) -> None:
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
    shown = found[:_MOST_ROWS]
    rows = []
    for part in shown:
        counts = (part.counted, part.added) if part.added else (part.counted,)
        formulas = [count_formula(subject, count) for count in counts]
        letters, numbers = (
            " + ".join(formula.latex(*config) for formula in formulas) for config in ((), (subject.config,))
        )
        names = " + ".join(own_count(count, layers) for count in counts)
        rows.append((names, f"${letters} = {numbers}$", f"{part.right:,}"))
    titles = (_("What is counted"), _("Formula"), _("Parameters"))
    show_rows(titles, rows, _("Parts of the model with this count"))
    if len(found) > len(shown):
        st.caption(_("And {count:,} more.").format(count=len(found) - len(shown)))


def show_flops(counts: Sequence[FlopCount]) -> None:
    """Show the batches and conventions by which the model costs this number of FLOPs or multiply-adds."""
    if not counts:
        return
    st.success(_("It is a number of operations of this model, by usual conventions:"), icon=":material/check_circle:")
    rows = [
        (
            _("forward pass") if count.phase == "forward" else _("training step"),
            f"{count.batch_size:,} × {count.sequence_length:,}",
            _(_CONVENTIONS[count.rule]) if count.rule in _CONVENTIONS else count.rule,
            f"{fixed(count.operations, 0)} {count.unit}",
        )
        for count in counts
    ]
    titles = (_("What is counted"), _("Batch × tokens"), _("Convention"), _("Operations"))
    show_rows(titles, rows, _("Operations with this count"))


_CONVENTIONS = {"": N_("matrix products, as PyTorch counts them"), "all": N_("all operations, also element-wise ones")}


def show_claims(subject: Subject, claims: Sequence[Claim]) -> None:
    """Show the models for which this number was published although it is not their count."""
    for claim in claims:
        said = _("For {preset} this number was published: {whose} ({source}). Exactly, it has {count:,} parameters.")
        count = build(PRESETS[claim.preset].config).num_parameters()
        st.info(
            said.format(preset=claim.preset, whose=_(claim.said), source=claim.source, count=count),
            icon=":material/article:",
        )
    offer_presets([claim.preset for claim in claims if PRESETS[claim.preset].config != subject.config])


def show_elsewhere(found: Sequence[Elsewhere]) -> None:
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
    offer_presets(presets)


def _part_of(one: Elsewhere) -> str:
    assert one.counted
    return own_count(one.counted, PUBLISHED_CONFIGS[one.preset].num_hidden_layers)


def offer_presets(presets: Sequence[str]) -> None:
    """Draw a button for each of the first few presets that takes its model."""
    for preset in [preset for preset in presets if preset in PRESETS][:_OFFERED]:
        st.button(_("Use {preset}").format(preset=preset), on_click=take_preset, args=(preset,))


def show_slips(present: Known, slips: Sequence[Slip], number: Typed) -> None:
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
