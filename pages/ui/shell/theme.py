"""The page's appearance, light or dark: its colors, and its look in print."""

import streamlit as st

from bertcalc.charts.colors import BACKGROUND, COLORS
from bertcalc.model.totals import Component


def appearance() -> str:
    """The page's appearance in the reader's browser: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def colors() -> dict[Component, str]:
    """The colors of the components in the page's appearance."""
    return COLORS[appearance()]


def paper() -> str:
    """Return CSS rules that define the background color --paper and, for a dark page, invert its lightness in print."""
    inverted = (
        " @media print {"
        " html, body { background: #fff !important; }"
        " .stApp { background: none !important; filter: invert(1) hue-rotate(180deg) contrast(1.2); }"
        " }"
    )
    return f":root {{ --paper: {BACKGROUND[appearance()]}; }}{inverted if appearance() == 'dark' else ''}"
