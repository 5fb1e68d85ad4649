"""The effect of a configuration field: the difference between the model and a model with a slightly different value."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from bertcalc.compute.flops import total
from bertcalc.config import DIMENSIONS, Config, ConfigError, divisors, no_field, sizes_of
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.config.fields import field_named
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import cache_bytes, saved_by, total_bytes
from bertcalc.model.model import Model
from bertcalc.text.arguments import checked

# One activation function for each combination of parameters and saved tensors. ``effect`` stops at the first function
# that makes a difference, so functions with parameters come first.
_ACTIVATIONS = sorted(
    {(facts.parameters, facts.kept): name for name, facts in reversed(ACTIVATIONS.items())}.values(),
    key=lambda name: (not ACTIVATIONS[name].parameters, list(ACTIVATIONS).index(name)),
)
_READ = "fields that are read"


class Effect(NamedTuple):
    """The differences in parameters, forward FLOPs and memory that the change of one field makes.

    The memory, in bytes, consists of the weights and the activations saved for backward, in float32, and of a decoder's
    key/value cache.
    """

    before: object
    after: object
    parameters: int
    flops: int
    memory: int


@checked
def effect(field: str, model: Model, batch_size: int, sequence_length: int) -> Effect:
    """Return the effect of a field's first valid change that makes a difference, or else of its first valid change.

    If the change requires a change of another field (cross-attention needs a decoder), both models have that other
    change. If the field has no other valid value (a single hidden unit allows only one head), the effect is zero.
    Raises ConfigError if the family does not have the field.
    """
    if not hasattr(model.config, field) or not model.config.has(field):
        raise ConfigError(no_field(type(model.config), field, None))
    present = getattr(model.config, field)
    first = None
    for base, changed in _neighbors(field, model.config):
        if model.cls.unbuilt(changed):
            continue
        before, read = _cost(model.changed(config=base), batch_size, sequence_length)
        after = before
        if model.config.own_name(field) in read:  # otherwise the field has no effect
            after, _read = _cost(model.changed(config=changed), batch_size, sequence_length)
        differences = (changed_cost - base_cost for base_cost, changed_cost in zip(before, after, strict=True))
        field_effect = Effect(getattr(base, field), getattr(changed, field), *differences)
        if any((field_effect.parameters, field_effect.flops, field_effect.memory)):
            return field_effect
        first = first or field_effect
    return first or Effect(present, present, 0, 0, 0)


# Cached, because every field is compared with the same model, and sliders return to neighboring values.
@lru_cache(maxsize=2048)
def _cost(model: Model, batch_size: int, sequence_length: int) -> tuple[tuple[int, int, int], frozenset[str]]:
    """Return the parameters, FLOPs and bytes, and the names of the fields that they depend on."""
    config, read = _watched(model.config)
    model = model.changed(config=config)
    length = min(sequence_length, config.longest)
    steps = model.steps(model.batch_of(batch_size, length))
    parameters = model.num_parameters()
    memory = 4 * parameters + total_bytes(saved_by(steps, Plan()))
    if config.is_decoder and config.use_cache:
        memory += cache_bytes(steps)
    return (parameters, total(steps), memory), frozenset(read)


def _watched(config: Config) -> tuple[Config, set[str]]:
    """Return a copy of a configuration that records which of its fields are read, and the set of recorded names."""
    read: set[str] = set()
    twin: Config = object.__new__(_watching(type(config)))
    twin.__dict__.update(vars(config), **{_READ: read})
    read.clear()
    return twin, read


@cache  # one class per family: a new class per copy would fill the caches that are keyed by class
def _watching(kind: type[Config]) -> type[Config]:
    """Return a subclass that records which attributes are read; ``family_of`` treats it like its base class."""

    class Watching(kind):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            if name != "__dict__":
                self.__dict__[_READ].add(name)
            return super().__getattribute__(name)

    return Watching


def _neighbors(field: str, config: Config) -> Iterator[tuple[Config, Config]]:
    """Yield pairs of a base configuration (``config`` itself if possible) and the base with the field changed."""
    for value in _candidates(field, config):
        if value == getattr(config, field):
            continue
        try:
            yield config, replace(config, **{field: value})
        except ConfigError as error:
            # Remedies that change a size are left out, because they would change the count by themselves.
            others = [remedy for remedy in error.problem.remedies if not remedy.keys() & {field, *DIMENSIONS}]
            base = _repaired(config, others[0], field) if others else None
            if base:
                with suppress(ConfigError):  # the family may not allow it
                    yield base, replace(base, **{field: value})
        else:
            if field in sizes_of(type(config)):
                return  # for a size, one neighbor is enough


def _repaired(config: Config, changes: dict[str, Any], field: str) -> Config | None:
    """Return the configuration with these changes and all changes that they require.

    Returns None if they require a change of the field or of a size.
    """
    while True:
        try:
            return replace(config, **changes)
        except ConfigError as error:
            untouched = (
                remedy for remedy in error.problem.remedies if not remedy.keys() & {field, *changes, *DIMENSIONS}
            )
            required = next(untouched, None)
        if required is None:
            return None
        changes = {**changes, **required}


def _candidates(field: str, config: Config) -> Iterable[Any]:
    value = getattr(config, field)
    if field == "num_key_value_heads":
        return divisors(config.num_attention_heads)
    if field == "conv_kernel_size":
        return (0, 3)
    match value:
        case bool():
            return (not value,)
        case str():
            about = field_named(field)
            return about.choices or tuple(name for name in _ACTIVATIONS if about.is_right(name))
        case int() if field == "num_attention_heads":
            every = divisors(config.hidden_size)
            index = every.index(value)
            return every[index + 1 :] + every[:index][::-1]
        case int() if field in sizes_of(type(config)):
            step = config.num_attention_heads * config.heads_of if field == "hidden_size" else 1
            return (value + step, value - step)
        case int():
            return (value + 1, value - 1, None)
    if field.endswith(("_prob", "_dropout")):
        return (0, 0.1, 1.0)
    return (0,) if value is None else (10 * value, value / 10)
