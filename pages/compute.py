"""Compute: FLOPs as a formula and a number, their growth, other counting conventions, and the cost of training."""

import streamlit as st

from bertcalc.charts.length_chart import part_colors
from bertcalc.compute.conventions import RULES
from bertcalc.compute.flops import unknown_training
from bertcalc.model.runnable import cannot_run
from bertcalc.text.live_numbers import between
from pages.ui.compute import forward, lengths, rules, training_run
from pages.ui.compute.count import VIEW, choose_count, show_convention
from pages.ui.shell import live
from pages.ui.shell.controls import show_problem
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting, row
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.shell.theme import appearance

choice = current_choice()
look = appearance()
if problem := cannot_run(choice.model):
    show_problem(problem)
    st.stop()

with row():
    view = VIEW.show()
    count = choose_count(choice, trained=view == "time", pytorch=view == "conventions")
show_convention(count)

if view == "forward":
    forward.show_figures(count)
    forward.show_formula(count, part_colors(look))
    forward.show_parts(count, "compute")
    forward.show_verdict(count)
    forward.MODULES.around(forward.show_names, count)
elif view == "length":
    crossings = lengths.crossings(count)
    live.markdown(between("\n\n", (crossing.text for crossing in crossings)))
    lengths.show_lengths(count, crossings, look)
elif view == "conventions":
    rules.show_rules(count)
    rule = RULES[rules.RULE.show()]
    st.latex(rules.rule_latex(count, rule, look))
    source = _("Δ: what PyTorch counts in addition. Source: {source}").format(source=rule.source)
    st.caption("  \n".join([source, *rules.published(rule)]))
    if not presenting():
        rules.show_element_costs(count.steps)
else:
    if problem := unknown_training(choice.model):
        # Only num_labels has a control, so remedies for other fields are left out.
        show_problem(problem if problem.field == "num_labels" else problem._replace(remedies=()))
        st.stop()
    training_run.say_batch(count)
    training = training_run.choose_plan(count)
    training_run.show_plan(training)
    if not presenting():
        st.markdown(_("**Published runs**"))
        training_run.show_runs(training, count.convention)
