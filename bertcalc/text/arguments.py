"""Check function arguments; errors name the argument and say which values are valid.

``checked`` derives the checks of a function from its annotations:

>>> @checked
... def tokens(batch_size: int, sequence_length: int, dtype: Literal["float32", "bfloat16"] = "float32") -> str:
...     return f"{batch_size * sequence_length} {dtype}"
>>> tokens(2, 128, "torch.bfloat16")
'256 bfloat16'
>>> tokens(-1, 128)
Traceback (most recent call last):
    ...
bertcalc.text.arguments.ArgumentError: batch_size -1 is invalid: it must be a whole number from 1.
>>> tokens(1, 128, "float64")
Traceback (most recent call last):
    ...
bertcalc.text.arguments.ArgumentError: dtype 'float64' is invalid: it must be float32 or bfloat16.

Names that PyTorch and transformers use for an option are accepted as well: see ``SYNONYMS``. NumPy integers are whole
numbers. A size can also be a column of integers (a NumPy array) or a symbol.
"""

import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields as members
from fractions import Fraction
from functools import cache, wraps
from inspect import Parameter, signature, unwrap
from numbers import Integral, Real
from operator import is_not
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.suggestions import nearest

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind")
Single = Annotated[int, "no column and no symbol"]  # an int for functions that count a single model
Check = Callable[[str, Any], Any]  # receives the name and the value of an argument, and returns the value to use


class ArgumentError(InputError, TypeError):
    """The exception for a wrong argument of a function."""


class UnknownNameError(InputError, KeyError):
    """The exception for a name that is not among the options."""


_DTYPES: dict[str, tuple[str, ...]] = {
    "float32": ("torch.float32", "torch.float", "float", "fp32"),
    "bfloat16": ("torch.bfloat16", "bf16"),
    "float16": ("torch.float16", "torch.half", "half", "fp16"),
}
# The names, in lower case, that PyTorch and transformers use for our options, keyed by argument and option. A
# torch.dtype is compared as text and an optimizer class by its name, so that PyTorch need not be imported.
SYNONYMS: dict[str, dict[str, tuple[str, ...]]] = {
    "dtype": _DTYPES,
    "autocast": _DTYPES,
    "bnb_4bit_compute_dtype": _DTYPES,
    "precision": {
        "fp32": ("float32", "torch.float32", "torch.float", "float"),
        "bf16": ("bfloat16", "torch.bfloat16", "float16", "torch.float16", "torch.half", "half", "fp16"),
    },
    "attention": {"fused": ("sdpa",)},
    "optimizer": {
        "adamw": ("adam", "adamw_torch", "torch.optim.adam", "torch.optim.adamw"),
        "adamw-8bit": ("adamw_8bit", "adamw_bnb_8bit", "adamw8bit", "adam8bit"),
        "sgd": ("torch.optim.sgd",),
        "adafactor": ("torch.optim.adafactor",),
    },
    "type": {f"Q{bits}_K_M": (f"q{bits}_k",) for bits in (3, 4, 5)},  # llama-quantize also accepts these names
}
# Known options that bertcalc does not support, keyed by argument, and the reasons why.
_FLASH = N_("Flash Attention creates no masks, so its memory differs")
_STEPS = N_("this optimizer updates all tensors at once, so its temporary tensors differ")
OTHERS: dict[str, dict[str, str]] = {
    "attention": dict.fromkeys(("flash_attention_2", "flash_attention_3", "flash_attention_4"), _FLASH),
    "optimizer": dict.fromkeys(("adamw_torch_fused", "adamw_apex_fused"), _STEPS),
}
_LOWEST = {
    **dict.fromkeys(
        ("batch_size", "sequence_length", "encoder_sequence_length", "num_choices", "count", "steps", "most", "r"), 1
    ),
    **dict.fromkeys(("num_virtual_tokens", "encoder_hidden_size", "encoder_num_layers", "token_dim"), 1),
    **dict.fromkeys(("group_size", "max_shard_size", "rank_pattern"), 1),
    **dict.fromkeys(("layers", "layer", "positions", "parameters", "bits", "metadata_bytes", "number", "wrong"), 0),
}
# The highest values of arguments that a URL can set. They are the limits of hidden_size and num_hidden_layers.
_HIGHEST = {
    **dict.fromkeys(("r", "rank_pattern", "num_virtual_tokens", "encoder_hidden_size", "token_dim"), 65_536),
    "encoder_num_layers": 1_000,
}
_WITH_LENGTH = {"sequence_length", "batch", "call"}
_NOT_EMPTY = ("steps", "stops", "timeline", "growths")
_WANTED: dict[str, str] = {
    "Model": N_('a model, such as load("bert-base-uncased")'),
    "Module": N_('a module, such as load("bert-base-uncased")'),
    "Config": N_("a configuration, such as BertConfig()"),
    "Case": N_('a model with its batch, such as Case(load("bert-base-uncased"))'),
    "Change": N_("a change, such as Lora(r=8)"),
    "Freezing": N_("the parts to freeze, such as Freezing(layers=6)"),
    "Batch": N_("sizes of a batch, such as Batch(1, 128)"),
    "Step": N_("a step of model.steps(...)"),
    "Tensor": N_("a tensor of model.tensors()"),
    "Typed": N_("a number from typed(...)"),
    "QuantizationFormat": N_("a format, such as BitsAndBytesConfig(load_in_8bit=True)"),
}
_NOT_NEGATIVE, _PROBABILITIES = ("seconds", "llm_int8_threshold"), ("lora_dropout",)
_PROBABILITY = N_("a probability from 0 to 1")
_FROM_0 = N_("a number, 0 or more")
_NUMBER, _FLAG, _TEXT = N_("a number"), N_("True or False"), N_("a string")
_WHOLE = N_("a single whole number")
_SEQUENCE, _MAPPING, _FUNCTION = N_("a list"), N_("a dictionary"), N_("a function")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that it checks its arguments against its annotations before it runs.

    The decorated function raises ArgumentError for a wrong, missing or unknown argument. If it accepts a model,
    ``sequence_length`` must not exceed the model's positions, and ``config`` must be the model's configuration.
    """

    call = _checked(function, _wanted_by)
    CHECKED.append(call)
    return call


def method(function: Callable[P, R], name: str) -> Callable[P, R]:
    """Wrap a checked function as a method of its first argument; errors show ``name`` as the function's name."""
    return _checked(unwrap(function), lambda inner: _wanted_as_method(inner, name))


def _checked(function: Callable[P, R], wanted_by: Callable[[Callable[P, R]], "_Signature"]) -> Callable[P, R]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        wanted = wanted_by(function)
        values = [check(name, value) for (name, check), value in zip(wanted.positional, args, strict=False)]
        if len(args) > len(values):
            values += [_each(wanted, value) for value in args[len(values) :]]
        for name, _check in wanted.positional[: len(args)] if kwargs else ():
            if name in kwargs and name in wanted.named:
                raise _error(N_("{function} has two values for {argument}."), name, kwargs[name], function=wanted.name)
        named = {name: _check_named(wanted, name, value, len(args)) for name, value in kwargs.items()}
        required = wanted.required[len(args) :] + wanted.required_by_name
        if missing := [name for name in required if name not in named]:
            message = N_("{function} needs {argument}.")
            raise _error(message, missing[0], None, function=wanted.name, argument=", ".join(missing))
        if wanted.single:
            single_model(wanted.name, *values, *named.values())
        if wanted.relates:
            places = zip(wanted.positional, values, strict=False)
            _check_together({name: value for (name, _check), value in places} | named)
        return function(*values, **named)

    return call


def record(kind: type[Kind]) -> type[Kind]:
    """Decorate a NamedTuple that users create: every checked function that accepts it also checks its fields."""
    RECORDS.add(kind)
    return kind


_MOST_LISTED = 12
_DIGITS = re.compile("[0-9]+")
RECORDS: set[type] = set()  # the NamedTuples with fields to check
CHECKED: list[Callable[..., Any]] = []  # every decorated function, for the tests


class _Signature(NamedTuple):
    """The checks for a function's arguments, and the names of the required arguments."""

    name: str
    positional: tuple[tuple[str, Check], ...]
    named: Mapping[str, Check]
    required: tuple[str, ...]  # required positional arguments, which precede optional ones
    required_by_name: tuple[str, ...]
    varargs: Check | None  # for further positional arguments
    keywords: Check | None  # for further named arguments
    relates: bool  # whether the arguments are also checked together
    single: bool  # whether the function counts a single model


@cache
def _wanted_by(function: Callable[..., Any]) -> _Signature:
    hints = get_type_hints(function, include_extras=True)
    positional: list[tuple[str, Check]] = []
    named: dict[str, Check] = {}
    required: list[str] = []
    required_by_name: list[str] = []
    varargs = keywords = None
    for name, parameter in signature(function).parameters.items():
        check = _self if name == "self" else check_of(hints.get(name, Any))
        if parameter.kind is Parameter.VAR_POSITIONAL:
            varargs = check
            continue
        if parameter.kind is Parameter.VAR_KEYWORD:
            keywords = check
            continue
        if parameter.kind is not Parameter.KEYWORD_ONLY:
            positional.append((name, check))
        if parameter.kind is not Parameter.POSITIONAL_ONLY:
            named[name] = check
        if parameter.default is Parameter.empty:
            (required_by_name if parameter.kind is Parameter.KEYWORD_ONLY else required).append(name)
    has_length = not _WITH_LENGTH.isdisjoint(named)
    relates = has_length or ("config" in named and ("model" in named or keywords is not None))
    counts_one = single in (*(check for _name, check in positional), *named.values())
    name = f"{function.__name__}()"
    return _Signature(
        name, tuple(positional), named, tuple(required), tuple(required_by_name), varargs, keywords, relates, counts_one
    )


@cache
def _wanted_as_method(function: Callable[..., Any], name: str) -> _Signature:
    wanted = _wanted_by(function)
    first, *positional = wanted.positional
    named = {argument: check for argument, check in wanted.named.items() if argument != first[0]}
    return wanted._replace(name=f"{name}()", positional=(("self", _self), *positional), named=named)


def _self(name: str, value: Any) -> Any:
    """Check the fields of ``self`` if its class is decorated with ``record``."""
    kind: Any = type(value)
    return _record(kind)(name, value) if kind in RECORDS else value


def _each(wanted: _Signature, value: Any) -> Any:
    if wanted.varargs is None:
        names = ", ".join(name for name, _check in wanted.positional if name != "self")
        if not names:
            raise _error(N_("{function} takes no positional arguments."), "", value, function=wanted.name)
        raise _error(
            N_("{function} takes only these arguments: {names}."), "", value, function=wanted.name, names=names
        )
    return wanted.varargs("", value)


def _check_named(wanted: _Signature, name: str, value: Any, given: int) -> Any:
    check = wanted.named.get(name) or wanted.keywords
    if check is None:
        by_position = {position for position, _check in wanted.positional[:given]} | {"self"}
        options = [option for option in wanted.named if option not in by_position]
        near = _ALSO_CALLED[name] if _ALSO_CALLED.get(name) in options else nearest(name, options)
        message = N_("{function} has no argument {argument}: did you mean {nearest}?")
        if near is None:
            message = N_("{function} has no argument {argument}: it takes {options}.") if options else _NO_MORE
        words = {"argument": shorten(name), "nearest": near, "options": ", ".join(options)}
        raise _error(message, name, value, function=wanted.name, **words)
    return check(name, value)


# Names of our arguments in other libraries that are too different for ``nearest`` to suggest ours.
_ALSO_CALLED = {"rank": "r", "alpha": "lora_alpha", "dropout": "lora_dropout", "targets": "target_modules"}
_NO_MORE = N_("{function} has no argument {argument}: it takes none.")


@cache
def check_of(hint: Any) -> Check:
    """The check for an annotation. It returns the value to use, or raises ArgumentError."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return single
    if origin is Literal:
        return lambda name, value: choice(name, value, inside)
    if origin in (Union, types.UnionType):
        return _either(inside)
    if hint is bool:
        return flag
    if hint is int:
        return whole
    if hint in (float, Fraction):
        return _number
    if hint is str:
        return text
    if origin is type:
        return _class
    if hint is bytes:
        return _instance(bytes)
    if isinstance(hint, TypeVar) and hint.__bound__:
        return check_of(hint.__bound__)
    kind: Any = origin or hint
    if kind is Callable or kind is getattr(Callable, "__origin__", None):
        return _callable
    if not isinstance(kind, type) or kind in (object, Any):
        return lambda _name, value: value
    if issubclass(kind, Mapping):
        return _mapping_of(*(inside or (Any, Any)))
    if kind in RECORDS:
        return _record(cast(Any, kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _instance(kind)
    if kind is tuple and inside and inside[-1] is not Ellipsis:
        return _tuple(inside)
    if issubclass(kind, Iterable) and not hasattr(kind, "num_parameters"):
        return _items(kind, check_of(inside[0]) if inside else None)
    return _instance(kind)


def whole(name: str, value: Any, low: int | None = None) -> Any:
    """Return a whole number of at least ``low``, which defaults to the lowest value for an argument of this name.

    A symbol, or a column of integers, is also returned. Raises ArgumentError for any other value.
    """
    low, high = _LOWEST.get(name) if low is None else low, _HIGHEST.get(name)
    if type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool)):
        value = int(value)
        if (low is None or value >= low) and (high is None or value <= high):
            return value
    elif _is_symbol(value) or (
        _is_column(value) and value.dtype.kind in "iu" and (low is None or (value >= low).all())
    ):
        return value
    if low is None:
        raise _error(N_("{argument} {value} is invalid: it must be a whole number."), name, value)
    if high is not None:
        message = N_("{argument} {value} is invalid: it must be a whole number from {low} to {high}.")
        raise _error(message, name, value, low=low, high=high)
    raise _error(N_("{argument} {value} is invalid: it must be a whole number from {low}."), name, value, low=low)


def single(name: str, value: Any) -> int:
    """Return a whole number that is neither a column nor a symbol; raise ArgumentError for any other value."""
    if _is_symbol(value) or _is_column(value):
        raise wrong_kind(name, value, _WHOLE)
    number: int = whole(name, value)
    return number


def flag(name: str, value: Any) -> bool:
    """Return True or False; raise ArgumentError for any other value."""
    if not isinstance(value, bool):
        raise wrong_kind(name, value, _FLAG)
    return value


def text(name: str, value: Any) -> str:
    """Return a text; raise ArgumentError for any other value."""
    if not isinstance(value, str):
        raise wrong_kind(name, value, _TEXT)
    return value


def choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return the choice that a value names, perhaps by a synonym in SYNONYMS. Raises ArgumentError for other values."""
    try:
        if value in choices:
            return value
    except (TypeError, ValueError, RuntimeError):  # a column, or a tensor, cannot be compared with a text
        pass
    written = str(value) if _is_short(value) else ""
    if isinstance(value, type):
        written = value.__name__ if value.__module__ != "builtins" else ""  # to PyTorch, Python's float means float64
    plain = written.casefold()
    for option in choices:
        if plain == str(option).casefold() or plain in SYNONYMS.get(name, {}).get(option, ()):
            return option
    if reason := OTHERS.get(name, {}).get(plain):
        message = N_("bertcalc does not support {argument} {value}: {reason}. It must be {wanted}.")
        raise _error(message, name, value, reason=reason, wanted=_listed(choices))
    near = nearest(written, map(str, choices)) if written else None
    if near is not None and len(choices) > 2 and not _is_other_width(near, plain):
        message = N_("{argument} {value} is invalid: did you mean {nearest}? It must be {wanted}.")
        raise _error(message, name, value, nearest=near, wanted=_listed(choices))
    raise _error(N_("{argument} {value} is invalid: it must be {wanted}."), name, value, wanted=_listed(choices))


def _is_other_width(option: str, written: str) -> bool:
    """Whether two names differ only by a number: torch.float64 does not mean float16."""
    return _DIGITS.sub("", option) == _DIGITS.sub("", written.rpartition(".")[2])


def unknown(messages: tuple[str, str], name: Any, options: Collection[str], **values: object) -> UnknownNameError:
    """Return the error for a name that is not among the options.

    The first message is for a name that resembles an option; it has the placeholders {name} and {nearest}. The second
    message is for any other name; it has {name} and {options}. ``values`` fill any other placeholders.
    """
    near = nearest(name, options) if isinstance(name, str) else None
    listed = ", ".join(list(options)[:_MOST_LISTED]) + (" ..." if len(options) > _MOST_LISTED else "")
    words = {"name": quoted(name), "nearest": near or "", "options": listed}
    return UnknownNameError(Problem.of(messages[near is None], "", name, **words, **values))


def _number(name: str, value: Any) -> Any:
    if name in _NOT_NEGATIVE and isinstance(value, Real) and value < 0:
        raise wrong_kind(name, value, _FROM_0)
    if name in _PROBABILITIES and isinstance(value, Real) and not 0 <= float(value) <= 1:
        raise wrong_kind(name, value, _PROBABILITY)
    if isinstance(value, Real) and not isinstance(value, bool) and value == value:
        return value
    if _is_symbol(value):
        return value
    raise wrong_kind(name, value, _NUMBER)


def _class(name: str, value: Any) -> Any:
    if not isinstance(value, type):
        raise wrong_kind(name, value, N_("a class"))
    return value


def _callable(name: str, value: Any) -> Any:
    if not callable(value):
        raise wrong_kind(name, value, _FUNCTION)
    return value


def _mapping_of(key: Any, member: Any) -> Check:
    check_key, check_member = check_of(key), check_of(member)

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, Mapping) or (key is str and not all(isinstance(text, str) for text in value)):
            raise wrong_kind(name, value, _MAPPING)
        meant = {check_key(name, text): check_member(name, part) for text, part in value.items()}
        kept = [*meant, *meant.values()]
        return meant if any(map(is_not, kept, [*value, *value.values()])) else value

    return check


def _instance(kind: type) -> Check:
    wanted = _WANTED.get(kind.__name__, kind.__name__)

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise wrong_kind(name, value, wanted)
        return value

    return check


@cache
def _record(kind: Any) -> Check:
    """The check for a NamedTuple and all its fields."""
    defaults = kind._field_defaults
    hints = get_type_hints(kind, include_extras=True)
    fields = [(name, check_of(hint), defaults.get(name, _NO_DEFAULT)) for name, hint in hints.items()]
    wanted = _WANTED.get(kind.__name__, kind.__name__)

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise wrong_kind(name, value, wanted)
        changed = None
        for (field, check_field, default), part in zip(fields, value, strict=True):
            if part is not default:  # defaults need no check, and checks take time
                meant = check_field(field, part)
                if meant is not part and not _same(meant, part):
                    changed = {**(changed or {}), field: meant}
        return value._replace(**changed) if changed else value

    return check


_NO_DEFAULT = object()


class CheckedRecord:
    """The base of frozen dataclasses that check their arguments against the annotations of their fields.

    Lists and sets become tuples, and dictionaries are copied. A column is refused, because caches keep the record. A
    wrong argument raises ArgumentError, which is an InputError and a TypeError.
    """

    def __new__(cls, *_values: object, **named: object) -> Self:
        wanted = _wanted_by(cls.__init__)._replace(name=f"{cls.__name__}()")
        for name in named.keys() - wanted.named.keys():
            _check_named(wanted, name, named[name], 0)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, check in _checks_of_fields(kind):
            object.__setattr__(self, name, _kept(name, check(name, getattr(self, name))))


@cache
def _checks_of_fields(kind: Any) -> list[tuple[str, Check]]:
    hints = get_type_hints(kind, include_extras=True)
    return [(field.name, check_of(hints[field.name])) for field in members(kind)]


def _kept(name: str, value: Any) -> Any:
    if _is_column(value):
        raise wrong_kind(name, value, _WHOLE)
    if isinstance(value, Mapping):
        return {key: _kept(name, part) for key, part in value.items()}
    if isinstance(value, (set, frozenset)):  # sorted, so that equal sets make equal records
        return tuple(sorted(value))
    return tuple(value) if isinstance(value, list) else value


def _items(kind: type, check_item: Check | None) -> Check:
    """The check for a list, tuple, set or iterator, and for all its items."""

    def check(name: str, value: Any) -> Any:
        if type(value) not in (list, tuple) and not _is_items(value):
            raise wrong_kind(name, value, _SEQUENCE)
        if name in _NOT_EMPTY and isinstance(value, Collection) and not len(value) and issubclass(kind, Sequence):
            raise _error(N_("{argument} must not be empty."), name, value)
        if not isinstance(value, Collection):
            if issubclass(kind, Collection):
                value = tuple(value)
            else:
                return _as_they_come(name, value, check_item)
        if issubclass(kind, Sequence) and not isinstance(value, Sequence):
            value = tuple(value.tolist() if hasattr(value, "tolist") else value)
        if check_item:
            items = list(value)
            meant = [_item(check_item, name, item) for item in items]
            value = type(value)(meant) if any(map(is_not, meant, items)) else value
        return tuple(value) if kind is tuple and not isinstance(value, tuple) else value

    return check


def _item(check: Check, name: str, item: Any) -> Any:
    try:
        return check(name, item)
    except ArgumentError as error:
        if error.problem.message != _NOT:
            raise
        raise _error(_EACH, name, item, wanted=error.problem.values["wanted"]) from None


def _tuple(hints: Sequence[Any]) -> Check:
    """The check for a tuple with a separate type at each index."""
    checks = [check_of(hint) for hint in hints]

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, tuple | list) or len(value) != len(checks):
            raise wrong_kind(name, value, _SEQUENCE)
        return tuple(check_item(name, item) for check_item, item in zip(checks, value, strict=True))

    return check


def _as_they_come(name: str, values: Iterable[Any], check: Check | None) -> Iterator[Any]:
    for value in values:
        yield check(name, value) if check else value


def _either(hints: Sequence[Any]) -> Check:
    checks = {hint: check_of(hint) for hint in hints if hint is not type(None)}
    optional = len(checks) < len(hints)
    special = [number for hint in checks if get_origin(hint) is Literal for number in get_args(hint)]

    def check(name: str, value: Any) -> Any:
        if value is None and optional:
            return None
        if type(value) is int and value in special:
            return value
        kinds = []
        for hint, check_kind in checks.items():
            if hint is int and len(checks) > 1 and isinstance(value, (str, Mapping, list, tuple, set, frozenset)):
                kinds.append(_WHOLE)
                continue
            try:
                return check_kind(name, value)
            except ArgumentError as error:
                if error.problem.message != _NOT:  # the right type, but a wrong value
                    raise
                kinds.append(error.problem.values["wanted"])
        raise _error(_NOT, name, value, wanted=_listed(kinds))

    return check


def _check_together(values: Mapping[str, Any]) -> None:
    """Raise ArgumentError if a sequence exceeds a model's positions, or a configuration is not the model's."""
    config = next((kind for value in values.values() if (kind := _config_of(value)) is not None), None)
    if config is None:
        return
    stated = values.get("config")
    if stated is not None and stated is not config and "model" in values and not _same(stated, config):
        message = N_("config must be the model's configuration, model.config.")
        raise _error(message, "config", stated)
    longest = config.longest
    for name in values.keys() & _WITH_LENGTH:
        length = getattr(values[name], "sequence_length", values[name])
        most = int(length.max()) if type(length) is not int and _is_column(length) else length
        if isinstance(most, int) and isinstance(longest, int) and most > longest:
            field, rows = config.own_name("max_position_embeddings"), config.max_position_embeddings
            message = N_(
                "sequence_length {value} is too large: this model only has positions for {high} tokens ({field} "
                "{rows})."
            )
            raise _error(message, "sequence_length", most, high=longest, field=field, rows=rows)


def single_model(function: str, *values: Any) -> None:
    """Raise ArgumentError if one of the values is a model with columns as sizes.

    ``function`` is the function's name, for the message.
    """
    for value in values:
        config = _config_of(value)
        if config is not None and any(map(_is_column, vars(config).values())):
            message = N_("{function} takes a single model, not a model of columns.")
            raise _error(message, "", value, function=function)


def _config_of(value: Any) -> Any:
    """The configuration of a model or a case, or ``value`` if it is a configuration; None for anything else."""
    config = getattr(getattr(value, "model", value), "config", value)
    return config if hasattr(config, "longest") else None


def _same(first: Any, second: Any) -> bool:
    if first is second:
        return True
    try:
        return type(first) is type(second) and bool(first == second)
    except (ValueError, RuntimeError):  # columns or tensors, which compare elementwise
        return False


def _is_symbol(value: Any) -> bool:
    return hasattr(value, "free_symbols") and hasattr(value, "is_integer")


def _is_column(value: Any) -> bool:
    return hasattr(getattr(value, "dtype", None), "kind") and bool(getattr(value, "shape", ()))


def _is_items(value: Any) -> bool:
    """Whether a value has items. NumPy and PyTorch scalars are iterable by type but have none."""
    if isinstance(value, str | bytes | Mapping | type) or not isinstance(value, Iterable):
        return False
    return not hasattr(value, "dtype") or bool(getattr(value, "shape", ()))


def _is_short(value: Any) -> bool:
    """Whether ``str(value)`` may be a name, such as a dtype's. The text of a collection or a model is too long."""
    return not isinstance(value, Collection) or isinstance(value, str)


def _listed(choices: Sequence[Any]) -> str:
    *others, last = map(str, choices)
    return f"{', '.join(others)} or {last}" if others else last


_NOT = N_("{argument} must be {wanted}, not {value}.")
_EACH = N_("Each item of {argument} must be {wanted}, not {value}.")


def wrong_kind(name: str, value: Any, wanted: str) -> ArgumentError:
    """Return the error for a value of the wrong type; ``wanted`` describes the right type."""
    return _error(_NOT, name, value, wanted=wanted)


def _error(message: str, name: str, value: Any, **values: object) -> ArgumentError:
    return ArgumentError(Problem.of(message, name, value, **{"argument": name, "value": quoted(value), **values}))


def quoted(value: Any) -> str:
    """Write a value for an error message: numbers and texts as Python prints them, anything else by its type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str | int | float | complex | bytes | list | dict | set | type(None)) and not hasattr(
        value, "_fields"
    ):
        try:
            return shorten(repr(value))
        except (ValueError, RecursionError):  # thousands of digits: Python refuses to print them
            return N_("too long to show")
    kind = type(value)
    if kind.__name__.casefold().endswith("dtype"):  # NumPy and PyTorch dtypes print their names
        return shorten(str(value))
    module = kind.__module__.partition(".")[0]
    name = kind.__name__ if module in ("bertcalc", "builtins") else f"{module} {kind.__name__}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
