"""The total's formula on a page: each term and letter says what it is, on hover, tap and keyboard focus."""

from pathlib import Path

import streamlit as st

from pages.ui.sidebar import Choice
from pages.ui.theme import colors
from pages.ui.total_formula.parts import total_formula

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "total_formula",
    css=(_HERE / "formula.css").read_text(encoding="utf-8"),
    js=(_HERE / "formula.js").read_text(encoding="utf-8"),
)


def show_total_formula(choice: Choice) -> None:
    """Draw it."""
    _component(data=total_formula(choice, colors()), key="total-formula")
