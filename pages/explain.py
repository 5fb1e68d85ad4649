"""Why is my number different? Explanations for a total or for single terms of a count."""

import streamlit as st

from bertcalc.diagnosis import count_lines
from pages.ui.change.linked_steps import after_steps
from pages.ui.diagnosis import terms_view
from pages.ui.diagnosis.number_view import show_number
from pages.ui.diagnosis.your_number import VIEW, YOURS, numbers_to_try
from pages.ui.shell.controls import set_values, show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.navigation import page_at
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets.text_answer import answering, show_read_button

changed = after_steps(current_choice().model)
model = changed.model

if VIEW.show() == "terms":
    terms_view.show_examples()
    text = terms_view.COUNT.show(height=110 if presenting() else 130)
    if problem := count_lines.problem(text):
        show_problem(problem)
    if presenting():
        terms_view.show_in_short(model, text)
    else:
        show_read_button()
        with answering(text):
            if (report := terms_view.report_on(model, text)).verdicts:
                terms_view.show_verdicts(model, report)
                terms_view.show_corrections(model, report)
            else:
                st.info(_("Write one line for each term, such as attention = L * 4 * H * H."))
else:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = YOURS.show()
        for example in numbers_to_try(model):
            st.button(example, key=f"example {example}", on_click=set_values, args=({YOURS.name: example},))
    show_number(model, text, changed=changed)
if not presenting():
    st.page_link(page_at("bring"), label=_("Check an article, a program or a printed model →"))
