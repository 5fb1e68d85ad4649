"""Compare: any number of models side by side, and every difference explained."""

import streamlit as st

from pages.ui.compare.comparison import choose, choose_text, found_in
from pages.ui.compare.differences import show_differences
from pages.ui.compare.found_models import show_limits
from pages.ui.compare.glance import show_glance
from pages.ui.compare.side_by_side import show_bars, show_scatter, show_side_by_side
from pages.ui.i18n import _, listed
from pages.ui.present import presenting
from pages.ui.sidebar import choice as current_choice

choice = current_choice()
page, end = st.container(), st.container()
with end:
    choose_text(choice)
with page:
    comparison = choose(choice)
    if not comparison.models:
        st.info(_("There is nothing to compare: choose models under Models."))
    elif comparison.view == "differences":
        show_differences(comparison)
    elif comparison.view == "table":
        show_side_by_side(comparison)
    elif comparison.view == "bars":
        show_bars(comparison)
    elif comparison.view == "glance":
        show_glance(comparison, choice)
    else:
        show_scatter(comparison)
    if not presenting():
        for why, models in comparison.unknown().items():
            st.caption(_("– for {models}: {why}").format(models=listed(models), why=why))
        show_limits(found_in(comparison), comparison.measure)
