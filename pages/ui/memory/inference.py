"""Inference, at its largest moment."""

import streamlit as st

from bertcalc.formula import latex_number
from bertcalc.memory import footprint
from bertcalc.memory.formula import moment_formulas
from bertcalc.memory.saved import ITEM_BYTES, Attention, Dtype
from pages.ui.formulas import aligned
from pages.ui.i18n import translator
from pages.ui.memory.charts import show_bar, show_metrics
from pages.ui.memory.controls import Run
from pages.ui.numbers import size, unbroken
from pages.ui.present import presenting
from pages.ui.tables import shape_text, show_table


def show_inference(run: Run, dtype: Dtype, attention: Attention) -> None:
    """Weights, cache and the largest moment: the total, one bar, the formula of the moment, and what is alive then."""
    _ = translator()
    subject = run.subject
    found = footprint.inference(subject, dtype, attention, *run.batch)
    moments = footprint.moments(subject, attention, *run.batch)
    width = ITEM_BYTES[dtype]
    at = max(range(len(moments)), key=lambda number: moments[number].num_bytes(width))
    show_metrics(
        {
            _("Memory for inference"): (size(sum(found.values())), dtype),
            _("Outputs kept"): (size(footprint.output_bytes(subject, dtype, *run.batch)), _("part of what is alive")),
        }
    )
    show_bar(found)
    letters, numbers = run.written(moment_formulas(subject, attention, dtype)[at])
    st.markdown(_("The most is alive at once while this step runs: {step}").format(step=f"`{moments[at].step}`"))
    st.latex(aligned([f"&{letters}", f"&= {numbers} = {latex_number(found['alive at once'])}"]))
    if presenting():
        return
    show_table(
        {
            _("Alive"): [f"`{value.name}`" for value in moments[at].values],
            _("Shape"): [shape_text(value.shape) for value in moments[at].values],
            _("Size"): [unbroken(size(footprint.value_bytes(value, width))) for value in moments[at].values],
        },
        _("What is alive at the largest moment"),
    )
    st.caption(
        _("A value stays until the last step that takes it. Masks and what a kernel needs for itself come on top.")
    )
