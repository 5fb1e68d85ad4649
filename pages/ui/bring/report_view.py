"""The result of proofreading a text: its claims with verdicts, the marked text, and files to download."""

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
from pages.ui.widgets.metrics import show_figure
from pages.ui.widgets.tables import show_rows

_MOST_CLAIMS = 200  # maximum number of rows in the table; the marked text has all claims


AGAINST = Switch("against_sidebar", N_("Check it against the current model"))


def show(report: Proofread, present: Model, text: str) -> None:
    """Show a report: its summary, a table of claims, and the text with its claims marked.

    If the report has no claims, show a hint and the count of the model that the text names instead. With the switch
    ``AGAINST``, the text is checked against ``present`` instead of the model that it names.
    """
    if AGAINST.show():
        report = _checked_against(present, text)
    if not report.claims:
        message = _("No number in this text was recognized as a claim about {preset}.").format(preset=report.preset)
        if report.assumed or not report.preset:
            message = _(
                "No number in this text was recognized as a claim. Name the model in the text, such as BERT-base, "
                "or check it against the current model."
            )
        st.info(message, icon=":material/help:")
        if report.model is not None and not report.assumed:
            _show_model(report.model)
        return
    with st.container(key="verdict-counts", horizontal=True, vertical_alignment="center"):
        for verdict, mark in MARKS.items():
            show_figure(f"{mark} {_(WORDS[verdict])}", len(report.of(verdict)))
        if report.model is not None:
            matching.offer(report.model, item_of(report.model))
    for part in report.summary():
        if part != report.tally():  # the metrics above show the tally
            st.markdown(sentence(part))
    rows = [(_claim(claim), _verdict(claim)) for claim in report.claims[:_MOST_CLAIMS]]
    if rows:
        show_rows((_("In the text"), _("Verdict")), rows, _("The claims in the text, with verdicts"))
    if len(report.claims) > _MOST_CLAIMS:
        message = _("The table shows the first {count:,} of {all:,} claims. All are marked in the text below.")
        st.caption(message.format(count=_MOST_CLAIMS, all=len(report.claims)))
    say = partial(sentence, write=str)
    with st.container(key="proofread", border=True):  # style.css colors the marked claims
        st.html(f"<pre>{report.html(say)}</pre>")
    with st.container(horizontal=True):
        for label, name, mime, file in (
            (_("Marked text as HTML"), "proofread.html", "text/html", report.page(say, st.session_state["lang"])),
            (_("Marked text as Markdown"), "proofread.md", "text/markdown", report.markdown(say)),
        ):
            st.download_button(label, file, name, mime, f"take {name}", on_click="ignore")


def _show_model(model: Model) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        show_figure(_("Parameters in {architecture}").format(architecture=model.architecture), model.num_parameters())
        matching.offer(model, item_of(model))


def _checked_against(model: Model, text: str) -> Proofread:
    """Check a text against ``model``; the session caches the report, because proofreading can take seconds."""
    asked, report = st.session_state.get("text checked", (None, None))
    if asked == (text, model) and isinstance(report, Proofread):
        return report
    report = proofread(text, model)
    st.session_state["text checked"] = (text, model), report
    return report


def _claim(claim: CheckedClaim) -> str:
    """A claim as quoted from the text; for a calculation without a result, the computed value follows."""
    return code(shorten(claim.text)) + (f" = {claim.computed}" if claim.computed else "")


def _verdict(claim: CheckedClaim) -> str:
    """The verdict on a claim as Markdown, with the right value if it is known, followed by the reasons.

    If there are no reasons, a description of what the claim counts follows instead.
    """
    word = f"{MARKS[claim.verdict]} {_(WORDS[claim.verdict])}"
    if claim.right_value is not None:
        word = with_colon(word, f"**{in_words(claim.right_value, claim.unit)}**")
    reasons = claim.reasons or ((claim.counts,) if claim.counts else ())
    return "  \n".join([word, *map(sentence, reasons)])
