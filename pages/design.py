"""Design: the models nearest to a budget of parameters, FLOPs or memory, or the models that fit into a file size."""

import streamlit as st

from bertcalc.explore.design import Budget
from bertcalc.explore.quantities import Case
from bertcalc.memory.plan import Plan
from bertcalc.text.digits import size
from bertcalc.text.problem import InputError
from pages.ui.design import nearest
from pages.ui.memory.run import TRAINING_DTYPE
from pages.ui.shell.controls import change, show_problem
from pages.ui.shell.i18n import _, in_a_row
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.shell.theme import appearance
from pages.ui.widgets.batch_controls import choose_batch
from pages.ui.widgets.tables import show_table

choice = current_choice()

with st.container(horizontal=True, vertical_alignment="bottom"):
    kind = nearest.BUDGET_OF.show()
    text = nearest.TARGETS[kind].show()
    format = nearest.choose_format(kind)
    batch = choose_batch(choice.config)
    message = _("Training memory: weights, gradients, AdamW's states, and activations with eager attention.")
    precision = TRAINING_DTYPE.show(help=message, width=145)
amount = nearest.amount_of(kind, text)
constraints = nearest.choose_constraints()
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="nearest"):
    heading_place = st.empty()
    at_most = nearest.choose_limit(kind)
case = Case(choice.model, batch, Plan(precision=precision))
budget = Budget(nearest.KINDS[kind], amount, format, at_most)
question = nearest.BudgetQuestion(case, budget, nearest.TARGETS[kind].name)
try:
    result = nearest.answer(question, constraints)
except InputError as error:
    show_problem(error.problem)
    st.stop()

possible = result.possible(budget)
if not possible:
    show_problem(nearest.impossible(question, result))
if not (budget.is_limit and possible):
    heading = _("Nearest to {amount}, above or below it")
elif at_most:
    heading = _("At most {amount}")
else:
    heading = _("Within {exact}, which is {size}")
written = question.written(amount)
title = heading.format(exact=written, amount=written, size=size(amount))
if kind == "file":
    title = _("{within}, stored as {format}").format(within=title, format=nearest.FORMAT.word(nearest.FORMAT.value()))
heading_place.markdown(f"## {title}", width="content")

designs = result.designs[: nearest.FEW if presenting() else nearest.LISTED]
# Each button is beside its model's table row: style.css gives both the same height.
with st.container(horizontal=True, gap="xsmall", key="designs"):
    with st.container(width="content", key="designs-take"):
        for rank, design in enumerate(designs, 1):
            # Streamlit shows the shortcut beside the label, so the shortcuts number the rows.
            st.button(_("Use"), key=f"take {rank}", shortcut=f"{rank}", on_click=change, args=(design.fields,))
    rows = nearest.columns(question, designs, choice.config)
    show_table(rows, _("The nearest models, with their distance to the budget"))
if kind == "file":
    message = _("Training memory assumes training in {precision}, regardless of the format of this file.")
    st.caption(message.format(precision=TRAINING_DTYPE.word(precision)))
for why in nearest.unknown(question):
    st.caption(_("– for {models}: {why}").format(models=choice.architecture, why=why))

if not presenting():
    nearest.NEARBY.around(nearest.show_chart, question, result, appearance())

searched = _(
    "{candidates} candidates ({architecture}, vocab_size {vocab_size}), from {smallest} to "
    "{largest}: these are the closest."
).format(
    candidates=f"{result.candidates:,}",
    architecture=choice.architecture,
    vocab_size=f"{constraints.vocabulary(choice.config.vocab_size):,}",
    smallest=question.written(result.smallest.value),
    largest=question.written(result.largest.value),
)
ratio = _(
    "H/L is 64 for bert-base and 42.7 for bert-large; within wide limits, the loss depends little on it (Kaplan et "
    "al. 2020, arXiv:2001.08361)."
)
costs = _(
    "FLOPs and training memory are for {batch_size:,} × {sequence_length:,} tokens. Memory assumes eager "
    "attention; the Memory page compares it with fused attention."
)
st.caption(in_a_row([costs.format(**batch.sizes()), searched, ratio]))
