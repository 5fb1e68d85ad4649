"""The frame of every page: language, navigation, the sidebar, and what is wrong with a link or a model."""

from pathlib import Path

import streamlit as st

from pages.ui import link, present, sidebar
from pages.ui.i18n import choose_language, translator
from pages.ui.navigation import page_of
from pages.ui.take import dialog, shown
from pages.ui.theme import print_dark_on_white
from pages.ui.turn import TURN

st.set_page_config(page_title="bertcalc", page_icon="🧮", layout="wide")
st.html(Path(__file__).parent / "ui" / "style.css")
print_dark_on_white()


def navigation() -> st.Page:
    """The pages, in the language of the session."""
    _ = translator()
    return st.navigation(
        {
            "": [
                page_of("parameters.py", title=_("Parameters"), default=True),
                page_of("layers.py", title=_("Layers")),
                page_of("structure.py", title=_("Structure")),
                page_of("outputs.py", title=_("Outputs")),
                page_of("configuration.py", title=_("Configuration")),
                page_of("compute.py", title=_("Compute")),
                page_of("memory.py", title=_("Memory")),
            ],
            _("Explore"): [
                page_of("compare.py", title=_("Compare"), icon=":material/compare_arrows:"),
                page_of("sweep.py", title=_("Sweep"), icon=":material/show_chart:"),
                page_of("design.py", title=_("Design"), icon=":material/straighten:"),
            ],
            _("Check"): [
                page_of("bring.py", title=_("Your model"), icon=":material/upload_file:"),
                page_of("verify.py", title=_("Verify"), icon=":material/verified:"),
                page_of("explain.py", title=_("Why is my number different?"), icon=":material/troubleshoot:"),
                page_of("tools.py", title=_("Other tools"), icon=":material/calculate:"),
            ],
            _("Teach"): [
                page_of("lecture.py", title=_("Lecture"), icon=":material/co_present:"),
                page_of("exercises.py", title=_("Exercises"), icon=":material/edit_note:"),
            ],
        },
        position="top",
    )


with TURN.take():
    link.check(before_rerun=navigation)
    shown.begin()
    frame = st.sidebar.container(key="frame", horizontal=True)
    with frame:
        choose_language()
        dialog.offer()
    _ = translator()
    page = navigation()
    with frame:
        present.choose(page.url_path)
    with st.sidebar.container(key="model", horizontal=True, vertical_alignment="bottom", gap="xxsmall"):
        choice = sidebar.choose()
    with st.container():  # always there, so that a message does not make the browser build the page anew
        link.show_rejected()
        if not choice.current:
            st.warning(
                _("The sidebar makes no model. Shown is the last or the nearest that is possible: {changes}.").format(
                    changes=sidebar.stand_in(choice)
                ),
                icon=":material/history:",
            )
    page.run()
    dialog.show_if_asked(choice)
