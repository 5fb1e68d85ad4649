"""The Sweep page along one dimension: growth as a formula, in words and as a table."""

from bertcalc.charts.colors import COLORS, INK
from bertcalc.explore.growth_formulas import Growth, growth, local_exponent
from bertcalc.explore.quantities import QUANTITIES
from bertcalc.model.formula import LETTER_OF
from bertcalc.text import N_
from bertcalc.text.digits import figure as exactly
from bertcalc.text.digits import fixed, multiple
from pages.ui.shell.controls import Fold, label_of
from pages.ui.shell.i18n import _
from pages.ui.sweep.sweep_view import Swept
from pages.ui.widgets.formulas import aligned, colored_sum
from pages.ui.widgets.numbers import unbroken
from pages.ui.widgets.tables import show_rows

GROWTHS = Fold("growths", N_("Each quantity: formula and growth"))
_FUNCTIONS = {"parameters": "N", "FLOPs": "F", "bytes": "M"}
_ORDERS = {
    1: N_("Linear in {field}, {notation}"),
    2: N_("Quadratic in {field}, {notation}"),
}
FEW = 8  # points: with fewer a curve has corners


def growth_formula(swept: Swept, found: Growth, appearance: str) -> str:
    """LaTeX for the quantity in powers of the swept dimension, with letters for the rest, then with numbers."""
    colors = {found.order: COLORS[appearance]["encoder"]}  # the dominant term
    name = f"{_FUNCTIONS[swept.quantity.unit]}({LETTER_OF[found.field]})"
    lines = []
    for start, terms in ((f"{name} &= ", found.terms), ("&= ", found.numeric_terms(swept.sweep.case))):
        written = [(latex, colors.get(power, INK[appearance])) for power, latex in terms or ((0, "0"),)]
        lines += colored_sum(start, written)
    return aligned(lines)


def now_and_doubled(swept: Swept) -> dict[int, int]:
    """The figures of the present model and, if it is possible, of the one with the dimension doubled."""
    sweep = swept.sweep
    (field,) = sweep.dimensions
    now = sweep.present(field)
    values = [now, 2 * now] if sweep.has(field, 2 * now) else [now]
    return {value: swept.quantity.of(sweep.at(**{field: value})) for value in values}


def in_words(swept: Swept, found: Growth, figures: dict[int, int]) -> str:
    """The order of growth and the effect of doubling, in words."""
    (now, figure), *doubled = figures.items()
    sentences = [f"**{_order(swept, found)}**"]
    if doubled and figure:
        [(twice, more)] = doubled
        text = _("Doubled to {twice}: {figure} → {more}, **{times}**.")
        times = unbroken(f"× {multiple(more, figure)}")
        before = exactly(figure, swept.quantity.unit)
        written = {"figure": before, "more": swept.number(more), "times": times}
        sentences.append(text.format(twice=f"{twice:,}", **written))
    else:
        sentences.append(_("At {now}: {figure}.").format(now=f"{now:,}", figure=swept.number(figure)))
    return " ".join(sentences)  # bold type ends before a space


def _order(swept: Swept, found: Growth) -> str:
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
    power = fixed(exponent, 2, unlike=round(exponent))  # no whole number, unless it is one
    return text.format(order=said, value=f"{now:,}", power=f"${letter}^{{{power}}}$")


def _notation(letter: str, order: int) -> str:
    return f"O({letter}^{order})" if order > 1 else f"O({letter})" if order else "O(1)"


def show_each_quantity(swept: Swept) -> None:
    """Show the formula and the order of growth of every quantity on the chart."""
    (field,) = swept.sweep.dimensions
    found = {name: growth(name, swept.sweep) for name in swept.shown}
    rows = [
        (_(QUANTITIES[name].meaning), f"${_sum(one)}$", f"${_notation(LETTER_OF[field], one.order)}$")
        for name, one in found.items()
    ]
    show_rows((_("Quantity"), _("Formula"), _("Growth")), rows, _("How each quantity grows"))


def _sum(found: Growth) -> str:
    return " + ".join(latex for _power, latex in found.terms).replace("+ -", "- ") or "0"
