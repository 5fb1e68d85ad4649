"""Exercises: sheets for classes, with answers that are checked and worked solutions."""

import streamlit as st

from pages.ui import sheet_view
from pages.ui.i18n import _
from pages.ui.sidebar import choice as current_choice

chosen = sheet_view.choose_sheet(current_choice().subject)
at = sheet_view.choose_exercise(chosen)
sheet_view.show_exercise(chosen, at)
sheet_view.offer_downloads(chosen)
sheet_view.put_on_paper(chosen)
st.caption(
    _(
        "Each exercise has its own model, whatever the sidebar shows. This link opens the same sheet "
        "for everybody; with Solutions on, it is the teacher's copy. Answers stay in this window "
        "until it is reloaded: nothing is stored."
    )
)
