"""Lecture: screens for the projector, each with live parts of the present model."""

from pathlib import Path

import streamlit as st

from pages.ui.lecture import screens
from pages.ui.sidebar import choice as current_choice

choice = current_choice()
st.html(Path(__file__).parent / "ui" / "lecture" / "style.css")
row = st.container(horizontal=True, vertical_alignment="center")
if lecture := screens.choose_lecture(row):
    fill = screens.filler(choice)
    screen = screens.choose_screen(lecture, row, choice, fill)
    screens.show_screen(screen, choice, fill)
