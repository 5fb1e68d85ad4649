"""Changing one size of a model with a slider: the slider's stops, each a valid model, and the sizes that follow.

num_attention_heads A divides hidden_size H. Two locks decide what follows H: with ``heads`` the head size H / A stays
and A follows; with ``intermediate`` intermediate_size stays the same multiple of H. Padding stays in the vocabulary.

>>> from bertcalc import BertConfig
>>> moved(BertConfig(), "hidden_size", 1024).num_attention_heads
16
>>> stops(BertConfig(), "num_attention_heads")[:6]
[1, 2, 3, 4, 6, 8]
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from bertcalc.config import (
    ABSENT,
    DIMENSIONS,
    Config,
    ConfigError,
    Problem,
    check_field,
    divisors,
    nearest_divisors,
    no_field,
)
from bertcalc.config.fields import is_int
from bertcalc.text import N_
from bertcalc.text.arguments import checked, text, unknown


class Locks(NamedTuple):
    """Whether num_attention_heads and intermediate_size follow hidden_size."""

    heads: bool = True
    intermediate: bool = False


LOCKS = Locks()

# Lowest stop, highest stop and step: the sizes of models that people build. Typed values may lie outside.
SLIDERS: dict[str, tuple[int, int, int]] = {
    "vocab_size": (1_000, 130_000, 1_000),
    "hidden_size": (64, 2_048, 64),
    "num_hidden_layers": (1, 48, 1),
    "num_attention_heads": (1, 32, 1),
    "intermediate_size": (256, 8_192, 256),
}
_MOST = 256  # stops of a slider: a mouse cannot hit more
_MULTIPLES = 8  # of H, where intermediate_size is one


_NO_SLIDER = (
    N_("There is no slider for {name}: did you mean {nearest}?"),
    N_("There is no slider for {name}. There is one for {options}."),
)


@checked
def stops(config: Config, field: str, locks: Locks = LOCKS, also: int | None = None) -> list[int]:
    """The stops of a slider, ascending, including the present value, and ``also`` if it is possible.

    ``moved`` accepts each of them.
    """
    if field not in SLIDERS or not config.has(field):
        raise unknown(_NO_SLIDER, field, [size for size in SLIDERS if config.has(size)])
    low, high, step = SLIDERS[field]
    now: int = getattr(config, field)
    match field:
        case "hidden_size":
            found = _multiples(_unit(config, locks), max(high, now))
        case "num_attention_heads":
            every = divisors(config.hidden_size)
            found = [count for count in every if count <= max(2 * high, now)]
            found = found if len(found) > 1 else every
        case "intermediate_size" if locks.intermediate:
            found = _multiples(config.hidden_size, min(_MULTIPLES * config.hidden_size, DIMENSIONS[field][1]))
        case _:
            found = list(range(low, high + 1, step))
    if config.heads_of > 1:  # rotary positions need even head sizes; heads may also share keys and values
        found = [value for value in found if _possible(config, field, value, locks)]
    if also is not None and _possible(config, field, also, locks):
        found.append(also)
    return sorted({*found, now})


def _multiples(unit: int, high: int) -> list[int]:
    step = unit * -(-high // (unit * _MOST))
    return [*range(step, high + 1, step)]


def _possible(config: Config, field: str, value: int, locks: Locks) -> bool:
    try:
        moved(config, field, value, locks)
    except ConfigError:
        return False
    return True


def moved(config: Config, field: str, value: int, locks: Locks = LOCKS) -> Config:
    """The model with one size changed, and with the sizes that follow it.

    A hidden_size that is no multiple of the head size is possible if the present number of heads divides it. Raises
    ConfigError with the nearest valid changes as remedies.
    """
    if not config.has(text("field", field)) and field not in ABSENT:
        raise ConfigError(no_field(type(config), field, value))
    if problem := check_field(type(config), field, value):
        nearest = problem.remedies[0][field] if is_int(value) else getattr(config, field)
        if field == "vocab_size":
            nearest = max(nearest, config.fewest_words)
        raise ConfigError(problem._replace(remedies=_ways_out(config, field, nearest, locks)))
    changes: dict[str, Any] = {field: value}
    if field == "hidden_size":
        size, heads = config.attention_head_size, config.num_attention_heads
        if locks.heads and value % size == 0:
            changes["num_attention_heads"] = value // size
        elif value % heads:
            raise ConfigError(_no_multiple(config, value, locks))
        changes |= _following(config, value, locks)
    elif field == "num_attention_heads" and config.hidden_size % value:
        raise ConfigError(_no_divisor(config, value, locks))
    elif field == "vocab_size" and SLIDERS[field][0] <= value < config.fewest_words:
        changes["pad_token_id"] = value - 1  # EuroBERT pads with token 128,001: no slider could go below otherwise
    try:
        return replace(config, **changes)
    except ConfigError as error:  # with other fields: report it at the field that was changed, with complete remedies
        ways = _models(config, ({**changes, **way} for way in error.problem.remedies))
        raise ConfigError(error.problem._replace(field=field, remedies=(*ways,))) from None


def _following(config: Config, hidden_size: int, locks: Locks) -> dict[str, int]:
    """The intermediate_size for another hidden_size: the same multiple of it, rounded; empty if it is not locked."""
    if not locks.intermediate:
        return {}
    now = config.hidden_size
    multiple = (2 * config.intermediate_size * hidden_size + now) // (2 * now)
    return {"intermediate_size": min(max(multiple, 1), DIMENSIONS["intermediate_size"][1])}


def _no_multiple(config: Config, value: int, locks: Locks) -> Problem:
    """The problem of a hidden_size that is no multiple of the head size, or of the number of heads."""
    remedies = _ways_out(config, "hidden_size", value, locks)
    if locks.heads:
        message = N_("{field} {value} cannot be split into heads of {unit}: {near} can.")
    else:
        message = N_("{field} {value} cannot be split into {unit} equal heads: {near} can.")
    shown = {"field": config.own_name("hidden_size"), "unit": _unit(config, locks), "near": remedies[0]["hidden_size"]}
    return Problem.of(message, "hidden_size", value, *remedies, value=value, **shown)


def _no_divisor(config: Config, value: int, locks: Locks) -> Problem:
    """The problem of a number of heads that does not divide the hidden size."""
    remedies = _ways_out(config, "num_attention_heads", value, locks)
    message = N_("{hidden_size} {hidden} cannot be split into {value} equal heads: {field} {near} works.")
    names = {"hidden_size": config.own_name("hidden_size"), "field": config.own_name("num_attention_heads")}
    shown = {"value": value, "hidden": config.hidden_size, "near": remedies[0]["num_attention_heads"], **names}
    return Problem.of(message, "num_attention_heads", value, *remedies, **shown)


def _ways_out(config: Config, field: str, value: int, locks: Locks) -> tuple[dict[str, int], ...]:
    """The valid changes nearest to a possible value of the field, the nearest first."""
    hidden, heads = config.hidden_size, config.num_attention_heads
    if field == "hidden_size":
        unit = _unit(config, locks)
        found = [
            {field: size, "num_attention_heads": size // unit if locks.heads else heads}
            for size in _nearest_multiples(unit, value)
        ]
        found.append({field: value, "num_attention_heads": nearest_divisors(value, heads)[0]})
        ways = _models(config, (one | _following(config, one[field], locks) for one in found))
        return (*ways,) or ({field: hidden},)
    if field == "num_attention_heads":
        counts = islice(_models(config, ({field: count} for count in nearest_divisors(hidden, value))), 2)
        sizes = _nearest_multiples(value * config.heads_of, hidden)[:1]
        others = ({"hidden_size": size, field: value, **_following(config, size, locks)} for size in sizes)
        return (*counts, *_models(config, others))
    return ({field: value},)


def _models(config: Config, ways: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The changes that make a valid model: a family may need even head sizes, or heads that share keys and values."""
    for way in ways:
        with suppress(ConfigError):
            replace(config, **way)
            yield way


def _unit(config: Config, locks: Locks) -> int:
    return config.attention_head_size if locks.heads else config.num_attention_heads * config.heads_of


def _nearest_multiples(unit: int, value: int) -> list[int]:
    """The multiples below and above a value that are possible hidden sizes, the nearer one first."""
    below = value - value % unit
    near = [size for size in {below, below + unit} if 0 < size <= DIMENSIONS["hidden_size"][1]]
    return sorted(near, key=lambda size: abs(size - value))
