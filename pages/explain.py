"""Why is my number different? A total or single terms, and what explains them."""

import streamlit as st

from bertcalc.diagnosis import count_lines
from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.other_tools import tools_with
from pages.ui.diagnosis import counts_view, miscounts_view, terms_view
from pages.ui.diagnosis.your_number import VIEW, YOURS, numbers_to_try, read_number, show_nothing, show_reading
from pages.ui.shell.controls import set_values, show_problem
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice

model = current_choice().model

if VIEW.show() == "terms":
    terms_view.show_examples()
    text = terms_view.COUNT.show(height=110 if presenting() else 130)
    if problem := count_lines.problem(text):
        show_problem(problem)
    if presenting():
        terms_view.show_in_short(model, text)
    elif (report := terms_view.report_on(model, text)).verdicts:
        terms_view.show_verdicts(model, report)
        terms_view.show_corrections(model, report)
    else:
        st.info(_("Write one line for each term, such as attention = L * 4 * H * H."))
else:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = YOURS.show()
        for example in numbers_to_try(model):
            st.button(example, key=f"example {example}", on_click=set_values, args=({YOURS.name: example},))
    if number := read_number(text, model.config):
        show_reading(number)
        present = KnownCount(model, model.num_parameters())
        diagnosis, tools = diagnose(present, number), tools_with(number, model.config)
        if diagnosis.hand:
            miscounts_view.show_hand_count(model, *diagnosis.hand, number)
        if diagnosis.parts_first:
            counts_view.show_own_parts(model, diagnosis.parts)
        counts_view.show_matches(model, diagnosis.matches)
        if tools:
            st.info(_("The formula of {tools} gives exactly this: see Other tools.").format(tools=listed(tools)))
        counts_view.show_flops(diagnosis.flops)
        peaks = counts_view.show_peaks(model, number)
        if diagnosis.parts and not diagnosis.parts_first:
            counts_view.show_own_parts(model, diagnosis.parts)
        if not peaks:
            if diagnosis.usual:  # before other models, which are less likely
                miscounts_view.show_miscounted(
                    diagnosis, number, explained=bool(tools or diagnosis.matches or diagnosis.parts)
                )
            counts_view.show_claims(model, diagnosis.claims)
            counts_view.show_elsewhere(diagnosis.elsewhere)
            counts_view.show_slips(present, diagnosis.slips, number)
            if diagnosis.miscounted and not diagnosis.usual:
                miscounts_view.show_miscounted(diagnosis, number, explained=bool(tools or diagnosis.known))
            if not (tools or diagnosis.hand or diagnosis.known or diagnosis.slips or diagnosis.miscounted):
                show_nothing(model, number, text)
            if diagnosis.behind:
                miscounts_view.OTHERS.around(miscounts_view.show_ways, diagnosis.behind, number)
            if diagnosis.possible:
                caption = _("Several mistakes together can give nearly any number, so this proves nothing.")
                miscounts_view.POSSIBLE.around(miscounts_view.show_ways, diagnosis.possible, number, caption)
