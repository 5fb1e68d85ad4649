"""Compute: FLOPs as formula and number, how they grow, how others count them, and what training takes."""

import streamlit as st

from bertcalc.compute.flops import by_part
from pages.ui.compute import computing
from pages.ui.compute.charts import part_bars, part_colors, parts_frame
from pages.ui.controls import choose_view
from pages.ui.i18n import translator
from pages.ui.sidebar import choice as current_choice
from pages.ui.theme import appearance

_ = translator()
choice = current_choice()
look = appearance()

view = choose_view("compute", computing.VIEWS)
count = computing.choose_count(choice)
computing.show_convention(count)

if view == "forward":
    computing.show_figures(count)
    st.latex(computing.forward_formula(count, part_colors(look)))
    costs = by_part(count.steps, count.convention)
    st.vega_lite_chart(
        parts_frame(costs, [_(part) for part in costs]),
        part_bars(look),
        alt=_("Share of each part in the forward pass"),
    )
    computing.show_verdict(count)
    names = st.expander(_("Each module: formula, cost, share"), key="modules", bind="query-params")
    if names.open:
        with names:
            computing.show_names(count)
elif view == "length":
    computing.show_lengths(count, look)
elif view == "conventions":
    computing.show_rules(count, look)
    computing.show_element_costs()
else:
    plan = computing.choose_plan(count)
    computing.show_plan(plan)
    computing.show_runs(plan, count.convention)
