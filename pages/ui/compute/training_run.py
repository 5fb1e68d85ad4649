"""The view Training time of the Compute page: FLOPs, time and price of a training run."""

from fractions import Fraction
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.compute.chips import DEVICES, PRECISIONS, RUNS, Chip, Precision, seconds
from bertcalc.compute.flop_formulas import time_formula
from bertcalc.compute.flops import Convention
from bertcalc.config import Problem
from bertcalc.text import N_
from bertcalc.text.digits import brief, duration, fixed, on_paper, scaled
from bertcalc.text.live_choices import nearest, quotient
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.compute.count import Count
from pages.ui.shell import live
from pages.ui.shell.controls import Decimal, Number, Select, show_problem
from pages.ui.shell.i18n import _
from pages.ui.widgets.batch_controls import linked_batch, present_batch
from pages.ui.widgets.metrics import metric_row, show_metric
from pages.ui.widgets.numbers import percentage
from pages.ui.widgets.tables import show_rows

_UNITS = {"steps": N_("Steps"), "sequences": N_("Sequences"), "tokens": N_("Tokens")}
BUDGET = Select[str]("budget", N_("Budget unit"), words=_UNITS, width=115)
DEVICE = Select(
    "device",
    N_("Device"),
    DEVICES,
    {"RTX-4090": "RTX 4090", "TPU-v2": "TPU v2", "TPU-v3": "TPU v3", "TPU-v4": "TPU v4"},
    width=118,
)
PRECISION = Select(
    "format", N_("Precision"), PRECISIONS, {"16bit": N_("16-bit"), "tf32": "TF32", "fp32": "FP32"}, width=90
)
# The amount of training, summed over all epochs.
AMOUNTS = {
    "steps": Number("steps", N_("Steps"), 10**6, width=150),
    "sequences": Number("sequences", N_("Sequences"), 10**6, width=150),
    "tokens": Number("tokens", N_("Tokens"), 10**10, width=180),
}
DEVICE_COUNT = Number("devices", N_("Devices"), 8, width=85)
UTILISATION = Number("utilisation", N_("Utilization"), 40, width=105)
PRICE = Decimal("price", N_("Price"), 2.0, step=0.1, width=90)
_MOST = {"steps": 10**12, "sequences": 10**15 - 1, "tokens": 10**15 - 1, "devices": 10**6, "utilisation": 100}
_MOST_EXPENSIVE = 1e6


class TrainingRun(NamedTuple):
    """A training run: FLOPs, device and precision, number of devices, utilization (0 to 1), and USD per device-hour."""

    flops: Fraction
    device: Chip
    precision: Precision
    devices: int
    utilisation: Fraction
    hourly: float

    @property
    def duration(self) -> Fraction:
        """The time of the run in seconds."""
        time: Fraction = seconds(self.flops, self.device.peak[self.precision], self.utilisation, self.devices)
        return time

    @property
    def device_hours(self) -> Fraction:
        return self.duration * self.devices / 3600

    @property
    def price(self) -> Fraction:
        """The price of the run in USD."""
        return self.device_hours * Fraction(self.hourly)


def choose_plan(count: Count) -> TrainingRun:
    """Draw the controls of a training run; return the run with their values, or with the nearest valid values."""
    problems: list[Problem] = []
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        budget = BUDGET.show()
        amount = _number(AMOUNTS[budget], problems)
        name = DEVICE.show()
        precision = PRECISION.show()
        devices = _number(DEVICE_COUNT, problems)
        utilisation = _number(UTILISATION, problems, label=_in_unit(UTILISATION.title, "%"))
        hourly = _hourly(problems)
    device = DEVICES[name]
    if precision not in device.peak:
        nearest = next(iter(device.peak))
        message = N_("{device} does not support {precision} matrix products: use {nearest}.")
        words = {"precision": PRECISION.word(precision), "nearest": PRECISION.word(nearest)}
        remedy = {PRECISION.name: nearest}
        problems.append(Problem(PRECISION.name, precision, message, {"device": DEVICE.word(name), **words}, (remedy,)))
        precision = nearest
    for problem in problems:
        show_problem(problem)
    step = count._replace(convention=count.convention._replace(unit="FLOPs")).total("training")
    in_a_step = {"steps": 1, "sequences": count.call.batch_size, "tokens": count.tokens}[budget]
    flops = quotient(step * amount, in_a_step)
    return TrainingRun(flops, device, precision, devices, Fraction(utilisation, 100), hourly)


def say_batch(count: Count) -> None:
    """If the batch of the training run differs from the batch of the other views, explain why."""
    call, other = count.call, present_batch(count.choice.config, linked_batch().sizes())
    if call.batch.shape != other.shape:
        message = _(
            "A training run has its own batch ({trained}), by default the batch of BERT's pre-training. The other "
            "views of this page use {other}."
        )
        trained = f"{call.batch_size:,} × {call.sequence_length:,}"
        st.caption(message.format(trained=trained, other=f"{other.batch_size:,} × {other.sequence_length:,}"))


def _in_unit(label: str, unit: str) -> str:
    return _("{label}, {unit}").format(label=label, unit=unit)


def _number(control: Number[int], problems: list[Problem], **look: Any) -> int:
    return control.show_within(1, _MOST[control.name], problems.append, **look)


def _hourly(problems: list[Problem]) -> float:
    number = PRICE.show(label=_in_unit(PRICE.title, "USD/h"))
    if 0 <= number <= _MOST_EXPENSIVE:
        return number
    message = N_("{field} {value} is invalid: it must be from 0 to {high}.")
    nearest = 0.0 if number < 0 else _MOST_EXPENSIVE
    values = {"field": PRICE.name, "value": brief(number), "high": brief(_MOST_EXPENSIVE)}
    problems.append(Problem(PRICE.name, number, message, values, ({PRICE.name: nearest},)))
    return nearest


def show_plan(plan: TrainingRun) -> None:
    """Show the FLOPs, the time and the price of a training run, and the formula of the time."""
    hours = fill("{hours} h × {hourly} USD", hours=fixed(plan.device_hours, 3), hourly=brief(plan.hourly))
    figures = {
        _("Training, FLOPs"): (scaled(plan.flops, "FLOPs"), grouped(nearest(plan.flops))),
        _("Time"): (duration(plan.duration), fill("{seconds} s", seconds=fixed(plan.duration, 0))),
        _("Price"): (fill("{price} USD", price=fixed(plan.price, 2)), hours),
    }
    with metric_row():
        for label, (figure, exact) in figures.items():
            show_metric(label, figure, exact, least=230)
    peak = plan.device.peak[plan.precision]
    formula, numbers = time_formula(plan.flops, peak, plan.utilisation, plan.devices)
    written = {"formula": formula, "numbers": numbers, "seconds": on_paper(plan.duration)}
    live.markdown(fill(r"$\displaystyle t = {formula}$ ≈ {numbers} ≈ {seconds} s", **written))
    message = _(
        "F: FLOPs, as stated above. n: devices. R: peak for dense matrix products, {peak}; memory"
        " bandwidth {bandwidth}. u: utilization, the fraction of the peak that is reached. "
        "{source}."
    )
    rate = plan.device.bandwidth
    bandwidth = scaled(rate, "B/s") if rate else _("not stated, because sources disagree")
    st.caption(message.format(peak=scaled(peak, "FLOP/s"), bandwidth=bandwidth, source=plan.device.source))


def show_runs(plan: TrainingRun, convention: Convention) -> None:
    """Show published pre-training runs with their reported times and the times that the formula gives."""
    message = _("{remark}. {source}")
    rows = [
        (
            run.name,
            f"{run.devices:,} × {DEVICE.word(run.device)}",
            scaled(run.flops(convention), "FLOPs"),
            duration(run.hours * 3600),
            duration(run.seconds(convention, plan.utilisation)),
            percentage(fixed(100 * run.utilisation(convention))),
            message.format(remark=_(run.remark), source=run.source),
        )
        for run in RUNS
    ]
    times = (_("Time reported"), _("Time at your utilization"), _("Implied utilization"))
    titles = (_("Run"), _("Hardware"), _("By the formula"), *times, _("Source"))
    show_rows(titles, rows, _("Published pre-training runs"))
    st.caption(
        _(
            "“By the formula” includes both pre-training heads and uses 128 tokens in 90 % of the sequences and 512 "
            "in the other 10 %, as in the paper. The result is therefore lower than with 512 tokens in all steps."
        )
    )
