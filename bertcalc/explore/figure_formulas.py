"""Quantities of models, and the differences between them, as live numbers: a side of a comparison can follow sliders.

>>> from bertcalc import BertConfig
>>> from bertcalc.model.model import Model
>>> from bertcalc.text.live_numbers import evaluated
>>> moving = LiveCase(Case(Model(BertConfig())), frozenset(SLIDERS))
>>> flops = live_figure("forward", moving)
>>> flops, evaluated(flops.node, {**BertConfig().shared(), "num_hidden_layers": 24})
(22348431360, 44695683072)
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from bertcalc.change_steps.effect_formulas import LiveSizes, argument_sizes
from bertcalc.config.fields import is_int
from bertcalc.controls.stops import SLIDERS
from bertcalc.explore.compare import (
    Attribution,
    Breakdown,
    Changes,
    FieldChange,
    explain_path,
    joined_until_known,
    path,
    shapes,
)
from bertcalc.explore.live_quantity_formulas import live_quantity
from bertcalc.explore.model_values import FIELDS, STEPS
from bertcalc.explore.quantities import EVERY_QUANTITY, Case, components
from bertcalc.live.live_formulas import live_reading, live_size
from bertcalc.model.formula import symbolic_model
from bertcalc.model.modules import Shape
from bertcalc.text.live_numbers import at_sizes

_SIZES = [field for field in FIELDS if field in SLIDERS]
_PAIR = ("num_attention_heads", "hidden_size")


class LiveCase(NamedTuple):
    """A case, and which of its sizes follow the sliders; its other sizes are fixed."""

    case: Case
    follows: frozenset[str] = frozenset()

    def size(self, field: str) -> int:
        value: int = getattr(self.case.model.config, field)
        return live_size(field, value) if field in self.follows else value


def live_figure(measure: str, side: LiveCase) -> int:
    """Return the quantity ``measure`` of a case; it is a live number if at least one size follows the sliders.

    Raises InputError if the quantity cannot be computed.
    """
    if not side.follows:
        return EVERY_QUANTITY[measure].of(side.case)
    return cast(int, _with_fixed_sizes(live_quantity(measure, side.case), side))


def live_components(side: LiveCase) -> dict[Any, int]:
    """Return the number of parameters of each component; live numbers if at least one size follows the sliders."""
    model = side.case.model
    if not side.follows:
        return dict(components(model))
    sizes, formulas = LiveSizes(model), components(symbolic_model(model))
    return {
        component: _with_fixed_sizes(sizes.number(count, partial(formulas.get, component, 0)), side)
        for component, count in components(model).items()
    }


def live_shapes(side: LiveCase) -> dict[str, Shape]:
    """Return the shapes of a few important matrices. Sizes that follow the sliders are live numbers."""
    model = side.case.model
    if not side.follows:
        return shapes(model)
    sizes = LiveSizes(model)
    return {
        name: tuple(_with_fixed_sizes(sizes.replaced(length), side) for length in shape)
        for name, shape in live_reading(shapes, model).items()
    }


def _with_fixed_sizes(figure: Any, side: LiveCase) -> Any:
    """Fix all sizes in a live number that do not follow the sliders, including sizes of the batch and of steps."""
    values = side.case.model.config.shared()
    fixed = {field: value for field, value in values.items() if field not in side.follows and is_int(value)}
    return at_sizes(figure, {**fixed, **side.case.batch.sizes(), **argument_sizes(side.case.model)})


class _State(NamedTuple):
    """A model between two others: the changes that lead to it, and the model with the sizes that follow the sliders."""

    changes: Changes
    side: LiveCase


def live_explanation(first: LiveCase, second: LiveCase, measure: str) -> Breakdown:
    """Explain the difference in the quantity ``measure`` as ``explain`` does, with live numbers.

    A size that differs only after a slider has moved is a part with difference 0.
    """
    stages = [*path(first.case, second.case)]
    plain = explain_path(first.case, stages, EVERY_QUANTITY[measure])
    if not first.follows | second.follows:
        return plain
    by_changes = {_named(part.changes): part for part in plain.parts}
    states = [*_states(first, second, stages)]
    sides = [*(state.side for state in states[:-1]), second]
    figures = ((state.changes, partial(live_figure, measure, side)) for state, side in zip(states, sides, strict=False))
    before = total = live_figure(measure, first)
    parts = []
    for state_changes, after in joined_until_known(figures):
        part = by_changes.get(_named(state_changes))
        changes = tuple(_live_change(change, first, second) for change in (part.changes if part else state_changes))
        moved, inside = (part.moved, part.inside) if part else (0, ())
        parts.append(Attribution(changes, after, after - total, moved, inside))
        total = after
    return Breakdown(before, total, parts)


def _named(changes: Changes) -> tuple[object, ...]:
    """Return a key for comparing changes: the field of each change, or the replaced and the new steps."""
    return tuple((change.before, change.after) if change.field == STEPS else change.field for change in changes)


def _fields(changes: Changes) -> tuple[str, ...]:
    return tuple(change.field for change in changes)


def _live_change(change: Any, first: LiveCase, second: LiveCase) -> FieldChange:
    if change.sharing > 0 and change.sharing == second.case.model.config.num_hidden_layers:
        change = change._replace(sharing=second.size("num_hidden_layers"))
    if change.field == "embedding_size":  # in a family without this field, the embeddings are as wide as the layers
        hidden = second.size("hidden_size")
        before, after = (
            hidden if value == hidden and not side.case.model.config.has("embedding_size") else value
            for value, side in ((change.before, first), (change.after, second))
        )
        return cast(FieldChange, change._replace(before=before, after=after))
    if change.field not in SLIDERS:
        return cast(FieldChange, change)
    return cast(FieldChange, change._replace(before=first.size(change.field), after=second.size(change.field)))


def _states(
    first: LiveCase, second: LiveCase, stages: Sequence[tuple[tuple[FieldChange, ...], Case]]
) -> Iterator[_State]:
    """Yield the models along a path with these stages.

    A model is repeated where a size is equal in both cases but can differ after a slider has moved. The number of
    states is therefore the same at every stop of the sliders.
    """
    differing = {change.field for changes, _case in stages for change in changes}
    configs = [side.case.model.config for side in (first, second)]
    waiting = [
        field
        for field in _SIZES
        if field in first.follows ^ second.follows
        and field not in differing
        and all(config.has(field) for config in configs)
    ]
    pair = _PAIR if _needs_both(first, second) else ()
    case, taken = first.case, set[str]()

    def state(changes: Changes) -> _State:
        taken.update(_fields(changes))
        new = {field for field in SLIDERS if not configs[0].has(field)}
        follows = second.follows & (taken | new) | first.follows - taken - new
        return _State(changes, LiveCase(case, follows))

    def waited(fields: Collection[str]) -> Changes:
        these = [field for field in waiting if field in fields]
        waiting[:] = [field for field in waiting if field not in these]
        return tuple(FieldChange(field, getattr(configs[0], field), getattr(configs[0], field)) for field in these)

    for changes, after in _joined(stages, pair):
        if differing.intersection(pair, _fields(changes)):
            changes = tuple(sorted((*changes, *waited(pair)), key=lambda change: FIELDS.index(change.field)))
        place = max(FIELDS.index(change.field) if change.field in FIELDS else len(FIELDS) for change in changes)
        while waiting and FIELDS.index(waiting[0]) < place:
            yield state(waited(pair if waiting[0] in pair else waiting[:1]))
        case = after
        yield state(changes)
    while waiting:
        yield state(waited(pair if waiting[0] in pair else waiting[:1]))


def _needs_both(first: LiveCase, second: LiveCase) -> bool:
    """Whether, at some slider stops, the heads can change only together with hidden_size, which they must divide."""
    heads, step = second.case.model.config.num_attention_heads, SLIDERS["hidden_size"][2]
    return "num_attention_heads" in second.follows or ("hidden_size" in first.follows and step % heads > 0)


def _joined(stages: Iterable[tuple[Changes, Case]], pair: Collection[str]) -> list[tuple[Changes, Case]]:
    """Return the stages; consecutive stages that change a field of the pair are merged."""
    joined: list[tuple[Changes, Case]] = []
    for changes, case in stages:
        if joined and all(set(pair).intersection(_fields(others)) for others in (changes, joined[-1][0])):
            changes = (*joined.pop()[0], *changes)
        joined.append((changes, case))
    return joined
