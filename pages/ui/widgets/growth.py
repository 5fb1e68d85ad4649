"""How much a figure has grown from the preset to the model: the factor, the reason, and a link to the Sweep page."""

import streamlit as st

from bertcalc.explore.factor_formulas import FOLLOWS, MOSTLY, STAYS, WITH, FigureGrowth, growth_words
from bertcalc.text.live_numbers import fill
from pages.ui.shell import live
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import page_at
from pages.ui.shell.present import presenting


def grown_by(growth: FigureGrowth) -> str:
    """The growth factor with its reason if it is known, "× 4.00 with H²" or "× 4.00"; empty if there is no growth."""
    return growth_words(growth, _(WITH), _(STAYS), _(MOSTLY), FOLLOWS)


def factor(growth: FigureGrowth) -> str:
    """The growth factor without its reason, for narrow rows: "× 4.00"; empty if there is no growth."""
    return growth_words(growth._replace(terms=()), "", "", "", ())


def show_growth(growth: FigureGrowth, quantity: str, preset: str) -> None:
    """Show the growth of a quantity in one line, with a link to the Sweep page.

    Show nothing in projector view, or if there is no growth.
    """
    if growth.factor and not presenting():
        message = _("{quantity} {grown}, vs. {preset}")
        with st.container(horizontal=True, vertical_alignment="center"):  # a link's label would be cut off on a phone
            live.caption(fill(message, quantity=quantity, grown=grown_by(growth), preset=preset), width="content")
            show_way_to_sweep()


def show_way_to_sweep() -> None:
    """Show a link to the Sweep page."""
    st.page_link(page_at("sweep"), label=_("How it grows with each size →"))
