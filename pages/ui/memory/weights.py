"""The view Weights of the Memory page: the memory of the weights alone."""

from fractions import Fraction

import streamlit as st

from bertcalc.live.live_formulas import live_reading
from bertcalc.memory.footprint import WEIGHT_BITS, Checkpoint, checkpoint_bytes, weights_of
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.digits import fixed, size
from bertcalc.text.live_choices import quotient
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.metrics import show_metrics
from pages.ui.widgets.numbers import unbroken
from pages.ui.widgets.tables import show_rows

_UNITS = (("MB", 10**6), ("MiB", 2**20))
_FILES: dict[Checkpoint, str] = {
    "weights": N_("the weights, with each shared tensor stored once (save_pretrained, torch.save)"),
    "every name": N_("the weights, with each shared tensor stored under all of its names"),
    "with states": N_("weights and AdamW's two moments, to continue training: three times the model"),
}


def show_weights(choice: Choice) -> None:
    """Show the memory of the weights by data type, the size of checkpoints, and a common mistake with megabytes.

    In projector view, show only the memory by data type.
    """
    model = choice.model
    count = live_reading(Model.num_parameters, model)
    show_metrics({_("Parameters in {architecture}").format(architecture=choice.architecture): (grouped(count), "N")})
    rows = []
    for dtype, bits in WEIGHT_BITS.items():
        total = live_reading(weights_of, model, bits)
        formula = fill("{factor} N = {factor} · {count:,}", factor=f"{Fraction(bits, 8)}", count=count)
        rows.append((dtype, formula, grouped(total), *(_in_units(total, *unit) for unit in _UNITS)))
    titles = (_("Data type"), _("Formula"), _("Bytes"), *(unit for unit, _size in _UNITS))
    show_rows(titles, rows, _("Weights by data type"))
    if presenting():
        return
    sizes = live_reading(checkpoint_bytes, model)
    files = [(_(_FILES[file]), unbroken(size(num_bytes))) for file, num_bytes in sizes.items()]
    show_rows((_("Contents of a float32 checkpoint"), _("Size")), files, _("The size of a checkpoint on disk"))
    st.caption(_("1 MB is 1,000,000 bytes, 1 MiB is 1,048,576. The scales of int8 and 4-bit formats are extra."))
    mistake = _(
        'A common mistake is to divide the number of parameters by 1,024 · 1,024 and to call the result "{mebi} '
        'MB". It is not a number of bytes: in float32, the parameters take {size}.'
    )
    mebi = fixed(quotient(count, 2**20))
    live.caption(fill(mistake, mebi=mebi, size=size(live_reading(weights_of, model, WEIGHT_BITS["float32"]))))


def _in_units(total: int, unit: str, size: int) -> str:
    return fill("{figure} {unit}", figure=fixed(quotient(total, size)), unit=unit)
