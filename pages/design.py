"""Design: the models nearest to a budget of parameters, FLOPs or memory."""

import streamlit as st

from pages.ui.explore import design
from pages.ui.i18n import translator
from pages.ui.present import presenting
from pages.ui.sidebar import choice as current_choice
from pages.ui.theme import appearance

_ = translator()
choice = current_choice()
question = design.choose_question(choice)
constraints = design.choose_constraints()
result = design.answer(question, constraints)
design.show_result(question, result, choice.config)
if not presenting():
    nearby = st.expander(_("Chart: width and depth of the nearest models"), key="nearby", bind="query-params")
    if nearby.open:
        with nearby:
            design.show_chart(question, result, appearance())
design.show_space(question, constraints, result)
