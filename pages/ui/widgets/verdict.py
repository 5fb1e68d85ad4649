"""The verdict of the real Hugging Face model: its tensors, a run with random weights, and its outputs."""

import streamlit as st

from bertcalc.model.subject import Subject
from bertcalc.proof.output_proof import prove as prove_forward
from bertcalc.proof.real_model import available_bytes, buildable, needed_bytes, not_checked, run_forward
from bertcalc.proof.tensor_proof import Proof, prove
from bertcalc.text import N_, Translate
from bertcalc.text.digits import fixed, size
from pages.ui.shell.controls import Fold
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.call_controls import last_call, written
from pages.ui.widgets.real_answers import ask, run, runs, show_agreement, sorry
from pages.ui.widgets.tables import show_comparisons, show_differences, show_run

RETURNED = Fold("returned", N_("What the forward method returns"))
TOTALS = 6  # checks of the whole model; one for each kind of module follows


def show_verdict(subject: Subject) -> Proof:
    """Build the real model, which needs torch and transformers, and say whether it agrees."""
    if buildable(subject) != subject:
        said = _(
            "transformers 5 no longer builds position_embedding_type {kind}. The check below uses"
            " the same model with absolute positions. What {kind} adds ({added:,} parameters) is "
            "checked by the test suite against transformers 4.57, in a separate environment."
        )
        st.warning(said.format(kind=subject.config.position_embedding_type, added=not_checked(subject)))
    result = verdict_of(subject)
    show_agreement(result.agrees, in_words(subject, result, _))
    if not result.agrees:
        show_differences(result.differences)
    said = _("Built without weights in {build} ms, compared in {compare} ms, with {versions}.")
    versions = listed(f"{name} {version}" for name, version in result.versions.items())
    st.caption(said.format(build=fixed(result.build_ms, 0), compare=fixed(result.compare_ms, 0), versions=versions))
    return result


def in_words(subject: Subject, result: Proof, _: Translate) -> str:
    """A sentence with the verdict and the numbers of tensors and parameters that agree, or of tensors that differ."""
    if not result.agrees:
        said = _("The real {architecture} differs. Tensors that are not the same: {count:,}.")
        return said.format(architecture=subject.architecture, count=len(result.differences))
    said = _("The real {architecture} agrees: {tensors} tensors, {parameters} parameters.")
    figures = {"tensors": result.theirs("Tensors"), "parameters": result.theirs("Parameters")}
    return said.format(architecture=subject.architecture, **figures)


def verdict_of(subject: Subject) -> Proof:
    """The comparison with the real model, from the cache if it was made before."""
    return ask(subject.architecture, prove, buildable(subject))


def show_weights(subject: Subject) -> None:
    """Build and run the real model with random weights, on request, if it fits into memory."""
    subject = buildable(subject)
    needed = needed_bytes(subject.model())
    available = available_bytes()
    said = _("Random weights, actually allocated, and one forward pass need {needed}; {available} is free here.")
    st.markdown(said.format(needed=size(needed), available=size(available)))
    if needed > available:
        st.error(_("That does not fit. Choose a smaller model, or run the app on a larger machine."))
    elif subject.cls.task == "question-answering" and subject.config.num_labels != 2:
        said = _("{architecture} needs num_labels 2 for a forward pass: the start and the end of an answer.")
        st.error(said.format(architecture=subject.architecture))
    elif st.button(_("Build it and run it"), icon=":material/play_arrow:"):
        with sorry(), st.spinner(_("Building and running ...")):
            show_run(run(run_forward, subject))


def show_returned(subject: Subject) -> None:
    """Compare what the real forward method returns, which takes longer than the rest of the page."""
    subject = buildable(subject)
    call = last_call(subject)
    st.caption(_("With the arguments of the Outputs page: {arguments}").format(arguments=written(call)))
    if runs(subject, call):
        compared = ask(subject.architecture, prove_forward, subject, call)
        agrees = all(comparison.agrees for comparison in compared)
        same = _("The real {architecture} returns the same {outputs:,} outputs.")
        said = same if agrees else _("The real {architecture} returns something different.")
        show_agreement(agrees, said.format(architecture=subject.architecture, outputs=len(compared)))
        show_comparisons(compared)
