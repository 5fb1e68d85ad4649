"""Data with live numbers, built once for each structure of a model and evaluated for other sizes.

Within a structure, all that changes with the sizes is live: a browser could not compute it otherwise. So the data of a
model is the data of any other model of its structure, with other values in it.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.live.live_formulas import live_reading
>>> from bertcalc.model.model import Model
>>> total = templated(lambda model: {"total": live_reading(Model.num_parameters, model)})
>>> [total(build(BertConfig(num_hidden_layers=layers)))["total"] for layers in (12, 13)]
[109482240, 116570112]
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import Evaluation, Live, LiveNode, LiveText, OutsideError, live

Parameters = ParamSpec("Parameters")
Data = TypeVar("Data")


def templated(
    build: Callable[Concatenate[Model, Parameters], Data],
) -> Callable[Concatenate[Model, Parameters], Data]:
    """Build the data of a model once for each structure and arguments; do not modify the result.

    The arguments are hashable and have all that the data depends on besides the model, such as the language.
    """

    @lru_cache(maxsize=256)
    def template(_structure: Model, _arguments: tuple[Any, ...]) -> list[Data]:
        return []  # filled below, as the data needs a model with numbers

    @wraps(build)
    def built(model: Model, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> Data:
        made = template(symbolic_model(model), (*arguments, *named.items()))
        return _evaluated(made, model.letter_values(), {}, lambda: build(model, *arguments, **named))

    return built


def templated_by_nodes(build: Callable[Parameters, Data]) -> Callable[Parameters, Data]:
    """Build data of live arguments once for the same nodes; do not modify the result.

    >>> from bertcalc.text.live_numbers import LiveNode, fill
    >>> written = templated_by_nodes(lambda count: fill("{count:,} weights", count=count))
    >>> [written(live(count, LiveNode("field", ("hidden_size",)))) for count in (768, 1024)]
    ['768 weights', '1,024 weights']
    """

    @lru_cache(maxsize=256)
    def template(_nodes: Any) -> list[Data]:
        return []

    @wraps(build)
    def built(*arguments: Parameters.args, **named: Parameters.kwargs) -> Data:
        values: dict[LiveNode, Any] = {}
        made = template(_nodes_of((*arguments, *named.items()), values))
        return _evaluated(made, {}, values, lambda: build(*arguments, **named))

    return built


def _nodes_of(data: Any, values: dict[LiveNode, Any]) -> Any:
    """The data with nodes for its live values, which are put into ``values``; hashable."""
    if isinstance(data, Live):
        values[data.node] = data.plain
        return type(data), data.node
    if isinstance(data, list | tuple):
        return type(data), *[_nodes_of(value, values) for value in data]
    if isinstance(data, dict):
        return dict, *[(key, _nodes_of(value, values)) for key, value in data.items()]
    return type(data), data


def _evaluated(
    made: list[Data], sizes: Mapping[str, Any], values: Mapping[LiveNode, Any], build: Callable[[], Data]
) -> Data:
    """The data that were made first, at other sizes; built if they are the first or have no formula at these sizes."""
    if not made:
        made.append(build())
        return made[0]
    try:
        return cast(Data, _changed(made[0], Evaluation(sizes, values)))
    except (KeyError, OutsideError):
        return build()


def _changed(data: Any, present: Evaluation) -> Any:
    """The data with the values that its live values have at other sizes."""
    if type(data) is str:  # most of it
        return data
    if isinstance(data, Live):
        return _live_at(data, present)
    if isinstance(data, list):
        return [_changed(value, present) for value in data]
    if isinstance(data, tuple):
        values = [_changed(value, present) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else tuple(values)
    if isinstance(data, dict):
        return {key: _changed(value, present) for key, value in data.items()}
    return data


def _live_at(value: Any, present: Evaluation) -> Any:
    if isinstance(value, LiveText) and value.parts[0] is not value:
        parts = tuple([_changed(part, present) for part in value.parts])
        text: Any = live("".join(parts), value.node)
        text.parts = parts
        return text
    return live(type(value.plain)(present.of(value.node)), value.node)
