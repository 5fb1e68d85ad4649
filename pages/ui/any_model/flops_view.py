"""The FLOPs of a forward pass on the page Any model, or a button that searches for their formula."""

from collections.abc import Mapping

import streamlit as st

from bertcalc.discover.results.expressions import letters
from bertcalc.discover.results.result import NOT_ASKED, Discovered
from bertcalc.explore.factor_formulas import WHOLE, growths, whole
from bertcalc.live.live_formulas import with_formula
from bertcalc.model.batch import LARGEST
from bertcalc.proof import real_model
from bertcalc.text.digits import scaled
from bertcalc.text.live_numbers import grouped, joined
from bertcalc.text.problem import InputError
from pages.ui.any_model.discovering import look_for_flops
from pages.ui.shell import live
from pages.ui.shell.any_model import TypeSelection
from pages.ui.shell.controls import sentence, show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.widgets.batch_controls import BATCH_SIZE, SEQUENCE_LENGTH
from pages.ui.widgets.growth import grown_by
from pages.ui.widgets.metrics import metric_row, show_metric


def show_flops(selection: TypeSelection, sizes: Mapping[str, int]) -> None:
    """Show the FLOPs of a forward pass, with controls for the batch size and the sequence length.

    If their formula is not known yet, show a button that searches for it. If there is no formula, show why. In
    projector view, show nothing. ``sizes`` are the sizes that the reader has changed.
    """
    discovery = selection.discovery
    if discovery is None or presenting():
        return
    if discovery.compute:
        _show_count(discovery, sizes)
    elif discovery.unexplained:
        st.caption(_("FLOPs are only available if every parameter has a formula."))
    elif discovery.no_flops is not None and discovery.no_flops != NOT_ASKED:
        st.caption(_("There is no formula for its FLOPs: {reason}").format(reason=sentence(discovery.no_flops)))
    elif not real_model.installed():
        st.caption(_("Deriving the FLOPs requires torch and transformers, which are not installed here."))
    else:
        _offer(selection)


def _offer(selection: TypeSelection) -> None:
    if st.button(
        _("Find the FLOPs of a forward pass"),
        key="any flops",
        icon=":material/bolt:",
        help=_("This takes about ten seconds, a minute at most, and stops when you leave the page."),
    ):
        if problem := look_for_flops(selection):
            show_problem(problem)
        else:
            st.rerun()


def _show_count(discovery: Discovered, sizes: Mapping[str, int]) -> None:
    assert discovery.compute is not None
    with metric_row(vertical_alignment="bottom"):
        batch_size = BATCH_SIZE.show_within(1, LARGEST)
        length = SEQUENCE_LENGTH.show_within(1, LARGEST)
        arguments = {"batch_size": batch_size, "sequence_length": length, **discovery.whole(**sizes)}
        try:
            count = discovery.count_flops(**arguments)
        except InputError as error:
            show_problem(error.problem)
            return
        call = {"batch_size": batch_size, "sequence_length": length}
        # Some fields affect only FLOPs, such as the number of experts per token.
        defaults = {**discovery.compute.fields, **discovery.fields, **call}
        sizes_now = {**defaults, **arguments}
        before = whole(discovery.count_flops(**call), discovery.flops, defaults)
        after = whole(count, discovery.flops, sizes_now)
        count = with_formula(count, after.formulas[WHOLE], after.values)
        live.note_sizes(sizes_now)
        grown = grown_by(growths(before, after, letters(discovery))[WHOLE])
        show_metric(
            _("FLOPs of a forward pass"),
            grouped(count),
            joined(" · ", (scaled(count, "FLOPs"), grown)),
            least=200,
            help=_(
                "Matrix products with eager attention, counted as PyTorch's FlopCounterMode counts them. Each "
                "token passes through its experts separately, and a decoder has as many tokens as its encoder."
            ),
        )
