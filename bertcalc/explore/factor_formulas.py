"""Factors by which counts have grown, and the reason: the letters of the term that grew most.

>>> from dataclasses import replace
>>> from bertcalc import BertConfig
>>> base, wide = Model(BertConfig()), Model(BertConfig(hidden_size=1536))
>>> for piece, grown in zip(breakdown(wide), piece_factors(base, wide), strict=True):
...     print(piece.name, grown and f"{grown.ratio} {grown.text()}")
word 2 H
position 2 H
token type 2 H
LayerNorm 2 H
attention 3074/769 H²
LayerNorm 2 H
feed-forward 12294/6149 I stays
dense 3074/769 H²
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import sympy

from bertcalc.config.fields import EVERY_LETTER
from bertcalc.model.formula import ALL_SYMBOLS, SYMBOLS, exact, symbolic_model
from bertcalc.model.formula_printers import superscript
from bertcalc.model.model import Model
from bertcalc.model.totals import breakdown
from bertcalc.text import N_

WHOLE = "whole"
STAYS = N_("{letter} stays")
MOSTLY = N_("mostly {letters}")
_NEAR = Fraction(1, 20)  # tolerance for biases beside matrices: doubling H makes 4H² + 4H less than 4 times as large
# Sizes that users expect to follow another size: BERT's feed-forward size is 4 H.
_FOLLOWS = {"intermediate_size": "hidden_size"}
_FIELDS = {symbol: field for field, symbol in ALL_SYMBOLS.items()}


class Factor(NamedTuple):
    """The ratio of a count to its previous value, and the changed letters of the term that grew most.

    ``powers`` has the exponent of each changed field; it is empty if letters cannot explain the ratio. ``stays`` are
    fields that usually follow one of these but did not change. ``mixed`` says whether the letters alone would give a
    different ratio, because other terms have grown less.
    """

    ratio: Fraction
    powers: Mapping[str, int]
    stays: tuple[str, ...] = ()
    mixed: bool = False

    def text(self, say: Callable[[str], str] = str, letters: Mapping[str, str] = EVERY_LETTER) -> str:
        """The reason in letters, translated by ``say``: "H²", "mostly L·H²" or "I stays"; "" if there is none."""
        grown = "·".join(
            letters[field] + (superscript(power) if power != 1 else "") for field, power in self.powers.items()
        )
        stays = [say(STAYS).format(letter=letters[field]) for field in self.stays]
        reason = stays[0] if stays and sum(self.powers.values()) == 1 else ", ".join(filter(None, [grown, *stays]))
        return say(MOSTLY).format(letters=reason) if self.mixed else reason


class Side(NamedTuple):
    """One side of a comparison: figures, their formulas, and the values of the fields in the formulas."""

    figures: Mapping[Any, int]
    formulas: Mapping[Any, Any]  # sympy.Expr, in the symbols of ALL_SYMBOLS or in symbols with the names of fields
    values: Mapping[str, Any]


def whole(figure: int, formula: Any, values: Mapping[str, Any]) -> Side:
    """A side with a single figure, under the key WHOLE."""
    return Side({WHOLE: figure}, {WHOLE: formula}, values)


def factors(before: Side, after: Side) -> dict[Any, Factor | None]:
    """The growth of each figure of ``after``; None if it has not changed or was 0 before.

    The growth has a reason if the formula is the same on both sides.
    """
    return {key: _factor(before, after, key) for key in after.figures}


def _factor(before: Side, after: Side, key: Any) -> Factor | None:
    figure_before, figure_after = before.figures.get(key, 0), after.figures[key]
    if figure_before == figure_after or not figure_before:
        return None
    formulas = [side.formulas.get(key) for side in (before, after)]
    if None in formulas:
        return Factor(Fraction(figure_after, figure_before), {})
    earlier, later = map(_expanded, formulas)
    ratio = Fraction(figure_after, figure_before)
    if earlier != later:
        return Factor(ratio, {})
    powers, stays = _reason(later, before.values, after.values)
    alone = prod((Fraction(after.values[field], before.values[field]) ** power for field, power in powers.items()))
    return Factor(ratio, powers, stays, mixed=bool(powers) and abs(ratio / alone - 1) > _NEAR)


def _reason(
    expanded: Any, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The changed letters of the term that grew most, and the letters that usually follow them but stay."""
    fields = {symbol: _FIELDS.get(symbol, symbol.name) for symbol in expanded.free_symbols}
    if any(field not in values for field in fields.values() for values in (before, after)):
        return {}, ()

    def difference(term: Any) -> Any:
        value_before, value_after = (
            term.xreplace({symbol: sympy.Integer(values[field]) for symbol, field in fields.items()})
            for values in (before, after)
        )
        return abs(value_after - value_before)

    term = max(sympy.Add.make_args(expanded), key=difference)
    powers = {fields[symbol]: int(power) for symbol, power in term.as_powers_dict().items() if symbol in fields}
    changed = {field: power for field, power in powers.items() if before[field] != after[field]}
    ordered = dict.fromkeys(field for field in ("num_hidden_layers", *SYMBOLS, *powers) if field in changed)
    stays = tuple(
        field for field, leader in _FOLLOWS.items() if leader in changed and field in powers and field not in changed
    )
    return {field: changed[field] for field in ordered}, stays


def piece_factors(start: Model, goal: Model, *, path: str = "") -> tuple[Factor | None, ...]:
    """The growth of each piece of ``breakdown`` from one model to another."""
    return tuple(factors(*(_pieces(model, path) for model in (start, goal))).values())


def _pieces(model: Model, path: str) -> Side:
    try:
        pieces, letters = (breakdown(root, path) for root in (model, symbolic_model(model)))
    except KeyError:  # the model has no such part
        return Side({}, {}, {})
    figures = {(piece.component, piece.name): piece.parameters for piece in pieces}
    formulas = {(piece.component, piece.name): piece.parameters for piece in letters}
    return Side(figures, formulas, model.config.shared())


def total_factor(start: Model, goal: Model) -> Factor | None:
    """The growth of the number of parameters."""
    before, after = (
        whole(model.num_parameters(), symbolic_model(model).num_parameters(), model.config.shared())
        for model in (start, goal)
    )
    return factors(before, after)[WHOLE]


@lru_cache(maxsize=1024)
def _expanded(expression: Any) -> Any:
    return sympy.expand(exact(expression))
