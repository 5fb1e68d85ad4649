"""The Sweep page along one dimension: growth as a formula, in words, and as a table."""

import streamlit as st

from bertcalc.charts.colors import COLORS, INK
from bertcalc.explore.growth_formulas import Growth, growth, local_exponent
from bertcalc.explore.live_quantity_formulas import live_doubled, live_quantity
from bertcalc.explore.quantities import QUANTITIES
from bertcalc.model.formula_latex import colored_sum, equation
from bertcalc.model.letters import LETTER_OF
from bertcalc.text import N_
from bertcalc.text.digits import figure as exactly
from bertcalc.text.digits import fixed
from bertcalc.text.live_numbers import fill, grouped
from pages.ui.shell import live
from pages.ui.shell.controls import Fold, label_of
from pages.ui.shell.i18n import _
from pages.ui.sweep.sweep_view import SweepChoice, moving
from pages.ui.widgets.numbers import times, unbroken
from pages.ui.widgets.tables import show_rows

GROWTHS = Fold("growths", N_("Each quantity: formula and growth"))
_FUNCTIONS = {"parameters": "N", "FLOPs": "F", "bytes": "M"}
_ORDERS = {1: N_("Linear in {field}, {notation}"), 2: N_("Quadratic in {field}, {notation}")}
FEW = 8  # a curve with fewer points has visible corners


def growth_formula(swept: SweepChoice, trend: Growth, appearance: str) -> str:
    """Return LaTeX for the quantity in powers of the swept dimension, with symbolic and then numeric coefficients."""
    colors = {trend.order: COLORS[appearance]["encoder"]}  # only the dominant term is colored
    name = f"{_FUNCTIONS[swept.quantity.unit]}({LETTER_OF[trend.field]})"
    sides = []
    for terms in (trend.terms, trend.numeric_terms(swept.sweep.case)):
        written = [(latex, colors.get(power, INK[appearance])) for power, latex in terms or ((0, "0"),)]
        sides.append(colored_sum(written))
    return equation(name, sides)


def present_and_doubled(swept: SweepChoice) -> dict[int, int]:
    """The live figures of the current model, and of the model with the dimension doubled.

    They are keyed by the value of the dimension. The second figure is missing if the doubled value is not possible.
    """
    sweep = swept.sweep
    (field,) = sweep.dimensions
    present = sweep.present(field)
    figures = {present: live_quantity(swept.measure, sweep.case)}
    return figures | ({2 * present: live_doubled(swept.measure, sweep)} if sweep.has(field, 2 * present) else {})


def show_in_words(swept: SweepChoice, trend: Growth, figures: dict[int, int]) -> None:
    """Show the order of growth, and the effect of doubling the dimension."""
    (present, figure), *doubled = figures.items()
    with st.container(horizontal=True, gap="xxsmall", key="growth"):  # window.css keeps each sentence on one line
        # The order is not live, because its exponent belongs to the current model.
        with live.older("order"):
            st.markdown(f"**{_order(swept, trend)}**", width="content")
        moving_size = moving(trend.field, present)
        if doubled and figure:
            [(_twice, grown)] = doubled
            text = _("Doubled to {twice}: {figure} → {more}, **{times}**.")
            before = exactly(figure, swept.quantity.unit)
            written = {"figure": before, "more": swept.number(grown), "times": unbroken(times(grown, figure))}
            live.markdown(fill(text, twice=grouped(2 * moving_size), **written), width="content")
        else:
            text = _("At {now}: {figure}.")
            live.markdown(fill(text, now=grouped(moving_size), figure=swept.number(figure)), width="content")


def show_range(trend: Growth) -> None:
    """Show for which values the formula is valid; show nothing if it is valid for all values."""
    if trend.start:
        text = _("The formula holds for {field} ≥ {start}.")
        st.caption(text.format(field=label_of(trend.field), start=f"{trend.start:,}"))
    if trend.step > 1:
        text = _("The formula holds in steps of {step} layers, because local and global attention alternate.")
        st.caption(text.format(step=trend.step))


def _order(swept: SweepChoice, trend: Growth) -> str:
    field, letter, present = trend.field, LETTER_OF[trend.field], swept.sweep.present(trend.field)
    if trend.order == 0:
        falls = any(power < 0 for power in trend.powers)
        text = _("Falls as {field} grows.") if falls else _("Does not depend on {field}, $O(1)$.")
        return text.format(field=label_of(field))
    order = _(_ORDERS[trend.order]).format(field=label_of(field), notation=f"${_notation(letter, trend.order)}$")
    exponent = local_exponent(trend.coefficients(swept.sweep.case), max(present, trend.start))
    if exponent == trend.order:
        return f"{order}."
    text = _("{order}; near {value}, like {power}.")
    power = fixed(exponent, 2, unlike=round(exponent))  # an exponent of 1.999 must not be shown as 2.00
    return text.format(order=order, value=f"{present:,}", power=f"${letter}^{{{power}}}$")


def _notation(letter: str, order: int) -> str:
    return f"O({letter}^{order})" if order > 1 else f"O({letter})" if order else "O(1)"


def show_each_quantity(swept: SweepChoice) -> None:
    """Show the formula and the order of growth for every quantity on the chart."""
    (field,) = swept.sweep.dimensions
    trends = {name: growth(name, swept.sweep) for name in swept.quantities}
    rows = [
        (_(QUANTITIES[name].meaning), f"${_sum(trend)}$", f"${_notation(LETTER_OF[field], trend.order)}$")
        for name, trend in trends.items()
    ]
    show_rows((_("Quantity"), _("Formula"), _("Growth")), rows, _("How each quantity grows"))


def _sum(trend: Growth) -> str:
    return " + ".join(latex for _power, latex in trend.terms).replace("+ -", "- ") or "0"
