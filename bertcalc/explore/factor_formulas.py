"""By what factor a count has grown, and why: the letters of the term that made the difference.

>>> from dataclasses import replace
>>> from bertcalc import BertConfig
>>> base, wide = Subject(BertConfig()), Subject(BertConfig(hidden_size=1536))
>>> for piece, grown in zip(breakdown(wide.model()), piece_factors(base, wide), strict=True):
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
from bertcalc.model.subject import Subject
from bertcalc.model.totals import breakdown
from bertcalc.text import N_

WHOLE = "whole"
STAYS = N_("{letter} stays")
MOSTLY = N_("mostly {letters}")
_NEAR = Fraction(1, 20)  # of biases beside matrices: with twice the H, 4H² + 4H is less than 4 times as large
# Sizes that people expect to follow another one: BERT's feed-forward size is 4 H.
_FOLLOWS = {"intermediate_size": "hidden_size"}
_FIELDS = {symbol: field for field, symbol in ALL_SYMBOLS.items()}
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Factor(NamedTuple):
    """How often a count has what it had before, and the changed letters of the term that grew most.

    ``powers`` has the exponent of each changed field, and is empty if there is no reason in letters; ``stays`` are
    fields that usually follow one of these, and did not change. ``mixed`` is whether the letters alone would give
    another ratio, because other terms have grown less.
    """

    ratio: Fraction
    powers: Mapping[str, int]
    stays: tuple[str, ...] = ()
    mixed: bool = False

    def text(self, say: Callable[[str], str] = str, letters: Mapping[str, str] = EVERY_LETTER) -> str:
        """The reason in letters: "H²", "mostly L·H²", or "I stays", which ``say`` translates; "" if there is none."""
        grown = "·".join(
            letters[field] + (f"{power}".translate(_SUPERSCRIPTS) if power != 1 else "")
            for field, power in self.powers.items()
        )
        stays = [say(STAYS).format(letter=letters[field]) for field in self.stays]
        reason = stays[0] if stays and sum(self.powers.values()) == 1 else ", ".join(filter(None, [grown, *stays]))
        return say(MOSTLY).format(letters=reason) if self.mixed else reason


class Side(NamedTuple):
    """One side of a comparison: figures, their formulas, and the values of the fields in these."""

    figures: Mapping[Any, int]
    formulas: Mapping[Any, Any]  # sympy.Expr, in the symbols of ALL_SYMBOLS or in symbols with the names of fields
    values: Mapping[str, Any]


def whole(figure: int, formula: Any, values: Mapping[str, Any]) -> Side:
    """A side with one figure, whose key is WHOLE."""
    return Side({WHOLE: figure}, {WHOLE: formula}, values)


def factors(before: Side, after: Side) -> dict[Any, Factor | None]:
    """The growth of each figure of ``after``; None if it has not changed, or was 0.

    A figure has a reason if its formula is the same on both sides.
    """
    return {key: _factor(before, after, key) for key in after.figures}


def _factor(before: Side, after: Side, key: Any) -> Factor | None:
    was, now = before.figures.get(key, 0), after.figures[key]
    if was == now or not was:
        return None
    formulas = [side.formulas.get(key) for side in (before, after)]
    if None in formulas:
        return Factor(Fraction(now, was), {})
    earlier, later = map(_expanded, formulas)
    ratio = Fraction(now, was)
    if earlier != later:
        return Factor(ratio, {})
    powers, stays = _reason(later, before.values, after.values)
    alone = prod((Fraction(after.values[field], before.values[field]) ** power for field, power in powers.items()))
    return Factor(ratio, powers, stays, mixed=bool(powers) and abs(ratio / alone - 1) > _NEAR)


def _reason(
    expanded: Any, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The changed letters of the term that has grown most, and the letters that usually follow them and stay."""
    fields = {symbol: _FIELDS.get(symbol, symbol.name) for symbol in expanded.free_symbols}
    if any(field not in values for field in fields.values() for values in (before, after)):
        return {}, ()

    def difference(term: Any) -> Any:
        was, now = (
            term.xreplace({symbol: sympy.Integer(values[field]) for symbol, field in fields.items()})
            for values in (before, after)
        )
        return abs(now - was)

    term = max(sympy.Add.make_args(expanded), key=difference)
    powers = {fields[symbol]: int(power) for symbol, power in term.as_powers_dict().items() if symbol in fields}
    changed = {field: power for field, power in powers.items() if before[field] != after[field]}
    ordered = dict.fromkeys(field for field in ("num_hidden_layers", *SYMBOLS, *powers) if field in changed)
    stays = tuple(
        field for field, leader in _FOLLOWS.items() if leader in changed and field in powers and field not in changed
    )
    return {field: changed[field] for field in ordered}, stays


def piece_factors(here: Subject, there: Subject, *, path: str = "") -> tuple[Factor | None, ...]:
    """The growth of each piece of ``breakdown`` from one model to another."""
    return tuple(factors(*(_pieces(subject, path) for subject in (here, there))).values())


def _pieces(subject: Subject, path: str) -> Side:
    try:
        pieces, letters = (breakdown(model, path) for model in (subject.model(), symbolic_model(subject)))
    except KeyError:  # the model has no such part
        return Side({}, {}, {})
    figures = {(piece.component, piece.name): piece.parameters for piece in pieces}
    formulas = {(piece.component, piece.name): piece.parameters for piece in letters}
    return Side(figures, formulas, subject.config.shared())


def total_factor(here: Subject, there: Subject) -> Factor | None:
    """The growth of the number of parameters."""
    before, after = (
        whole(one.model().num_parameters(), symbolic_model(one).num_parameters(), one.config.shared())
        for one in (here, there)
    )
    return factors(before, after)[WHOLE]


@lru_cache(maxsize=1024)
def _expanded(expression: Any) -> Any:
    return sympy.expand(exact(expression))
