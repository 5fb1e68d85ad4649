"""Live numbers without a formula, which have a value only at a model's current sizes.

>>> from bertcalc import BertConfig, build
>>> held(7, build(BertConfig())).node.operation
'within'
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar, cast

from bertcalc.controls.stops import SLIDERS
from bertcalc.live.live_formulas import live_size
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import FigureBound, staying, within

Value = TypeVar("Value")


def held(value: Value, model: Model) -> Value:
    """Mark a number or text that has no formula as valid only at the model's current sizes."""
    return cast(Value, within(value, tuple(staying_sizes(model, SLIDERS))))


def staying_sizes(model: Model, fields: Iterable[str]) -> Iterator[FigureBound]:
    """The bounds that keep sizes at their current values; fields that the family does not have get no bounds."""
    values = model.config.shared()
    for field in fields:
        if type(value := values.get(field)) is int:
            yield staying(live_size(field, value))
