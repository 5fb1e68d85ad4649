"""The Design page: controls for a budget and constraints, and the nearest models as a table and a chart."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import floor
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.charts.nearest_chart import designs_frame, near_budget
from bertcalc.config import Config, Problem
from bertcalc.explore.design import FILE, HEAD_SIZES, MULTIPLES, RATIOS, Budget, Constraints, Design, Result, search
from bertcalc.explore.quantities import EVERY_QUANTITY, QUANTITIES, Case
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.usual_formats import USUAL_FORMATS
from bertcalc.text import N_
from bertcalc.text.amounts import LONGEST, Typed, typed
from bertcalc.text.digits import fixed, signed_count
from bertcalc.text.problem import InputError
from pages.ui.shell.controls import Fold, Number, Reason, Select, Switch, Text, show_problem
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.export.shown import draw_chart
from pages.ui.widgets.numbers import counted, short, signed_percent, unbroken
from pages.ui.widgets.quantity_words import reason, title_of

# Maps each kind of budget to its quantity.
KINDS = {"parameters": "parameters", "FLOPs": "forward", "memory": "training_memory", "file": FILE}
# The number of designs in the table in projector view, in the table otherwise, and in the chart.
FEW, LISTED, DRAWN = 5, 8, 60


def _read(name: str, text: str) -> Typed:
    return typed(text, EVERY_QUANTITY[KINDS[name]].unit)


def _check(name: str, text: str) -> Reason | None:
    try:
        _read(name, text)
    except InputError:
        message = N_("{name}={text} in the link is invalid: it must be an amount, such as {example}.")
        return message, {"example": TARGETS[name].default}
    return None


_START = Constraints()
BUDGET_OF = Select(
    "budget_of",
    N_("Budget for"),
    KINDS,
    {"parameters": N_("Parameters"), "FLOPs": "FLOPs", "memory": N_("Memory"), "file": N_("File")},
    row=True,
)
# ONNX's int8 formats differ only in the exporter and have the same title, so only the first is an option.
_FORMATS = {name: format.title for name, format in USUAL_FORMATS.items() if not name.startswith("onnx-int8-")}
FORMAT = Select("file_format", N_("Format"), ("float32", *_FORMATS), _FORMATS, default="int8", width=220)
# Each kind of budget has its own field, so that it keeps its amount when the reader switches between kinds.
TARGETS = {
    name: Text(f"target_{name}", N_("Budget"), default, LONGEST, check=partial(_check, name), width=110)
    for name, default in {"parameters": "30M", "FLOPs": "5 GFLOPs", "memory": "16 GB", "file": "100 MB"}.items()
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
AT_MOST = Switch("at_most", N_("At most"), draw=st.checkbox)
PAD_VOCAB = Switch("pad_vocab", N_("Pad vocabulary"), draw=st.checkbox)
NEARBY = Fold("nearby", N_("Chart: width and depth of the nearest models"))

_NAMES = {
    "parameters": N_("Parameters"),
    "forward": N_("Forward"),
    "training_memory": N_("Training memory"),
    FILE: N_("File"),
}


class BudgetQuestion(NamedTuple):
    """A budget, the model and batch from which the search starts, and the control with the budget's amount."""

    case: Case
    budget: Budget
    field: str  # the name of the control with the amount

    def written(self, value: int) -> str:
        """A value with all digits and the unit of the budget."""
        return counted(value, self.budget.kind.unit)


def amount_of(name: str, text: str) -> int:
    """The typed amount for the kind of budget ``name``, rounded down to whole units.

    If the text is invalid, show the problem and return the last valid amount.
    """
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


def choose_limit(kind: str) -> bool:
    """Draw the choice between a target and an upper limit; return True if the reader has chosen a limit.

    A budget in bytes is always a limit, so there is no choice and the result is False.
    """
    if EVERY_QUANTITY[KINDS[kind]].unit == "bytes":
        return False
    return AT_MOST.show(
        help=_("If on, only models within the budget are listed; if off, the nearest models, above or below it.")
    )


def choose_format(kind: str) -> QuantizationFormat | None:
    """Draw the choice of a file format if the budget is for a file.

    Return the format; None means float32 in safetensors, or a budget that is not for a file.
    """
    if KINDS[kind] != FILE:
        return None
    message = _(
        "The size of the file that the library writes, with scales and zero points; a GGUF file is counted "
        "without the vocabulary."
    )
    return USUAL_FORMATS.get(FORMAT.show(help=message))


def choose_constraints() -> Constraints:
    """Draw the constraints and return them; show invalid constraints as problems and return the nearest valid ones."""
    any_ratio = _("intermediate_size / hidden_size, 4 in published BERTs; “Any” allows {ratios}.")
    multiples = _(
        "hidden_size and intermediate_size are multiples of this value; intermediate_size is rounded up. NVIDIA's "
        "guide to matrix multiplication: 16-bit products are most efficient with multiples of 64 on an A100 and with "
        "multiples of 8 on earlier GPUs."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        head_size = HEAD_SIZE.show(help=_("hidden_size / num_attention_heads, 64 in most published BERTs"))
        ratio = RATIO.show(help=any_ratio.format(ratios=listed(map(str, RATIOS["any"]))))
        multiple = MULTIPLE_OF.show(help=multiples)
        limits: dict[str, Any] = {control.name: control.show() for control in LIMITS}
        padded = PAD_VOCAB.show(help=_("Also round vocab_size up to a multiple of this value."))
    constraints = Constraints(int(head_size), RATIOS[ratio], int(multiple), pad_vocabulary=padded, **limits)
    for problem in constraints.problems():
        show_problem(problem)
    return constraints.nearest()


# The search does not depend on these fields of the model. With fixed values, models that differ only in these fields
# share the cached result.
_SEARCHED = {
    field: getattr(PRESETS[DEFAULT_PRESET].config, field)
    for field in ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size")
}


def answer(question: BudgetQuestion, constraints: Constraints) -> Result:
    """Search for the designs nearest to the budget; the result is cached."""
    return _cached_search(question.case.replace(**_SEARCHED), question.budget, constraints)


@lru_cache(maxsize=256)
def _cached_search(case: Case, budget: Budget, constraints: Constraints) -> Result:
    return search(case, budget, constraints, DRAWN)


def unknown(question: BudgetQuestion) -> list[str]:
    """The reasons, without duplicates, why some columns of the table cannot be computed for these models."""
    return list(filter(None, dict.fromkeys(reason(name, question.case) for name in _NAMES if name in QUANTITIES)))


def impossible(question: BudgetQuestion, result: Result) -> Problem:
    """The problem with a budget that no model within the constraints meets; the remedy is the nearest amount."""
    amount, ends = question.budget.amount, (result.smallest, result.largest)
    nearest = result.smallest if amount < result.smallest.value else result.largest
    message = N_(
        "No model within these constraints has {amount}: the smallest has {smallest} ({narrow}), "
        "the largest {largest} ({wide})."
    )
    if question.budget.is_limit:
        message = N_("No model within these constraints fits into {amount}: the smallest takes {smallest} ({narrow}).")
    smallest, largest = (question.written(design.value) for design in ends)
    narrow, wide = (f"H = {design.hidden_size:,}, L = {design.num_hidden_layers:,}" for design in ends)
    values = {
        "amount": question.written(amount),
        "smallest": smallest,
        "narrow": narrow,
        "largest": largest,
        "wide": wide,
    }
    return Problem(question.field, amount, message, values, ({question.field: f"{nearest.value:,}"},))


def columns(question: BudgetQuestion, designs: Sequence[Design], config: Config) -> dict[str, list[str]]:
    """The columns of a table with a row for each design: its sizes, its figures, and its distance to the budget.

    A tick marks the current model.
    """
    budget = question.budget
    names = {quantity: _(name) for quantity, name in _NAMES.items() if quantity in (*QUANTITIES, budget.quantity)}
    distances = [design.value - budget.amount for design in designs]
    cells = {
        "": [
            f"**{rank} ✓**" if design.fields.items() <= config.shared().items() else f"{rank}"
            for rank, design in enumerate(designs, 1)
        ],
        "$H$": [f"{design.hidden_size:,}" for design in designs],
        "$L$": [f"{design.num_hidden_layers:,}" for design in designs],
        "$A$": [f"{design.num_attention_heads:,}" for design in designs],
        "$I$": [f"{design.intermediate_size:,}" for design in designs],
        "$H/L$": [fixed(design.shape) for design in designs],
    }
    title = names.pop(budget.quantity)
    cases = [question.case.replace(**design.fields) for design in designs]
    for quantity, name in names.items():
        values = [_value(quantity, case) for case in cases]
        unit = QUANTITIES[quantity].unit
        cells[name] = ["–" if value is None else unbroken(short(value, unit)) for value in values]
    return {
        **cells,
        "%": [_share(distance, budget.amount) for distance in distances],
        _("Difference"): [signed_count(distance) for distance in distances],
        title: [f"**{design.value:,}**" for design in designs],  # last, because a phone keeps the last column in view
    }


@lru_cache(maxsize=4096)
def _value(quantity: str, case: Case) -> int | None:
    return QUANTITIES[quantity].known(case)


def _share(distance: int, amount: int) -> str:
    return unbroken(signed_percent(Fraction(distance, amount))) if amount else "–"


def show_chart(question: BudgetQuestion, result: Result, look: str) -> None:
    """Draw the width and depth of the models near the budget; ``look`` is "light" or "dark"."""
    sides = (_("within the budget"), _("above the budget"))
    draw_chart(
        designs_frame(result.designs, question.budget, LISTED, sides, question.written),
        near_budget(look, sides),
        numbers={
            "hidden": "hidden_size",
            "layers": "num_hidden_layers",
            "heads": "num_attention_heads",
            "intermediate": "intermediate_size",
            "figure": title_of(question.budget.kind),
            "side": _("The budget"),
        },
        alt=_("Hidden size and layers of the models near the budget"),
    )
