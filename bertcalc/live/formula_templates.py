"""Data with live numbers, built once for each structure of a model and evaluated for other sizes.

Within a structure, everything that depends on the sizes is live; otherwise a browser could not compute it. So models of
the same structure have the same data, apart from the live values.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.live.live_formulas import live_reading
>>> from bertcalc.model.model import Model
>>> total = templated(lambda model: {"total": live_reading(Model.num_parameters, model)})
>>> [total(build(BertConfig(num_hidden_layers=layers)))["total"] for layers in (12, 13)]
[109482240, 116570112]
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import Live, LiveNode, LiveText, OutsideError, live, operation

Parameters = ParamSpec("Parameters")
Data = TypeVar("Data")
Slots = list[Any]


class Template(Generic[Data]):
    """Data with live values, stored as the steps that compute the values and the places where they belong.

    Every node, constant and tuple of arguments has a slot; the steps fill the slots in order. ``known`` are the nodes
    for which the caller of ``at`` provides values. All data made from the template share the parts that are not live.
    """

    def __init__(self, data: Data, known: Collection[LiveNode] = ()) -> None:
        self._data, self._known = data, {*known}
        self._slots: Slots = []
        self._of_node: dict[Any, int] = {}
        self._fields: list[tuple[int, str]] = []
        self._known_slots: list[tuple[int, LiveNode]] = []
        self._steps: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
        self._filled = self._plan(data)

    def at(self, sizes: Mapping[str, Any], values: Mapping[LiveNode, Any]) -> Data:
        """The data at other sizes, and with other values of the known nodes.

        Raises KeyError for a missing size, and OutsideError at sizes for which the data have no formula.
        """
        if self._filled is None:
            return self._data
        slots = [*self._slots]
        for slot, field in self._fields:
            slots[slot] = sizes[field]
        for slot, node in self._known_slots:
            slots[slot] = values[node]
        for slot, function, arguments in self._steps:
            value = function(*[slots[argument] for argument in arguments])
            slots[slot] = int(value) if type(value) is Fraction and value.denominator == 1 else value
        return cast(Data, self._filled(slots))

    def _plan(self, data: Any) -> Callable[[Slots], Any] | None:
        """A function that puts the values of the slots into the data; None if nothing in the data is live."""
        if isinstance(data, LiveText) and data.parts[0] is not data:
            return self._text(data)
        if isinstance(data, Live):
            return self._value(data)
        if isinstance(data, list | tuple):
            plans = [self._plan(value) for value in data]
            if not any(plans):
                return None
            kind = list if isinstance(data, list) else _maker(data)
            pairs = [*zip(plans, data, strict=True)]
            return lambda slots: kind([plan(slots) if plan else value for plan, value in pairs])
        if isinstance(data, dict):
            plans_by_key = {key: plan for key, value in data.items() if (plan := self._plan(value))}
            if not plans_by_key:
                return None
            return lambda slots: {**data, **{key: plan(slots) for key, plan in plans_by_key.items()}}
        return None

    def _value(self, data: Any) -> Callable[[Slots], Any]:
        slot, kind, node = self._slot(data.node), type(data.plain), data.node
        return lambda slots: live(kind(slots[slot]), node)

    def _text(self, data: LiveText) -> Callable[[Slots], Any]:
        parts = [(self._plan(part), part) for part in data.parts]
        node = data.node

        def filled(slots: Slots) -> Any:
            pieces = tuple([plan(slots) if plan else part for plan, part in parts])
            text: Any = live("".join(pieces), node)
            text.parts = pieces
            return text

        return filled

    def _slot(self, argument: Any) -> int:
        """The slot of a node, a tuple of nodes, or a constant; a node without a slot gets one."""
        if not isinstance(argument, LiveNode | tuple):
            self._slots.append(argument)
            return len(self._slots) - 1
        if isinstance(argument, LiveNode) and argument in self._of_node:
            return self._of_node[argument]
        inside = argument.arguments if isinstance(argument, LiveNode) else argument
        is_open = isinstance(argument, LiveNode) and (argument.operation == "field" or argument in self._known)
        slots = () if is_open else tuple(map(self._slot, inside))
        self._slots.append(None)
        slot = len(self._slots) - 1
        if isinstance(argument, tuple):
            make = _maker(argument)
            self._steps.append((slot, lambda *values: make(values), slots))
            return slot
        self._of_node[argument] = slot
        if argument in self._known:
            self._known_slots.append((slot, argument))
        elif argument.operation == "field":
            self._fields.append((slot, argument.arguments[0]))
        else:
            self._steps.append((slot, operation(argument.operation), slots))
        return slot


def _maker(values: Any) -> Callable[[Iterable[Any]], Any]:
    """The function that makes a tuple, or a named tuple of the same type, from other values."""
    make: Callable[[Iterable[Any]], Any] = getattr(type(values), "_make", tuple)
    return make


def templated(build: Callable[Concatenate[Model, Parameters], Data]) -> Callable[Concatenate[Model, Parameters], Data]:
    """Decorate a function of a model to build its data only once per structure and arguments.

    The arguments must be hashable, and include everything besides the model that the data depends on, such as the
    language. Do not modify the result.
    """

    @lru_cache(maxsize=256)
    def template(_structure: Model, _arguments: tuple[Any, ...]) -> list[Template[Data]]:
        return []  # filled by ``_evaluated``, because building the data needs a model with numbers

    @wraps(build)
    def built(model: Model, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> Data:
        made = template(symbolic_model(model), (*arguments, *named.items()))
        return _evaluated(made, model.letter_values(), {}, lambda: build(model, *arguments, **named))

    return built


def templated_by_nodes(build: Callable[Parameters, Data]) -> Callable[Parameters, Data]:
    """Decorate a function of live arguments to build its data only once for the same nodes.

    Do not modify the result.

    >>> from bertcalc.text.live_numbers import LiveNode, fill
    >>> written = templated_by_nodes(lambda count: fill("{count:,} weights", count=count))
    >>> [written(live(count, LiveNode("field", ("hidden_size",)))) for count in (768, 1024)]
    ['768 weights', '1,024 weights']
    """

    @lru_cache(maxsize=256)
    def template(_nodes: Any) -> list[Template[Data]]:
        return []

    @wraps(build)
    def built(*arguments: Parameters.args, **named: Parameters.kwargs) -> Data:
        values: dict[LiveNode, Any] = {}
        made = template(_nodes_of((*arguments, *named.items()), values))
        return _evaluated(made, {}, values, lambda: build(*arguments, **named))

    return built


def _nodes_of(data: Any, values: dict[LiveNode, Any]) -> Any:
    """A hashable key of the data: nodes replace its live values, which go into ``values``."""
    if isinstance(data, Live):
        values[data.node] = data.plain
        return type(data), data.node
    if isinstance(data, list | tuple):
        return type(data), *[_nodes_of(value, values) for value in data]
    if isinstance(data, dict):
        return dict, *[(key, _nodes_of(value, values)) for key, value in data.items()]
    return type(data), data


def _evaluated(
    made: list[Template[Data]], sizes: Mapping[str, Any], values: Mapping[LiveNode, Any], build: Callable[[], Data]
) -> Data:
    """Evaluate the cached template at other sizes.

    If there is no template yet, the data are built and stored as the template. If the template has no formula at these
    sizes, the data are only built.
    """
    if not made:
        data = build()
        made.append(Template(data, values))
        return data
    try:
        return made[0].at(sizes, values)
    except (KeyError, OutsideError):
        return build()
