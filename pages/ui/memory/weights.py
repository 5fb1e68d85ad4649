"""The memory of the weights alone."""

from fractions import Fraction

import streamlit as st

from bertcalc.memory.footprint import WEIGHT_BITS, WRITE_UP, Checkpoint, checkpoint_bytes, weight_bytes
from bertcalc.text import N_
from bertcalc.text.digits import fixed, latex_number, size
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.metrics import show_metrics
from pages.ui.widgets.numbers import unbroken
from pages.ui.widgets.tables import show_rows

_FILES: dict[Checkpoint, str] = {
    "weights": N_("the weights, a shared tensor once (save_pretrained, torch.save)"),
    "every name": N_("the weights, a shared tensor under each of its names"),
    "with states": N_("weights and AdamW's two averages, to continue training: three times the model"),
}


def show_weights(choice: Choice) -> None:
    """Show the memory of the weights by data type, the size of a checkpoint, and a write-up's "72.1 MB" corrected."""
    count = choice.model.num_parameters()
    show_metrics({_("Parameters in {architecture}").format(architecture=choice.architecture): (f"{count:,}", "N")})
    rows = []
    for dtype, bits in WEIGHT_BITS.items():
        total, factor = weight_bytes(count, bits), _factor(bits)
        formula = rf"${factor} N = {factor} \cdot {latex_number(count)}$"
        rows.append((dtype, formula, f"{total:,}", f"{fixed(total / 10**6)} MB", f"{fixed(total / 2**20)} MiB"))
    titles = (_("Data type"), _("Formula"), _("Bytes"), "MB", "MiB")
    show_rows(titles, rows, _("Weights by data type"))
    if presenting():
        return
    files = [(_(_FILES[file]), unbroken(size(count))) for file, count in checkpoint_bytes(choice.model).items()]
    show_rows((_("A checkpoint in float32 holds"), _("Size")), files, _("The size of a checkpoint on disk"))
    st.caption(_("1 MB is 1,000,000 bytes, 1 MiB is 1,048,576. The scales of int8 and 4-bit formats are extra."))
    st.info(
        _(
            'A write-up counts {count} parameters, divides by 1,024 · 1,024, and calls the result "{mebi} MB". It is '
            "{mebi} mebi-parameters: in float32 these parameters take {size}."
        ).format(count=f"{WRITE_UP:,}", mebi=fixed(WRITE_UP / 2**20), size=size(weight_bytes(WRITE_UP, 32)))
    )


def _factor(bits: int) -> str:
    share = Fraction(bits, 8)
    return f"{share}" if share.denominator == 1 else rf"\tfrac{{{share.numerator}}}{{{share.denominator}}}"
