"""Why is my number different? A total or single terms, and what explains them."""

import streamlit as st

from bertcalc.diagnosis import count_lines
from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.known_counts import Known
from bertcalc.diagnosis.other_tools import tools_with
from pages.ui.diagnosis import counts_view, miscounts_view, terms_view
from pages.ui.diagnosis.your_number import VIEW, YOURS, numbers_to_try, read_number, show_nothing, show_reading
from pages.ui.shell.controls import set_values, show_problem
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice

subject = current_choice().subject

if VIEW.show() == "terms":
    terms_view.show_examples()
    text = terms_view.COUNT.show(height=110 if presenting() else 130)
    if problem := count_lines.problem(text):
        show_problem(problem)
    if presenting():
        terms_view.show_in_short(subject, text)
    elif (report := terms_view.report_on(subject, text)).verdicts:
        terms_view.show_verdicts(subject, report)
        terms_view.show_corrections(subject, report)
    else:
        st.info(_("Write one line for each term, such as attention = L * 4 * H * H."))
else:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = YOURS.show()
        for example in numbers_to_try(subject):
            st.button(example, key=f"example {example}", on_click=set_values, args=({YOURS.name: example},))
    if number := read_number(text, subject.config):
        show_reading(number)
        known = Known(subject, subject.model().num_parameters())
        found, tools = diagnose(known, number), tools_with(number, subject.config)
        if found.hand:
            miscounts_view.show_hand_count(subject, *found.hand, number)
        if found.own_first:
            counts_view.show_own(subject, found.own)
        counts_view.show_matches(subject, found.matches)
        if tools:
            st.info(_("The formula of {tools} gives exactly this: see Other tools.").format(tools=listed(tools)))
        counts_view.show_flops(found.flops)
        peaks = counts_view.show_peaks(subject, number)
        if found.own and not found.own_first:
            counts_view.show_own(subject, found.own)
        if not peaks:
            if found.usual:  # before the other models, which are hardly meant
                miscounts_view.show_miscounted(found, number, known=bool(tools or found.matches or found.own))
            counts_view.show_claims(subject, found.claims)
            counts_view.show_elsewhere(found.elsewhere)
            counts_view.show_slips(known, found.slips, number)
            if found.miscounted and not found.usual:
                miscounts_view.show_miscounted(found, number, known=bool(tools or found.known))
            if not (tools or found.hand or found.known or found.slips or found.miscounted):
                show_nothing(subject, number, text)
            if found.behind:
                miscounts_view.OTHERS.around(miscounts_view.show_ways, found.behind, number)
            if found.possible:
                caption = _("Several mistakes lead to nearly any number: this proves nothing.")
                miscounts_view.POSSIBLE.around(miscounts_view.show_ways, found.possible, number, caption)
