"""The FLOPs of a forward pass, if they were discovered; if not, a button that looks for them."""

from collections.abc import Mapping

import streamlit as st

from bertcalc.discover.results.expressions import letters
from bertcalc.discover.results.result import NOT_ASKED, Discovered
from bertcalc.explore.factor_formulas import WHOLE, factors, whole
from bertcalc.model.steps import LARGEST
from bertcalc.proof import real_model
from bertcalc.text.digits import scaled
from bertcalc.text.problem import InputError
from pages.ui.any_model.discovering import look_for_flops
from pages.ui.shell.any_model import Chosen
from pages.ui.shell.controls import sentence, show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.widgets.batch import BATCH_SIZE, SEQUENCE_LENGTH
from pages.ui.widgets.growth import grown_by
from pages.ui.widgets.metrics import show_metric


def show_flops(now: Chosen, sizes: Mapping[str, int]) -> None:
    """Show the FLOPs for a batch size and a length, or why there are none; the projector has no room for them."""
    found = now.found
    if found is None or presenting():
        return
    if found.compute:
        _show_count(found, sizes)
    elif found.unexplained:
        st.caption(_("FLOPs are looked for only where every parameter has a formula."))
    elif found.no_flops is not None and found.no_flops != NOT_ASKED:
        st.caption(_("There is no formula for its FLOPs: {reason}").format(reason=sentence(found.no_flops)))
    elif not real_model.installed():
        st.caption(_("Its FLOPs are not known here: torch and transformers, which are not installed, would find them."))
    else:
        _offer(now)


def _offer(now: Chosen) -> None:
    """Draw a button that looks for the FLOPs."""
    if st.button(
        _("Find the FLOPs of a forward pass"),
        key="any flops",
        icon=":material/bolt:",
        help=_("This takes some ten seconds, and a minute at most; it ends when you leave the page."),
    ):
        if problem := look_for_flops(now):
            show_problem(problem)
        else:
            st.rerun()


def _show_count(found: Discovered, sizes: Mapping[str, int]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch_size = BATCH_SIZE.show_within(1, LARGEST)
        length = SEQUENCE_LENGTH.show_within(1, LARGEST)
        said = {"batch_size": batch_size, "sequence_length": length, **found.whole(**sizes)}
        try:
            count = found.count_flops(**said)
        except InputError as error:
            show_problem(error.problem)
            return
        call = {"batch_size": batch_size, "sequence_length": length}
        before = whole(found.count_flops(**call), found.flops, {**found.fields, **call})
        grown = grown_by(factors(before, whole(count, found.flops, {**found.fields, **said}))[WHOLE], letters(found))
        show_metric(
            _("FLOPs of a forward pass"),
            f"{count:,}",
            " · ".join(filter(None, (scaled(count, "FLOPs"), grown))),
            least=200,
            help=_(
                "The matrix products with eager attention, as PyTorch's FlopCounterMode counts them. Each token goes"
                " through its experts by itself, and a decoder has as many tokens as its encoder."
            ),
        )
