"""Run the discovery of a formula with a progress bar, and show its result, which can be incomplete."""

import streamlit as st

from bertcalc.discover import discover
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import Discovered
from bertcalc.proof import real_model
from bertcalc.text import N_, code, literal
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem
from pages.server.restarts import tell_browser
from pages.server.run_queue import RUN_QUEUE
from pages.ui.shell.any_model import TypeSelection, request_of
from pages.ui.shell.controls import Fold, sentence, show_problem
from pages.ui.shell.i18n import _, in_a_row
from pages.ui.shell.present import presenting
from pages.ui.widgets.real_answers import wanted
from pages.ui.widgets.tables import show_table

PROOF = Fold("proof", N_("How it was derived and where it holds"))
MISSING = N_("Deriving a formula requires torch and transformers, which are not installed here.")
TREE = Fold("printed", N_("As PyTorch prints it"))
# Maps the discovery's activities to their descriptions. Any other activity is the name of the field that it changes.
_DOING = {
    "": N_("Waiting for another user's model"),
    "imports": N_("Starting PyTorch"),
    "formulas": N_("Fitting formulas"),
    "fresh configurations": N_("Building the class at held-out sizes"),
    "conditions": N_("Searching for sizes at which the formula fails"),
}


def show_discovery(selection: TypeSelection) -> None:
    """Discover the formula of the selected model and rerun the page; if this fails, show why."""
    if not real_model.installed():
        st.info(_(MISSING))
    elif problem := look(selection):
        show_problem(problem)
    else:
        st.rerun()


def look(selection: TypeSelection) -> Problem | None:
    """Discover the formula of the selected model, with a progress bar; return the problem if it fails, or None."""
    return _watched(
        _("Searching for the formula of {cls}").format(cls=selection.cls),
        _("The real class is built many times at different sizes, without weights: this takes a few seconds."),
        request_of(selection.model_type, selection.cls, selection.fields),
    )


def look_for_flops(selection: TypeSelection) -> Problem | None:
    """Infer a formula for the FLOPs of a class whose parameters already have a formula, with a progress bar.

    Return the problem if it fails, or None.
    """
    request = request_of(selection.model_type, selection.cls, selection.fields)
    return _watched(
        _("Searching for the FLOPs of {cls}").format(cls=selection.cls),
        _("The real class is run many times at different sizes, on the meta device: this takes up to a minute."),
        request._replace(flops=True, earlier=selection.discovery),
    )


def _watched(title: str, why: str, request: DiscoveryRequest) -> Problem | None:
    tell_browser()
    bar = st.progress(0.0, title)
    note = st.empty()
    note.caption(why)

    def hear(activity: str, done: int, of: int) -> None:
        counted = _("{doing}: {done} of {of}").format(doing=_doing(activity), done=f"{done + 1:,}", of=f"{of:,}")
        bar.progress(min(1.0, done / of) if of else 0.0, counted if of else _doing(activity))

    try:
        with RUN_QUEUE.pause():
            discover(request, progress=hear, wanted=wanted)
    except InputError as error:
        bar.empty()
        note.empty()
        return error.problem
    return None


def _doing(activity: str) -> str:
    return _(_DOING[activity]) if activity in _DOING else _("Changing {field}").format(field=activity[:60])


def show_no_run(discovery: Discovered) -> None:
    """Show a warning if the class can be built but not run with the given fields."""
    if discovery.no_run:
        st.warning(
            _(
                "transformers builds this model with the given fields, so it can be counted, but it cannot run: its "
                "forward pass fails with {reason}."
            ).format(reason=code(discovery.no_run.values["reason"]))
        )


def show_verdict(discovery: Discovered) -> None:
    """Show at how many other sizes the formula agrees with the real class.

    Outside projector view, also show the formula's first condition. If the formula is incomplete, or if its conditions
    are unknown, show a warning instead.
    """
    if discovery.unexplained and discovery.explained == discovery.parameters:
        st.warning(
            _("Every parameter has a formula at these sizes, but it is unclear at which other sizes the formulas hold.")
        )
        return
    if discovery.unexplained:
        st.warning(
            _(
                "The formula is incomplete: {explained:,} of {all:,} parameters have a formula that was right at "
                "every other size tested. Tensor names without a formula: {names:,}."
            ).format(explained=discovery.explained, all=discovery.parameters, names=len(discovery.unexplained))
        )
        return
    verdict = _("✓ Agrees with the real class at {agreed:,} of {of:,} other combinations of sizes.").format(
        agreed=discovery.checked.agreed, of=discovery.checked.of
    )
    # Conditions on token ids are the least interesting, so they come last.
    regime = sorted(discovery.regime, key=lambda condition: any(name.endswith("_id") for name in condition.fields()))
    where = [sentence(condition.sentence(), str) for condition in regime]
    if where and not presenting():
        holds = (
            _("The formula holds if {conditions}."),
            _("The formula holds if {conditions}; one more condition is listed below."),
            _("The formula holds if {conditions}; {more:,} more conditions are listed below."),
        )[min(len(where), 3) - 1]
        verdict = in_a_row([verdict, holds.format(conditions=literal(where[0]), more=len(where) - 1)])
    st.markdown(verdict)


def show_proof(discovery: Discovered) -> None:
    """List the tensors without a formula; in an expander, show how the formula was derived and its conditions."""
    if discovery.unexplained:
        show_table(
            {
                _("Tensors without a formula"): [code(name) for name in discovery.unexplained],
                _("Why"): [sentence(reason) for reason in discovery.unexplained.values()],
            },
            _("Unexplained tensors"),
        )
    PROOF.around(_show_how, discovery)


def _show_how(discovery: Discovered) -> None:
    st.markdown(
        _(
            "The real class was built {builds:,} times without weights, in {seconds} s, with transformers "
            "{version}: each field was changed alone, then several and all of them together. The formulas were "
            "fitted to some of these models and compared with {of:,} others, tensor by tensor: {agreed:,} agreed, "
            "of which {all:,} had all fields changed."
        ).format(
            builds=discovery.builds,
            seconds=fixed(discovery.seconds),
            version=discovery.transformers,
            of=discovery.checked.of,
            agreed=discovery.checked.agreed,
            all=discovery.checked.all_changed,
        )
    )
    if discovery.regime:
        st.markdown(_("The formula is valid only under these conditions:"))
        st.markdown("\n".join(f"- {code(sentence(condition.sentence(), str))}" for condition in discovery.regime))
    else:
        st.markdown(_("The search found no sizes at which the formula fails."))


def show_tree(text: str) -> None:
    """Show ``text``, the model as PyTorch prints it, in an expander; show nothing if ``text`` is empty."""
    if text:
        TREE.around(st.code, text, language=None, height=480)
