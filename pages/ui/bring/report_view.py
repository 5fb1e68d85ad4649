"""The proofread text: its model, its claims with verdicts, the marked text, and files with text and verdicts."""

from functools import partial

import streamlit as st

from bertcalc.model.model import Model
from bertcalc.model_ref import item_of
from bertcalc.proofreading.claims import MARKS, WORDS, CheckedClaim, Proofread, in_words
from bertcalc.proofreading.proofread import proofread
from bertcalc.text import N_, code, shorten
from pages.ui.checkpoints import matching
from pages.ui.shell.controls import Switch, sentence
from pages.ui.shell.i18n import _, with_colon
from pages.ui.widgets.numbers import metric_width
from pages.ui.widgets.tables import show_rows

_MOST_CLAIMS = 200  # rows of the table; the marked text has all claims


AGAINST = Switch("against_sidebar", N_("Check it against the model in the sidebar"))


def show(report: Proofread, present: Model, text: str) -> None:
    """Show a report: its summary, then each claim, then the text with its claims marked.

    The reader can choose to check the text against the ``present`` model instead of the model that the text names.
    """
    if AGAINST.show():
        report = _checked_against(present, text)
    if not report.claims:
        message = _("No number in this text was recognized as a claim about {preset}.").format(preset=report.preset)
        if report.assumed or not report.preset:
            message = _(
                "No number in this text was recognized as a claim. Name the model in the text, such as BERT-base, "
                "or check it against the model in the sidebar."
            )
        st.info(message, icon=":material/help:")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for verdict, mark in MARKS.items():
            label, value = f"{mark} {_(WORDS[verdict])}", f"{len(report.of(verdict)):,}"
            st.metric(label, value, width=metric_width(130, value, label))
        if report.model is not None:
            matching.offer(report.model, item_of(report.model))
    for part in report.summary():
        if part != report.tally():  # the figures above show the tally
            st.markdown(sentence(part))
    rows = [(_claim(claim), _verdict(claim)) for claim in report.claims[:_MOST_CLAIMS]]
    if rows:
        show_rows((_("In the text"), _("Verdict")), rows, _("The claims in the text, with verdicts"))
    if len(report.claims) > _MOST_CLAIMS:
        message = _("The table shows the first {count:,} of {all:,} claims. All are marked in the text below.")
        st.caption(message.format(count=_MOST_CLAIMS, all=len(report.claims)))
    say = partial(sentence, write=str)
    with st.container(key="proofread", border=True):  # see style.css
        st.html(f"<pre>{report.html(say)}</pre>")
    with st.container(horizontal=True):
        for label, name, mime, file in (
            (_("Marked text as HTML"), "proofread.html", "text/html", report.page(say, st.session_state["lang"])),
            (_("Marked text as Markdown"), "proofread.md", "text/markdown", report.markdown(say)),
        ):
            st.download_button(label, file, name, mime, f"take {name}", on_click="ignore")


def _checked_against(model: Model, text: str) -> Proofread:
    """The report on a text checked against this model, kept in the session: proofreading can take seconds."""
    asked, report = st.session_state.get("text checked", (None, None))
    if asked == (text, model) and isinstance(report, Proofread):
        return report
    report = proofread(text, model)
    st.session_state["text checked"] = (text, model), report
    return report


def _claim(claim: CheckedClaim) -> str:
    """The claim as the text has it, with the value of a calculation that the text leaves open."""
    return code(shorten(claim.text)) + (f" = {claim.computed}" if claim.computed else "")


def _verdict(claim: CheckedClaim) -> str:
    """The verdict, the right value, and what the claim counts or why it is wrong, in Markdown."""
    word = f"{MARKS[claim.verdict]} {_(WORDS[claim.verdict])}"
    if claim.right_value is not None:
        word = with_colon(word, f"**{in_words(claim.right_value, claim.unit)}**")
    reasons = claim.reasons or ((claim.counts,) if claim.counts else ())
    return "  \n".join([word, *map(sentence, reasons)])
