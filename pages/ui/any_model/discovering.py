"""Discovery on the page: its progress, while others are served; and the result: proven, or not explained."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from bertcalc.discover import discovery_worker
from bertcalc.discover.results.result import Discovered
from bertcalc.proof import real_model
from bertcalc.text import N_, code, literal
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem
from pages.server.restarts import tell_browser
from pages.server.run_queue import RUN_QUEUE
from pages.ui.shell.any_model import Chosen
from pages.ui.shell.controls import Fold, sentence, show_problem
from pages.ui.shell.i18n import _, in_a_row
from pages.ui.shell.present import presenting
from pages.ui.widgets.real_answers import wanted
from pages.ui.widgets.tables import show_table

PROOF = Fold("proof", N_("How it was found, and where it holds"))
MISSING = N_("This needs torch and transformers, which are not installed here.")
TREE = Fold("printed", N_("As PyTorch prints it"))
# Activities of the discovery; any other is the name of a field that is changed.
_DOING = {
    "": N_("Waiting until the model of another reader is done"),
    "imports": N_("Starting PyTorch"),
    "formulas": N_("Fitting formulas"),
    "fresh configurations": N_("Building the class at sizes that no formula has seen"),
    "conditions": N_("Looking for sizes at which the formula fails"),
}


def discover(now: Chosen) -> None:
    """Discover the model and draw the page again, or show why that is not possible."""
    if not real_model.installed():
        st.info(_(MISSING))
    elif problem := look(now):
        show_problem(problem)
    else:
        st.rerun()


def look(now: Chosen) -> Problem | None:
    """Discover the model, with a progress bar; return the problem if nothing is found."""
    return _watched(
        _("Looking for the formula of {cls}").format(cls=now.cls),
        _("The real class is built again and again with other sizes, without weights: this takes some seconds."),
        partial(discovery_worker.ask, now.model_type, now.cls, now.given),
    )


def look_for_flops(now: Chosen) -> Problem | None:
    """Look for the FLOPs of a class whose parameters are known, with a progress bar."""
    assert now.asked
    return _watched(
        _("Looking for the FLOPs of {cls}").format(cls=now.cls),
        _("The real class is run again and again with other sizes, without numbers: this takes up to a minute."),
        partial(discovery_worker.ask_flops, now.model_type, now.cls, now.given, now.asked),
    )


def _watched(
    title: str, why: str, ask: Callable[[discovery_worker.Hear, Callable[[], object]], object]
) -> Problem | None:
    tell_browser()
    bar = st.progress(0.0, title)
    note = st.empty()
    note.caption(why)

    def hear(what: str, done: int, of: int) -> None:
        counted = _("{doing}: {done} of {of}").format(doing=_doing(what), done=f"{done + 1:,}", of=f"{of:,}")
        bar.progress(min(1.0, done / of) if of else 0.0, counted if of else _doing(what))

    try:
        with RUN_QUEUE.pause():
            ask(hear, wanted)
    except InputError as error:
        bar.empty()
        note.empty()
        return error.problem
    return None


def _doing(what: str) -> str:
    return _(_DOING[what]) if what in _DOING else _("Changing {field}").format(field=what[:60])


def show_no_run(found: Discovered) -> None:
    """Say if the class is built with the given fields, but cannot run; it may at other sizes."""
    if found.no_run:
        st.warning(
            _(
                "transformers builds this model with the given fields, so it can be counted, but it cannot run: its"
                " forward pass ends with {reason}."
            ).format(reason=code(found.no_run.values["reason"]))
        )


def show_verdict(found: Discovered) -> None:
    """Show in one sentence how often the formula was right at other sizes, or how much is not explained."""
    if found.unexplained and found.explained == found.parameters:
        st.warning(
            _("Every parameter has a formula with the sizes here, but it is not clear at which other sizes it holds.")
        )
        return
    if found.unexplained:
        st.warning(
            _(
                "Not all is explained: {explained:,} of {all:,} parameters have a formula that was right at every other"
                " size. Names without a formula: {names:,}."
            ).format(explained=found.explained, all=found.parameters, names=len(found.unexplained))
        )
        return
    said = _("✓ Proven on {agreed:,} of {of:,} other sizes of the real class.").format(
        agreed=found.checked.agreed, of=found.checked.of
    )
    # Conditions on the ids of tokens are of least interest.
    regime = sorted(found.regime, key=lambda one: any(name.endswith("_id") for name in one.fields()))
    where = [sentence(one.sentence(), str) for one in regime]
    if where and not presenting():
        first = where[0] + (_(" and {count:,} more").format(count=len(where) - 1) if where[1:] else "")
        said = in_a_row([said, _("It holds where {conditions}.").format(conditions=literal(first))])
    st.markdown(said)


def show_proof(found: Discovered) -> None:
    """Show what was tried, all conditions, and all tensors without a formula."""
    if found.unexplained:
        show_table(
            {
                _("Tensors without a formula"): [code(name) for name in found.unexplained],
                _("Why"): [sentence(reason) for reason in found.unexplained.values()],
            },
            _("What is not explained"),
        )
    PROOF.around(_show_how, found)


def _show_how(found: Discovered) -> None:
    st.markdown(
        _(
            "The real class was built {builds:,} times without weights, in {seconds} s, with transformers"
            " {version}: each field was changed alone, then several and all of them together. The formulas were"
            " made from some of these models, and then compared with {of:,} others, tensor by tensor: {agreed:,}"
            " agreed, {all:,} of which had every field changed at once."
        ).format(
            builds=found.builds,
            seconds=fixed(found.seconds),
            version=found.transformers,
            of=found.checked.of,
            agreed=found.checked.agreed,
            all=found.checked.all_changed,
        )
    )
    if found.regime:
        st.markdown(_("It holds where all of these conditions are met; other sizes are refused here:"))
        st.markdown("\n".join(f"- {code(sentence(one.sentence(), str))}" for one in found.regime))
    else:
        st.markdown(_("No sizes were met at which it does not hold."))


def show_tree(text: str) -> None:
    """Show the printed model, if it was built for this page."""
    if text:
        TREE.around(st.code, text, language=None, height=480)
