"""The effect of a configuration field, found by counting the model with that field changed a little."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from bertcalc.compute.flops import total
from bertcalc.config import DIMENSIONS, Config, ConfigError, divisors, no_field, sizes_of
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.config.fields import known
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import cache_bytes, saved_by, total_bytes
from bertcalc.model.subject import Subject
from bertcalc.model.trace import Sizes
from bertcalc.text.arguments import checked

# One activation for each pair of parameters and saved tensors, those with parameters first: ``effect`` stops there.
_ACTIVATIONS = sorted(
    {(facts.parameters, facts.kept): name for name, facts in reversed(ACTIVATIONS.items())}.values(),
    key=lambda name: (not ACTIVATIONS[name].parameters, list(ACTIVATIONS).index(name)),
)


class Effect(NamedTuple):
    """The differences in parameters, forward FLOPs and bytes that a change of one field makes.

    Bytes are those of the weights and of the activations saved for training, in float32, and of a decoder's cache.
    """

    before: object
    after: object
    parameters: int
    flops: int
    memory: int


@checked
def effect(field: str, subject: Subject, batch_size: int, sequence_length: int) -> Effect:
    """The effect of the smallest valid change of a field: of several, the first that makes a difference.

    If a field can change only together with another one (cross attention needs a decoder), the other one is changed in
    both models. If the field has no other valid value (one unit has one head), nothing changes.
    """
    if not hasattr(subject.config, field) or not subject.config.has(field):
        raise ConfigError(no_field(type(subject.config), field, None))
    now = getattr(subject.config, field)
    first = None
    for base, changed in _neighbours(field, subject.config):
        if subject.cls.unbuilt(changed):
            continue
        before, read = _cost(subject._replace(config=base), batch_size, sequence_length)
        after = before
        if subject.config.own_name(field) in read:  # a field that is never read has no effect
            after, _read = _cost(subject._replace(config=changed), batch_size, sequence_length)
        differences = (more - less for less, more in zip(before, after, strict=True))
        found = Effect(getattr(base, field), getattr(changed, field), *differences)
        if any((found.parameters, found.flops, found.memory)):
            return found
        first = first or found
    return first or Effect(now, now, 0, 0, 0)


# Cached: every field is compared with the same model, and a slider that goes up and down comes back to its neighbours.
@lru_cache(maxsize=4096)
def _cost(subject: Subject, batch_size: int, sequence_length: int) -> tuple[tuple[int, int, int], frozenset[str]]:
    """Parameters, FLOPs and bytes, and the names of the fields that were read to compute them."""
    config, read = _watched(subject.config)
    subject = subject._replace(config=config)
    model = subject.model()
    length = min(sequence_length, config.longest)
    steps = model.run(Sizes(batch_size, length, encoder_sequence_length=subject.seen(length)))
    parameters = model.num_parameters()
    memory = 4 * parameters + total_bytes(saved_by(steps, Plan()))
    if config.is_decoder and config.use_cache:
        memory += cache_bytes(steps)
    return (parameters, total(steps), memory), frozenset(read)


def _watched(config: Config) -> tuple[Config, set[str]]:
    """A copy of a configuration that records which of its fields are read, and the set of these."""
    read: set[str] = set()
    twin: Config = object.__new__(_watching(type(config)))
    twin.__dict__.update(vars(config), **{_READ: read})
    read.clear()
    return twin, read


_READ = "fields that are read"


@cache  # a class for each copy would stay in the caches of what is known of a class
def _watching(kind: type[Config]) -> type[Config]:
    """A subclass, so that family_of finds the family, whose objects record what is read of them."""

    class Watching(kind):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            if name != "__dict__":
                self.__dict__[_READ].add(name)
            return super().__getattribute__(name)

    return Watching


def _neighbours(field: str, config: Config) -> Iterator[tuple[Config, Config]]:
    """Pairs of a base configuration (the given one if possible) and the base with the field changed."""
    for value in _candidates(field, config):
        if value == getattr(config, field):
            continue
        try:
            yield config, replace(config, **{field: value})
        except ConfigError as error:
            # Not remedies that change a size: that would change the count by itself.
            others = [remedy for remedy in error.problem.remedies if not remedy.keys() & {field, *DIMENSIONS}]
            base = _repaired(config, others[0], field) if others else None
            if base:
                with suppress(ConfigError):  # the family may have its own rule against it
                    yield base, replace(base, **{field: value})
        else:
            if field in sizes_of(type(config)):
                return  # for a size, one more (or one less) is enough


def _repaired(config: Config, changes: dict[str, Any], field: str) -> Config | None:
    """The configuration with the changes and all that they require; None if that is the field itself or a size."""
    while True:
        try:
            return replace(config, **changes)
        except ConfigError as error:
            untouched = (one for one in error.problem.remedies if not one.keys() & {field, *changes, *DIMENSIONS})
            more = next(untouched, None)
        if more is None:
            return None
        changes = {**changes, **more}


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
            about = known(field)
            return about.choices or tuple(name for name in _ACTIVATIONS if about.is_right(name))
        case int() if field == "num_attention_heads":
            every = divisors(config.hidden_size)
            at = every.index(value)
            return every[at + 1 :] + every[:at][::-1]
        case int() if field in sizes_of(type(config)):
            step = config.num_attention_heads * config.heads_of if field == "hidden_size" else 1
            return (value + step, value - step)
        case int():
            return (value + 1, value - 1, None)
    if field.endswith(("_prob", "_dropout")):
        return (0, 0.1, 1.0)
    return (0,) if value is None else (10 * value, value / 10)
