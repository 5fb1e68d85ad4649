"""Live numbers and texts: values that carry their formula in the model's sizes, so that a browser can compute them.

A live number is an int, Fraction or float with a ``node``: an expression of the sizes. Sums and products of live
integers and fractions are live, and so is a text that a ``mirrored`` function makes from them. All other code treats
them as plain numbers and texts. If that code loses the node, a page shows the same value but updates it only when the
server answers.

>>> hidden = live(768, LiveNode("field", ("hidden_size",)))
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
from functools import cache, lru_cache, wraps
from math import floor, prod
from string import Formatter
from typing import Any, NamedTuple, ParamSpec, TypeVar

MINUS = "\N{MINUS SIGN}"
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class LiveNode:
    """The name of an operation or a mirrored function, and its arguments: nodes, constants, and tuples of both.

    Nodes compare by identity. A cache usually makes equal nodes the same object, even across reruns.

    >>> LiveNode("field", ("hidden_size",)) is LiveNode("field", ("hidden_size",))
    True
    """

    __slots__ = ("arguments", "operation")
    operation: str
    arguments: tuple[Any, ...]

    def __new__(cls, operation: str, arguments: tuple[Any, ...]) -> "LiveNode":
        for value in arguments:
            if isinstance(value, tuple):
                return _node(operation, _types(arguments), *arguments)
        return _node(operation, None, *arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return LiveNode, (self.operation, self.arguments)


def _types(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of the elements of tuples: 1, True and Fraction(1) are equal in Python, but not in a browser."""
    return tuple([(type(value), *map(type, value), _types(value)) for value in arguments if isinstance(value, tuple)])


@lru_cache(maxsize=32768, typed=True)
def _node(operation: str, _types: tuple[Any, ...] | None, *arguments: Any) -> LiveNode:
    node = object.__new__(LiveNode)
    node.operation, node.arguments = operation, arguments
    return node


class Live:
    """The base of live values. ``node`` is the expression that computes a value, and ``plain`` is the bare value."""

    node: LiveNode
    plain: Any


class LiveInt(Live, int):
    """An integer that a node computes from sizes."""

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


class OutsideError(ValueError):
    """The exception for sizes at which a live value has no formula."""


class LiveFraction(Live, Fraction):
    """A fraction that a node computes from sizes."""

    def __add__(self, other: Any) -> Any:
        return _computed("+", Fraction.__add__(self, other), self, other)

    def __radd__(self, other: Any) -> Any:
        return _computed("+", Fraction.__radd__(self, other), other, self)

    def __sub__(self, other: Any) -> Any:
        return _computed("-", Fraction.__sub__(self, other), self, other)

    def __rsub__(self, other: Any) -> Any:
        return _computed("-", Fraction.__rsub__(self, other), other, self)

    def __mul__(self, other: Any) -> Any:
        return _computed("*", Fraction.__mul__(self, other), self, other)

    def __rmul__(self, other: Any) -> Any:
        return _computed("*", Fraction.__rmul__(self, other), other, self)

    def __truediv__(self, other: Any) -> Any:
        return _computed("/", Fraction.__truediv__(self, other), self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _computed("/", Fraction.__rtruediv__(self, other), other, self)


class LiveFloat(Live, float):
    """A position or width in a chart that a node computes from sizes; the results of its operators are not live."""


class LiveText(Live, str):
    """A text with numbers that nodes compute from sizes.

    Join it to other texts with ``fill`` or ``between``, which keep it live. ``parts`` are its fixed and live parts.
    """

    parts: tuple[str, ...]


_LISTS = (tuple, list)
_KINDS: dict[type, Any] = {bool: None, int: LiveInt, Fraction: LiveFraction, float: LiveFloat, str: LiveText}
MIRRORED: dict[str, Callable[..., Any]] = {}  # the functions that bertcalc/live/runtime.js also has


def live(value: Any, node: Any) -> Any:
    """Return a value as a live value with the node that computes it.

    None, booleans and values with a constant as ``node`` are returned unchanged. The elements of a tuple become live,
    each with its own node.
    """
    if not isinstance(node, LiveNode):
        return value
    if isinstance(value, tuple):
        elements = [live(element, LiveNode("element", (node, at))) for at, element in enumerate(value)]
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    kind: Any = type(value)
    live_kind = _live_kind(kind)
    if live_kind is None:
        return value
    made = live_kind(value)
    made.node, made.plain = node, value.plain if isinstance(value, Live) else value
    if live_kind is LiveText:
        made.parts = (made,)
    return made


@cache
def _live_kind(kind: type) -> Any:
    return next((_KINDS[base] for base in kind.__mro__ if base in _KINDS), None)


def node_of(value: Any) -> Any:
    """The node of a live value, or the nodes of a tuple or list; any other value is returned as a constant."""
    if isinstance(value, Live):
        return value.node
    return _mapped(node_of, value) if isinstance(value, _LISTS) else value


def plain_value(value: Any) -> Any:
    """A value without its node, or a tuple or list of values without their nodes."""
    if isinstance(value, Live):
        return value.plain
    return _mapped(plain_value, value) if isinstance(value, _LISTS) else value


def _mapped(function: Callable[[Any], Any], values: Any) -> Any:
    """A tuple of the function's results; a named tuple keeps its type."""
    results = [function(value) for value in values]
    return type(values)(*results) if hasattr(values, "_fields") else tuple(results)


def is_live(value: object) -> bool:
    """Whether a value, or an element of a tuple or list, is live."""
    if isinstance(value, Live):
        return True
    if isinstance(value, _LISTS):
        for element in value:
            if is_live(element):
                return True
    return False


def _computed(operation: str, result: Result, *values: Any) -> Result:
    if type(result) not in (int, Fraction):
        return result
    computed: Result = live(result, LiveNode(operation, tuple([node_of(value) for value in values])))
    return computed


def mirrored(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Mark a function that bertcalc/live/runtime.js also has: for live arguments, its result is live.

    tests/browser/test_live.py compares the two versions.
    """
    MIRRORED[function.__name__] = function
    anything: Callable[..., Any] = function
    defaults = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}

    @wraps(function)
    def lively(*arguments: Any, **named: Any) -> Any:
        if not (is_live(arguments) or (named and is_live([*named.values()]))):
            return anything(*arguments, **named)
        if len(arguments) < len(defaults):
            others = list(defaults.items())[len(arguments) :]
            arguments += tuple([named.get(name, default) for name, default in others])
        # Intermediate results of the function need no nodes.
        result = anything(*[plain_value(value) for value in arguments])
        return live(result, LiveNode(function.__name__, tuple([node_of(value) for value in arguments])))

    return lively


@mirrored
def grouped(count: int) -> str:
    """Write an integer with thousands separators: 109,482,240."""
    return f"{count:,}"


@mirrored
def plain(count: int) -> str:
    """Write an integer without separators."""
    return f"{count}"


@mirrored
def joined(separator: str, texts: tuple[str, ...] | list[str]) -> str:
    """Join the texts that are not empty with ``separator``."""
    return separator.join(filter(None, texts))


class FigureBound(NamedTuple):
    """A figure that must stay between ``low`` and ``high``, both included; None means no upper limit."""

    figure: int
    low: int
    high: int | None = None


def staying(figure: int) -> FigureBound:
    """The bound for a figure that must keep its present value."""
    return FigureBound(figure, int(figure), int(figure))


@mirrored
def within(value: Any, bounds: tuple[FigureBound, ...]) -> Any:
    """Return ``value``, with a formula that is valid only while the figures of ``bounds`` stay within them.

    Outside the bounds, its evaluation raises OutsideError. A browser keeps the last value and marks it as outdated.
    """
    for figure, low, high in bounds:
        if figure < low or (high is not None and figure > high):
            raise OutsideError
    return value


def fill(message: str, **values: Any) -> str:
    """Return ``message.format(**values)``, which is live if a value is live.

    A live number must have the format ``{n}`` or ``{n:,}``; any other format raises ValueError.
    """
    text = message.format(**values)
    return _of_parts(text, tuple(_parts(message, values))) if any(map(is_live, values.values())) else text


def _of_parts(text: str, parts: tuple[str, ...]) -> str:
    if not is_live(parts):
        return text
    filled: LiveText = live(text, LiveNode("text", tuple([node_of(part) for part in parts])))
    filled.parts = parts
    return filled


def between(sign: str, texts: Iterable[str]) -> str:
    """``sign.join(texts)``, live if a text is live."""
    texts, parts = tuple(texts), list[str]()
    for at, text in enumerate(texts):
        parts += [sign] if at and sign else []
        parts += text.parts if isinstance(text, LiveText) else [text]
    return _of_parts(sign.join(texts), tuple(parts))


def without_start(text: str, start: str) -> str:
    """``text.removeprefix(start)``, live if the text is live; a live beginning is never removed."""
    if not isinstance(text, LiveText):
        return text.removeprefix(start)
    first, *others = text.parts
    return text if isinstance(first, LiveText) else between("", (first.removeprefix(start), *others))


def _parts(message: str, values: Mapping[str, Any]) -> Iterable[str]:
    for literal, name, form, _conversion in _parsed(message):
        if literal:
            yield literal
        if name is None:
            continue
        value: Any = values.get(name)
        if not is_live(value):
            yield f"{{{name}:{form}}}".format(**values)
        elif isinstance(value, LiveText):
            yield from value.parts
        elif form in ("", ","):
            yield grouped(value) if form else plain(value)
        else:
            problem = f"a live number cannot be written as {form}"
            raise ValueError(problem)


@lru_cache(maxsize=1024)
def _parsed(message: str) -> tuple[tuple[str, str | None, str | None, str | None], ...]:
    return tuple(Formatter().parse(message))


# The arithmetic operations of nodes, which are exact.
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": lambda *values: sum(values),
    "-": lambda left, right: left - right,
    "*": lambda *values: prod(values),
    "/": lambda left, right: Fraction(left) / right,
    "^": lambda base, power: Fraction(base) ** power,
    "floor": floor,
    "max": max,
    "min": min,
    "element": lambda values, at: values[at],
    "text": lambda *parts: "".join(map(str, parts)),
}


def operation(name: str) -> Callable[..., Any]:
    """The function that a node's operation names: arithmetic, or a mirrored function."""
    return _ARITHMETIC.get(name) or MIRRORED[name]


def evaluated(node: Any, sizes: Mapping[str, int]) -> Any:
    """Evaluate a node at other sizes, keyed by field name. Raises KeyError for a missing size."""
    return Evaluation(sizes).of(node)


def at_sizes(value: Any, sizes: Mapping[str, Any]) -> Any:
    """Fix some fields of a live value at these sizes; any other value is returned unchanged.

    >>> area = live(12, LiveNode("*", (LiveNode("field", ("height",)), LiveNode("field", ("width",)))))
    >>> evaluated(at_sizes(area, {"height": 3}).node, {"height": 5, "width": 5})
    15
    """
    if not isinstance(value, Live):
        return value
    plain_kinds = {live_kind: kind for kind, live_kind in _KINDS.items()}
    return live(plain_kinds[type(value)](value), substituted(value.node, sizes))


def substituted(node: Any, replacements: Mapping[str, Any]) -> Any:
    """Replace fields in a node by other nodes or constants."""
    replaced: dict[int, Any] = {}

    def inside(node: Any) -> Any:
        if not isinstance(node, LiveNode):
            return _mapped(inside, node) if isinstance(node, tuple) else node
        if node.operation == "field":
            return replacements.get(node.arguments[0], node)
        if id(node) not in replaced:
            replaced[id(node)] = LiveNode(node.operation, tuple(map(inside, node.arguments)))
        return replaced[id(node)]

    return inside(node)


class Evaluation:
    """Evaluates nodes at the same sizes; a node that occurs in several others is evaluated once."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._values: dict[LiveNode, Any] = {}

    def of(self, node: Any) -> Any:
        """Evaluate a node. Raises KeyError for a missing size."""
        if not isinstance(node, LiveNode):
            return _mapped(self.of, node) if isinstance(node, tuple) else node
        if node not in self._values:
            if node.operation == "field":
                return self._sizes[node.arguments[0]]
            value = operation(node.operation)(*[self.of(argument) for argument in node.arguments])
            whole = type(value) is Fraction and value.denominator == 1
            self._values[node] = int(value) if whole else value
        return self._values[node]
