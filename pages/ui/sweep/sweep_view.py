"""The controls of the Sweep page: the quantity, the dimensions and their ranges."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import streamlit as st

from bertcalc.config import Problem, check_whole_number
from bertcalc.controls.stops import SLIDERS
from bertcalc.explore.live_quantity_formulas import same_ratio
from bertcalc.explore.quantities import QUANTITIES, Case, Quantity
from bertcalc.explore.sweep import SWEPT, Sweep, Ties, sweepable
from bertcalc.live.live_formulas import live_size
from bertcalc.model.batch import BATCH, Batch, batch_problems
from bertcalc.model.letters import LETTER_OF
from bertcalc.text import N_
from bertcalc.text.digits import latex_number, size
from pages.ui.session.present_model import linked
from pages.ui.shell import live
from pages.ui.shell.controls import Number, Select, Switch, set_values, show_problem, view
from pages.ui.shell.i18n import _
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.batch_controls import BATCH_SIZE, SEQUENCE_LENGTH, choose_batch
from pages.ui.widgets.numbers import counted
from pages.ui.widgets.quantity_words import QUANTITY_NAMES

X, Y = "hidden_size", "num_hidden_layers"  # the default dimensions
# The default range of each dimension covers common sizes of models.
RANGES: dict[str, tuple[int, int]] = {
    **{field: (low, high) for field, (low, high, _step) in SLIDERS.items()},
    "max_position_embeddings": (128, 2_048),
    "type_vocab_size": (1, 16),
    "relative_attention_num_buckets": (32, 256),
    "task_type_vocab_size": (1, 16),
    "position_buckets": (32, 512),
    "embedding_size": (32, 1_024),
    "num_labels": (2, 1_000),
    "batch_size": (1, 256),
    "sequence_length": (8, 512),
}
VIEW = view("sweep", {"one": N_("One size"), "map": N_("Contour map")})
MEASURE = Select("measure", N_("Quantity"), QUANTITIES, QUANTITY_NAMES, label_visibility="collapsed", width=172)
_SIZES = {control.name: control.label for control in (BATCH_SIZE, SEQUENCE_LENGTH)}


def _swept_of(link: Mapping[str, str]) -> list[str]:
    return sweepable(linked(link).model())


AXES = {
    "x": Select("x", N_("x axis"), SWEPT, _SIZES, default=X, available=_swept_of, width=240),
    "y": Select("y", N_("y axis"), SWEPT, _SIZES, default=Y, available=_swept_of, width=240),
}
ENDS = {
    "x": (Number("x_from", N_("x from"), None, width=86), Number("x_to", N_("x to"), None, width=86)),
    "y": (Number("y_from", N_("y from"), None, width=86), Number("y_to", N_("y to"), None, width=86)),
}
LOG = Switch("log", N_("log axes"))
TIES = {
    "num_attention_heads": Switch("tie_heads", "tie_heads", True, draw=st.checkbox),
    "intermediate_size": Switch("tie_intermediate", "tie_intermediate", True, draw=st.checkbox),
}
array = partial(np.array, dtype=np.int64)


class SweepChoice(NamedTuple):
    """The values of the controls: the sweep, the range of each dimension, the quantity, and the scale of the axes."""

    sweep: Sweep
    ranges: dict[str, tuple[int, int]]
    measure: str
    quantities: list[str]  # the quantities on the chart
    logs: bool

    @property
    def quantity(self) -> Quantity:
        return QUANTITIES[self.measure]

    def includes(self, place: Sequence[int]) -> bool:
        """Whether ``place``, a value for each dimension, is within the ranges."""
        return all(low <= value <= high for value, (low, high) in zip(place, self.ranges.values(), strict=True))

    def number(self, figure: int) -> str:
        """A figure with its unit. Bytes are abbreviated; other figures have all digits."""
        unit = self.quantity.unit
        return size(figure) if unit == "bytes" else counted(figure, unit)


def moving(field: str, present: int) -> int:
    """The current value of a dimension, which is live if the dimension has a slider."""
    return live_size(field, present) if field in SLIDERS else present


def choose(choice: Choice) -> SweepChoice:
    """Draw the controls and return their values, or the nearest valid values."""
    upper_row, lower_row = (
        st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall") for _row in range(2)
    )
    with upper_row:
        kind = VIEW.show()
        measure = MEASURE.show()
        # Parameters do not depend on the batch. For them, the batch controls are drawn only if an axis is one of the
        # batch sizes; otherwise the batch is (1, 1), which every model supports. The axes are drawn later, so their
        # values are read with ``value``.
        axes_now = {control.value(sweepable(choice.model)) for control in AXES.values()}
        idle = QUANTITIES[measure].unit == "parameters" and not axes_now & set(BATCH)
        case = Case(choice.model, Batch(1, 1) if idle else choose_batch(choice.config))
        live.note_sizes(case.batch.sizes())
    problems: list[Problem] = []
    with lower_row:
        axes = {axis: _draw_axis(axis, case) for axis in (("x", "y") if kind == "map" else ("x",))}
    # Two axes leave no room for the switch in their row.
    with upper_row if kind == "map" else lower_row:
        logs = LOG.show()
    dimensions = [field for field, _ends in axes.values()]
    if len(set(dimensions)) < len(dimensions):
        problems.append(_same(dimensions[0]))
        other = problems[-1].remedies[0]["y"]
        dimensions[1], axes["y"] = other, (other, _usual(other, Sweep(case, (other,)).present(other)))
    with upper_row:
        sweep = Sweep(case, tuple(dimensions), _choose_ties(Sweep(case, tuple(dimensions))))
    ranges = {
        field: _range(sweep, axis, field, ends, problems)
        for field, (axis, (_field, ends)) in zip(dimensions, axes.items(), strict=True)
    }
    swept = _countable(SweepChoice(sweep, ranges, measure, _charted(sweep, measure), logs), problems)
    for problem in problems:
        show_problem(problem)
    return swept


def _charted(sweep: Sweep, measure: str) -> list[str]:
    """The quantities on the chart: one quantity on a map; along one dimension, all quantities with the same unit."""
    if len(sweep.dimensions) > 1:
        return [measure]
    unit = QUANTITIES[measure].unit
    return [
        name
        for name, quantity in QUANTITIES.items()
        if name == measure or (quantity.unit == unit and quantity.known(sweep.case))
    ]


def _choose_ties(sweep: Sweep) -> Ties:
    helps = {
        "num_attention_heads": _("The size of a head is fixed, so the number of heads grows with hidden_size."),
        "intermediate_size": _("intermediate_size keeps its ratio to hidden_size, as in all published models."),
    }
    ties = {}
    for field, control in TIES.items():
        if field in sweep.following:
            with live.container_within((same_ratio(sweep.config, field),), width="content"):
                ties[field] = control.show(label=f"${LETTER_OF[field]} = {followed(sweep, field)}$", help=helps[field])
    return Ties(ties.get("num_attention_heads", True), ties.get("intermediate_size", True))


def followed(sweep: Sweep, field: str) -> str:
    """Return LaTeX for a size that follows the hidden size H, such as H/64 or 4H."""
    if field == "num_attention_heads":
        return f"H/{latex_number(sweep.config.attention_head_size)}"
    numerator, denominator = sweep.ratio.as_integer_ratio()
    below = f"/{latex_number(denominator)}" if denominator > 1 else ""
    return f"{'' if numerator == 1 else latex_number(numerator)}H{below}"


def _draw_axis(axis: str, case: Case) -> tuple[str, tuple[int, int]]:
    """Draw the controls of a dimension and its range; return both. An empty end means the default end."""
    names = [control.name for control in ENDS[axis]]
    # A change of the dimension clears both ends, so that the new dimension starts with its default range.
    field = AXES[axis].show(sweepable(case.model), on_change=set_values, args=(dict.fromkeys(names),))
    usual = _usual(field, Sweep(case, (field,)).present(field))
    numbers = [control.show(placeholder=f"{end:,}") for control, end in zip(ENDS[axis], usual, strict=True)]
    low, high = (end if number is None else number for number, end in zip(numbers, usual, strict=True))
    return field, (low, high)


def _usual(field: str, present: int) -> tuple[int, int]:
    """The default range of a dimension, widened to include ``present``, the value of the current model."""
    low, high = RANGES[field]
    while high < present:
        high *= 2
    return min(low, present), min(high, SWEPT[field][1])


def _same(field: str) -> Problem:
    message = N_("x and y are both {field}: a contour map needs two different sizes, such as {field} and {other}.")
    other = Y if field != Y else X
    return Problem("y", field, message, {"field": field, "other": other}, ({"y": other},))


def _range(sweep: Sweep, axis: str, field: str, ends: tuple[int, int], problems: list[Problem]) -> tuple[int, int]:
    """The chosen range of a dimension, or the nearest valid range; appends a problem if the chosen range is invalid."""
    least, most = sweep.limits(field)
    if least == most:
        ties = ({"tie_heads": False, "tie_intermediate": False},) if sweep.following else ()
        message = N_("{field} can only be {value} here: there is nothing to sweep.")
        problems.append(Problem(field, least, message, {"field": field, "value": f"{least:,}"}, ties))
        return least, most
    start, end = (min(max(bound, least), most) for bound in _usual(field, sweep.present(field)))
    names = (f"{axis}_from", f"{axis}_to")
    for name, default in zip(names, (start, end), strict=True):
        number = st.session_state[name]
        if number is not None and (problem := check_whole_number(name, number, least, most, default)):
            problems.append(_too_long(sweep, field, name, number) or problem)
    low, high = (min(max(bound, least), most) for bound in ends)
    if low < high and sweep.values(field, low, high)[0] >= low:
        return low, high
    values = {"field": field, "low_name": names[0], "low": f"{low:,}", "high_name": names[1], "high": f"{high:,}"}
    if low > high:
        message = N_("{low_name} {low} must be below {high_name} {high}.")
        problems.append(Problem(names[0], low, message, values, ({names[0]: high, names[1]: low},)))
        return high, low
    if problems and problems[-1].field in names:  # the cause is an invalid end, which has already been reported
        return start, end
    message = N_("There is no valid {field} between {low_name} {low} and {high_name} {high}: widen the range.")
    problems.append(Problem(names[0], low, message, values, ({names[0]: start, names[1]: end},)))
    return start, end


def _too_long(sweep: Sweep, field: str, name: str, number: int) -> Problem | None:
    """The problem if a range ends beyond the model's positions, with remedies that add positions; otherwise None."""
    if field != "sequence_length" or number <= sweep.config.longest:
        return None
    for problem in batch_problems(sweep.config, {"batch_size": 1, field: number}):
        if len(problem.remedies) > 1:
            remedies = (
                {name if key == field else key: value for key, value in fix.items()} for fix in problem.remedies
            )
            return problem._replace(remedies=tuple(remedies))
    return None


def _countable(swept: SweepChoice, problems: list[Problem]) -> SweepChoice:
    """The sweep with ranges whose figures fit into int64; appends a problem if this shortens a range."""
    sweep = swept.sweep
    ranges = sweep.fitting(swept.quantities, swept.ranges)
    if ranges == swept.ranges:
        return swept
    message = N_("{measure} reaches 2^63, the limit of this chart, before {field} is {value}: use {nearest}.")
    if ranges is None:
        batch = sweep.case.batch
        shorter = Batch(1, min(BATCH["sequence_length"], batch.sequence_length))
        values = {"measure": swept.quantity.meaning, "field": "batch_size", "value": f"{batch.batch_size:,}"}
        remedies = (shorter.sizes(),)
        problems.append(Problem("batch_size", batch.batch_size, message, {**values, "nearest": "1"}, remedies))
        return _countable(swept._replace(sweep=sweep._replace(case=sweep.case._replace(batch=shorter))), problems)
    for axis, (field, (_low, high)) in zip(("x", "y"), ranges.items(), strict=False):
        wanted = swept.ranges[field][1]
        if high < wanted:
            values = {"measure": swept.quantity.meaning, "field": field, "value": f"{wanted:,}", "nearest": f"{high:,}"}
            problems.append(Problem(f"{axis}_to", wanted, message, values, ({f"{axis}_to": high},)))
    return swept._replace(ranges=ranges)
