"""Change one size of a model with a slider: the slider's stops, all of them valid, and the sizes that follow.

num_attention_heads A divides hidden_size H. Two locks decide what follows H. With ``heads``, the head size H / A stays
the same and A changes. With ``intermediate``, intermediate_size stays the same multiple of H. The padding token stays
in the vocabulary.

This module also spaces the stops of other sliders: ``parts_of`` for the sizes of a discovered model, ``round_numbers``
for the arguments of a step. The discovered model or the step decides which of these stops are valid.

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

# (lowest stop, highest stop, distance between stops), chosen to cover real models. Typed values may lie outside.
SLIDERS: dict[str, tuple[int, int, int]] = {
    "vocab_size": (1_000, 130_000, 1_000),
    "hidden_size": (64, 2_048, 64),
    "num_hidden_layers": (1, 48, 1),
    "num_attention_heads": (1, 32, 1),
    "intermediate_size": (256, 8_192, 256),
}
WORDS: dict[str, str] = {
    "vocab_size": N_("Vocabulary"),
    "hidden_size": N_("Hidden size"),
    "num_hidden_layers": N_("Layer count"),
    "num_attention_heads": N_("Head count"),
    "intermediate_size": N_("Feed-forward size"),
}
_MOST = 256  # maximum number of stops of a slider: a mouse cannot hit more
_PARTS, _FARTHEST = 16, 4  # stops are sixteenths of a size, up to four times the size
_SMALL = 64  # for smaller sizes, every number is a stop
_MULTIPLES = 8  # the highest multiple of H as intermediate_size, if it follows H


_NO_SLIDER = (
    N_("There is no slider for {name}: did you mean {nearest}?"),
    N_("There is no slider for {name}. These fields have sliders: {options}."),
)


@checked
def stops(config: Config, field: str, locks: Locks = LOCKS, also: int | None = None) -> list[int]:
    """The stops of a slider in ascending order, including the current value, and ``also`` if it is valid.

    ``moved`` accepts each of them. Raises UnknownNameError for a field without a slider.
    """
    if field not in SLIDERS or not config.has(field):
        raise unknown(_NO_SLIDER, field, [size for size in SLIDERS if config.has(size)])
    low, high, step = SLIDERS[field]
    present: int = getattr(config, field)
    match field:
        case "hidden_size":
            values = _multiples(_unit(config, locks), max(high, present))
        case "num_attention_heads":
            every = divisors(config.hidden_size)
            values = [count for count in every if count <= max(2 * high, present)]
            values = values if len(values) > 1 else every
        case "intermediate_size" if locks.intermediate:
            values = _multiples(config.hidden_size, min(_MULTIPLES * config.hidden_size, DIMENSIONS[field][1]))
        case _:
            values = list(range(low, high + 1, step))
    # Not all stops are valid: rotary positions need even head sizes, and heads can share keys and values.
    if config.heads_of > 1:
        values = [value for value in values if _possible(config, field, value, locks)]
    if also is not None and _possible(config, field, also, locks):
        values.append(also)
    return sorted({*values, present})


def parts_of(size: int, unit: int = 1) -> list[int]:
    """Sixteenths of a size, up to four times the size, rounded to multiples of ``unit``.

    If the size is below 64, every number up to four times the size (at least up to 16) is a stop.

    >>> parts_of(128, 32)
    [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512]
    """
    if size < _SMALL:
        return [*range(1, max(_FARTHEST * size, _PARTS) + 1)]
    parts = (size * part // _PARTS for part in range(1, _FARTHEST * _PARTS + 1))
    return sorted({max(1, round(part / unit)) * unit for part in parts} | {size})


def round_numbers(low: int, high: int) -> list[int]:
    """The numbers in a range with at most five significant binary digits: from 16 on, they are 3 to 6 % apart.

    >>> round_numbers(29, 44)
    [29, 30, 31, 32, 34, 36, 38, 40, 42, 44]
    """
    larger = (
        number
        for exponent in range(1, max(high, 16).bit_length() - 4)
        for number in range(16 << exponent, 32 << exponent, 1 << exponent)
    )
    return [*range(low, min(high, 31) + 1), *(number for number in larger if low <= number <= high)]


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
    """Change one size and the sizes that follow it.

    A hidden_size that is not a multiple of the head size is possible if the current number of heads divides it. Raises
    ConfigError with the nearest valid changes as remedies.
    """
    if not config.has(text("field", field)) and field not in ABSENT:
        raise ConfigError(no_field(type(config), field, value))
    if problem := check_field(type(config), field, value):
        nearest = problem.remedies[0][field] if is_int(value) else getattr(config, field)
        if field == "vocab_size":
            nearest = max(nearest, config.fewest_words)
        raise ConfigError(problem._replace(remedies=_remedies(config, field, nearest, locks)))
    changes: dict[str, Any] = {field: value, **followers(config, field, value, locks)}
    if field == "hidden_size" and value % changes.get("num_attention_heads", config.num_attention_heads):
        raise ConfigError(_no_multiple(config, value, locks))
    if field == "num_attention_heads" and config.hidden_size % value:
        raise ConfigError(_no_divisor(config, value, locks))
    if field == "vocab_size" and SLIDERS[field][0] <= value < config.fewest_words:
        changes["pad_token_id"] = value - 1  # otherwise no slider could go below EuroBERT's padding token, 128,001
    try:
        return replace(config, **changes)
    except ConfigError as error:  # about another field: report it for the changed field, with complete remedies
        remedies = _valid_changes(config, ({**changes, **remedy} for remedy in error.problem.remedies))
        raise ConfigError(error.problem._replace(field=field, remedies=(*remedies,))) from None


def alike(config: Config, field: str, value: int, locks: Locks = LOCKS) -> bool:
    """Whether a model has the same formulas after ``moved``; at a few sizes, some families have a different structure.

    >>> from bertcalc import ElectraConfig
    >>> electra = ElectraConfig(hidden_size=256, embedding_size=128, num_attention_heads=4)
    >>> alike(electra, "hidden_size", 512), alike(electra, "hidden_size", 128)  # where it needs no projection
    (True, False)
    """
    if type(config).letters_of_sizes is Config.letters_of_sizes:
        return True
    letters = config.letters_of_sizes()
    return field in letters and moved(config, field, value, locks).letters_of_sizes() == letters


def followers(config: Config, field: str, value: int, locks: Locks = LOCKS) -> dict[str, int]:
    """The sizes that follow another size, mapped to their new values; empty for any size except hidden_size.

    >>> from bertcalc import BertConfig
    >>> followers(BertConfig(), "hidden_size", 1024)
    {'num_attention_heads': 16}
    """
    if field != "hidden_size":
        return {}
    size = config.attention_head_size
    heads = {"num_attention_heads": value // size} if locks.heads and value % size == 0 else {}
    return {**heads, **_following(config, value, locks)}


def _following(config: Config, hidden_size: int, locks: Locks) -> dict[str, int]:
    """The intermediate_size at the same ratio to a new hidden_size, rounded; empty without ``locks.intermediate``."""
    if not locks.intermediate:
        return {}
    present = config.hidden_size
    multiple = (2 * config.intermediate_size * hidden_size + present) // (2 * present)
    return {"intermediate_size": min(max(multiple, 1), DIMENSIONS["intermediate_size"][1])}


def _no_multiple(config: Config, value: int, locks: Locks) -> Problem:
    remedies = _remedies(config, "hidden_size", value, locks)
    if locks.heads:
        message = N_("{field} {value} cannot be split into heads of {unit}: use {near}.")
    else:
        message = N_("{field} {value} cannot be split into {unit} equal heads: use {near}.")
    words = {"field": config.own_name("hidden_size"), "unit": _unit(config, locks), "near": remedies[0]["hidden_size"]}
    return Problem.of(message, "hidden_size", value, *remedies, value=value, **words)


def _no_divisor(config: Config, value: int, locks: Locks) -> Problem:
    remedies = _remedies(config, "num_attention_heads", value, locks)
    message = N_("{hidden_size} {hidden} cannot be split into {value} equal heads: use {field} {near}.")
    names = {"hidden_size": config.own_name("hidden_size"), "field": config.own_name("num_attention_heads")}
    words = {"value": value, "hidden": config.hidden_size, "near": remedies[0]["num_attention_heads"], **names}
    return Problem.of(message, "num_attention_heads", value, *remedies, **words)


def _remedies(config: Config, field: str, value: int, locks: Locks) -> tuple[dict[str, int], ...]:
    hidden, heads = config.hidden_size, config.num_attention_heads
    if field == "hidden_size":
        unit = _unit(config, locks)
        changes = [
            {field: size, "num_attention_heads": size // unit if locks.heads else heads}
            for size in _nearest_multiples(unit, value)
        ]
        changes.append({field: value, "num_attention_heads": nearest_divisors(value, heads)[0]})
        valid = _valid_changes(config, (change | _following(config, change[field], locks) for change in changes))
        return _without_repetitions(config, valid) or ({field: hidden},)
    if field == "num_attention_heads":
        counts = islice(_valid_changes(config, ({field: count} for count in nearest_divisors(hidden, value))), 2)
        sizes = _nearest_multiples(value * config.heads_of, hidden)[:1]
        others = ({"hidden_size": size, field: value, **_following(config, size, locks)} for size in sizes)
        return _without_repetitions(config, (*counts, *_valid_changes(config, others)))
    return ({field: value},)


def _without_repetitions(config: Config, changes: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    results: list[Config] = []
    kept = []
    for change in changes:
        if (result := replace(config, **change)) not in results:
            results.append(result)
            kept.append(change)
    return (*kept,)


def _valid_changes(config: Config, changes: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The changes that result in a valid model.

    Some families need even head sizes, or a number of heads that fits their shared keys and values.
    """
    for change in changes:
        with suppress(ConfigError):
            replace(config, **change)
            yield change


def _unit(config: Config, locks: Locks) -> int:
    return config.attention_head_size if locks.heads else config.num_attention_heads * config.heads_of


def _nearest_multiples(unit: int, value: int) -> list[int]:
    below = value - value % unit
    near = [size for size in {below, below + unit} if 0 < size <= DIMENSIONS["hidden_size"][1]]
    return sorted(near, key=lambda size: abs(size - value))
