"""The verdict of the real Hugging Face model: its tensors, a run with random weights, and its outputs."""

import streamlit as st

from bertcalc.proof.output_proof import prove as prove_forward
from bertcalc.proof.real_model import available_bytes, buildable, needed_bytes, not_checked, run_forward
from bertcalc.proof.tensor_proof import Proof, prove
from bertcalc.subject import Subject
from bertcalc.text import N_
from pages.ui.call import last_call, written
from pages.ui.controls import Fold
from pages.ui.i18n import _, listed
from pages.ui.numbers import size
from pages.ui.oracle import ask, run, runs, sorry
from pages.ui.tables import show_comparisons, show_differences, show_run

RETURNED = Fold("returned", N_("What the forward method returns"))
TOTALS = 6  # checks of the whole model; one for each kind of module follows


def show_verdict(subject: Subject) -> Proof:
    """Build the real model, which needs torch and transformers, and say whether it agrees."""
    if buildable(subject) != subject:
        st.warning(
            _(
                "transformers 5 no longer builds position_embedding_type {kind}. The check below uses"
                " the same model with absolute positions. What {kind} adds ({added:,} parameters) is "
                "checked by the test suite against transformers 4.57, in a separate environment."
            ).format(
                kind=subject.config.position_embedding_type,
                added=not_checked(subject),
            )
        )
    result = verdict_of(subject)
    if result.agrees:
        st.success(
            _("The real {architecture} agrees: {tensors} tensors, {parameters} parameters.").format(
                architecture=subject.architecture,
                tensors=result.theirs("Tensors"),
                parameters=result.theirs("Parameters"),
            ),
            icon=":material/verified:",
        )
    else:
        st.error(
            _("The real {architecture} differs. Tensors that are not the same: {count:,}.").format(
                architecture=subject.architecture, count=len(result.differences)
            ),
            icon=":material/error:",
        )
        show_differences(result.differences)
    st.caption(
        _("Built without weights in {build:,.0f} ms, compared in {compare:,.0f} ms, with {versions}.").format(
            build=result.build_ms,
            compare=result.compare_ms,
            versions=listed(f"{name} {version}" for name, version in result.versions.items()),
        )
    )
    return result


def verdict_of(subject: Subject) -> Proof:
    """The comparison with the real model, from the cache if it was made before."""
    return ask(subject.architecture, prove, buildable(subject))


def show_weights(subject: Subject) -> None:
    """Build and run the real model with random weights, on request, if it fits into memory."""
    subject = buildable(subject)
    st.header(_("With random weights"))
    needed = needed_bytes(subject.model())
    available = available_bytes()
    st.markdown(
        _("Random weights, actually allocated, and one forward pass need {needed}; {available} is free here.").format(
            needed=size(needed), available=size(available)
        )
    )
    if needed > available:
        st.error(_("That does not fit. Choose a smaller model, or run the app on a larger machine."))
    elif subject.cls.task == "question-answering" and subject.config.num_labels != 2:
        st.error(
            _("{architecture} needs num_labels 2 for a forward pass: the start and the end of an answer.").format(
                architecture=subject.architecture
            )
        )
    elif st.button(_("Build it and run it"), icon=":material/play_arrow:"):
        with sorry(), st.spinner(_("Building and running ...")):
            show_run(run(run_forward, subject))


def show_returned(subject: Subject) -> None:
    """Compare what the real forward method returns; on request, as it takes longer than the rest of the page."""
    if details := RETURNED.unfolded():
        with details:
            _compare_returned(subject)


def _compare_returned(subject: Subject) -> None:
    subject = buildable(subject)
    call = last_call(subject)
    st.caption(_("With the arguments of the Outputs page: {arguments}").format(arguments=written(call)))
    if runs(subject, call):
        compared = ask(subject.architecture, prove_forward, subject, call)
        if all(comparison.agrees for comparison in compared):
            st.success(
                _("The real {architecture} returns the same {outputs:,} outputs.").format(
                    architecture=subject.architecture, outputs=len(compared)
                ),
                icon=":material/verified:",
            )
        else:
            st.error(
                _("The real {architecture} returns something different.").format(architecture=subject.architecture),
                icon=":material/error:",
            )
        show_comparisons(compared)
