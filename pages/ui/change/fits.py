"""What fits into a device's memory after the steps of the Change page, compared with the model before the steps."""

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel, StepEffect
from bertcalc.memory.devices import Device
from bertcalc.memory.fit import most
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.peak.peak_formulas import growths, most_sequences, peak_bytes
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.text import N_
from pages.ui.memory.fit_view import what_is_counted, whether_it_fits
from pages.ui.memory.run import ONE_BYTE_MASKS, choose_device
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.widgets.metrics import show_metric

_IN_4_BITS = N_(
    "With automatic mixed precision, a 4-bit layer returns the dtype of its input (float32 after a LayerNorm), while "
    "other layers return 16 bits. A sequence therefore needs more memory than with the adapter alone, and the largest "
    "batch can be smaller, although the weights take less memory."
)


def show_fits(before: StepEffect, after: StepEffect, batch: Batch, plan: Plan) -> None:
    """Draw the choice of a device; show whether a training step fits, and the largest batch that fits.

    Show nothing if the peak after the steps is unknown, because the table of effects explains why.
    """
    if after.peak is None:
        return
    device = choose_device(st.container(horizontal=True, vertical_alignment="bottom"))
    needed = device.needed(peak_bytes(after.changed.in_training(plan), plan, *batch.shape))
    base = after.changed.base
    is_in_4_bits = base and isinstance(base.format, BitsAndBytesConfig) and base.format.load_in_4bit
    with live.older("fits"):
        (st.success if needed <= device.usable else st.error)(whether_it_fits(batch, needed, device))
        st.caption(what_is_counted(device))
        title, below = _("Largest batch of {length:,} tokens").format(length=batch.sequence_length), ""
        if before.peak is not None and after.changed != before.changed:
            below = _("{number} without the changes").format(number=_largest(before.changed, batch, plan, device))
        show_metric(title, _largest(after.changed, batch, plan, device), below, least=230)
        st.caption(_(ONE_BYTE_MASKS))
        if is_in_4_bits and PRECISIONS[plan.precision].autocast:
            st.caption(_(_IN_4_BITS))


def _largest(changed: ChangedModel, batch: Batch, plan: Plan, device: Device) -> str:
    model = changed.in_training(plan)
    number = most(growths(model, plan, "batch_size", *batch.shape), device.for_tensors, most_sequences(model)).number
    return _("any") if number is None else f"{number:,}" if number else _("none")
