"""Compare: any number of models side by side, and every difference explained."""

import streamlit as st

from pages.ui.explore import compare, compare_differences, compare_views
from pages.ui.i18n import translator
from pages.ui.sidebar import choice as current_choice

_ = translator()
choice = current_choice()
page, end = st.container(), st.container()
with end:
    compare.choose_text(choice)
with page:
    comparison = compare.choose(choice)
    if not comparison.models:
        st.info(_("There is nothing to compare: choose models under Models."))
    elif comparison.view == "differences":
        compare_differences.show_differences(comparison)
    elif comparison.view == "table":
        compare_views.show_side_by_side(comparison)
    elif comparison.view == "bars":
        compare_views.show_bars(comparison)
    else:
        compare_views.show_scatter(comparison)
