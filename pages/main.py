"""The frame of every page: language, navigation, the sidebar, and what is wrong with a link or a model."""

from pathlib import Path

import streamlit as st

from pages.ui import link, sidebar
from pages.ui.i18n import choose_language, translator

st.set_page_config(page_title="bertcalc", layout="wide")
st.html(Path(__file__).parent / "ui" / "style.css")


def navigation() -> st.Page:
    """The pages, in the language of the session."""
    _ = translator()
    return st.navigation(
        {
            "": [
                st.Page("parameters.py", title=_("Parameters"), icon=":material/calculate:", default=True),
                st.Page("layers.py", title=_("Layers"), icon=":material/layers:"),
                st.Page("structure.py", title=_("Structure"), icon=":material/account_tree:"),
                st.Page("outputs.py", title=_("Outputs"), icon=":material/output:"),
                st.Page("configuration.py", title=_("Configuration"), icon=":material/tune:"),
                st.Page("compute.py", title=_("Compute"), icon=":material/speed:"),
                st.Page("memory.py", title=_("Memory"), icon=":material/memory:"),
            ],
            _("Explore"): [
                st.Page("compare.py", title=_("Compare"), icon=":material/compare_arrows:"),
                st.Page("sweep.py", title=_("Sweep"), icon=":material/show_chart:"),
                st.Page("design.py", title=_("Design"), icon=":material/straighten:"),
            ],
            _("Check"): [
                st.Page("bring.py", title=_("Your model"), icon=":material/upload_file:"),
                st.Page("verify.py", title=_("Verify"), icon=":material/verified:"),
                st.Page("explain.py", title=_("Why is my number different?"), icon=":material/troubleshoot:"),
                st.Page("tools.py", title=_("Other tools"), icon=":material/calculate:"),
                st.Page("exercises.py", title=_("Exercises"), icon=":material/edit_note:"),
            ],
        },
        position="top",
    )


link.check(before_rerun=navigation)
with st.sidebar:
    choose_language()
_ = translator()
page = navigation()
with st.sidebar.container(gap="xxsmall"):
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
