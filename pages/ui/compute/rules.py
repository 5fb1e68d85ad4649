"""The view Conventions of the Compute page: the FLOPs of the model under published counting rules."""

from collections.abc import Iterable

import streamlit as st

from bertcalc.charts.colors import INK
from bertcalc.compute.conventions import PUBLISHED, RULES, PublishedRule
from bertcalc.compute.flop_formulas import rule_expression, rule_formulas
from bertcalc.compute.flops import ELEMENT_COSTS, Phase, tokens, unknown_training
from bertcalc.live.live_formulas import with_formula
from bertcalc.model.formula_latex import colored_sum, lines
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.digits import brief
from bertcalc.text.live_choices import nearest
from bertcalc.text.live_numbers import grouped
from pages.ui.compute.count import Count
from pages.ui.shell.controls import Select
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.numbers import signed_percent
from pages.ui.widgets.tables import show_rows

RULE = Select("rule", N_("Convention"), RULES, row=True, label_visibility="collapsed")


def show_rules(count: Count) -> None:
    """Show PyTorch's FLOPs of the model and batch, and those of each published rule with the difference."""
    count = count.of_pytorch
    steps = count.steps
    sequences = tokens(steps) // count.call.sequence_length
    phases: dict[Phase, str] = {"forward": _("forward"), "training": _("training")}
    no_training = unknown_training(count.choice.model) is not None
    counted = f":small[{_('matrix products, as PyTorch counts them')}]"
    rows = [
        (listed(["**PyTorch**", name]), grouped(count.total(phase)), "–", counted)
        for phase, name in phases.items()
        if phase == "forward" or not no_training
    ]
    for rule in RULES.values():
        if no_training and rule.phase == "training":
            continue
        theirs = with_formula(
            rule.flops(count.choice.config, sequences, count.call.sequence_length, steps),
            rule_expression(count.letters, rule),
            count.values,
        )
        name, why = listed([f"**{rule.name}**", phases[rule.phase]]), f":small[{_(rule.difference)}]"
        ours = count.total(rule.phase)
        rows.append((name, grouped(nearest(theirs)), signed_percent(theirs - ours, ours), why))
    titles = (_("Convention"), _("FLOPs"), _("Compared with PyTorch"), _("Why it differs"))
    show_rows(titles, rows, _("Counts under other conventions"))


def rule_latex(count: Count, rule: PublishedRule, look: str) -> str:
    """Return LaTeX for the count of a published rule, and for the terms Δ that PyTorch counts in addition.

    ``look`` is "light" or "dark".
    """
    formulas = rule_formulas(count.of_pytorch.letters, rule)
    theirs, difference = (colored_sum([(term.latex(), INK[look]) for term in terms]) for terms in formulas)
    return lines([rf"\text{{{rule.name}}} = {theirs}", rf"\Delta = {difference}"])


def published(rule: PublishedRule) -> list[str]:
    """Return sentences with the counts published for a rule; each sentence also states bertcalc's count."""
    message = _("Published for {preset}, batch {batch:,}, sequence {length:,}: {figure} {unit}; bertcalc: {ours}")
    sentences = []
    for count in PUBLISHED:
        if count.rule == rule.name:
            sizes = {"preset": count.preset, "batch": count.batch.batch_size, "length": count.batch.sequence_length}
            figures = {"figure": f"{count.figure:,}", "unit": count.unit, "ours": brief(count.ours())}
            sentences.append(message.format(**sizes, **figures))
    return sentences


def show_element_costs(steps: Iterable[Step]) -> None:
    """Show the FLOPs per output element of the element-wise operations in ``steps``, and the source of the figures."""
    operations = {step.operation for step in steps}
    costs = [cost for operation, cost in ELEMENT_COSTS.items() if operation in operations]
    st.caption(
        _(
            "Element-wise operations are counted as in ELECTRA's flops_computation.py, per "
            "output element; views, copies and look-ups count as zero."
        )
    )
    rows = [(_(cost.meaning), f"{cost.flops}") for cost in costs]
    show_rows((_("Operation"), _("FLOPs per output element")), rows, _("How each element-wise operation is counted"))
