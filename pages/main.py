"""The frame of every page: language, navigation, the sidebar, and messages about an invalid link or model."""

import streamlit as st

from pages.server.restarts import rehearse
from pages.server.run_queue import RUN_QUEUE
from pages.ui.lecture import screens
from pages.ui.opening import link
from pages.ui.session import address, kept, present_model
from pages.ui.session.style import style_page
from pages.ui.shell import controls, live, page_end, present, sidebar
from pages.ui.shell.headings import say_left_out, show_heading
from pages.ui.shell.i18n import choose_language
from pages.ui.shell.navigation import PAGES, navigation
from pages.ui.shell.theme import paper
from pages.ui.widgets.export import dialog, shown
from pages.ui.widgets.real_answers import sorry

with RUN_QUEUE.enter(st.session_state), rehearse():
    st.set_page_config(page_icon="🧮", layout="wide")
    style_page(present.STYLE, paper())
    address.restore()
    kept.begin(page_end.KEY)
    link.check(before_rerun=navigation)
    controls.begin()
    shown.begin()
    frame = st.sidebar.container(key="frame", horizontal=True)
    with frame:
        choose_language()
        dialog.offer()
    page = navigation()
    address.open_page(page.url_path)
    live.begin(moves=PAGES[page.url_path].follows_sliders)
    present_model.begin(*screens.where(page.url_path))
    present_model.write_link()
    with frame:
        present.choose(page.url_path)
    with st.sidebar.container(key="model", horizontal=True, vertical_alignment="bottom", gap="xxsmall"):
        sidebar.choose(page.url_path)
    show_heading(page.url_path, sidebar.choice())
    with st.empty():  # always present, so that a new message does not rebuild the page and an old one disappears
        link.show_rejected()
    with sorry():
        if PAGES[page.url_path].follows_sliders and not PAGES[page.url_path].takes_steps:
            say_left_out()
        page.run()
    controls.write_link()
    live_data = live.end(sidebar.sizes(page.url_path))
    dialog.show_if_asked(sidebar.choice())
    page_end.show(page.url_path, PAGES, live_data)  # last: the browser then sends queued events, which end this run
