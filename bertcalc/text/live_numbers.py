"""Live numbers and texts: values that know how they follow from a model's sizes, so that a browser can compute them too.

A live number is an ordinary int with a ``node``: an expression of the sizes. Sums and products of live numbers are live,
and so is the text that a ``mirrored`` function writes of them. Everything else takes them for plain numbers and texts:
what forgets the node shows the same value, which then follows when the server answers.

>>> hidden = live(768, Node("field", ("hidden_size",)))
>>> squares = 4 * hidden * hidden
>>> squares, evaluated(squares.node, {"hidden_size": 1024})
(2359296, 4194304)
>>> text = fill("{count:,} weights", count=squares)
>>> text, evaluated(text.node, {"hidden_size": 1024})
('2,359,296 weights', '4,194,304 weights')
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import wraps
from math import floor, prod
from string import Formatter
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Node(NamedTuple):
    """An operation or a mirrored function by its name, and its arguments: nodes, constants, and tuples of these."""

    operation: str
    arguments: tuple[Any, ...]


class Live:
    """What all live values have."""

    node: Node


class LiveInt(Live, int):
    """An integer that follows from sizes."""

    def __add__(self, other: int) -> int:
        return _computed("+", int.__add__(self, other), self, other)

    def __radd__(self, other: int) -> int:
        return _computed("+", int.__radd__(self, other), other, self)

    def __sub__(self, other: int) -> int:
        return _computed("-", int.__sub__(self, other), self, other)

    def __rsub__(self, other: int) -> int:
        return _computed("-", int.__rsub__(self, other), other, self)

    def __mul__(self, other: int) -> int:
        return _computed("*", int.__mul__(self, other), self, other)

    def __rmul__(self, other: int) -> int:
        return _computed("*", int.__rmul__(self, other), other, self)

    def __neg__(self) -> int:
        return _computed("*", int.__neg__(self), -1, self)


class LiveFraction(Live, Fraction):
    """A fraction that follows from sizes; what is computed from it is not live."""


class LiveFloat(Live, float):
    """A position or width in a chart that follows from sizes; what is computed from it is not live."""


class LiveText(Live, str):
    """A text with numbers that follow from sizes; what is joined to it other than by ``fill`` is not live."""


_KINDS: dict[type, Any] = {int: LiveInt, Fraction: LiveFraction, float: LiveFloat, str: LiveText}
MIRRORED: dict[str, Callable[..., Any]] = {}  # the functions that bertcalc/live/runtime.js has, too


def live(value: Any, node: Any) -> Any:
    """A value with the node that computes it; a value that is the same for all sizes stays as it is.

    A tuple gets live elements; None, and a node that is a constant, make nothing live.
    """
    if not isinstance(node, Node):
        return value
    if isinstance(value, tuple):
        elements = (live(element, Node("element", (node, at))) for at, element in enumerate(value))
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    for kind, live_kind in _KINDS.items():
        if isinstance(value, kind) and not isinstance(value, bool):
            made = live_kind(value)
            made.node = node
            return made
    return value


def node_of(value: Any) -> Any:
    """The node of a live value; a tuple or list of them as a tuple of nodes; any other value is a constant."""
    if isinstance(value, Live):
        return value.node
    return tuple(map(node_of, value)) if isinstance(value, tuple | list) else value


def is_live(value: object) -> bool:
    """Whether a value, or an element of a tuple or list, follows from sizes."""
    return any(map(is_live, value)) if isinstance(value, tuple | list) else isinstance(value, Live)


def _computed(operation: str, result: Any, *values: Any) -> Any:
    return live(result, Node(operation, tuple(map(node_of, values)))) if type(result) is int else result


def mirrored(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Mark a function of the same name in bertcalc/live/runtime.js: of live arguments it gives a live result.

    tests/live compares both in a browser.
    """
    MIRRORED[function.__name__] = function
    signature = inspect.signature(function)

    @wraps(function)
    def lively(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
        result = function(*arguments, **named)
        if not (any(map(is_live, arguments)) or any(map(is_live, named.values()))):
            return result
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        return cast(Result, live(result, Node(function.__name__, tuple(map(node_of, bound.arguments.values())))))

    return lively


@mirrored
def grouped(count: int) -> str:
    """Write an integer with thousands separators: 109,482,240."""
    return f"{count:,}"


@mirrored
def largest(figures: tuple[int, ...] | list[int]) -> int:
    """The largest of several integers; 0 if there are none."""
    return max(figures, default=0)


def fill(message: str, **values: Any) -> str:
    """``message.format(**values)``, live if a value is. A live number is written as it is, or with commas: ``{n:,}``."""
    text = message.format(**values)
    if not any(map(is_live, values.values())):
        return text
    return cast(str, live(text, Node("text", tuple(_parts(message, values)))))


def _parts(message: str, values: Mapping[str, Any]) -> Iterable[Any]:
    for literal, name, form, _conversion in Formatter().parse(message):
        if literal:
            yield literal
        if name is None:
            continue
        value = values.get(name)
        if not is_live(value):
            yield f"{{{name}:{form}}}".format(**values)
        elif isinstance(value, str) or not form:
            yield node_of(value)
        elif form == ",":
            yield node_of(grouped(value))
        else:
            message = f"a live number cannot be written as {form}"
            raise ValueError(message)


def joined(separator: str, texts: Iterable[str]) -> str:
    """``separator.join`` of the texts that are not empty, live if one of them is.

    Whether a text is empty is decided now: use it for texts that are never or always empty.
    """
    kept = [text for text in texts if text]
    names = {f"text{at}": text for at, text in enumerate(kept)}
    return fill(separator.replace("{", "{{").replace("}", "}}").join(f"{{{name}}}" for name in names), **names)


# Arithmetic of nodes, exact.
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": lambda *values: sum(values),
    "-": lambda left, right: left - right,
    "*": lambda *values: prod(values),
    "/": lambda left, right: Fraction(left) / right,
    "^": lambda base, power: base**power,
    "floor": floor,
    "max": max,
    "min": min,
    "element": lambda values, at: values[at],
    "text": lambda *parts: "".join(map(str, parts)),
}


def evaluated(node: Any, sizes: Mapping[str, int]) -> Any:
    """What a node is for other sizes, by the names of fields. Raises KeyError for a size that is not given."""
    return _Evaluation(sizes).of(node)


class _Evaluation:
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._values: dict[int, Any] = {}

    def of(self, node: Any) -> Any:
        if type(node) is tuple:
            return tuple(map(self.of, node))
        if not isinstance(node, Node):
            return node
        if node.operation == "field":
            return self._sizes[node.arguments[0]]
        if id(node) not in self._values:
            function = _ARITHMETIC.get(node.operation) or MIRRORED[node.operation]
            value = function(*map(self.of, node.arguments))
            whole = isinstance(value, Fraction) and value.denominator == 1
            self._values[id(node)] = int(value) if whole else value
        return self._values[id(node)]
