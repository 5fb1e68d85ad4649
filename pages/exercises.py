"""Exercises: sheets for classes, with answers that are checked and worked solutions."""

import streamlit as st

from pages.ui.check import exercises
from pages.ui.i18n import translator
from pages.ui.sidebar import choice as current_choice

_ = translator()
chosen = exercises.choose_sheet()
at = exercises.choose_exercise(chosen)
exercises.show_exercise(chosen, at, current_choice())
st.caption(
    _(
        "Each exercise has a model of its own, whatever the sidebar says. This link shows everybody the same sheet; "
        "with Solutions it is the teacher's. Answers stay in this window until it is loaded again: nothing is stored."
    )
)
