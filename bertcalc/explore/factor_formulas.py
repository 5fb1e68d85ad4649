"""The factors by which counts grow between two models, and the reason: the letters of the term that grew most.

>>> from dataclasses import replace
>>> from bertcalc import BertConfig
>>> base, wide = Model(BertConfig()), Model(BertConfig(hidden_size=1536))
>>> for piece, growth in zip(breakdown(wide), piece_growths(base, wide), strict=True):
...     print(piece.name, growth.factor and f"{growth.factor.ratio} {growth.factor.text()}")
word 2 H
position 2 H
token type 2 H
LayerNorm 2 H
attention 3074/769 H²
LayerNorm 2 H
feed-forward 12294/6149 H, I fixed
dense 3074/769 H²
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import sympy

from bertcalc.config.fields import EVERY_LETTER
from bertcalc.live.live_formulas import live_size, node_of_formula, read_in_letters, with_formula
from bertcalc.model.formula import FIELD_OF_SYMBOL, SYMBOLS, exact
from bertcalc.model.model import Model
from bertcalc.model.totals import breakdown
from bertcalc.text import N_
from bertcalc.text.digits import multiple, superscript
from bertcalc.text.live_numbers import evaluated, live, mirrored

WHOLE = "whole"
STAYS = N_("{letter} fixed")
WITH = N_("{times} with {reason}")
MOSTLY = N_("{times}, mostly {reason}")
_NEAR = Fraction(1, 20)  # tolerance for biases beside matrices: doubling H makes 4H² + 4H less than 4 times as large
# Sizes that users expect to follow another size: in BERT, the intermediate size is 4 H.
_FOLLOWS = {"intermediate_size": "hidden_size"}
FOLLOWS = tuple(_FOLLOWS.items())


class Factor(NamedTuple):
    """The ratio of a count to its previous value, and the changed letters of the term that grew most.

    ``powers`` maps each changed field of this term to its exponent; it is empty if letters cannot explain the ratio.
    ``stays`` are fields that usually follow a changed field but did not change. ``mixed`` is True if the letters alone
    would give a different ratio, because other terms have grown less.
    """

    ratio: Fraction
    powers: Mapping[str, int]
    stays: tuple[str, ...] = ()
    mixed: bool = False

    def text(self, say: Callable[[str], str] = str, letters: Mapping[str, str] = EVERY_LETTER) -> str:
        """Return the reason in letters, translated by ``say``: "H²", "L·H²", "H, I fixed" or ""."""
        grown = "·".join(
            letters[field] + (superscript(power) if power != 1 else "") for field, power in self.powers.items()
        )
        stays = [say(STAYS).format(letter=letters[field]) for field in self.stays]
        return ", ".join(filter(None, [grown, *stays]))


class TermGrowth(NamedTuple):
    """A formula term's value before and after the change, and the exponents of the fields in it."""

    before: int | Fraction
    after: int | Fraction
    powers: tuple[tuple[str, int], ...]


class SizeGrowth(NamedTuple):
    """The value of a size before and after the change."""

    field: str
    letter: str
    before: int
    after: int


class FigureGrowth(NamedTuple):
    """A figure before and after the change, with the terms and sizes that can explain its growth.

    There are no terms if the change also changes the formula. All numbers after the change are live numbers.
    """

    before: int
    after: int
    terms: tuple[TermGrowth, ...] = ()
    sizes: tuple[SizeGrowth, ...] = ()

    @property
    def factor(self) -> Factor | None:
        """The ratio with its reason; None if the figure has not changed or was 0 before."""
        if self.before == self.after or not self.before:
            return None
        ratio = Fraction(self.after, self.before)
        if not self.terms:
            return Factor(ratio, {})
        term = max(self.terms, key=lambda term: abs(Fraction(term.after) - term.before))
        grown = {size.field: Fraction(size.after, size.before) for size in self.sizes if size.before != size.after}
        powers = {field: dict(term.powers)[field] for field in grown if field in dict(term.powers)}
        stays = tuple(
            field
            for field, leader in _FOLLOWS.items()
            if leader in powers and field in dict(term.powers) and field not in grown
        )
        alone = prod(grown[field] ** power for field, power in powers.items())
        return Factor(ratio, powers, stays, mixed=bool(powers) and abs(ratio / alone - 1) > _NEAR)


@mirrored
def growth_words(
    growth: FigureGrowth, alone: str, stays: str, mostly: str, follows: tuple[tuple[str, str], ...]
) -> str:
    """Return the factor and its reason, such as "× 4.00 with H²"; without a reason, only the factor.

    ``alone``, ``stays`` and ``mostly`` are WITH, STAYS and MOSTLY in the reader's language. ``follows`` is the constant
    FOLLOWS. The result is "" if there is no factor.
    """
    factor = growth.factor
    if factor is None:
        return ""
    times = f"× {multiple(growth.after, growth.before)}"
    reason = factor.text(lambda _stays: stays, {size.field: size.letter for size in growth.sizes})
    return (mostly if factor.mixed else alone).format(times=times, reason=reason) if reason else times


class Side(NamedTuple):
    """One side of a comparison: figures, their formulas, and the values of the fields in the formulas."""

    figures: Mapping[Any, int]
    formulas: Mapping[Any, Any]  # sympy.Expr, in the symbols of ALL_SYMBOLS or in symbols with the names of fields
    values: Mapping[str, Any]


def whole(figure: int, formula: Any, values: Mapping[str, Any]) -> Side:
    """Return a side with a single figure, under the key WHOLE."""
    return Side({WHOLE: figure}, {WHOLE: formula}, values)


def growths(before: Side, after: Side, letters: Mapping[str, str] = EVERY_LETTER) -> dict[Any, FigureGrowth]:
    """Return the growth of each figure of ``after``; it has a reason only if both sides have the same formula.

    ``letters`` maps fields to the letters in the reasons.
    """
    return {key: _growth(before, after, key, letters) for key in after.figures}


def _growth(before: Side, after: Side, key: Any, letters: Mapping[str, str]) -> FigureGrowth:
    figure_before, figure_after = before.figures.get(key, 0), after.figures[key]
    formulas = [side.formulas.get(key) for side in (before, after)]
    if None in formulas:
        return FigureGrowth(figure_before, figure_after)
    figure_after = with_formula(figure_after, formulas[1], after.values)
    earlier, later = map(_expanded, formulas)
    if earlier != later:
        return FigureGrowth(figure_before, figure_after)
    fields = map(_field_of, later.free_symbols)
    if any(field not in values for field in fields for values in (before.values, after.values)):
        return FigureGrowth(figure_before, figure_after)
    terms = tuple(
        TermGrowth(evaluated(node, before.values), live(evaluated(node, after.values), node), powers)
        for node, powers in _terms(later)
    )
    used = {field for term in terms for field, _power in term.powers}
    ordered = dict.fromkeys(field for field in ("num_hidden_layers", *SYMBOLS, *sorted(used)) if field in used)
    sizes = tuple(
        SizeGrowth(field, letters.get(field, field), before.values[field], live_size(field, after.values[field]))
        for field in ordered
    )
    return FigureGrowth(figure_before, figure_after, terms, sizes)


@lru_cache(maxsize=1024)
def _terms(formula: Any) -> tuple[tuple[Any, tuple[tuple[str, int], ...]], ...]:
    return tuple((node_of_formula(term), _powers(term)) for term in sympy.Add.make_args(formula))


def _powers(term: Any) -> tuple[tuple[str, int], ...]:
    powers = term.as_powers_dict().items()
    return tuple((_field_of(symbol), int(power)) for symbol, power in powers if symbol.is_Symbol)


def _field_of(symbol: Any) -> str:
    return FIELD_OF_SYMBOL.get(symbol, str(symbol.name))


def piece_growths(start: Model, goal: Model, *, path: str = "") -> tuple[FigureGrowth, ...]:
    """Return the growth of each piece from one model to another; the pieces are those of ``breakdown(model, path)``."""
    return tuple(growths(_pieces(start, path), _pieces(goal, path)).values())


@lru_cache(maxsize=64)
def _pieces(model: Model, path: str) -> Side:
    try:
        pieces, letters = breakdown(model, path), read_in_letters(breakdown, model, path)
    except KeyError:  # the model has no such part
        return Side({}, {}, {})
    figures = {(piece.component, piece.name): piece.parameters for piece in pieces}
    formulas = {(piece.component, piece.name): piece.parameters for piece in letters}
    return Side(figures, formulas, model.config.shared())


def total_growth(start: Model, goal: Model) -> FigureGrowth:
    """Return the growth of the number of parameters from one model to another."""
    before, after = (
        whole(model.num_parameters(), read_in_letters(Model.num_parameters, model), model.config.shared())
        for model in (start, goal)
    )
    return growths(before, after)[WHOLE]


@lru_cache(maxsize=1024)
def _expanded(expression: Any) -> Any:
    return sympy.expand(exact(expression))
