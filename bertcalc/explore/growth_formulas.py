"""Growth formulas: each quantity as a sum of powers of the swept dimension, from the model built with symbols.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.model import Model
>>> case = Case(Model(BertConfig()))
>>> growth("parameters", Sweep(case, ("num_hidden_layers",))).powers[1].latex()
'4 H^{2} + 2 H I + 9 H + I'
>>> growth("encoder", Sweep(case, ("hidden_size",))).powers[2].latex()
'12 L'
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import sympy

from bertcalc.compute.flop_formulas import value
from bertcalc.explore.quantities import PEAKS, QUANTITIES, Case
from bertcalc.explore.sweep import LAID_OUT, Sweep
from bertcalc.memory.peak.peak_formulas import layers_with_a_letter, peak_bytes, peak_expression
from bertcalc.memory.plan import Inference, Plan
from bertcalc.model.batch import BATCH, Batch
from bertcalc.model.formula import ALL_SYMBOLS, SYMBOLS, Formula, exact, in_whole_periods, window_in_letters, write
from bertcalc.model.totals import summed
from bertcalc.text.digits import latex_fraction

_COUNT = sympy.Symbol("k", integer=True, positive=True)
_MANY = 8  # more terms than this in parentheses would be wider than the page


class Growth(NamedTuple):
    """A quantity as a sum of powers of the swept letter, the highest first; relative positions add negative powers."""

    field: str
    powers: Mapping[int, Formula]  # the coefficient of each power, in the other letters
    terms: tuple[tuple[int, str], ...]  # the power and the LaTeX of each term
    start: int = 0  # the smallest value for which the formula holds, if the present value is smaller
    step: int = 1  # the formula holds for values that differ from the present value by multiples of this

    @property
    def order(self) -> int:
        """The highest power: the asymptotic growth."""
        return max(self.powers, default=0)

    def coefficients(self, case: Case) -> dict[int, Fraction]:
        """Return the coefficients as numbers, for the sizes of a model."""
        sizes = case.batch.sizes()
        return {power: value(coefficient, case.model.config, **sizes) for power, coefficient in self.powers.items()}

    def figure(self, case: Case, place: int) -> Fraction:
        """Return the quantity at the value ``place`` of the dimension; all other sizes are as in ``case``."""
        powers = self.coefficients(case).items()
        return sum((coefficient * Fraction(place) ** power for power, coefficient in powers), Fraction())

    def numeric_terms(self, case: Case) -> tuple[tuple[int, str], ...]:
        """Return the (power, LaTeX) pair of each term, with numbers for all letters except the swept letter."""
        coefficients = self.coefficients(case).items()
        return tuple(
            (power, _term(latex_fraction(coefficient), self.field, power)) for power, coefficient in coefficients
        )


def growth(name: str, sweep: Sweep) -> Growth:
    """Return the growth of a quantity along the single dimension of a sweep, including the sizes that follow it.

    With relative positions, the formula holds from 2 on if the batch, the heads or the sequence length are swept.
    Unlike ``Sweep.row``, it does not hold at the single width at which ELECTRA has no projection (``Config.breaks``).

    For memory, the formula describes the point in time at which the present model peaks, and holds as long as the peak
    stays there. A model with few layers, or with a single head, sequence or token, can need less memory than its
    formula says: ``start`` is the first value for which the formula holds. With local attention, if the layers differ
    in memory, it holds for whole periods of layers (``step``).
    """
    (field,) = sweep.dimensions
    if moment := PEAKS.get(name):
        case = sweep.case
        if field in ("hidden_size", "embedding_size") and case.model.config.hidden_size in case.model.config.breaks:
            case = case.replace(embedding_size=case.model.config.shared()["embedding_size"] + 1)
        return _of_peak(sweep._replace(case=case), field, moment(case.plan))
    sizes = {size: sweep.present(size) for size in LAID_OUT}
    fixed = sizes if sweep.config.ones_matter else {}
    ones = {size: 1 for size, number in fixed.items() if number == 1 and size not in sweep.fields(**{field: 0})}
    written = {name: SYMBOLS[of] for name, of in sweep.config.letters_of_sizes().items()}
    if field == "num_hidden_layers":  # a ModernBERT with a single layer has no letter for the number of layers
        written |= {field: SYMBOLS[field]}
    if field in ("hidden_size", "embedding_size"):  # the two may be equal in the present model, but not along the sweep
        written |= {name: SYMBOLS[name] for name in written}
    letters = {**written, **{name: ALL_SYMBOLS[name] for name in BATCH}, **ones}
    window = window_in_letters(sweep.config, sweep.case.batch.sequence_length)
    symbolic = sweep.case._replace(batch=Batch(*map(letters.pop, BATCH))).replace(**letters, **window)
    expression = _expression(name, symbolic)
    whole = in_whole_periods(expression, sweep.config.num_hidden_layers)
    step = sweep.config.layer_period if field == "num_hidden_layers" and whole != expression else 1
    return _growth(whole, field, _along(sweep, field))._replace(step=step)


def _of_peak(sweep: Sweep, field: str, how: Plan | Inference) -> Growth:
    """Return the growth of a peak, from a model in which no changing size is 1 and the number of layers is a symbol."""
    places = _places(sweep, field, how)
    like = sweep.at(**{field: places[-1]})

    def of(place: int) -> Growth:
        at, batch = sweep.at(**{field: place}), (like.model, *like.batch.shape)
        expression = peak_expression(at.model, how, *at.batch.shape, batch)
        return _growth(expression, field, _along(sweep, field))

    def holds(trend: Growth, place: int) -> bool:
        at = sweep.at(**{field: place})
        return trend.figure(sweep.case, place) == peak_bytes(at.model, how, *at.batch.shape)

    trend = of(places[0])
    if len(places) > 1 and not holds(trend, places[0]):
        trend = of(places[-1])
        trend = trend._replace(start=next((place for place in places if holds(trend, place)), places[-1]))
    return trend._replace(step=places.step) if isinstance(places, range) else trend


def _places(sweep: Sweep, field: str, how: Plan | Inference) -> Sequence[int]:
    """Return the values of the dimension at which to try to derive the formula, starting with the present value.

    The last one is the first value at which all changing sizes are symbols, if there is such a value.
    """
    present = sweep.present(field)
    if field == "num_hidden_layers":
        return layers_with_a_letter(sweep.case.model, how, sweep.case.batch.sequence_length)
    if _has_letters(sweep, field, present) or not _has_letters(sweep, field, 2 * present):
        return [present]
    return [present, 2 * present]


def _has_letters(sweep: Sweep, field: str, place: int) -> bool:
    """Whether no size that changes along the dimension, including the head size, is 1 at the value ``place``."""
    sizes = sweep.fields(**{field: place})
    heads_change = "num_attention_heads" in sizes
    if place > 1 and heads_change != ("hidden_size" in sizes):  # then the size of a head changes
        sizes["attention_head_size"] = sweep.at(**{field: place}).model.config.attention_head_size
    return all(size > 1 for size in sizes.values())


def local_exponent(coefficients: Mapping[int, Fraction], place: int) -> Fraction:
    """Return the local exponent: the quantity's relative growth at a value, divided by the dimension's relative growth.

    ``coefficients`` maps each power of the dimension to its coefficient. ``place`` is the value of the dimension.

    >>> local_exponent({2: Fraction(1), 0: Fraction(9)}, 3)
    Fraction(1, 1)
    """
    parts = {power: coefficient * Fraction(place) ** power for power, coefficient in coefficients.items()}
    return sum((power * part for power, part in parts.items()), Fraction()) / sum(parts.values(), Fraction())


def _along(sweep: Sweep, field: str) -> tuple[tuple[Any, Any], ...]:
    """Return the letters that follow the swept letter, with their expressions in the swept letter: (A, H / 64).

    The swept letter is written as a multiple of its unit, so that all divisions are exact. For an arbitrary H, SymPy
    would be slow at computing H // 64.
    """
    unit = sweep.unit(field)
    forms = sweep.fields(**{field: unit * _COUNT})
    letter = {_COUNT: ALL_SYMBOLS[field] / unit}
    return tuple((ALL_SYMBOLS[tied], form.xreplace(letter)) for tied, form in forms.items())


@lru_cache(maxsize=512)
def _expression(name: str, symbolic: Case) -> Any:
    return exact(QUANTITIES[name].of(symbolic))


@lru_cache(maxsize=1024)
def _growth(expression: Any, field: str, along: tuple[tuple[Any, Any], ...]) -> Growth:
    letter = ALL_SYMBOLS[field]
    expression = sympy.expand(expression.subs(dict(along)))
    parts = (term.as_coeff_exponent(letter) for term in sympy.Add.make_args(expression))
    sums = summed((int(power), coefficient) for coefficient, power in parts)
    falling = {power: sums[power] for power in sorted(sums, reverse=True) if sums[power] != 0}
    terms = tuple(
        (power, _term(part, field, power))
        for power, total in falling.items()
        for part in _parts(total, bracket=power != 0)
    )
    return Growth(field, {power: write(total) for power, total in falling.items()}, terms)


def _parts(coefficient: Any, *, bracket: bool) -> list[str]:
    """Return the LaTeX of a coefficient: factored, with the rest in parentheses, or its summands if there are many."""
    summands = coefficient.as_ordered_terms()
    factored = sympy.factor_terms(coefficient)
    if len(summands) > _MANY or (factored.is_Add and not bracket):
        return [write(summand).latex() for summand in summands]
    latex = write(factored).latex()
    return [rf"\left({latex}\right)" if factored.is_Add else latex]


def _term(coefficient: str, field: str, power: int) -> str:
    letter = str(ALL_SYMBOLS[field])
    factor = {0: "", 1: letter}.get(power, f"{letter}^{{{power}}}")
    return factor if factor and coefficient == "1" else f"{coefficient} {factor}".rstrip()
