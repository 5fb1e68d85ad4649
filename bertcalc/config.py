"""Configurations: the fields that families have, under Hugging Face's names, frozen and checked.

>>> from bertcalc import BertConfig
>>> BertConfig(hidden_size=770)
Traceback (most recent call last):
    ...
bertcalc.config.ConfigError: hidden_size 770 is not a multiple of num_attention_heads 12: 768 or 780 would be.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

from bertcalc.activations import ACTIVATIONS
from bertcalc.fields import DIMENSIONS as DIMENSIONS
from bertcalc.fields import FIELDS, PositionEmbeddingType, is_int, is_number
from bertcalc.fields import LETTERS as LETTERS
from bertcalc.fields import POSITION_EMBEDDING_TYPES as POSITION_EMBEDDING_TYPES
from bertcalc.problem import InputError
from bertcalc.problem import Problem as Problem
from bertcalc.text import N_, shorten


class ConfigError(InputError):
    """The exception for an invalid configuration: names the field, the value and a nearest valid value."""


@dataclass(frozen=True)
class Config:
    """The fields of a family's configuration; the family gives them its defaults, and checks of its own.

    Raises ConfigError if no model can be built from the values.
    """

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    hidden_act: str
    hidden_dropout_prob: float
    attention_probs_dropout_prob: float
    max_position_embeddings: int
    type_vocab_size: int
    initializer_range: float
    layer_norm_eps: float
    pad_token_id: int | None
    position_embedding_type: PositionEmbeddingType
    use_cache: bool
    classifier_dropout: float | None
    is_decoder: bool
    add_cross_attention: bool
    bos_token_id: int | None
    eos_token_id: int | None
    tie_word_embeddings: bool
    num_labels: int

    def __post_init__(self) -> None:
        for problem in problems(type(self), vars(self)):
            raise ConfigError(problem)

    @classmethod
    def default(cls) -> Self:
        """The family's own defaults: here, every field needs a value."""
        return cls()  # type: ignore[call-arg]

    @classmethod
    def relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        """What is wrong between fields that are right by themselves."""
        return _relations(values)

    @property
    def longest(self) -> int:
        """The longest sequence."""
        return self.max_position_embeddings

    @property
    def attention_head_size(self) -> int:
        """Hidden units of one head; exact, because the heads divide the hidden size."""
        return self.hidden_size // self.num_attention_heads

    @property
    def transformers_version(self) -> Literal[4, 5]:
        """The major version of transformers whose classes are meant: 4 where only 4 can build the model."""
        return 5 if self.position_embedding_type == "absolute" else 4


Kind = TypeVar("Kind", bound=Config)


def letters(config: Config) -> dict[str, int]:
    """The letters of a configuration's sizes, as people type them: H for 768."""
    return {letter: getattr(config, field) for field, letter in LETTERS.items()}


def unchecked(config: Kind, **changes: Any) -> Kind:
    """``config`` with some fields replaced by values that are no numbers: symbols, or columns of numbers."""
    twin = object.__new__(type(config))
    twin.__dict__.update(vars(config), **changes)
    return twin


def columns(config: Kind, **arrays: Any) -> Kind:
    """``config`` with some dimensions replaced by NumPy integer arrays: many configurations at once.

    The arrays broadcast against each other; ``build(columns(...)).num_parameters()`` is an int64 array of
    that shape. Every row is checked as a single configuration is.

    Raises ConfigError for the first row that is not valid, TypeError for a field that is not a dimension.
    """
    for field, array in arrays.items():
        if field not in DIMENSIONS:
            raise TypeError(f"{field} is not a dimension: columns can be {', '.join(DIMENSIONS)}")
        low, high = DIMENSIONS[field]
        wrong = array[(array < low) | (array > high)] if array.dtype.kind in "iu" else array.ravel()
        for value in wrong[:1].tolist():
            raise ConfigError(_not_between(field, value, low, high, like=getattr(type(config), field)))
    # int64 whatever the caller has: a product of two int32 would wrap around silently.
    wide = {field: array.astype("int64") for field, array in arrays.items()}
    # Zeros in the common shape of all. The vocabulary gets it, so that every total has it, whatever the columns are.
    zeros: Any = sum(0 * array for array in wide.values())
    many = unchecked(config, **{**wide, "vocab_size": wide.get("vocab_size", config.vocab_size) + zeros})
    hidden, heads = many.hidden_size + zeros, many.num_attention_heads + zeros
    if arrays and (wrong_pair := hidden % heads != 0).any():
        raise ConfigError(_not_divisible(hidden[wrong_pair].tolist()[0], heads[wrong_pair].tolist()[0]))
    if "vocab_size" in arrays and (pad := config.pad_token_id) is not None:
        vocabularies: Any = many.vocab_size
        for vocab_size in vocabularies[vocabularies <= pad][:1].tolist():
            raise ConfigError(_not_in_vocabulary(pad, vocab_size))
    return many


def problems(kind: type[Config], values: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything that is wrong with the values of a kind of configuration, field by field, then across fields."""
    # A default is right: it was looked at when the family was made known.
    wrong = [
        name
        for name, field in kind.__dataclass_fields__.items()
        if (value := values[name]) is not field.default and not FIELDS[name].is_right(value)
    ]
    for name in wrong:
        if problem := check_field(kind, name, values[name]):
            yield problem
    if not wrong:  # relations between fields mean nothing while a field itself is wrong
        yield from kind.relations(values)


def _relations(values: Mapping[str, Any]) -> Iterator[Problem]:
    hidden_size, heads = values["hidden_size"], values["num_attention_heads"]
    if hidden_size % heads:
        yield _not_divisible(hidden_size, heads)
    pad, vocab_size = values["pad_token_id"], values["vocab_size"]
    if pad is not None and pad >= vocab_size:
        yield _not_in_vocabulary(pad, vocab_size)
    kind, hidden_act = values["position_embedding_type"], values["hidden_act"]
    if kind != "absolute" and not ACTIVATIONS[hidden_act].in_transformers_4:
        yield Problem(
            "hidden_act",
            hidden_act,
            N_(
                "hidden_act {value} came with transformers 5, which has no position_embedding_type "
                "{kind}: use hidden_act gelu, or position_embedding_type absolute."
            ),
            {"value": hidden_act, "kind": kind},
            ({"hidden_act": "gelu"}, {"position_embedding_type": "absolute"}),
        )
    if values["add_cross_attention"] and not values["is_decoder"]:
        yield Problem(
            "add_cross_attention",
            True,
            N_("add_cross_attention True needs a decoder: set is_decoder to True, or add_cross_attention to False."),
            {},
            ({"is_decoder": True}, {"add_cross_attention": False}),
        )


def check_field(kind: type[Config], field: str, value: Any) -> Problem | None:
    """What is wrong with one field taken by itself, or None."""
    default, known = getattr(kind, field), FIELDS[field]
    if known.is_right(value):
        return None
    if known.letter:
        return _not_between(field, value, known.low, known.high, like=default)
    return Problem(
        field,
        value,
        N_("{field} {value} is not possible: it must be {wanted}, for example {default}."),
        {"field": field, "value": _show(value), "wanted": known.wanted, "default": _show(default)},
        ({field: default},),
    )


def allowed(field: str) -> tuple[str, dict[str, str]]:
    """What a field may be: an English sentence with placeholders, and what fills them."""
    known = FIELDS[field]
    return known.wanted, {"low": _show(known.low), "high": _show(known.high)} if known.letter else {}


def check_whole_number(field: str, value: Any, low: int, high: int, like: int) -> Problem | None:
    """What is wrong with a number that is no field of the configuration, or None; ``like`` is an example."""
    return None if is_int(value) and low <= value <= high else _not_between(field, value, low, high, like=like)


def _not_between(field: str, value: Any, low: int, high: int, *, like: int) -> Problem:
    if is_number(value) or (isinstance(value, float) and math.isinf(value)):
        nearest = round(min(max(value, low), high))
        message = N_(
            "{field} {value} is not possible: it must be a whole number from {low} to {high}, the nearest is {nearest}."
        )
    else:  # a boolean or a text is nowhere near a number
        nearest = like
        message = N_("{field} {value} is not possible: it must be a whole number from {low} to {high}, like {nearest}.")
    shown = {"value": value, "low": low, "high": high, "nearest": nearest}
    values = {"field": field, **{name: _show(number) for name, number in shown.items()}}
    return Problem(field, value, message, values, ({field: nearest},))


def _not_divisible(hidden_size: int, heads: int) -> Problem:
    low, high = DIMENSIONS["hidden_size"]
    below = hidden_size - hidden_size % heads
    sizes = [size for size in (below, below + heads) if low <= size <= high]
    sizes.sort(key=lambda size: abs(size - hidden_size))
    divisors = [count for count in range(1, hidden_size + 1) if hidden_size % count == 0]
    nearest_heads = min(divisors, key=lambda count: (abs(count - heads), -count))
    shown = sorted(sizes)
    return Problem(
        "hidden_size",
        hidden_size,
        N_("hidden_size {value} is not a multiple of num_attention_heads {heads}: {low} or {high} would be.")
        if len(shown) == 2
        else N_("hidden_size {value} is not a multiple of num_attention_heads {heads}: {low} would be."),
        {"value": _show(hidden_size), "heads": _show(heads), "low": _show(shown[0]), "high": _show(shown[-1])},
        (*({"hidden_size": size} for size in sizes), {"num_attention_heads": nearest_heads}),
    )


def _not_in_vocabulary(pad: int, vocab_size: int) -> Problem:
    return Problem(
        "pad_token_id",
        pad,
        N_("pad_token_id {value} is not in a vocabulary of {vocab_size}: {nearest} is the largest that is."),
        {"value": _show(pad), "vocab_size": _show(vocab_size), "nearest": _show(vocab_size - 1)},
        ({"pad_token_id": vocab_size - 1}, {"vocab_size": pad + 1}),
    )


def _show(value: object) -> str:
    """A value as a sentence shows it, and never so long that it fills the page."""
    try:
        text = f"{value:,}" if is_int(value) else repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or of levels: Python refuses to write them out
        return N_("too long to show")
    return shorten(text)
