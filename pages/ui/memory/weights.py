"""The weights alone."""

from fractions import Fraction

import streamlit as st

from bertcalc.formula import latex_number
from bertcalc.memory.footprint import WEIGHT_BITS, WRITE_UP, weight_bytes
from pages.ui.i18n import translator
from pages.ui.metrics import show_metrics
from pages.ui.numbers import size
from pages.ui.sidebar import Choice
from pages.ui.tables import show_table


def show_weights(choice: Choice) -> None:
    """The memory of the weights by data type; and the 72.1 MB of a write-up."""
    _ = translator()
    count = choice.model().num_parameters()
    show_metrics({_("Parameters in {architecture}").format(architecture=choice.architecture): (f"{count:,}", "N")})
    found = {dtype: weight_bytes(count, bits) for dtype, bits in WEIGHT_BITS.items()}
    show_table(
        {
            _("Numbers"): list(WEIGHT_BITS),
            _("Formula"): [
                rf"${factor} N = {factor} \cdot {latex_number(count)}$" for factor in map(_factor, WEIGHT_BITS.values())
            ],
            _("Bytes"): [f"{total:,}" for total in found.values()],
            "MB": [f"{total / 10**6:,.1f} MB" for total in found.values()],
            "MiB": [f"{total / 2**20:,.1f} MiB" for total in found.values()],
        },
        _("Weights by the type of their numbers"),
    )
    st.caption(_("1 MB is 1,000,000 bytes, 1 MiB is 1,048,576. The scales of int8 and 4-bit formats are extra."))
    st.info(
        _(
            'A write-up counts {count} parameters, divides by 1,024 · 1,024, and calls the result "{mebi} MB". It is '
            "{mebi} mebi-parameters: in float32 these parameters take {size}."
        ).format(count=f"{WRITE_UP:,}", mebi=f"{WRITE_UP / 2**20:.1f}", size=size(weight_bytes(WRITE_UP, 32)))
    )


def _factor(bits: int) -> str:
    share = Fraction(bits, 8)
    return f"{share}" if share.denominator == 1 else rf"\tfrac{{{share.numerator}}}{{{share.denominator}}}"
