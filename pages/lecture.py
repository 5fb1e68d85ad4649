"""Lecture: screens for the projector, each with live parts of the present model."""

from pathlib import Path

import streamlit as st

from pages.ui.lecture import screens
from pages.ui.sidebar import choice as current_choice

choice = current_choice()
st.html(Path(__file__).parent / "ui" / "lecture" / "style.css")
row = st.container(horizontal=True, vertical_alignment="center", key="lecture-row")
if lecture := screens.choose_lecture(row, choice):
    fill = screens.filler(choice)
    screen = screens.choose_screen(lecture, row, fill)
    if st.session_state["notes"]:  # a window of their own
        st.html(Path(__file__).parent / "ui" / "lecture" / "notes_page.css")
    else:
        screens.show_screen(screen, choice, fill)
