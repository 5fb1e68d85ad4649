"""Quantities of a model as live numbers, for its present sizes and with a swept dimension doubled.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.text.live_numbers import evaluated
>>> case = Case(build(BertConfig()))
>>> evaluated(live_quantity("parameters", case).node, {**BertConfig().shared(), "num_hidden_layers": 24})
194536704
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

from bertcalc.change_steps.effect_formulas import LiveSizes
from bertcalc.config import Config
from bertcalc.controls.stops import SLIDERS
from bertcalc.explore.quantities import EVERY_QUANTITY, PEAKS, Case
from bertcalc.explore.sweep import Sweep
from bertcalc.live.live_formulas import live_size
from bertcalc.memory.byte_formulas import live_modules
from bertcalc.memory.held_formulas import held, staying_sizes
from bertcalc.memory.peak.live_peak_formulas import live_peak
from bertcalc.model.batch import BATCH
from bertcalc.model.formula import symbolic_model
from bertcalc.text.live_numbers import FigureBound, LiveNode, live, node_of, substituted, within


def live_quantity(name: str, case: Case) -> int:
    """Return a quantity of a model with a fixed batch and plan, as a live number.

    Raises InputError if the quantity cannot be computed.
    """
    model, batch = case.model, case.batch.shape
    sizes = LiveSizes(model)
    if name == "file" or (case.base and name in ("weights", *PEAKS)):
        return sizes.held(EVERY_QUANTITY[name].of(case))
    if how := PEAKS.get(name):
        return sizes.replaced(live_peak(model, how(case.plan), *batch).num_bytes)
    number = EVERY_QUANTITY[name].of(case)
    if name == "activations":
        modules = {} if model.changes else live_modules(model, case.plan, *batch)
        return sum(modules.values()) if modules else sizes.held(number)
    return sizes.number(number, lambda: _formula(name, case._replace(model=symbolic_model(model))))


_formula = lru_cache(maxsize=256)(lambda name, case: EVERY_QUANTITY[name].of(case))


def live_doubled(name: str, sweep: Sweep) -> int:
    """Return a quantity of the model after doubling a sweep's only dimension and the sizes that follow it."""
    (field,) = sweep.dimensions
    twice = 2 * sweep.present(field)
    case = sweep.at(**{field: twice})
    figure = live_quantity(name, case)
    sizes = case.batch.sizes()
    nodes: dict[str, Any] = {}
    for moved, value in sweep.fields(**{field: twice}).items():
        present = getattr(sweep.case.batch if moved in BATCH else sweep.config, moved)
        if value != 2 * present:
            return held(int(figure), sweep.case.model)
        nodes[moved] = value if moved in BATCH else LiveNode("*", (2, LiveNode("field", (moved,))))
    at_double = live(int(figure), substituted(node_of(figure), {**sizes, **nodes}))
    return cast(int, within(at_double, tuple(_is_possible(sweep, field))))


def _is_possible(sweep: Sweep, field: str) -> Iterator[FigureBound]:
    """Yield the bounds within which the doubled dimension is possible and the model keeps its structure."""
    config = sweep.config
    if field not in SLIDERS:
        return
    twice = 2 * live_size(field, getattr(config, field))
    yield FigureBound(twice, 1, sweep.limits(field)[1] if field != "num_attention_heads" else None)
    if field == "hidden_size":
        for width in config.breaks:
            yield FigureBound(twice, width + 1) if twice > width else FigureBound(twice, 1, width - (twice < width))
    if field == "num_attention_heads":
        unit = LiveNode("*", (node_of(twice), config.heads_of))
        hidden = live_size("hidden_size", config.hidden_size)
        whole = LiveNode("floor", (LiveNode("/", (node_of(hidden), unit)),))
        rest = LiveNode("-", (node_of(hidden), LiveNode("*", (unit, whole))))
        yield FigureBound(live(config.hidden_size % (twice * config.heads_of), rest), 0, 0)


def same_curves(sweep: Sweep) -> tuple[FigureBound, ...]:
    """Return the bounds within which a sweep's curves or map stay the same: no size outside the sweep changes."""
    model, config = sweep.case.model, sweep.config
    still = [field for field in SLIDERS if field not in (*sweep.dimensions, *sweep.following)]
    return (*staying_sizes(model, still), *(same_ratio(config, field) for field in sweep.following))


def same_ratio(config: Config, field: str) -> FigureBound:
    """Return the bound within which the ratio of the size ``field`` to hidden_size stays the same."""
    size, hidden = (live_size(name, getattr(config, name)) for name in (field, "hidden_size"))
    return FigureBound(size * config.hidden_size - getattr(config, field) * hidden, 0, 0)
