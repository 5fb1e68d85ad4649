"""The appearance of the page, light or dark: its colors, and how it prints."""

import streamlit as st

from bertcalc.charts.colors import BACKGROUND, COLORS
from bertcalc.model.totals import Component


def appearance() -> str:
    """The appearance of the page in the reader's browser: light or dark."""
    return "dark" if st.context.theme.type == "dark" else "light"


def colors() -> dict[Component, str]:
    return COLORS[appearance()]


def paper() -> str:
    """Style rules for the page's color, --paper; a dark page prints inverted: dark becomes light, and hues stay."""
    inverted = (
        " @media print {"
        " html, body { background: #fff !important; }"
        " .stApp { background: none !important; filter: invert(1) hue-rotate(180deg) contrast(1.2); }"
        " }"
    )
    return f":root {{ --paper: {BACKGROUND[appearance()]}; }}{inverted if appearance() == 'dark' else ''}"
