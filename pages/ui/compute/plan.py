"""What training takes: FLOPs, time, price."""

from fractions import Fraction
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.compute.devices import DEVICES, RUNS, Device, Precision, price, seconds
from bertcalc.compute.flops import Convention, tokens, total
from bertcalc.compute.formula import scientific, time_formula
from bertcalc.config import Problem, check_whole_number
from bertcalc.text import N_
from pages.ui.compute.controls import CHOICES, LIMITS, Count
from pages.ui.controls import choose, show_problem, whole_number
from pages.ui.i18n import translator
from pages.ui.labels import label_of, option_of
from pages.ui.numbers import metric_width, percentage, scaled
from pages.ui.tables import show_table


class Plan(NamedTuple):
    """A training run: FLOPs, and the devices that it runs on."""

    flops: Fraction
    device: Device
    precision: Precision
    devices: int
    utilisation: Fraction
    hourly: float

    @property
    def duration(self) -> Fraction:
        """Seconds."""
        found: Fraction = seconds(self.flops, self.device.peak[self.precision], self.utilisation, self.devices)
        return found

    @property
    def price(self) -> float:
        """In the money of the hourly price."""
        return price(self.duration, self.devices, self.hourly)


def choose_plan(count: Count) -> Plan:
    """Draw how much is trained and on what; where that is not possible the nearest that is."""
    found: list[Problem] = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        budget = _selected("budget", 95)
        amount = _number(budget, 150, found)
        name = _selected("device", 118)
        precision = _selected("format", 90)
        devices = _number("devices", 85, found)
        utilisation = _number("utilisation", 105, found)
        hourly = _decimal("price", 2.0, 95, found)
    device = DEVICES[name]
    if precision not in device.peak:
        nearest = next(iter(device.peak))
        found.append(
            Problem(
                "format",
                precision,
                N_("{device} does not support {precision} matrix products: {nearest} is available."),
                {
                    "device": option_of("device", name),
                    "precision": option_of("format", precision),
                    "nearest": option_of("format", nearest),
                },
                ({"format": nearest},),
            )
        )
        precision = nearest
    for problem in found:
        show_problem(problem)
    step = total(count.steps, count.convention._replace(unit="FLOPs"), "training")
    flops = Fraction(step * amount, 1 if budget == "steps" else tokens(count.steps))
    return Plan(flops, device, precision, devices, Fraction(utilisation, 100), hourly)


def _selected(field: str, width: int) -> Any:
    return choose(field, CHOICES[field], width=width)


def _number(field: str, width: int, found: list[Problem]) -> int:
    _ = translator()
    default, most = LIMITS[field]
    label = _("{label}, {unit}").format(label=label_of(field), unit="%") if field == "utilisation" else label_of(field)
    number = whole_number(label, field, default, width=width)
    if problem := check_whole_number(field, number, 1, most, default):
        found.append(problem)
        nearest: int = problem.remedies[0][field]
        return nearest
    return number


def _decimal(field: str, default: float, width: int, found: list[Problem]) -> float:
    _ = translator()
    number: float = st.number_input(
        _("{label}, {unit}").format(label=label_of(field), unit="USD/h"),
        value=default,
        step=0.1,
        format="%.2f",
        key=field,
        bind="query-params",
        width=width,
    )
    if 0 <= number <= _MOST_EXPENSIVE:
        return number
    message = N_("{field} {value} is not possible: it must be from 0 to {high}.")
    nearest = 0.0 if number < 0 else _MOST_EXPENSIVE
    values = {"field": field, "value": f"{number:g}", "high": f"{_MOST_EXPENSIVE:,.0f}"}
    found.append(Problem(field, number, message, values, ({field: nearest},)))
    return nearest


_MOST_EXPENSIVE = 1e6


def show_plan(plan: Plan) -> None:
    """What it takes: FLOPs, time, price; and the formula of the time with its numbers."""
    _ = translator()
    figures = {
        _("Training, FLOPs"): (scaled(plan.flops, "FLOPs"), f"{round(plan.flops):,}"),
        _("Time"): (duration(plan.duration), f"{round(plan.duration):,} s"),
        _("Price"): (
            f"{plan.price:,.2f} USD",
            f"{float(plan.duration * plan.devices / 3600):,.1f} h × {plan.hourly:g} USD",
        ),
    }
    with st.container(horizontal=True):
        for label, (figure, exact) in figures.items():
            width = metric_width(230, figure, exact)
            st.metric(label, figure, exact, delta_color="off", delta_arrow="off", width=width)
    peak = plan.device.peak[plan.precision]
    formula, numbers = time_formula(plan.flops, peak, plan.utilisation, plan.devices)
    st.latex(rf"t = {formula} = {numbers} = {scientific(plan.duration)}\ \text{{s}}")
    bandwidth = plan.device.bandwidth
    st.caption(
        _(
            "F: FLOPs, as stated above. n: devices. R: peak for dense matrix products, {peak}; memory"
            " bandwidth {bandwidth}. u: utilisation, the fraction of the peak that is reached. "
            "{source}."
        ).format(
            peak=scaled(peak, "FLOP/s"),
            bandwidth=scaled(bandwidth, "B/s") if bandwidth else _("not stated, because sources disagree"),
            source=plan.device.source,
        )
    )


def show_runs(plan: Plan, convention: Convention) -> None:
    """Pre-training runs as they were reported, beside what the formula gives for them."""
    _ = translator()
    st.markdown(_("**Published runs**"))
    said = _("{remark}. {source}")
    rows = [
        (
            run.name,
            f"{run.devices:,} × {option_of('device', run.device)}",
            scaled(run.flops(convention), "FLOPs"),
            duration(run.hours * 3600),
            duration(run.seconds(convention, plan.utilisation)),
            percentage(f"{100 * float(run.utilisation(convention)):.1f}"),
            said.format(remark=_(run.remark), source=run.source),
        )
        for run in RUNS
    ]
    columns = (
        _("Run"),
        _("Hardware"),
        _("By the formula"),
        _("Time reported"),
        _("Time at your utilisation"),
        _("Utilisation that matches"),
        _("Source"),
    )
    show_table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)), _("Published pre-training runs"))


def duration(time: Fraction) -> str:
    """Seconds as people say them: 4.0 d, 81.4 h, 76.2 min."""
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 96)):
        if time < most * size:
            return f"{float(time / size):,.1f} {unit}"
    return f"{float(time / 86400):,.1f} d"
