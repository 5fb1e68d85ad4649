"""One dimension on the Sweep page: formula, growth in words, curves, and all of them in a table."""

import streamlit as st

from bertcalc.explore.formula import Growth, growth, local_exponent
from bertcalc.explore.quantities import QUANTITIES
from bertcalc.text import N_
from pages.ui.charts import short
from pages.ui.controls import Fold, label_of
from pages.ui.formulas import aligned, colored_sum
from pages.ui.i18n import translator
from pages.ui.numbers import size, unbroken
from pages.ui.present import lower, presenting
from pages.ui.sweep.sweep_charts import Curve, Mark, curves, curves_frame
from pages.ui.sweep.swept import LETTER_OF, Swept, array
from pages.ui.tables import show_table
from pages.ui.take.shown import draw_chart
from pages.ui.theme import COLORS, INK

GROWTHS = Fold("growths", N_("Each quantity: formula and growth"))
_FUNCTIONS = {"parameters": "N", "FLOPs": "F", "bytes": "M"}
_ORDERS = {
    1: N_("Linear in {field}, {notation}"),
    2: N_("Quadratic in {field}, {notation}"),
}
_NO_FORMULA = "inference_memory"
_FEW = 8  # points, with which a curve has corners


def show_growth(swept: Swept, appearance: str) -> None:
    """Draw all of it."""
    _ = translator()
    sweep, unit = swept.sweep, swept.quantity.unit
    (field,) = sweep.dimensions
    letter, now = LETTER_OF[field], sweep.present(field)
    found = None if swept.measure == _NO_FORMULA else growth(swept.measure, sweep)
    if found is None:
        st.caption(_("Inference memory has no formula: it is the largest of several moments."))
    else:
        st.latex(_formula(swept, found, appearance))
    figures = _now_and_doubled(swept)
    st.markdown(_in_words(swept, found, figures))
    values = sweep.values(field, *swept.ranges[field])
    rows = [Curve(name, _(QUANTITIES[name].meaning), sweep.row(name, values, array)) for name in swept.shown]
    marks = [
        Mark(at, figure, f"{letter} = {at:,}: {short(figure, unit)}")
        for at, figure in figures.items()
        if values[0] <= at <= values[-1]
    ]
    draw_chart(
        curves_frame(values, rows, swept.measure, marks, appearance, logs=swept.logs),
        lower(curves(appearance, f"{label_of(field)} {letter}", unit, logs=swept.logs), 220),
        numbers={"x": label_of(field), "name": _("Quantity"), "y": _("Number")},
        alt=_("{measure} against {field}, with the current model at {field} = {value} marked").format(
            measure=_(swept.quantity.meaning), field=label_of(field), value=f"{now:,}"
        ),
    )
    if sweep.following and len(values) < _FEW:
        st.caption(
            _(
                "Only multiples of {unit} are possible here, because the sizes that follow must be whole numbers."
            ).format(unit=f"{sweep.unit(field):,}")
        )
    if presenting():
        return
    if all_of_them := GROWTHS.unfolded():
        with all_of_them:
            _show_all(swept)


def _formula(swept: Swept, found: Growth, appearance: str) -> str:
    """LaTeX: the quantity in powers of what is swept, with letters for the rest, then with numbers."""
    colors = {found.order: COLORS[appearance]["encoder"]}  # what wins in the end
    name = f"{_FUNCTIONS[swept.quantity.unit]}({LETTER_OF[found.field]})"
    lines = []
    for start, terms in ((f"{name} &= ", found.terms), ("&= ", found.numeric_terms(swept.sweep.case))):
        written = [(latex, colors.get(power, INK[appearance])) for power, latex in terms or ((0, "0"),)]
        lines += colored_sum(start, written)
    return aligned(lines)


def _now_and_doubled(swept: Swept) -> dict[int, int]:
    """The figure of the present model, and the one with twice as much where there is such a model."""
    sweep = swept.sweep
    (field,) = sweep.dimensions
    now = sweep.present(field)
    values = [now, 2 * now] if sweep.has(field, 2 * now) else [now]
    return {value: swept.quantity.of(sweep.at(**{field: value})) for value in values}


def _in_words(swept: Swept, found: Growth | None, figures: dict[int, int]) -> str:
    """How it grows, and what doubling does."""
    _ = translator()
    (now, figure), *doubled = figures.items()
    sentences = [f"**{_order(swept, found)}**"] if found else []
    if doubled and figure:
        [(twice, more)] = doubled
        text = _("Doubled to {twice}: {figure} → {more}, **{times}**.")
        times = unbroken(f"× {more / figure:.2f}")
        before = size(figure) if swept.quantity.unit == "bytes" else f"{figure:,}"
        written = {"figure": before, "more": swept.number(more), "times": times}
        sentences.append(text.format(twice=f"{twice:,}", **written))
    else:
        sentences.append(_("At {now}: {figure}.").format(now=f"{now:,}", figure=swept.number(figure)))
    return " ".join(sentences)  # bold type ends before a space


def _order(swept: Swept, found: Growth) -> str:
    _ = translator()
    field, letter, now = found.field, LETTER_OF[found.field], swept.sweep.present(found.field)
    if found.order == 0:
        falls = any(power < 0 for power in found.powers)
        text = _("Falls as {field} grows.") if falls else _("Does not depend on {field}, $O(1)$.")
        return text.format(field=label_of(field))
    said = _(_ORDERS[found.order]).format(field=label_of(field), notation=f"${_notation(letter, found.order)}$")
    exponent = local_exponent(found.coefficients(swept.sweep.case), now)
    if exponent == found.order:
        return f"{said}."
    text = _("{order}; near {value} like {power}.")
    return text.format(order=said, value=f"{now:,}", power=f"${letter}^{{{float(exponent):.2f}}}$")


def _notation(letter: str, order: int) -> str:
    return f"O({letter}^{order})" if order > 1 else f"O({letter})" if order else "O(1)"


def _show_all(swept: Swept) -> None:
    """Every quantity on the chart: its formula and its order of growth."""
    _ = translator()
    (field,) = swept.sweep.dimensions
    found = {name: growth(name, swept.sweep) for name in swept.shown if name != _NO_FORMULA}
    show_table(
        {
            _("Quantity"): [_(QUANTITIES[name].meaning) for name in found],
            _("Formula"): [f"${_sum(one)}$" for one in found.values()],
            _("Growth"): [f"${_notation(LETTER_OF[field], one.order)}$" for one in found.values()],
        },
        _("How each quantity grows"),
    )


def _sum(found: Growth) -> str:
    return " + ".join(latex for _power, latex in found.terms).replace("+ -", "- ") or "0"
