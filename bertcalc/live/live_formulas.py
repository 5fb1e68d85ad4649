"""Numbers with formulas: evaluate a function of a model on integers and on symbols, and join both results.

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

from bertcalc.config import Config
from bertcalc.config.fields import EVERY_LETTER
from bertcalc.model.formula import FIELD_OF_SYMBOL, symbolic_model
from bertcalc.model.model import Model
from bertcalc.model.modules import Embedding, Module
from bertcalc.text.live_choices import smallest
from bertcalc.text.live_numbers import Evaluation, LiveNode, live

Parameters = ParamSpec("Parameters")
Reading = TypeVar("Reading")


def live_reading(
    reading: Callable[Concatenate[Model, Parameters], Reading],
    model: Model,
    *arguments: Parameters.args,
    **named: Parameters.kwargs,
) -> Reading:
    """Return ``reading(model, ...)`` with live numbers: each number that is a formula of the model's sizes is live."""
    numbers = reading(model, *arguments, **named)
    formulas = read_in_letters(reading, model, *arguments, **named)
    return cast(Reading, with_formulas(numbers, formulas, model.letter_values()))


def read_in_letters(reading: Callable[..., Any], model: Model, *arguments: Any, **named: Any) -> Any:
    """Return ``reading`` of the model with symbols as sizes, cached per structure; do not modify the result."""
    return _read(reading, symbolic_model(model), *arguments, **named)


@lru_cache(maxsize=512)
def _read(reading: Callable[..., Any], model: Model, *arguments: Any, **named: Any) -> Any:
    return reading(model, *arguments, **named)


def with_formulas(numbers: Any, formulas: Any, sizes: Mapping[str, Any]) -> Any:
    """Attach formulas to the numbers at the same places of two nested mappings, lists or tuples.

    ``sizes`` are the field values for which the formulas give these numbers.
    """
    return _with_formulas(numbers, formulas, Evaluation(sizes))


def _with_formulas(numbers: Any, formulas: Any, present: Evaluation) -> Any:
    if type(formulas) in _WITHOUT_SYMBOLS:  # most of a forward pass
        return numbers
    if isinstance(formulas, sympy.Basic):
        return with_formula(numbers, formulas, present) if isinstance(numbers, int | Fraction) else numbers
    if isinstance(numbers, dict | Mapping):
        return {key: _with_formulas(value, formulas.get(key), present) for key, value in numbers.items()}
    if isinstance(numbers, list | tuple) and isinstance(formulas, list | tuple) and len(numbers) == len(formulas):
        elements = [_with_formulas(number, formula, present) for number, formula in zip(numbers, formulas, strict=True)]
        return type(numbers)(*elements) if hasattr(numbers, "_fields") else type(numbers)(elements)
    return numbers


_WITHOUT_SYMBOLS = {str, int, bool, float, type(None)}


def with_formula(number: Any, formula: Any, sizes: Mapping[str, Any] | Evaluation) -> Any:
    """Attach a formula to a number; if the formula does not give this number for ``sizes``, return the plain number."""
    node = node_of_formula(formula)
    present = sizes if isinstance(sizes, Evaluation) else Evaluation(sizes)
    try:
        return live(number, node) if present.of(node) == number else number
    except KeyError:  # ``sizes`` lacks a size of the formula
        return number


def live_size(field: str, value: int) -> int:
    """The value of a field as a live number."""
    return cast(int, live(value, LiveNode("field", (field,))))


def live_sizes(config: Config) -> dict[str, int]:
    """The values of a configuration, keyed by shared field name; the value of a field with a symbol is live."""
    values = config.shared().items()
    return {field: live_size(field, value) if field in EVERY_LETTER else value for field, value in values}


def number_of(expression: Any) -> int | Fraction:
    """A SymPy number as an integer or a fraction."""
    return int(expression) if expression.is_Integer else Fraction(int(expression.p), int(expression.q))


@lru_cache(maxsize=8192)
def node_of_formula(expression: Any) -> Any:
    """Convert an expression in the symbols of fields to a node, or to a number if it has no symbols.

    ``expression`` is anything that sympify accepts.
    """
    if not isinstance(expression, sympy.Basic):
        return node_of_formula(sympy.sympify(expression))
    if expression.is_Rational:
        return number_of(expression)
    if expression.is_Symbol:
        return LiveNode("field", (FIELD_OF_SYMBOL.get(expression, expression.name),))
    return LiveNode(_OPERATIONS[type(expression)], tuple(map(node_of_formula, expression.args)))


_OPERATIONS = {sympy.Add: "+", sympy.Mul: "*", sympy.Pow: "^", sympy.floor: "floor", sympy.Max: "max", sympy.Min: "min"}


Tree = TypeVar("Tree", bound=Module)


def live_tree(model: Model) -> Model:
    """The module tree of a model with live sizes. Only the tree is live, not the steps.

    >>> from bertcalc import BertConfig, build
    >>> from bertcalc.text.live_numbers import evaluated
    >>> line = list(live_tree(build(BertConfig())).printed_lines())[1:][2]
    >>> line.text.strip()
    '(position_embeddings): Embedding(512, 768)'
    >>> evaluated(line.text.node, {"max_position_embeddings": 1024, "hidden_size": 256}).strip()
    '(position_embeddings): Embedding(1024, 256)'
    """
    return _joined(model, symbolic_model(model), model.config.shared())


def _joined(numbers: Tree, letters: Module, sizes: Mapping[str, Any]) -> Tree:
    made = object.__new__(type(numbers))
    formulas = vars(letters)
    for name, value in vars(numbers).items():
        vars(made)[name] = _value(value, formulas.get(name), sizes)
    if isinstance(made, Embedding) and made.padding_idx is not None:
        # A smaller vocabulary moves the padding token: see ``moved`` in bertcalc/controls/stops.py.
        made.padding_idx = smallest((made.padding_idx, made.parameters["weight"][0] - 1))
    return made


def _value(value: Any, formula: Any, sizes: Mapping[str, Any]) -> Any:
    if isinstance(value, Module):
        return _joined(value, formula, sizes) if isinstance(formula, Module) else value
    if isinstance(value, Mapping) and isinstance(formula, Mapping):
        return {key: _value(part, formula.get(key), sizes) for key, part in value.items()}
    return with_formulas(value, formula, sizes)
