"""The note on pages whose figures ignore the steps of the Change page."""

import streamlit as st

from pages.ui.session import present_model
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import page_at


def say_left_out() -> None:
    """If the model has steps of the Change page, state that this page ignores them, as a link to the Change page."""
    if present_model.track().present.changes:
        st.page_link(page_at("change"), label=_("The steps of the Change page are left out here →"))
