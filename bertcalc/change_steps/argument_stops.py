"""The stops of the slider for a step's argument: round numbers that grow by a few percent."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from bertcalc.config import Config
from bertcalc.config.fields import is_int
from bertcalc.controls.stops import round_numbers
from bertcalc.model.change import CHANGE_SIZES, Change
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError


def sliding_arguments(change: Change) -> dict[str, int]:
    """Return the arguments of a change that have a letter in formulas, with their values.

    Arguments that are None are left out.

    >>> from bertcalc import Lora, ResizeVocabulary
    >>> sliding_arguments(Lora(r=16)), sliding_arguments(ResizeVocabulary(pad_to_multiple_of=64))
    ({'r': 16}, {})
    """
    values = {argument: getattr(change, argument) for argument in change.letters}
    return {argument: value for argument, value in values.items() if is_int(value)}


def argument_stops(change: Change, argument: str, model: Model) -> list[int]:
    """Return the slider's stops in ascending order: the argument's value, and round numbers that the model allows.

    ``model`` is the model before the change.

    >>> from bertcalc import Lora, load
    >>> argument_stops(Lora(r=8), "r", load("bert-base-uncased"))[28:36]
    [29, 30, 31, 32, 34, 36, 38, 40]
    """
    size = CHANGE_SIZES[change.letters[argument]]
    changed, config = model.changed(changes=(*model.changes, change)), model.final_config
    values = {getattr(change, argument), *round_numbers(size.low, size.high)}
    return [value for value in sorted(values) if _is_possible(_with(change, argument, value), changed, config)]


def _with(change: Change, argument: str, value: int) -> Change:
    fields: dict[str, Any] = {argument: value}
    changed: Change = replace(change, **fields)  # type: ignore[type-var]  # all changes are dataclasses
    return changed


def _is_possible(change: Change, changed: Model, config: Config) -> bool:
    with suppress(InputError):
        change.configured(changed, config)
        return True
    return False
