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
from typing import Any, NamedTuple

import sympy

from bertcalc.fields import EVERY_LETTER
from bertcalc.formula import SYMBOLS, exact, symbolic_model
from bertcalc.subject import Subject
from bertcalc.text import N_
from bertcalc.tree.totals import breakdown

STAYS = N_("{letter} stays")
# Sizes that people expect to follow another one: BERT's feed-forward size is 4 H.
_FOLLOWS = {"intermediate_size": "hidden_size"}
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Factor(NamedTuple):
    """How often a count has what it had before, and the changed letters of the term that grew most.

    ``powers`` has the exponent of each changed field; ``stays`` are fields that usually follow one of these, and did
    not change.
    """

    ratio: Fraction
    powers: Mapping[str, int]
    stays: tuple[str, ...] = ()

    def text(self, say: Callable[[str], str] = str) -> str:
        """The reason in letters: "H²", "L·H²", or "I stays", which ``say`` translates."""
        letters = [
            EVERY_LETTER[field] + (f"{power}".translate(_SUPERSCRIPTS) if power != 1 else "")
            for field, power in self.powers.items()
        ]
        stays = [say(STAYS).format(letter=EVERY_LETTER[field]) for field in self.stays]
        grown = "·".join(letters)
        return stays[0] if stays and sum(self.powers.values()) == 1 else ", ".join([grown, *stays])


def factor(expression: Any, before: Mapping[str, int], after: Mapping[str, int]) -> Factor | None:
    """The growth of an expression in the letters of SYMBOLS; None if it has not changed, or was 0.

    ``before`` and ``after`` are the values of the fields.
    """
    expanded = _expanded(expression)
    fields = {symbol: field for field, symbol in SYMBOLS.items() if symbol in expanded.free_symbols}
    was, now = (_number(expanded, fields, values) for values in (before, after))
    if was == now or not was:
        return None
    term = max(
        sympy.Add.make_args(expanded),
        key=lambda one: abs(_number(one, fields, after) - _number(one, fields, before)),
    )
    exponents = {fields[symbol]: int(power) for symbol, power in term.as_powers_dict().items() if symbol in fields}
    changed = {field: power for field, power in exponents.items() if before[field] != after[field]}
    ordered = {field: changed[field] for field in ("num_hidden_layers", *SYMBOLS) if field in changed}
    stays = tuple(
        field for field, leader in _FOLLOWS.items() if leader in changed and field in exponents and field not in changed
    )
    return Factor(Fraction(now, was), ordered, stays)


def piece_factors(here: Subject, there: Subject, *, path: str = "") -> tuple[Factor | None, ...]:
    """The growth of each piece of ``breakdown`` from one model to another of the same structure, else None for each."""
    pieces = breakdown(symbolic_model(there), path)
    if symbolic_model(here) is not symbolic_model(there):
        return (None,) * len(pieces)
    return tuple(factor(piece.parameters, here.config.shared(), there.config.shared()) for piece in pieces)


def total_factor(here: Subject, there: Subject) -> Factor | None:
    """The growth of the number of parameters; None between models of different structures."""
    if symbolic_model(here) is not symbolic_model(there):
        return None
    return factor(symbolic_model(there).num_parameters(), here.config.shared(), there.config.shared())


@lru_cache(maxsize=1024)
def _expanded(expression: Any) -> Any:
    return sympy.expand(exact(expression))


def _number(expression: Any, fields: Mapping[Any, str], values: Mapping[str, int]) -> int:
    found = expression.xreplace({symbol: sympy.Integer(values[field]) for symbol, field in fields.items()})
    return int(found)
