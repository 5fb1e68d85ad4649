"""Lecture: screens for the projector, with live parts of the current model."""

import streamlit as st

from bertcalc.text.live_numbers import fill as live_fill
from pages.ui.lecture import screen_files, screen_parts, screens
from pages.ui.session.style import style_page
from pages.ui.shell import live, stepping
from pages.ui.shell.controls import set_values
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import page_at
from pages.ui.shell.present import LECTURE_STYLE
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.shell.sidebar import show_only

choice = current_choice()

style_page(LECTURE_STYLE)
row = st.container(horizontal=True, vertical_alignment="center", key="lecture-row")
fill = screens.filler(choice)
if lecture := screens.choose_lecture(row, fill):
    titles = screens.titles_of(lecture, fill)
    with st.container(key="lecture-state"):  # hidden controls that hold the link's values
        asked, speaking = screen_files.SCREEN.show(), screen_files.NOTES.show()
    screen = screens.screen_of(lecture, asked)
    notes = screens.notes_of(screen, titles, fill)
    if speaking:  # this is the separate window with the speaker's notes
        with row:
            screens.NOTES(key="notes-page", data={"clock": _("Restart the clock"), **notes})
            st.button(_("Show the screen"), on_click=set_values, args=({"notes": False},))
        style_page(screens.NOTES_STYLE)
    else:
        with row:
            screens.choose_screen(screen, titles)
            screens.NOTES_BUTTON(key="notes-button", data={"label": _("Notes"), **notes})
            with st.container(key="leave", width="content"):
                st.page_link(page_at(""), label=_("Exit"), icon=":material/close_fullscreen:")
        stepping.listen("screen", list(titles), screen.name)
        show_only(screen.sliders)
        paths = [path for show in screen.show if (path := screen_parts.place(show, choice))]
        screens.color_figures(choice, paths)
        screens.offer_preset(lecture, choice)
        with st.container(key="lecture-screen"):
            text, picture = st.columns([0.7, 0.3], gap="medium") if paths else (st.container(), None)
            with text:
                live.markdown(live_fill("## {title}\n\n{text}", title=fill(screen.title), text=fill(screen.text)))
                for show in screen.show:
                    screens.show_part(show, choice)
            if picture:
                with picture, st.container(key="lecture-place"):
                    screen_parts.draw_place(choice, paths)
