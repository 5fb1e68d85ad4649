"""The figures of changed models as live numbers, which depend on the model's sizes and on the changes' arguments.

The name of an argument's size begins with the number of its change, counted from 0, because two changes can have
arguments with the same name.

>>> from bertcalc import Lora, load
>>> from bertcalc.change_steps.effects import changed_models
>>> from bertcalc.text.live_numbers import evaluated
>>> models, _problem = changed_models(load("bert-base-uncased"), [Lora(r=8)])
>>> trained = live_effect(models[-1], Batch(1, 128), Plan()).trained
>>> trained, evaluated(trained.node, {"hidden_size": 1024, "num_hidden_layers": 24, "0 r": 16})
(294912, 1572864)
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, cast

from bertcalc.change_steps.argument_stops import sliding_arguments
from bertcalc.change_steps.effects import FLOAT32, ChangedModel, StepEffect, effect
from bertcalc.compute.flop_formulas import letters, total_expression
from bertcalc.compute.flops import PYTORCH
from bertcalc.config import Config, unchecked
from bertcalc.live.live_formulas import live_size, live_sizes, with_formula
from bertcalc.memory.peak.live_peak_formulas import live_peak
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.change import CHANGE_SIZES, Change
from bertcalc.model.formula import formula, trained_formula
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import FigureBound, Live, is_live, live, node_of, staying, substituted, within


def argument_size(number: int, argument: str) -> str:
    """Return the name of an argument's size: the number of the change, and the argument."""
    return f"{number} {argument}"


def argument_sizes(model: Model) -> dict[str, int]:
    """Return the values of all arguments with sliders in a model's changes, keyed by ``argument_size``."""
    return {
        argument_size(number, argument): value
        for number, change in enumerate(model.changes)
        for argument, value in sliding_arguments(change).items()
    }


def live_effect(changed: ChangedModel, batch: Batch, plan: Plan) -> StepEffect:
    """Return the result of ``effect`` with live figures. A figure without a formula holds only at the present sizes."""
    model, numbers = changed.model, effect(changed, batch, plan)
    sizes = LiveSizes(model, batch)
    parameters = sizes.number(numbers.parameters, lambda: formula(model).expression)
    trained, flops, peak = numbers.trained, numbers.flops, numbers.peak
    if trained is not None:
        trained = sizes.number(trained, lambda: trained_formula(model).expression)
    if flops is not None:
        flops = sizes.number(flops, lambda: total_expression(letters(model), PYTORCH, "forward"))
    if peak is not None:
        peak = sizes.held(peak) if changed.base else sizes.replaced(live_peak(model, plan, *batch.shape).num_bytes)
    memory_bytes = FLOAT32 * parameters
    if changed.base:
        whole = cast(Model, changed.base.model)
        base = LiveSizes(whole, batch)
        quantized = base.number(whole.num_parameters(), lambda: formula(whole).expression)
        memory_bytes = base.held(changed.base.memory_bytes) + FLOAT32 * (parameters - quantized)
    return numbers._replace(
        parameters=parameters,
        trained=trained,
        memory_bytes=memory_bytes,
        file_bytes=None if numbers.file_bytes is None else sizes.held(numbers.file_bytes),
        adapter_bytes=sizes.held(numbers.adapter_bytes) if numbers.adapter_bytes else 0,
        flops=flops,
        peak=peak,
    )


class LiveSizes:
    """The live sizes of a model and of its changes."""

    def __init__(self, model: Model, batch: Batch | None = None) -> None:
        self._model = model
        self._present = {**model.letter_values(), **(batch.sizes() if batch else {})}
        self._sizes = live_sizes(model.config)
        self._bounds: tuple[FigureBound, ...] = ()  # within the bounds, the changes are possible
        config = unchecked(model.config, **self._sizes)
        for number, change in enumerate(model.changes):
            lively = copy(change)
            for argument, value in sliding_arguments(change).items():  # ``replace`` would check and copy the value
                object.__setattr__(lively, argument, live_size(argument_size(number, argument), value))
            self._sizes |= lively.letter_values(config)
            self._bounds += tuple(_bounds(lively, config))
            config = lively.configured(model, config)

    def number(self, number: int, expression: Callable[[], Any]) -> int:
        """Attach to a number the formula that ``expression`` returns.

        If there is no formula, the number is valid only at the present sizes (``held``).
        """
        formula = expression()
        if formula == number:  # a constant
            return self._bounded(number)
        lively = self.replaced(with_formula(number, formula, self._present))
        # If a change names layers, the formula has no letter for the number of layers.
        named = any(change.by_layer for change in self._model.changes)
        return cast(int, within(lively, (staying(self._sizes["num_hidden_layers"]),))) if named else lively

    def replaced(self, number: int) -> int:
        """Replace the changes' letters in a live number with the arguments, and keep the arguments within their limits.

        A number without a formula is ``held``.
        """
        nodes = {name: node_of(size) for name, size in self._sizes.items() if name in CHANGE_SIZES}
        lively = live(int(number), substituted(node_of(number), nodes))
        if not isinstance(lively, Live):
            return self.held(number)
        return self._bounded(cast(int, lively))

    def _bounded(self, number: int) -> int:
        return cast(int, within(number, self._bounds)) if self._bounds else number

    def held(self, number: int) -> int:
        """Restrict a number without a formula to the present sizes."""
        moving = (size for size in self._sizes.values() if isinstance(size, Live))
        return cast(int, within(number, (*map(staying, moving), *self._bounds)))


def _bounds(change: Change, config: Config) -> Iterator[FigureBound]:
    for limit in change.limits(config):
        yield from (
            FigureBound(room, 0) for room in (limit.value - limit.low, limit.high - limit.value) if is_live(room)
        )
