"""Live numbers without a formula: they have a value only at the sizes that a model has now.

>>> from bertcalc import BertConfig, build
>>> held(7, build(BertConfig())).node.operation
'within'
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar, cast

from bertcalc.controls.stops import SLIDERS
from bertcalc.live.live_formulas import live_size
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import Bound, staying, within

Value = TypeVar("Value")


def held(value: Value, model: Model) -> Value:
    """A number or a text that follows from the sizes of sliders in a way that has no formula."""
    return cast(Value, within(value, tuple(staying_sizes(model, SLIDERS))))


def staying_sizes(model: Model, fields: Iterable[str]) -> Iterator[Bound]:
    """The bounds of sizes that have to stay what they are now; of fields that the family lacks there is none."""
    values = model.config.shared()
    for field in fields:
        if type(value := values.get(field)) is int:
            yield staying(live_size(field, value))
