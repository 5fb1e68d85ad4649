"""The controls and the results of the Design page."""

from fractions import Fraction
from functools import lru_cache, partial
from math import floor
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.charts.nearest_chart import designs_frame, near_budget
from bertcalc.config import Config, Problem
from bertcalc.digits import fixed, signed_count, size
from bertcalc.explore.design import HEAD_SIZES, MULTIPLES, RATIOS, Budget, Constraints, Design, Result, search
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.memory.plan import Plan
from bertcalc.presets import DEFAULT_PRESET, PRESETS
from bertcalc.problem import InputError
from bertcalc.text import N_
from bertcalc.typed import LONGEST, Typed, typed
from pages.ui.batch import choose_batch
from pages.ui.controls import Fold, Number, Reason, Select, Switch, Text, change, show_problem
from pages.ui.export.shown import draw_chart
from pages.ui.i18n import _, in_a_row, listed
from pages.ui.memory.run import TRAINING_DTYPE
from pages.ui.numbers import counted, short, signed_percent, unbroken
from pages.ui.present import presenting
from pages.ui.quantity_words import reason, title_of
from pages.ui.sidebar import Choice
from pages.ui.tables import show_table

# The quantity of each kind of budget.
KINDS = {"parameters": "parameters", "FLOPs": "forward", "memory": "training_memory"}
# The number of designs in the table on the projector, in the table, and in the chart.
FEW, LISTED, DRAWN = 5, 8, 60


def _read(name: str, text: str) -> Typed:
    """A typed amount for a kind of budget. Raises InputError."""
    return typed(text, QUANTITIES[KINDS[name]].unit)


def _check(name: str, text: str) -> Reason | None:
    try:
        _read(name, text)
    except InputError:
        message = N_("{name}={text} in the link is not possible: it must be an amount, such as {example}.")
        return message, {"example": TARGETS[name].default}
    return None


_START = Constraints()
BUDGET_OF = Select(
    "budget_of",
    N_("Budget for"),
    KINDS,
    {"parameters": N_("Parameters"), "FLOPs": "FLOPs", "memory": N_("Memory")},
    row=True,
)
# One field for each kind of budget, so that each keeps its amount.
TARGETS = {
    name: Text(f"target_{name}", N_("Budget"), default, LONGEST, check=partial(_check, name), width=140)
    for name, default in {"parameters": "30M", "FLOPs": "5 GFLOPs", "memory": "16 GB"}.items()
}
HEAD_SIZE = Select("head_size", N_("Head size"), tuple(map(str, HEAD_SIZES)), default=f"{_START.head_size}", width=105)
RATIO = Select("intermediate_ratio", N_("Feed-forward ratio"), RATIOS, {"any": N_("Any")}, default="4", width=150)
MULTIPLE_OF = Select(
    "multiple_of", N_("Multiple of"), tuple(map(str, MULTIPLES)), default=f"{_START.multiple}", width=115
)
LIMITS = (
    Number("layers_from", N_("Min. layers"), _START.layers_from, width=95),
    Number("layers_to", N_("Max. layers"), _START.layers_to, width=90),
    Number("hidden_to", N_("Max. hidden size"), _START.hidden_to, width=115),
)
PAD_VOCAB = Switch("pad_vocab", N_("Pad vocabulary"), draw=st.checkbox)
NEARBY = Fold("nearby", N_("Chart: width and depth of the nearest models"))

_NAMES = {"parameters": N_("Parameters"), "forward": N_("Forward"), "training_memory": N_("Training memory")}


class BudgetQuestion(NamedTuple):
    """A budget, with the model and batch that it is for."""

    case: Case
    budget: Budget
    field: str  # the control in which the amount was typed

    def said(self, value: int) -> str:
        """An exact value with the unit of the budget."""
        return counted(value, QUANTITIES[self.budget.quantity].unit)


def choose_question(choice: Choice) -> BudgetQuestion:
    """Draw the controls of the budget and the batch, and return their values."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = BUDGET_OF.show()
        text = TARGETS[name].show()
        batch = choose_batch(choice.config)
        said = _("Training memory: weights, gradients, AdamW's states, and the activations of eager attention.")
        precision = TRAINING_DTYPE.show(help=said, width=145)
    budget = Budget(KINDS[name], _amount(name, text))
    return BudgetQuestion(Case(choice.subject, *batch, Plan(precision=precision)), budget, TARGETS[name].name)


def _amount(name: str, text: str) -> int:
    """The typed amount in whole units; if it is invalid, the last valid one, with a message."""
    field = TARGETS[name].name
    last = f"last {field}"
    try:
        amount = _read(name, text)
    except InputError as error:
        before: str = st.session_state.get(last, TARGETS[name].default)
        show_problem(error.problem._replace(field=field, remedies=({field: before},)))
        return floor(_read(name, before).value)
    st.session_state[last] = text
    return floor(amount.value)


def choose_constraints() -> Constraints:
    """Draw the constraints and return them; impossible ones are explained and replaced by the nearest."""
    any_ratio = _("intermediate_size / hidden_size, 4 in published BERTs; “Any” allows {ratios}.")
    multiples = _(
        "hidden_size and intermediate_size are multiples of it, the latter rounded up. NVIDIA's guide to matrix "
        "multiplication: 16-bit products are most efficient with multiples of 64 on an A100, of 8 before it."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        head_size = HEAD_SIZE.show(help=_("hidden_size / num_attention_heads, 64 in most published BERTs"))
        ratio = RATIO.show(help=any_ratio.format(ratios=listed(map(str, RATIOS["any"]))))
        multiple = MULTIPLE_OF.show(help=multiples)
        limits: dict[str, Any] = {control.name: control.show() for control in LIMITS}
        padded = PAD_VOCAB.show(help=_("vocab_size is also rounded up to a multiple."))
    said = Constraints(int(head_size), RATIOS[ratio], int(multiple), pad_vocabulary=padded, **limits)
    for problem in said.problems():
        show_problem(problem)
    return said.nearest()


# The search does not depend on these fields; fixing them lets models that differ only in them share the cached result.
_SEARCHED = {
    field: getattr(PRESETS[DEFAULT_PRESET].config, field)
    for field in ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size")
}


def answer(question: BudgetQuestion, constraints: Constraints) -> Result:
    return _found(question.case.replace(**_SEARCHED), question.budget, constraints)


@lru_cache(maxsize=256)
def _found(case: Case, budget: Budget, constraints: Constraints) -> Result:
    return search(case, budget, constraints, DRAWN)


def show_result(question: BudgetQuestion, result: Result, config: Config) -> None:
    """Show the nearest designs: distance to the budget, sizes, and a button that takes the model."""
    budget = question.budget
    if not result.possible(budget):
        show_problem(_impossible(question, result))
    within = budget.is_limit and result.possible(budget)
    heading = _("Within {exact}, which is {size}") if within else _("Nearest to {amount}")
    amount = question.said(budget.amount)
    st.markdown(f"## {heading.format(exact=amount, amount=amount, size=size(budget.amount))}")
    shown = result.designs[: FEW if presenting() else LISTED]
    # Each button stands beside the row of its model: style.css makes both equally high.
    with st.container(horizontal=True, gap="xsmall", key="designs"):
        with st.container(width="content", key="designs-take"):
            for rank, design in enumerate(shown, 1):
                # The shortcut is shown beside the label, which numbers the rows.
                st.button(_("Use"), key=f"take {rank}", shortcut=f"{rank}", on_click=change, args=(design.fields,))
        show_table(_columns(question, shown, config), _("The nearest models, with their distance to the budget"))
    for why in filter(None, dict.fromkeys(reason(name, question.case) for name in _NAMES)):
        st.caption(_("– for {models}: {why}").format(models=question.case.subject.architecture, why=why))


def _impossible(question: BudgetQuestion, result: Result) -> Problem:
    amount, ends = question.budget.amount, (result.smallest, result.largest)
    nearest = result.smallest if amount < result.smallest.value else result.largest
    message = N_(
        "No model within these constraints has {amount}: the smallest has {smallest} ({narrow}), "
        "the largest {largest} ({wide})."
    )
    if question.budget.is_limit:
        message = N_("No model within these constraints fits into {amount}: the smallest takes {smallest} ({narrow}).")
    smallest, largest = (question.said(design.value) for design in ends)
    narrow, wide = (f"H = {design.hidden_size:,}, L = {design.num_hidden_layers:,}" for design in ends)
    values = {"amount": question.said(amount), "smallest": smallest, "narrow": narrow, "largest": largest, "wide": wide}
    return Problem(question.field, amount, message, values, ({question.field: f"{nearest.value:,}"},))


def _columns(question: BudgetQuestion, designs: tuple[Design, ...], config: Config) -> dict[str, list[str]]:
    budget = question.budget
    names = {quantity: _(name) for quantity, name in _NAMES.items()}
    distances = [one.value - budget.amount for one in designs]
    columns = {
        "": [
            f"**{rank} ✓**" if one.fields.items() <= config.shared().items() else f"{rank}"
            for rank, one in enumerate(designs, 1)
        ],
        "$H$": [f"{one.hidden_size:,}" for one in designs],
        "$L$": [f"{one.num_hidden_layers:,}" for one in designs],
        "$A$": [f"{one.num_attention_heads:,}" for one in designs],
        "$I$": [f"{one.intermediate_size:,}" for one in designs],
        names.pop(budget.quantity): [f"**{one.value:,}**" for one in designs],
        _("Difference"): [signed_count(distance) for distance in distances],
        "%": [_share(distance, budget.amount) for distance in distances],
        "$H/L$": [fixed(one.shape) for one in designs],
    }
    cases = [question.case.replace(**one.fields) for one in designs]
    for quantity, name in names.items():
        found = [_value(quantity, case) for case in cases]
        unit = QUANTITIES[quantity].unit
        columns[name] = ["–" if value is None else unbroken(short(value, unit)) for value in found]
    return columns


@lru_cache(maxsize=4096)
def _value(quantity: str, case: Case) -> int | None:
    return QUANTITIES[quantity].known(case)


def _share(distance: int, amount: int) -> str:
    return unbroken(signed_percent(Fraction(distance, amount))) if amount else "–"


def show_space(question: BudgetQuestion, constraints: Constraints, result: Result) -> None:
    """Show how many models were searched, and typical values of the ratio H/L."""
    subject = question.case.subject
    searched = _(
        "{candidates} candidates ({architecture}, vocab_size {vocab_size}), from {smallest} to "
        "{largest}: these are the closest."
    ).format(
        candidates=f"{result.candidates:,}",
        architecture=subject.architecture,
        vocab_size=f"{constraints.vocabulary(subject.config.vocab_size):,}",
        smallest=question.said(result.smallest.value),
        largest=question.said(result.largest.value),
    )
    ratio = _(
        "H/L is 64 for bert-base, 42.7 for bert-large; within wide limits the loss depends little on it "
        "(Kaplan et al. 2020, arXiv:2001.08361)."
    )
    st.caption(in_a_row([searched, ratio]))


def show_chart(question: BudgetQuestion, result: Result, look: str) -> None:
    """Draw the width and depth of many models near the budget."""
    sides = (_("within the budget"), _("above it"))
    draw_chart(
        designs_frame(result.designs, question.budget, LISTED, sides, question.said),
        near_budget(look, sides),
        numbers={
            "hidden": "hidden_size",
            "layers": "num_hidden_layers",
            "heads": "num_attention_heads",
            "intermediate": "intermediate_size",
            "figure": title_of(QUANTITIES[question.budget.quantity]),
            "side": _("The budget"),
        },
        alt=_("Hidden size and layers of the models near the budget"),
    )
