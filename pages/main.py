"""The frame of every page: language, navigation, the sidebar, and what is wrong with a link or a model."""

from pathlib import Path

import streamlit as st

from pages.ui import link, sidebar
from pages.ui.i18n import choose_language, translator

st.set_page_config(page_title="bertcalc", page_icon=":material/calculate:", layout="wide")
st.html(Path(__file__).parent / "ui" / "style.css")


def navigation() -> st.Page:
    """The pages, in the language of the session."""
    _ = translator()
    return st.navigation(
        [
            st.Page("parameters.py", title=_("Parameters"), icon=":material/calculate:", default=True),
            st.Page("verify.py", title=_("Verify"), icon=":material/verified:"),
        ],
        position="top",
    )


link.check(before_rerun=navigation)
with st.sidebar:
    choose_language()
_ = translator()
page = navigation()
with st.sidebar.container(gap="xxsmall"):
    choice = sidebar.choose()
link.show_rejected()
if not choice.current:
    st.warning(
        _("The values in the sidebar make no model. Shown is the last one that was possible: {model}.").format(
            model=sidebar.describe(choice)
        ),
        icon=":material/history:",
    )
page.run()
