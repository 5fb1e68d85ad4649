"""The largest batch, and the longest sequence, that fit into a device."""

from collections.abc import Mapping, Sequence

import streamlit as st

from bertcalc.formula import latex_number
from bertcalc.memory import footprint
from bertcalc.memory.footprint import Growth, Plan, binding, grow
from bertcalc.memory.optimizers import Part
from bertcalc.memory.saved import Attention, Dtype
from pages.ui.formulas import aligned
from pages.ui.i18n import translator
from pages.ui.memory.charts import show_bar, show_metrics
from pages.ui.memory.controls import Device, Run
from pages.ui.numbers import size


def show_training_fit(run: Run, plan: Plan, device: Device) -> None:
    """What of a batch can be trained on a device."""
    subject, (batch_size, sequence_length) = run.subject, run.batch
    _show_fit(
        run,
        device,
        footprint.training(subject, plan, *run.batch),
        grow(lambda batch: footprint.training_figures(subject, plan, batch, sequence_length)),
        grow(lambda length: footprint.training_figures(subject, plan, batch_size, length)),
    )


def show_inference_fit(run: Run, dtype: Dtype, attention: Attention, device: Device) -> None:
    """What of a batch can be run on a device."""
    subject, (batch_size, sequence_length) = run.subject, run.batch
    _show_fit(
        run,
        device,
        footprint.inference(subject, dtype, attention, *run.batch),
        grow(lambda batch: footprint.inference_figures(subject, dtype, attention, batch, sequence_length)),
        grow(lambda length: footprint.inference_figures(subject, dtype, attention, batch_size, length)),
    )


def _show_fit(
    run: Run,
    device: Device,
    found: Mapping[Part, int],
    by_batch: Sequence[Growth],
    by_length: Sequence[Growth],
) -> None:
    """Whether it fits, the largest batch and the longest sequence, and the formulas that were solved for them."""
    _ = translator()
    total = sum(found.values())
    needed, limit = size(total), size(device.num_bytes)
    if total <= device.num_bytes:
        st.success(_("It fits: {needed} of {limit}.").format(needed=needed, limit=limit), icon=":material/check:")
    else:
        st.error(_("It does not fit: {needed} of {limit}.").format(needed=needed, limit=limit), icon=":material/close:")
    longest = run.choice.config.max_position_embeddings
    first_batch, first_length = binding(by_batch, device.num_bytes), binding(by_length, device.num_bytes)
    batch, length = first_batch.largest(device.num_bytes), first_length.largest(device.num_bytes)
    possible = None if length is None else min(length, longest)
    show_metrics(
        {
            _("Largest batch of {length:,} tokens").format(length=run.batch.sequence_length): (
                _number(batch),
                device.name,
            ),
            _("Longest sequence, batch {batch:,}").format(batch=run.batch.batch_size): (
                f"{longest:,}" if possible is None else _number(possible),
                device.name,
            ),
        }
    )
    show_bar(found, device.num_bytes)
    st.latex(
        aligned(
            [
                rf"\text{{bytes}}(B) &= {_polynomial(first_batch, 'B')} \le {latex_number(device.num_bytes)}"
                rf" \;\Rightarrow\; {_solution('B', batch)}",
                rf"\text{{bytes}}(S) &= {_polynomial(first_length, 'S')} \le {latex_number(device.num_bytes)}"
                rf" \;\Rightarrow\; {_solution('S', length)}",
            ]
        )
    )
    if length is None or length > longest:
        st.caption(
            _("The memory would do for more: max_position_embeddings is the longest sequence, {longest:,}.").format(
                longest=longest
            )
        )
    st.caption(
        _(
            "Read from the same count at three sizes and solved exactly. Counted are tensors alone: the CUDA context, "
            "gaps between tensors and working memory of kernels come on top."
        )
    )


def _number(found: int | None) -> str:
    _ = translator()
    return _("any") if found is None else f"{found:,}" if found else _("none")


def _polynomial(growth: Growth, letter: str) -> str:
    terms = {f"{letter}^2": growth.square, letter: growth.linear, "": growth.constant}
    return " + ".join(rf"{latex_number(count)} \, {power}" for power, count in terms.items() if count) or "0"


def _solution(letter: str, found: int | None) -> str:
    return rf"{letter} < \infty" if found is None else rf"{letter} \le {latex_number(found)}"
