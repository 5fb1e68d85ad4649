"""Configurations: the fields that families have, under Hugging Face's names, frozen and checked.

>>> from bertcalc import BertConfig
>>> BertConfig(hidden_size=770)
Traceback (most recent call last):
    ...
bertcalc.config.ConfigError: hidden_size 770 is not a multiple of num_attention_heads 12: 768 or 780 would be.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from bertcalc.activations import ACTIVATIONS
from bertcalc.fields import DIMENSIONS as DIMENSIONS
from bertcalc.fields import (
    EVERY_LETTER,
    FIELDS,
    OWN_DIMENSIONS,
    OWN_FIELDS,
    SIZES,
    PositionEmbeddingType,
    is_int,
    is_number,
    known,
)
from bertcalc.fields import LETTERS as LETTERS
from bertcalc.fields import POSITION_EMBEDDING_TYPES as POSITION_EMBEDDING_TYPES
from bertcalc.problem import InputError
from bertcalc.problem import Problem as Problem
from bertcalc.text import N_, shorten


class ConfigError(InputError):
    """The exception for an invalid configuration: names the field, the value and a nearest valid value."""


class MixedError(ValueError):
    """The exception for columns of models that are not all built alike."""


def all_or_none(compared: Any) -> bool:
    """Whether a comparison holds: of columns, in every row or in none. Raises MixedError if it holds in some."""
    if not hasattr(compared, "all"):
        return bool(compared)
    if compared.all() != compared.any():
        raise MixedError("Some rows of these columns are built in another way than the others.")
    return bool(compared.all())


class _Kind(type):
    """The class of configurations: each takes a field also under the name that all families share."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        return super().__call__(*args, **cls.under_own_names(given))  # type: ignore[attr-defined]


class _Shared:
    """A field under the name that all families share: of a configuration its value, of a family its default."""

    def __init__(self, own: str) -> None:
        self.own = own

    def __get__(self, config: "Config | None", kind: type["Config"]) -> Any:
        return getattr(kind if config is None else config, self.own)


@dataclass(frozen=True)
class Config(metaclass=_Kind):
    """The fields of a family's configuration; the family gives them its defaults, and checks of its own.

    Where the family has another name for a field, ``attribute_map`` says so, as in transformers: by the name that all
    families share, which can be read and given as well. A field that it lacks reads as what is true of it (ABSENT).

    Raises ConfigError if no model can be built from the values.
    """

    attribute_map: ClassVar[Mapping[str, str]] = {}
    undeclared: ClassVar[tuple[str, ...]] = ()  # fields that transformers reads without declaring them
    turns_pairs: ClassVar[bool] = False  # whether positions are rotary: pairs of a head's numbers are turned
    heads_of: ClassVar[int] = 1  # what the size of a head is a multiple of
    most: ClassVar[Mapping[str, Any]] = {}  # values with which a model has all that this family alone can have
    # All that the structure of a model depends on; what only ``print`` shows is not among it.
    shaping: ClassVar[tuple[str, ...]] = (
        *("hidden_act", "position_embedding_type", "is_decoder", "add_cross_attention", "tie_word_embeddings"),
    )
    if TYPE_CHECKING:  # what can be read of every configuration, whatever its own fields are
        vocab_size: int = 0
        hidden_size: int = 0
        num_hidden_layers: int = 0
        num_attention_heads: int = 0
        intermediate_size: int = 0
        hidden_act: str = ""
        hidden_dropout_prob: float = 0
        attention_probs_dropout_prob: float = 0
        max_position_embeddings: int = 0
        type_vocab_size: int = 0
        initializer_range: float = 0
        layer_norm_eps: float = 0
        pad_token_id: int | None = None
        position_embedding_type: PositionEmbeddingType = "absolute"
        use_cache: bool = False
        classifier_dropout: float | None = None
        is_decoder: bool = False
        add_cross_attention: bool = False
        bos_token_id: int | None = None
        eos_token_id: int | None = None
        tie_word_embeddings: bool = True
        num_labels: int = 0

    def __init_subclass__(cls) -> None:
        for shared, own in cls.attribute_map.items():
            setattr(cls, shared, _Shared(own))

    def __post_init__(self) -> None:
        for problem in problems(type(self), vars(self)):
            raise ConfigError(problem)

    @classmethod
    def has(cls, field: str) -> bool:
        """Whether the family has a field, under its own name or the shared one."""
        return cls.own_name(field) in _names(cls)

    def telling(self) -> dict[str, Any]:
        """The sizes, and the other fields that differ from Hugging Face's defaults, in the order of FIELDS."""
        values, order = vars(self), [*FIELDS, *OWN_FIELDS]
        return {
            field.name: values[field.name]
            for field in sorted(fields(self), key=lambda field: order.index(self.shared_name(field.name)))
            if values[field.name] != field.default or self.is_size(field.name)
        }

    @classmethod
    def own_name(cls, field: str) -> str:
        return cls.attribute_map.get(field, field)

    @classmethod
    def shared_name(cls, field: str) -> str:
        """The name that all families share for a field of this one."""
        return next((shared for shared, own in cls.attribute_map.items() if own == field), field)

    @classmethod
    def under_own_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values under the family's names; a shared name takes precedence. Raises ConfigError for what it lacks."""
        own = _names(cls)
        if values.keys() <= own:
            return dict(values)
        found = {name: value for name, value in values.items() if name in own}
        for name, value in values.items():
            if name in found:
                continue
            if name in ABSENT and not cls.has(name):
                if value != getattr(cls, name):
                    raise ConfigError(_lacking(cls, name, value))
            else:
                found[cls.own_name(name)] = value
        return found

    def shared(self) -> dict[str, Any]:
        """All values, under the shared names."""
        return {self.shared_name(name): value for name, value in vars(self).items()}

    @classmethod
    def default(cls) -> Self:
        return cls()

    @classmethod
    def relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        """What is wrong between fields that are right by themselves, which have their shared names."""
        return _relations(cls, values)

    @classmethod
    def unsaid(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that are not as by default where a config.json does not say them."""
        return {}

    @classmethod
    def refused(cls, given: Mapping[str, Any]) -> Iterator[Problem]:
        """What a config.json says of a model that is not counted here, in keys that are no fields.

        Where positions are rotary, transformers takes another size of a head than its share of the hidden size.
        """
        if cls.turns_pairs:
            yield from other_heads(cls, given)

    @classmethod
    def told_by(cls, roles: Mapping[str, int]) -> dict[str, Any]:
        """Fields that the roles of a checkpoint's matrices tell, each role with the number of its rows."""
        return {}

    @classmethod
    def is_size(cls, field: str) -> bool:
        """Whether a field of the family is a size, which tensors are made of."""
        return cls.shared_name(field) in SIZES

    def letters_of_sizes(self) -> dict[str, str]:
        """The sizes that the family has, each with the size whose letter it has: its own, unless they must agree.

        A size at which the model is built in another way than at all others has none.
        """
        return {field: field for field in sizes_of(type(self))}

    @property
    def fewest_words(self) -> int:
        """The smallest vocabulary: padding has to be in it."""
        return 1 if self.pad_token_id is None else self.pad_token_id + 1

    @property
    def breaks(self) -> tuple[int, ...]:
        """Hidden sizes at which the model is built in another way than at all others."""
        return ()

    @property
    def ones_matter(self) -> bool:
        """Whether it decides what training keeps that there is a single sequence, head or token."""
        return self.position_embedding_type != "absolute" or self.turns_pairs

    @property
    def window(self) -> int | None:
        """How long a sequence has to be that local attention does not see all of it; None without local attention."""
        return None

    @property
    def whole(self) -> int | None:
        """How long a sequence is whose layers take all of a table of distances, and no part; None without such."""
        return None

    @property
    def longest(self) -> int:
        return self.max_position_embeddings

    @property
    def is_always_causal(self) -> bool:
        """Whether each token sees only those before it, in every model of the family."""
        return self.is_decoder and not self.has("is_decoder")

    @property
    def reads_numbers(self) -> bool:
        """Whether transformers looks at the numbers of tokens or positions where it is given no attention mask."""
        return self.is_always_causal

    @property
    def attention_head_size(self) -> int:
        """Hidden units of one head; exact, because the heads divide the hidden size."""
        return self.hidden_size // self.num_attention_heads

    @property
    def transformers_version(self) -> Literal[4, 5]:
        """The major version of transformers whose classes are meant: 4 where only 4 can build the model."""
        return 5 if self.position_embedding_type == "absolute" else 4


@cache
def _names(kind: type[Config]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))


# What is true of a family that has no field for it, unless its configuration says otherwise. (Its LayerNorms have
# BERT's epsilon.)
ABSENT: dict[str, Any] = {
    "type_vocab_size": 0,
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
    "use_cache": False,
    "classifier_dropout": None,
    "is_decoder": False,
    "add_cross_attention": False,
}
for _name, _value in ABSENT.items():
    setattr(Config, _name, _value)

Kind = TypeVar("Kind", bound=Config)


@cache
def absent(kind: type[Config]) -> Mapping[str, Any]:
    """What is true of a family of the fields that it lacks: GPT-2 is always a decoder."""
    return {name: getattr(kind, name) for name in ABSENT if not kind.has(name)}


def sizes_of(kind: type[Config]) -> dict[str, str]:
    """The sizes that a family has, by their shared names, with their letters."""
    return {field: letter for field, letter in SIZES.items() if kind.has(field)}


def letters(config: Config) -> dict[str, int]:
    """The letters of a configuration's sizes, as people type them: H for 768."""
    fields_with = {**sizes_of(type(config)), **config.letters_of_sizes()}
    return {EVERY_LETTER[field]: getattr(config, field) for field in fields_with}


def unchecked(config: Kind, **changes: Any) -> Kind:
    """``config`` with some fields replaced by values that are no numbers: symbols, or columns of numbers.

    Fields that its family has not are left out.
    """
    kind = type(config)
    twin = object.__new__(kind)
    twin.__dict__.update(vars(config))
    twin.__dict__.update({kind.own_name(field): value for field, value in changes.items() if kind.has(field)})
    return twin


def columns(config: Kind, **arrays: Any) -> Kind:
    """``config`` with some dimensions replaced by NumPy integer arrays: many configurations at once.

    The arrays broadcast against each other; ``build(columns(...)).num_parameters()`` is an int64 array of
    that shape. Every row is checked as a single configuration is.

    Raises ConfigError for the first row that is not valid, TypeError for a field that is not a dimension.
    """
    kind = type(config)
    arrays = {kind.shared_name(field): array for field, array in arrays.items()}
    for field, array in arrays.items():
        if field not in sizes_of(kind):
            names = ", ".join(map(kind.own_name, sizes_of(kind)))
            raise TypeError(f"{kind.own_name(field)} is not a dimension: columns can be {names}")
        low, high = {**DIMENSIONS, **OWN_DIMENSIONS}[field]
        wrong = array[(array < low) | (array > high)] if array.dtype.kind in "iu" else array.ravel()
        for value in wrong[:1].tolist():
            raise ConfigError(_not_between(kind, field, value, low, high, like=getattr(kind, field)))
    # int64 whatever the caller has: a product of two int32 would wrap around silently.
    wide = {field: array.astype("int64") for field, array in arrays.items()}
    # Zeros in the common shape of all. The vocabulary gets it, so that every total has it, whatever the columns are.
    zeros: Any = sum(0 * array for array in wide.values())
    many = unchecked(config, **{**wide, "vocab_size": wide.get("vocab_size", config.vocab_size) + zeros})
    hidden, heads = many.hidden_size + zeros, many.num_attention_heads + zeros
    if arrays and (wrong_pair := hidden % (heads * kind.heads_of) != 0).any():
        raise ConfigError(_not_divisible(kind, hidden[wrong_pair].tolist()[0], heads[wrong_pair].tolist()[0]))
    if "vocab_size" in arrays and (pad := config.pad_token_id) is not None:
        vocabularies: Any = many.vocab_size
        for vocab_size in vocabularies[vocabularies <= pad][:1].tolist():
            raise ConfigError(_not_in_vocabulary(pad, vocab_size))
    return many


def problems(kind: type[Config], values: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything that is wrong with the values of a kind of configuration, field by field, then across fields.

    The values have the family's own names; the problems say these, and tell the shared ones apart from them.
    """
    # A default is right: it was looked at when the family was made known.
    wrong = [
        name
        for name, default, is_right in _checks(kind)
        if (value := values[name]) is not default and not is_right(value)
    ]
    for name in wrong:
        if problem := check_field(kind, name, values[name]):
            yield problem
    if not wrong:  # relations between fields mean nothing while a field itself is wrong
        shared = {kind.shared_name(name): value for name, value in values.items()} if kind.attribute_map else values
        yield from kind.relations({**absent(kind), **shared})


@cache
def _checks(kind: type[Config]) -> tuple[tuple[str, Any, Callable[[Any], bool]], ...]:
    """Each field of a kind, with its default and what a value is checked with."""
    return tuple((field.name, field.default, known(kind.shared_name(field.name)).is_right) for field in fields(kind))


def _relations(family: type[Config], values: Mapping[str, Any]) -> Iterator[Problem]:
    hidden_size, heads = values["hidden_size"], values["num_attention_heads"]
    if hidden_size % (heads * family.heads_of):
        yield _not_divisible(family, hidden_size, heads)
    pad, vocab_size = values["pad_token_id"], values["vocab_size"]
    if pad is not None and pad >= vocab_size:
        yield _not_in_vocabulary(pad, vocab_size)
    kind, hidden_act = values["position_embedding_type"], values["hidden_act"]
    if kind != "absolute" and not ACTIVATIONS[hidden_act].in_transformers_4:
        message = N_(
            "hidden_act {value} came with transformers 5, which has no position_embedding_type {kind}: use hidden_act "
            "gelu, or position_embedding_type absolute."
        )
        remedies = {"hidden_act": "gelu"}, {"position_embedding_type": "absolute"}
        yield Problem.of(message, "hidden_act", hidden_act, *remedies, value=hidden_act, kind=kind)
    if values["add_cross_attention"] and not values["is_decoder"]:
        message = N_(
            "add_cross_attention True needs a decoder: set is_decoder to True, or add_cross_attention to False."
        )
        yield Problem.of(message, "add_cross_attention", True, {"is_decoder": True}, {"add_cross_attention": False})


def check_field(kind: type[Config], field: str, value: Any) -> Problem | None:
    """What is wrong with one field taken by itself, or None."""
    shared, own = kind.shared_name(field), kind.own_name(field)
    if not kind.has(field):
        return None if shared in ABSENT and value == getattr(kind, shared) else _lacking(kind, field, value)
    default, about = getattr(kind, own), known(shared)
    if about.is_right(value):
        return None
    if about.high:
        return _not_between(kind, shared, value, about.low, about.high, like=default)
    message = N_("{field} {value} is not possible: it must be {wanted}, for example {default}.")
    shown = {"field": own, "value": _show(value), "wanted": about.wanted, "default": _show(default)}
    return Problem.of(message, shared, value, {shared: default}, **shown)


def _lacking(kind: type[Config], field: str, value: object) -> Problem:
    message = N_("{config} has no {field}, so that it cannot be {value}.")
    remedies = [{field: getattr(kind, field)}] if field in ABSENT else []
    return Problem.of(message, field, value, *remedies, config=kind.__name__, field=field, value=_show(value))


def allowed(field: str) -> tuple[str, dict[str, str]]:
    """What a field may be: an English sentence with placeholders, and what fills them."""
    about = known(field)
    return about.wanted, {"low": f"{about.low:,}", "high": f"{about.high:,}"} if about.high else {}


def check_whole_number(field: str, value: Any, low: int, high: int, like: int) -> Problem | None:
    """What is wrong with a number that is no field of the configuration, or None; ``like`` is an example."""
    return None if is_int(value) and low <= value <= high else _not_between(Config, field, value, low, high, like=like)


def _not_between(kind: type[Config], field: str, value: Any, low: int, high: int, *, like: int) -> Problem:
    if is_number(value) or (isinstance(value, float) and math.isinf(value)):
        nearest = round(min(max(value, low), high))
        message = N_(
            "{field} {value} is not possible: it must be a whole number from {low} to {high}, the nearest is {nearest}."
        )
    else:  # a boolean or a text is nowhere near a number
        nearest = like
        message = N_("{field} {value} is not possible: it must be a whole number from {low} to {high}, like {nearest}.")
    shown = {"value": _show(value), "low": low, "high": high, "nearest": nearest}
    return Problem.of(message, field, value, {field: nearest}, field=kind.own_name(field), **shown)


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})


def nearest_divisors(number: int, value: int) -> list[int]:
    """All divisors of a number, those near to a value first."""
    return sorted(divisors(number), key=lambda divisor: (abs(divisor - value), -divisor))


def _not_divisible(kind: type[Config], hidden_size: int, heads: int) -> Problem:
    low, high = DIMENSIONS["hidden_size"]
    unit = heads * kind.heads_of
    below = hidden_size - hidden_size % unit
    sizes = [size for size in (below, below + unit) if low <= size <= high]
    sizes.sort(key=lambda size: abs(size - hidden_size))
    nearest_heads = (
        nearest_divisors(hidden_size // kind.heads_of, heads)[:1] if hidden_size % kind.heads_of == 0 else []
    )
    remedies = [{"hidden_size": size} for size in sizes] + [{"num_attention_heads": count} for count in nearest_heads]
    names = {field: kind.own_name(field) for field in ("hidden_size", "num_attention_heads")}
    if not sizes:  # twice the largest number of heads
        message = N_("{hidden_size} {hidden} cannot be split into {value} equal heads: {field} {near} works.")
        if nearest_heads:
            near = f"{nearest_heads[0]:,}"
        else:  # an odd size, and heads of pairs
            even = max(hidden_size - 1, kind.heads_of)
            near, remedies = f"1, {names['hidden_size']} {even:,}", [{"hidden_size": even, "num_attention_heads": 1}]
        words = {"hidden": hidden_size, "value": heads, "near": near, "field": names["num_attention_heads"], **names}
        return Problem.of(message, "num_attention_heads", heads, *remedies, **words)
    messages = (
        N_("{hidden_size} {value} is not a multiple of {num_attention_heads} {heads}: {low} would be."),
        N_("{hidden_size} {value} is not a multiple of {num_attention_heads} {heads}: {low} or {high} would be."),
        N_("{hidden_size} {value} is not an even multiple of {num_attention_heads} {heads}: {low} would be."),
        N_("{hidden_size} {value} is not an even multiple of {num_attention_heads} {heads}: {low} or {high} would be."),
    )
    message = messages[2 * (kind.heads_of == 2) + (len(sizes) == 2)]
    words = {"value": hidden_size, "heads": heads, "low": min(sizes), "high": max(sizes), **names}
    return Problem.of(message, "hidden_size", hidden_size, *remedies, **words)


def _not_in_vocabulary(pad: int, vocab_size: int) -> Problem:
    message = N_("pad_token_id {value} is not in a vocabulary of {vocab_size}: {nearest} is the largest that is.")
    remedies = {"pad_token_id": vocab_size - 1}, {"vocab_size": pad + 1}
    return Problem.of(message, "pad_token_id", pad, *remedies, value=pad, vocab_size=vocab_size, nearest=vocab_size - 1)


def _show(value: object) -> str:
    """A value as a sentence shows it, and never so long that it fills the page."""
    try:
        text = f"{value:,}" if is_int(value) else repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or of levels: Python refuses to write them out
        return N_("too long to show")
    return shorten(text)


def other_heads(kind: type[Config], given: Mapping[str, Any], key: str = "head_dim") -> Iterator[Problem]:
    """What is wrong where a config.json gives heads another size than their share of the hidden size."""
    hidden_size, heads = (given.get(field, getattr(kind, field)) for field in ("hidden_size", "num_attention_heads"))
    size = given.get(key)
    if size is None or (is_int(size) and is_int(heads) and size * heads == hidden_size):
        return
    yield uncounted(key, size, "hidden_size / num_attention_heads")


def uncounted(key: str, value: Any, like: str) -> Problem:
    """What is wrong with a key of a config.json that is no field, and changes the model unless it is like this."""
    message = N_("{field} {value} is not counted here: only models that have {like} are.")
    return Problem.of(message, key, value, field=key, value=f"{value!r:.20}", like=like)
