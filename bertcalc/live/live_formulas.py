"""Read a model twice, on integers and on letters, and join both readings: numbers that know their formulas.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.model.totals import totals_by_component
>>> from bertcalc.text.live_numbers import evaluated
>>> pooler = live_reading(totals_by_component, build(BertConfig()))["pooler"]
>>> pooler, evaluated(pooler.node, {"hidden_size": 1024})
(590592, 1049600)
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import sympy

from bertcalc.model.formula import ALL_SYMBOLS, exact, symbolic_model
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import Node, live

Parameters = ParamSpec("Parameters")
Reading = TypeVar("Reading")
_FIELDS = {symbol: field for field, symbol in ALL_SYMBOLS.items()}


def live_reading(
    reading: Callable[Concatenate[Model, Parameters], Reading],
    model: Model,
    *arguments: Parameters.args,
    **named: Parameters.kwargs,
) -> Reading:
    """What a function reads from a model, with live numbers where it reads a formula from the model in letters."""
    return cast(
        Reading, with_formulas(reading(model, *arguments, **named), reading(symbolic_model(model), *arguments, **named))
    )


def with_formulas(numbers: Any, formulas: Any) -> Any:
    """Numbers with the formulas at the same places of another reading: in mappings, lists and tuples."""
    if isinstance(formulas, sympy.Basic):
        return live(numbers, node_of_formula(formulas)) if isinstance(numbers, int) else numbers
    if isinstance(numbers, Mapping):
        return type(numbers)({key: with_formulas(value, formulas.get(key)) for key, value in numbers.items()})  # type: ignore[call-arg]
    if isinstance(numbers, list | tuple) and isinstance(formulas, list | tuple) and len(numbers) == len(formulas):
        elements = map(with_formulas, numbers, formulas)
        return type(numbers)(*elements) if hasattr(numbers, "_fields") else type(numbers)(elements)
    return numbers


@lru_cache(maxsize=8192)
def node_of_formula(expression: Any) -> Any:
    """A SymPy expression in the letters of fields as a node, or as a constant."""
    return _node(exact(expression))


def _node(expression: Any) -> Any:
    if expression.is_Integer:
        return int(expression)
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if expression.is_Symbol:
        return Node("field", (_FIELDS.get(expression, expression.name),))
    return Node(_OPERATIONS[type(expression)], tuple(map(_node, expression.args)))


_OPERATIONS = {
    sympy.Add: "+",
    sympy.Mul: "*",
    sympy.Pow: "^",
    sympy.floor: "floor",
    sympy.Max: "max",
    sympy.Min: "min",
}
