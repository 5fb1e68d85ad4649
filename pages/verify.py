"""Verify: the real Hugging Face model, compared with bertcalc's model, and published counts."""

import streamlit as st

from bertcalc.families.published import PUBLISHED
from bertcalc.proof import real_model
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets import tables
from pages.ui.widgets.verdict import RETURNED, TOTALS, show_returned, show_verdict, show_weights

_TALL = 560  # height of a long table in pixels; it scrolls

model = current_choice().model

if not real_model.installed():
    st.info(
        _(
            "This page compares the counts with the real model and needs torch and transformers, which are not "
            "installed here. Run pip install -r requirements.txt to install both. All other pages work without "
            "them, but Any model cannot derive new formulas."
        )
    )
else:
    checks = show_verdict(model).checks
    with st.container(key="checks"):
        tables.show_checks(checks[:TOTALS] if presenting() else checks)
    if not presenting():
        st.header(_("With random weights"))
        show_weights(model)
        RETURNED.around(show_returned, model)

if not presenting():
    st.header(_("Published counts"))
    with st.container(key="published", height=_TALL):
        tables.show_published(PUBLISHED)
