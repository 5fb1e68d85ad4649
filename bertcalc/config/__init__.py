"""The base of all configurations: a family's fields under Hugging Face's names, frozen and checked.

>>> from bertcalc import BertConfig
>>> BertConfig(hidden_size=770)
Traceback (most recent call last):
    ...
bertcalc.config.ConfigError: hidden_size 770 is not a multiple of num_attention_heads 12: use 768 or 780.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from bertcalc.config.fields import DIMENSIONS as DIMENSIONS
from bertcalc.config.fields import (
    EVERY_FIELD,
    EVERY_LETTER,
    SIZES,
    PositionEmbeddingType,
    field_named,
    is_int,
    is_number,
)
from bertcalc.config.fields import LETTERS as LETTERS
from bertcalc.config.fields import POSITION_EMBEDDING_TYPES as POSITION_EMBEDDING_TYPES
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import ArgumentError, checked, quoted, text
from bertcalc.text.problem import InputError
from bertcalc.text.problem import Problem as Problem
from bertcalc.text.records import dataclass
from bertcalc.text.suggestions import nearest


class ConfigError(InputError):
    """An invalid configuration; the message names the field, its value and the nearest valid value."""


class MixedError(InputError):
    """Raised for columns with rows that describe models of different structures."""


def all_or_none(compared: Any) -> bool:
    """Whether a comparison holds. Raises MixedError if it holds in only some rows of a column."""
    if not hasattr(compared, "all"):
        return bool(compared)
    if compared.all() != compared.any():
        raise MixedError(Problem.of("The rows of these columns give models of different structures."))
    return bool(compared.all())


class _WithSharedNames(type):
    """The metaclass of configurations: constructors accept fields under their shared names as well."""

    def __call__(cls, /, *args: Any, **named: Any) -> Any:
        values = cls.under_own_names(named)  # type: ignore[attr-defined]
        if args:
            values = _with_positional(cls, args, values)
        return super().__call__(**{name: _plain(value) for name, value in values.items()})


def _with_positional(kind: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a configuration from positional and named arguments.

    Raises ConfigError if there are too many arguments, or if a field is given twice.
    """
    names = [field.name for field in dataclasses.fields(kind)]
    if len(args) > len(names):
        message = N_("{config} has {most} fields, not {count}.")
        raise ConfigError(Problem.of(message, config=kind.__name__, most=len(names), count=len(args)))
    values = dict(zip(names, args, strict=False))
    for name in values.keys() & named.keys():
        raise ConfigError(Problem.of(N_("{field} is given twice."), name, named[name], field=name))
    return values | dict(named)


def _plain(value: Any) -> Any:
    """Convert a NumPy integer to a Python int; other values are returned unchanged."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, int) else value


class _Shared:
    """Access to a field under its shared name: its value on a configuration, its default on the class."""

    def __init__(self, own_name: str) -> None:
        self.own_name = own_name

    def __get__(self, config: "Config | None", kind: type["Config"]) -> Any:
        return getattr(kind if config is None else config, self.own_name)


@dataclass(frozen=True)
class Config(metaclass=_WithSharedNames):
    """The base of the families' configurations, which add their defaults and checks.

    A field's shared name is the name that most families use. If a family has its own name for a field,
    ``attribute_map`` maps the shared name to the family's name, as in transformers; both names work. A field that a
    family lacks has a fixed value that describes the family's models (ABSENT).

    Raises ConfigError if no model can be built from the values.
    """

    attribute_map: ClassVar[Mapping[str, str]] = {}
    undeclared: ClassVar[tuple[str, ...]] = ()  # fields that transformers reads but does not declare
    turns_pairs: ClassVar[bool] = False  # whether positions are rotary: pairs of activations are rotated
    heads_of: ClassVar[int] = 1  # the head size must be a multiple of this number
    chunks: ClassVar[bool] = False  # whether the feed-forward networks can process a sequence in chunks
    whole_numbers: ClassVar[tuple[str, ...]] = ()  # keys of a config.json that are not fields but must be integers
    numbers: ClassVar[tuple[str, ...]] = ()  # keys of a config.json that are not fields but must be numbers
    decimal_numbers: ClassVar[tuple[str, ...]] = ()  # fields that a config.json must have as decimals: 0.0, not 0
    stores_masks: ClassVar[bool] = False  # whether files of older releases contain the causal mask of each layer
    most: ClassVar[Mapping[str, Any]] = {}  # values that switch on the optional parts that only this family has
    # The fields other than sizes that determine a model's structure (not just what ``print`` shows).
    shaping: ClassVar[tuple[str, ...]] = (
        *("hidden_act", "position_embedding_type", "is_decoder", "add_cross_attention", "tie_word_embeddings"),
    )
    if TYPE_CHECKING:  # readable on every configuration, even if the family lacks the field
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
        for shared, own_name in cls.attribute_map.items():
            setattr(cls, shared, _Shared(own_name))
        # A dataclass replaces only methods that the class itself does not define.
        cls.__init__, cls.__eq__ = Config.__init__, Config.__eq__  # type: ignore[method-assign]

    def __init__(self, **values: Any) -> None:
        vars(self).update(_defaults(type(self)) | values)
        self.__post_init__()

    def __post_init__(self) -> None:
        for problem in problems(type(self), vars(self)):
            raise ConfigError(problem)

    def __eq__(self, other: object) -> bool:
        """Whether all values are equal; columns are compared row by row."""
        if type(other) is not type(self):
            return NotImplemented
        mine, others = vars(self), vars(other)
        if type(self.vocab_size) is int and type(other.vocab_size) is int:  # with columns, vocab_size is an array
            return mine == others
        return all(_is_same(value, others[name]) for name, value in mine.items())

    @classmethod
    def has(cls, field: str) -> bool:
        """Whether the family has a field, under its own or its shared name."""
        return isinstance(field, str) and cls.own_name(field) in _names(cls)

    def telling(self) -> dict[str, Any]:
        """All sizes, and the other fields that differ from Hugging Face's defaults, in the order of EVERY_FIELD."""
        values, order = vars(self), list(EVERY_FIELD)
        return {
            field.name: values[field.name]
            for field in sorted(dataclasses.fields(self), key=lambda field: order.index(self.shared_name(field.name)))
            if values[field.name] != field.default or self.shared_name(field.name) in SIZES
        }

    @classmethod
    def own_name(cls, field: str) -> str:
        """The family's own name of a field; any other name is returned unchanged."""
        return cls.attribute_map.get(field, field) if isinstance(field, str) else text("field", field)

    @classmethod
    def shared_name(cls, field: str) -> str:
        """The shared name of a field of this family."""
        return _shared_names(cls).get(field, field)

    @classmethod
    def under_own_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values keyed by the family's own names. Raises ConfigError for unknown names.

        If a field is given under both names, the shared name takes precedence.
        """
        names = _names(cls)
        if values.keys() <= names:
            return dict(values)
        renamed = {name: value for name, value in values.items() if name in names}
        for name, value in values.items():
            if name in renamed:
                continue
            if name in ABSENT and not cls.has(name):
                if value != getattr(cls, name):
                    raise ConfigError(_lacking(cls, name, value))
            elif cls.own_name(name) in names:
                renamed[cls.own_name(name)] = value
            else:
                raise ConfigError(no_field(cls, name, value))
        return renamed

    def shared(self) -> dict[str, Any]:
        """All values, keyed by shared name."""
        shared = _shared_names(type(self))
        return {shared.get(name, name): value for name, value in vars(self).items()}

    @classmethod
    def default(cls) -> Self:
        return cls()

    @classmethod
    def relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        """Yield problems with combinations of individually valid fields; ``values`` is keyed by shared name."""
        hidden_size, heads = values["hidden_size"], values["num_attention_heads"]
        if hidden_size % (heads * cls.heads_of):
            yield _not_divisible(cls, hidden_size, heads)
        pad, vocab_size = values["pad_token_id"], values["vocab_size"]
        if pad is not None and pad >= vocab_size:
            yield _not_in_vocabulary(pad, vocab_size)
        if values["add_cross_attention"] and not values["is_decoder"]:
            message = N_(
                "add_cross_attention True needs a decoder: set is_decoder to True, or add_cross_attention to False."
            )
            yield Problem.of(message, "add_cross_attention", True, {"is_decoder": True}, {"add_cross_attention": False})
        yield from cls.own_relations(values)

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        """Yield problems with combinations of fields that only this family checks; derived families extend them."""
        yield from ()

    @classmethod
    def if_missing(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        """The values of fields that are missing from a config.json, if they differ from the fields' defaults."""
        return {}

    @classmethod
    def converted(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        """Field values that a config.json sets under other keys; they take precedence, as in transformers."""
        return {}

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        """Yield problems with keys of a config.json that are not fields of the class but change the model.

        With rotary positions, this includes a head size other than hidden_size / num_attention_heads, which
        transformers accepts.
        """
        if cls.turns_pairs:
            yield from other_heads(cls, content)

    @classmethod
    def inferred_from(cls, roles: Mapping[str, int]) -> dict[str, Any]:
        """Infer fields from a checkpoint; ``roles`` maps roles to the number of rows of their matrices."""
        return {}

    def letters_of_sizes(self) -> dict[str, str]:
        """Map each of the family's sizes to the size that provides its letter.

        This is the size itself, unless two sizes must be equal. If the current value of a size gives the model a
        special structure, the size is left out.
        """
        return {field: field for field in sizes_of(type(self))}

    @property
    def fewest_words(self) -> int:
        """The size of the smallest vocabulary that contains the padding token."""
        return 1 if self.pad_token_id is None else self.pad_token_id + 1

    @property
    def breaks(self) -> tuple[int, ...]:
        """Hidden sizes at which the model's structure differs from the structure at all other sizes."""
        return ()

    @property
    def ones_matter(self) -> bool:
        """Whether a size of 1 (a single sequence, head or token) changes which tensors autograd saves."""
        return self.turns_pairs

    @property
    def window(self) -> int | None:
        """The length of the shortest sequence that needs a mask for local attention; None without local attention."""
        return None

    def masks_window(self, sequence_length: Any) -> bool:
        """Whether layers with local attention need a mask for sequences of this length.

        A symbol counts as shorter than any window except 0. Raises MixedError if only some rows need a mask.
        """
        if not self.window:
            return self.window == 0
        is_symbol = not isinstance(sequence_length, int) and not hasattr(sequence_length, "all")
        return not is_symbol and all_or_none(sequence_length >= self.window)

    @property
    def layer_period(self) -> int:
        """The number of layers after which the pattern of local and global attention repeats."""
        return 1

    @property
    def whole(self) -> int | None:
        """The sequence length at which layers use the whole table of distances, not a slice; None without a table."""
        return None

    @property
    def longest(self) -> int:
        return self.max_position_embeddings

    @property
    def is_always_causal(self) -> bool:
        """Whether attention is causal in every model of the family."""
        return self.is_decoder and not self.has("is_decoder")

    @property
    def reads_ids(self) -> bool:
        """Whether transformers reads token or position ids if no attention mask is given."""
        return self.is_always_causal

    @property
    def head_dropout(self) -> float:
        """The dropout probability in front of a classifier."""
        return self.hidden_dropout_prob if self.classifier_dropout is None else self.classifier_dropout

    @property
    def attention_head_size(self) -> int:
        """Hidden units per head. The division is exact: the number of heads divides the hidden size."""
        return self.hidden_size // self.num_attention_heads


def _is_same(value: Any, other: Any) -> bool:
    shape = getattr(value, "shape", ())
    if shape != getattr(other, "shape", ()):
        return False
    return bool((value == other).all() if shape else value == other)


@cache
def _defaults(kind: type[Config]) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(kind)}


@cache
def _names(kind: type[Config]) -> frozenset[str]:
    return frozenset(_defaults(kind))


# The values of fields that a family lacks, unless the family's class sets other values. The epsilon is BERT's.
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
def _shared_names(kind: type[Config]) -> Mapping[str, str]:
    """Map a family's own field names to the shared names."""
    return {own_name: shared for shared, own_name in reversed([*kind.attribute_map.items()])}


@cache
def absent(kind: type[Config]) -> Mapping[str, Any]:
    """The values of the fields that a family lacks; GPT-2, for example, is always a decoder."""
    return {name: getattr(kind, name) for name in ABSENT if not kind.has(name)}


@cache
def sizes_of(kind: type[Config]) -> Mapping[str, str]:
    """The letters of a family's sizes, keyed by shared name."""
    return {field: letter for field, letter in SIZES.items() if kind.has(field)}


def letters(config: Config) -> dict[str, int]:
    """The values of a configuration's sizes, except values below 1, keyed by the letters that users type: H is 768."""
    fields_with = {**sizes_of(type(config)), **config.letters_of_sizes()}
    return {EVERY_LETTER[field]: size for field in fields_with if (size := getattr(config, field)) is None or size > 0}


def unchecked(config: Kind, **changes: Any) -> Kind:
    """Return a copy of ``config`` with some fields replaced by symbols or columns, without checks.

    Fields that the family lacks are ignored.
    """
    kind = type(config)
    twin = object.__new__(kind)
    twin.__dict__.update(vars(config))
    twin.__dict__.update({kind.own_name(field): value for field, value in changes.items() if kind.has(field)})
    return twin


@checked
def columns(config: Kind, **arrays: Any) -> Kind:
    """Replace some dimensions of ``config`` by columns of integers, to count many configurations at once.

    A column is a NumPy array, a list or a range. The columns are broadcast against each other;
    ``build(columns(...)).num_parameters()`` is an int64 array of their common shape. Every row is checked like a single
    configuration.

    Raises ConfigError for the first invalid row, and ArgumentError for a field that is not a dimension.

    >>> from bertcalc import BertConfig, build
    >>> build(columns(BertConfig(), num_hidden_layers=[12, 24])).num_parameters()
    array([109482240, 194536704])
    """
    kind = type(config)
    columns = {kind.shared_name(field): _column(kind, field, array) for field, array in arrays.items()}
    for field, array in columns.items():
        low, high = field_named(field).low, field_named(field).high
        wrong = array[(array < low) | (array > high)] if array.dtype.kind in "iu" else array.ravel()
        for value in wrong.ravel()[:1].tolist():
            raise ConfigError(_not_between(kind, field, value, low, high, like=getattr(kind, field)))
    # Always int64: a product of two int32 would silently overflow.
    wide = {field: array.astype("int64") for field, array in columns.items()}
    # Zeros in the common shape. Added to the vocabulary, they give every total that shape.
    try:
        zeros: Any = sum(0 * array for array in wide.values())
    except ValueError:
        shapes = ", ".join(f"{kind.own_name(field)} {array.shape}" for field, array in wide.items())
        raise ConfigError(Problem.of(N_("The columns have incompatible shapes: {shapes}."), shapes=shapes)) from None
    many = unchecked(config, **{**wide, "vocab_size": wide.get("vocab_size", config.vocab_size) + zeros})
    hidden, heads = many.hidden_size + zeros, many.num_attention_heads + zeros
    if columns and (wrong_pair := hidden % (heads * kind.heads_of) != 0).any():
        raise ConfigError(_not_divisible(kind, hidden[wrong_pair].tolist()[0], heads[wrong_pair].tolist()[0]))
    if "vocab_size" in columns and (pad := config.pad_token_id) is not None:
        vocabularies: Any = many.vocab_size
        for vocab_size in vocabularies[vocabularies <= pad][:1].tolist():
            raise ConfigError(_not_in_vocabulary(pad, vocab_size))
    _check_rows(config, columns, zeros)
    return many


def _column(kind: type[Config], field: str, values: Any) -> Any:
    """Convert a column's values to a NumPy array.

    Raises ConfigError if the values are not a column, and ArgumentError if ``field`` is not a dimension.
    """
    sizes = {kind.own_name(size): size for size in sizes_of(kind)}
    if kind.shared_name(field) not in sizes.values():
        message = N_("{field} is not a dimension: columns can be {names}.")
        raise ArgumentError(Problem.of(message, field, values, field=field, names=", ".join(sizes)))
    if hasattr(getattr(values, "dtype", None), "kind") and hasattr(values, "ravel") and values.shape:
        return values
    try:
        column = import_module("numpy").asarray(values)  # not imported above, because NumPy is optional
        if column.size and column.shape:
            return column
    except (ImportError, ValueError, TypeError, OverflowError):  # without NumPy, or lists of different lengths
        pass
    raise ConfigError(Problem.of(_NO_COLUMN, field, values, field=field, value=_show(values)))


_NO_COLUMN = N_("{field} {value} is not a column: it must be an array or a list of whole numbers.")


class _ValuesRead(Mapping[str, Any]):
    """A mapping that records which of its keys are read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.keys_read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.keys_read.add(key)
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _distinct(columns: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """Yield the distinct rows of columns of equal length, in order of first appearance."""
    yield from dict.fromkeys(zip(*(column.tolist() for column in columns), strict=True))


def _check_rows(config: Config, columns: Mapping[str, Any], zeros: Any) -> None:
    """Raise ConfigError for the first row that violates one of the family's own relations between fields."""
    kind, shared = type(config), config.shared()
    wide = [(array + zeros).ravel() for array in columns.values()]
    first = [column[:1].tolist() for column in wide]
    for row in chain(zip(*first, strict=True), _distinct(wide)):
        values = _ValuesRead({**absent(kind), **shared, **dict(zip(columns, row, strict=True))})
        for problem in kind.own_relations(values):
            raise ConfigError(problem)
        if not values.keys_read & columns.keys():  # no check reads a column, so all rows are equally valid
            return


def problems(kind: type[Config], values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems with a configuration's values.

    Relations between fields are checked only if each field is valid by itself. ``values`` is keyed by the family's own
    names, which the messages show; the problems' ``field`` is the shared name.
    """
    # Defaults need no check: the tests have checked them (bertcalc/completeness.py).
    wrong = [
        name
        for name, default, is_right in _checks(kind)
        if (value := values[name]) is not default and not is_right(value)
    ]
    for name in wrong:
        if problem := check_field(kind, name, values[name]):
            yield problem
    if not wrong:  # relations are meaningless while a field itself is wrong
        shared = {kind.shared_name(name): value for name, value in values.items()} if kind.attribute_map else values
        yield from kind.relations({**absent(kind), **shared})


@cache
def _checks(kind: type[Config]) -> tuple[tuple[str, Any, Callable[[Any], bool]], ...]:
    """The name, default and check of every field of a class. Raises ValueError if fields are missing or undescribed."""
    if lacking := [*undeclared_fields(kind)]:
        raise ValueError("\n".join(lacking))
    return tuple(
        (field.name, field.default, field_named(kind.shared_name(field.name)).is_right)
        for field in dataclasses.fields(kind)
    )


# Other modules rely on these fields: every family has them, under its own names or the shared names.
_NEEDED = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act"),
    *("max_position_embeddings", "pad_token_id", "tie_word_embeddings", "num_labels"),
)


def undeclared_fields(kind: type[Config]) -> Iterator[str]:
    """Yield a sentence for each required field that a class lacks, and for each field that EVERY_FIELD lacks."""
    for field in dataclasses.fields(kind):
        if kind.shared_name(field.name) not in EVERY_FIELD:
            yield f"{kind.__name__}.{field.name}: nothing says what it means and may be (FIELDS)."
    for name in _NEEDED:
        if not kind.has(name):
            yield f"{kind.__name__}: it has no {name}, which every family has."


def check_field(kind: type[Config], field: str, value: Any) -> Problem | None:
    """The problem with the value of a single field; None if it is valid."""
    shared_name, own_name = kind.shared_name(field), kind.own_name(field)
    if not kind.has(field):
        return None if shared_name in ABSENT and value == getattr(kind, shared_name) else _lacking(kind, field, value)
    default, about = getattr(kind, own_name), field_named(shared_name)
    if about.is_right(value):
        return None
    if about.high:
        return _not_between(kind, shared_name, value, about.low, about.high, like=default)
    message = N_("{field} {value} is invalid: it must be {wanted}, for example {default}.")
    if about.wanted == _show(default):
        message = N_("{field} {value} is invalid: it must be {wanted}.")
    words = {"field": own_name, "value": _show(value), "wanted": about.wanted, "default": _show(default)}
    return Problem.of(message, shared_name, value, {shared_name: default}, **words)


def _lacking(kind: type[Config], field: str, value: object) -> Problem:
    message = N_("{config} has no {field}, so it cannot be {value}.")
    remedies = [{field: getattr(kind, field)}] if field in ABSENT else []
    return Problem.of(message, field, value, *remedies, config=kind.__name__, field=field, value=_show(value))


def no_field(kind: type[Config], name: str, value: object) -> Problem:
    """The problem with a field that a configuration class lacks; the remedy, if any, is the field probably meant."""
    near = near_field(kind, name)
    if near is None:
        message = N_("{config} has no {field}: its fields are {fields}.")
        words = {"config": kind.__name__, "field": shorten(name), "fields": ", ".join(sorted(_names(kind)))}
        return Problem(name, value, message, words)
    message = N_("{config} has no {field}: did you mean {nearest}?")
    words = {"config": kind.__name__, "field": shorten(name), "nearest": kind.own_name(near)}
    return Problem(name, value, message, words, ({near: value},))


def near_field(kind: type[Config], name: str) -> str | None:
    """The shared name of the field that an unknown name probably means; None if no field is similar.

    >>> from bertcalc import BertConfig
    >>> near_field(BertConfig, "hidden_sze"), near_field(BertConfig, "n_embd"), near_field(BertConfig, "auto_map")
    ('hidden_size', 'hidden_size', None)
    """
    if (elsewhere := OTHER_NAMES.get(name)) and kind.has(elsewhere):
        return elsewhere
    names = [*sorted(_names(kind)), *map(kind.shared_name, sorted(_names(kind)))]
    near = nearest(name, names, similarity=_NEAR, beginning=False)
    return None if near is None else kind.shared_name(near)


_NEAR = 0.85  # the similarity of hidden_sze and hidden_size is 0.95, of num_heads and num_hidden_layers 0.69
# Names of sizes in other families of transformers, and in other programs.
OTHER_NAMES = {
    **dict.fromkeys(("d_model", "n_embd", "dim", "hidden_dim_size", "embed_dim"), "hidden_size"),
    **dict.fromkeys(("n_layer", "n_layers", "num_layers", "layers_num", "encoder_layers"), "num_hidden_layers"),
    **dict.fromkeys(("n_head", "n_heads", "num_heads", "heads_num", "encoder_attention_heads"), "num_attention_heads"),
    **dict.fromkeys(
        ("d_ff", "n_inner", "ffn_dim", "encoder_ffn_dim", "feedforward_size", "hidden_dim"), "intermediate_size"
    ),
    **dict.fromkeys(("n_positions", "n_ctx", "max_seq_len", "max_sequence_length"), "max_position_embeddings"),
    **dict.fromkeys(("n_vocab", "vocab_size_or_config_json_file", "num_embeddings"), "vocab_size"),
}


def allowed(field: str) -> tuple[str, dict[str, str]]:
    """The valid values of a field, as an (English phrase with placeholders, values of the placeholders) pair."""
    about = field_named(field)
    return about.wanted, {"low": f"{about.low:,}", "high": f"{about.high:,}"} if about.high else {}


def check_whole_number(field: str, value: Any, low: int, high: int, like: int) -> Problem | None:
    """The problem with a number that is not a configuration field; None if it is from ``low`` to ``high``.

    The message suggests ``like`` if the value is not a number.
    """
    return None if is_int(value) and low <= value <= high else _not_between(Config, field, value, low, high, like=like)


def _not_between(kind: type[Config], field: str, value: Any, low: int, high: int, *, like: int) -> Problem:
    if is_number(value) or (isinstance(value, float) and math.isinf(value)):
        nearest = round(min(max(value, low), high))
        message = N_(
            "{field} {value} is invalid: it must be a whole number from {low} to {high}; the nearest is {nearest}."
        )
    else:  # a boolean or a text has no nearest number
        nearest = like
        message = N_("{field} {value} is invalid: it must be a whole number from {low} to {high}, such as {nearest}.")
    words = {"value": _show(value), "low": low, "high": high, "nearest": nearest}
    return Problem.of(message, field, value, {field: nearest}, field=kind.own_name(field), **words)


def divisors(number: int) -> list[int]:
    """All divisors of a number in ascending order."""
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})


def nearest_divisors(number: int, value: int) -> list[int]:
    """All divisors of a number, sorted by their distance from ``value``, and then in descending order."""
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
    if not sizes:  # no multiple is within the limits
        message = N_("{hidden_size} {hidden} cannot be split into {value} equal heads: use {field} {near}.")
        if nearest_heads:
            near = f"{nearest_heads[0]:,}"
        else:  # an odd hidden size, although the head size must be even
            even = max(hidden_size - 1, kind.heads_of)
            near, remedies = f"1, {names['hidden_size']} {even:,}", [{"hidden_size": even, "num_attention_heads": 1}]
        words = {"hidden": hidden_size, "value": heads, "near": near, "field": names["num_attention_heads"], **names}
        return Problem.of(message, "num_attention_heads", heads, *remedies, **words)
    messages = (
        N_("{hidden_size} {value} is not a multiple of {num_attention_heads} {heads}: use {low}."),
        N_("{hidden_size} {value} is not a multiple of {num_attention_heads} {heads}: use {low} or {high}."),
        N_("{hidden_size} {value} is not an even multiple of {num_attention_heads} {heads}: use {low}."),
        N_("{hidden_size} {value} is not an even multiple of {num_attention_heads} {heads}: use {low} or {high}."),
    )
    message = messages[2 * (kind.heads_of == 2) + (len(sizes) == 2)]
    words = {"value": hidden_size, "heads": heads, "low": min(sizes), "high": max(sizes), **names}
    return Problem.of(message, "hidden_size", hidden_size, *remedies, **words)


def _not_in_vocabulary(pad: int, vocab_size: int) -> Problem:
    message = N_("pad_token_id {value} is outside the vocabulary of {vocab_size} tokens: use at most {nearest}.")
    remedies = {"pad_token_id": vocab_size - 1}, {"vocab_size": pad + 1}
    return Problem.of(message, "pad_token_id", pad, *remedies, value=pad, vocab_size=vocab_size, nearest=vocab_size - 1)


def _show(value: object) -> str:
    """A value as text for a message, shortened if it is long.

    For an object without its own ``__repr__``, the text is its type.
    """
    if type(value).__repr__ is object.__repr__:
        return quoted(value)
    try:
        text = f"{value:,}" if is_int(value) else repr(value)
    except (ValueError, RecursionError):  # Python does not print thousands of digits or nesting levels
        return N_("too long to show")
    return shorten(text)


def other_heads(kind: type[Config], content: Mapping[str, Any], key: str = "head_dim") -> Iterator[Problem]:
    """Yield a problem if a config.json has a head size other than hidden_size / num_attention_heads under ``key``."""
    hidden_size, heads = (content.get(field, getattr(kind, field)) for field in ("hidden_size", "num_attention_heads"))
    size = content.get(key)
    if size is None or (is_int(size) and is_int(heads) and size * heads == hidden_size):
        return
    yield uncounted(key, size, "hidden_size / num_attention_heads")


def uncounted(key: str, value: Any, like: str) -> Problem:
    """The problem with a key of a config.json that changes the model unless its value is ``like``."""
    message = N_("bertcalc does not support models with {field} {value}, only models with {like}.")
    return Problem.of(message, key, value, field=key, value=f"{value!r:.20}", like=like)
