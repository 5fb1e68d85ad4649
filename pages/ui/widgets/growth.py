"""The factor by which a number has grown from the preset's, and why, with a link to the Sweep page."""

from collections.abc import Mapping

import streamlit as st

from bertcalc.config.fields import EVERY_LETTER
from bertcalc.explore.factor_formulas import Factor
from bertcalc.text.digits import multiple
from pages.ui.shell.i18n import _, with_colon
from pages.ui.shell.present import presenting


def grown_by(factor: Factor | None, letters: Mapping[str, str] = EVERY_LETTER) -> str:
    """The factor and its reason: "× 4.00: H²", or without a reason "× 4.00"; empty if nothing has grown."""
    reason = factor.text(_, letters) if factor else ""
    return with_colon(times(factor), reason) if reason else times(factor)


def times(factor: Factor | None) -> str:
    """The factor without its reason, for rows with little space: "× 4.00"; empty if nothing has grown."""
    return f"× {multiple(factor.ratio.numerator, factor.ratio.denominator)}" if factor else ""


def show_growth(factor: Factor | None, quantity: str, preset: str) -> None:
    """Show the growth of a quantity in a line, with a link to its curves; nothing if it has not grown."""
    if factor and not presenting():
        message = _("{quantity} {grown}, against {preset}")
        with st.container(horizontal=True, vertical_alignment="center"):  # a link's label would be cut off on a phone
            st.caption(message.format(quantity=quantity, grown=grown_by(factor), preset=preset), width="content")
            show_way_to_sweep()


def show_way_to_sweep() -> None:
    st.page_link("sweep.py", label=_("How it grows with each size →"))
