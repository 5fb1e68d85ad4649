"""Compare bertcalc with the real Hugging Face model: its tensors, a run with random weights, and its outputs."""

import streamlit as st

from bertcalc.model.model import Model
from bertcalc.model.runnable import wrong_labels
from bertcalc.proof.output_proof import prove as prove_forward
from bertcalc.proof.real_model import available_bytes, buildable, needed_bytes, not_checked, run_forward
from bertcalc.proof.tensor_proof import Proof, prove
from bertcalc.text import N_, Translate
from bertcalc.text.digits import fixed, size
from pages.ui.shell.controls import Fold, sentence
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.call_controls import last_call, written
from pages.ui.widgets.real_answers import ask, run, runs, show_agreement, sorry
from pages.ui.widgets.tables import show_comparisons, show_differences, show_run

RETURNED = Fold("returned", N_("What the forward method returns"))
TOTALS = 6  # the number of checks of the whole model, which precede the checks of each kind of module


def show_verdict(model: Model) -> Proof:
    """Build the real model, show whether its tensors agree with bertcalc's, and return the comparison.

    This needs torch and transformers.
    """
    if buildable(model) != model:
        message = _(
            "transformers 5 no longer supports position_embedding_type {kind}. The check below uses the same model "
            "with absolute positions. The test suite checks what {kind} adds ({added:,} parameters) against "
            "transformers 4.57, in a separate environment."
        )
        st.warning(message.format(kind=model.config.position_embedding_type, added=not_checked(model)))
    result = verdict_of(model)
    show_agreement(result.agrees, in_words(model, result, _))
    if not result.agrees:
        show_differences(result.differences)
    message = _("Built without weights in {build} ms, compared in {compare} ms, with {versions}.")
    versions = listed(f"{name} {version}" for name, version in result.versions.items())
    st.caption(message.format(build=fixed(result.build_ms, 0), compare=fixed(result.compare_ms, 0), versions=versions))
    return result


def in_words(model: Model, result: Proof, _: Translate) -> str:
    """The verdict as a sentence, with the counts of agreeing tensors and parameters, or of differing tensors."""
    if not result.agrees:
        message = _("The real {architecture} differs. Tensors that differ: {count:,}.")
        return message.format(architecture=model.architecture, count=len(result.differences))
    message = _("The real {architecture} agrees: {tensors} tensors, {parameters} parameters.")
    figures = {"tensors": result.theirs("Tensors"), "parameters": result.theirs("Parameters")}
    return message.format(architecture=model.architecture, **figures)


def verdict_of(model: Model) -> Proof:
    """Compare a model with the real model; the result is cached."""
    return ask(model.architecture, prove, buildable(model))


def show_weights(model: Model) -> None:
    """Offer to build the real model with random weights and run it, if it fits into the server's memory."""
    model = buildable(model)
    needed = needed_bytes(model)
    available = available_bytes()
    message = _(
        "Allocating random weights and running one forward pass takes {needed}; {available} is free on the server."
    )
    st.markdown(message.format(needed=size(needed), available=size(available)))
    if needed > available:
        st.error(_("The model does not fit into memory. Choose a smaller model, or run the app on a larger machine."))
    elif problem := wrong_labels(model):
        st.error(sentence(problem))
    elif st.button(_("Build and run it"), icon=":material/play_arrow:"):
        with sorry(), st.spinner(_("Building and running ...")):
            show_run(run(run_forward, model))


def show_returned(model: Model) -> None:
    """Compare the outputs of the real forward method with bertcalc's. This is slower than the rest of the page."""
    model = buildable(model)
    call = last_call(model)
    st.caption(_("With the arguments of the In and out page: {arguments}").format(arguments=written(call)))
    if runs(model, call):
        compared = ask(model.architecture, prove_forward, model, call)
        agrees = all(comparison.agrees for comparison in compared)
        same = _("The real {architecture} returns the same {outputs:,} outputs.")
        message = same if agrees else _("The real {architecture} returns different outputs.")
        show_agreement(agrees, message.format(architecture=model.architecture, outputs=len(compared)))
        show_comparisons(compared)
