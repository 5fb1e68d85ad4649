"""Memory for inference, at its peak."""

from collections.abc import Mapping

import streamlit as st

from bertcalc.formula import latex_number
from bertcalc.memory import footprint
from bertcalc.memory.byte_formulas import moment_formulas, plain_inference_formulas
from bertcalc.memory.devices import Device
from bertcalc.memory.optimizers import Part
from bertcalc.memory.saved import ITEM_BYTES, Attention, Dtype
from pages.ui.formulas import aligned
from pages.ui.i18n import translator
from pages.ui.memory.run import Run
from pages.ui.memory.stack import Stack, show_bar
from pages.ui.metrics import show_metrics
from pages.ui.numbers import size, unbroken
from pages.ui.present import presenting
from pages.ui.tables import shape_text, show_table


def inference_stack(
    run: Run, dtype: Dtype, attention: Attention, found: Mapping[Part, int], device: Device | None = None
) -> Stack:
    """The parts of inference as a bar shows them."""
    start = run.of_preset()
    before = footprint.inference(start.subject, dtype, attention, *start.batch) if start else {}
    formulas = plain_inference_formulas(run.subject, attention, dtype, _largest(run, dtype, attention))
    return Stack(found, before, formulas, device)


def _largest(run: Run, dtype: Dtype, attention: Attention) -> int:
    """The index of the moment with the most bytes."""
    moments = footprint.moments(run.subject, attention, *run.batch)
    return max(range(len(moments)), key=lambda number: moments[number].num_bytes(ITEM_BYTES[dtype]))


def show_inference(run: Run, dtype: Dtype, attention: Attention) -> None:
    """Weights, cache and the largest moment: the total, one bar, the formula of the moment, and what is alive then."""
    _ = translator()
    subject = run.subject
    found = footprint.inference(subject, dtype, attention, *run.batch)
    moments = footprint.moments(subject, attention, *run.batch)
    width = ITEM_BYTES[dtype]
    at = _largest(run, dtype, attention)
    show_metrics(
        {
            _("Memory for inference"): (size(sum(found.values())), dtype),
            _("Outputs kept"): (size(footprint.output_bytes(subject, dtype, *run.batch)), _("part of what is alive")),
        }
    )
    # Without names, for the table to be on the first screen; the weights have room for theirs.
    show_bar(run.choice, inference_stack(run, dtype, attention, found), "inference", named=False)
    letters, numbers = run.written(moment_formulas(subject, attention, dtype)[at])
    st.markdown(_("Memory peaks while this step runs: {step}").format(step=f"`{moments[at].step}`"))
    st.latex(aligned([f"&{letters}", f"&= {numbers} = {latex_number(found['alive at once'])}"]))
    if presenting():
        return
    show_table(
        {
            _("Alive"): [f"`{value.name}`" for value in moments[at].values],
            _("Shape"): [shape_text(value.shape) for value in moments[at].values],
            _("Size"): [unbroken(size(footprint.value_bytes(value, width))) for value in moments[at].values],
        },
        _("What is alive at the peak"),
    )
    st.caption(_("A value is kept until the last step that uses it. Masks and kernel workspace are extra."))
