"""Read and change the integers of a transformers configuration, including nested configurations and lists.

A field is named by its path: ``hidden_size``, ``text_config.hidden_size``, ``block_sizes[0]``.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import pairwise
from math import inf
from time import thread_time
from typing import Any

from bertcalc.discover.results.field_paths import steps
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.search.build import unless_refused
from bertcalc.text import N_

# Entries of a list are fields up to this length. Such lists have one entry per stage; longer lists have one per layer.
_LONGEST_LIST = 8
_MOST_LEVELS = 3
_MOST_FIELDS = 300  # maximum number of fields; transformers' types have fewer than 100
# Typical sizes for fields that are None by default; the first key that the field's name contains applies.
_USUAL = {"vocab": 32_000, "experts_per_tok": 2, "shared_experts": 1, "experts": 8, "budget": 64, "": 16}
# Fields that describe files and programs, not the model.
_NEVER = ("transformers_version", "chunk_size_feed_forward", "bos_token_id", "eos_token_id", "return_dict")


class Recipe:
    """A configuration, stored as the arguments for its class; other fields have the class's defaults.

    A field that the class derives unless it is given, such as head_dim from hidden_size, is derived again when sizes
    change. Given fields are kept, even if they equal the derived values.
    """

    def __init__(self, kind: Any, changes: Mapping[str, Any], until: float = inf) -> None:
        self.kind = kind
        self.config: Any = kind(**deepcopy(dict(changes)))
        self.fields = integers(self.config)
        if len(self.fields) > _MOST_FIELDS:
            message = N_("This configuration has more than {most} sizes, which is too many to search for a formula.")
            raise Refused.because(message, most=_MOST_FIELDS)
        self.arguments = dict(changes)
        self._nested = {name: _as_given(value) for name, value in vars(self.config).items() if is_config(value)}
        self.follows: set[str] = set()  # fields that the class derives from others
        self.leaders: dict[str, list[str]] = {}  # field -> the fields with which it changes
        self._find_followers(until)

    def changed(self, values: Mapping[str, Any]) -> Any:
        """Return the configuration with some fields changed. Raises any exception of the configuration class."""
        arguments = deepcopy(self.arguments)
        for path, value in values.items():
            self._put(arguments, path, value)
        return self.kind(**arguments)

    def with_only(self, values: Mapping[str, Any]) -> Any:
        """Return the configuration if only these fields are given, as in {"text_config": {"hidden_size": 64}}.

        ``changed`` keeps the other fields of a nested configuration. This method resets them to the defaults of its
        class. Raises any exception of the configuration class.
        """
        arguments = deepcopy(self.arguments)
        for path, value in values.items():
            self._put(arguments, path, value, plain=True)
        return self.kind(**arguments)

    def _integers_with(self, values: Mapping[str, Any]) -> dict[str, int]:
        return integers(self.changed(values))

    def _put(self, arguments: dict[str, Any], path: str, value: Any, *, plain: bool = False) -> None:
        path_steps = steps(path)
        place: Any = arguments
        source: Any = self.config
        for step, following in pairwise(path_steps):
            source = source[step] if isinstance(step, int) else getattr(source, step)
            if isinstance(place, dict) and step not in place:
                nested = self._nested.get(str(step)) if place is arguments else None
                whole = (nested or _as_given(source)) if is_config(source) else source
                if plain and is_config(source):
                    whole = {"model_type": source.model_type}  # without it, some classes raise KeyError
                place[step] = deepcopy(whole)
            if isinstance(following, int) and isinstance(place[step], tuple):
                place[step] = list(place[step])
            place = place[step]
        place[path_steps[-1]] = value

    def _find_followers(self, until: float) -> None:
        """Change each field to find the fields that follow it. A follower cannot have followers itself."""
        for path, value in self.fields.items():
            leads = path not in self.follows
            if thread_time() > until:
                raise Ended
            for other in (2 * value, value + 1):
                after = unless_refused(self._integers_with, {path: other})
                if after is None:
                    continue
                moved = [name for name, size in self.fields.items() if name != path and after.get(name, size) != size]
                if after.get(path) == other:
                    for name in moved:
                        self.leaders.setdefault(name, []).append(path)
                    self.follows |= {*moved} if leads else set()
                elif leads and value > 0:
                    self.follows.add(path)  # the class derives the field even if it is given


def nested_name(config: Any, cls: Any) -> str:
    """Return the name of the nested configuration from which a class is built; "" if it is built from the whole one."""
    if cls.config_class is config:
        return ""
    return next((name for name, inner in config.sub_configs.items() if inner is cls.config_class), "")


def recipe_of(config: Any, cls: Any, fields: Mapping[str, Any], until: float) -> Recipe:
    """Return the recipe for the configuration that a class is built from."""
    if not nested_name(config, cls):
        return Recipe(config, fields, until)
    inner_config = build_config(config, cls, fields)
    nested = fields.get(nested_name(config, cls))
    least = minimal_arguments(cls.config_class, inner_config, until)
    arguments = (
        inner_config.to_dict() if least is None else {**least, **(nested if isinstance(nested, Mapping) else {})}
    )
    return Recipe(cls.config_class, arguments, until)


def build_config(config: Any, cls: Any, fields: Mapping[str, Any]) -> Any:
    """Build the configuration for a class: the type's configuration or, as AutoModel does, a nested one."""
    whole, inner = config(**deepcopy(dict(fields))), nested_name(config, cls)
    return (getattr(whole, inner) or cls.config_class()) if inner else whole


def integers(config: Any) -> dict[str, int]:
    """Return every integer of a configuration except booleans, keyed by path, including num_labels."""
    values = dict(_integers(config, "", 0))
    labels = getattr(config, "num_labels", None)
    return values | ({"num_labels": labels} if isinstance(labels, int) else {})


def unset_fields(config: Any) -> list[str]:
    """Return the integer fields of a configuration that are None."""
    kinds: dict[str, Any] = {}
    for above in type(config).__mro__:
        kinds |= vars(above).get("__annotations__", {})
    return [
        name
        for name, value in vars(config).items()
        if value is None and "int" in f"{kinds.get(name, '')}" and not name.endswith(("_id", "num_labels"))
    ]


def is_config(value: Any) -> bool:
    """Whether a value is a transformers configuration."""
    return hasattr(value, "model_type") and hasattr(value, "to_dict")


def _integers(value: Any, path: str, level: int) -> Iterator[tuple[str, int]]:
    if isinstance(value, bool) or level > _MOST_LEVELS:
        return
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, list | tuple) and len(value) <= _LONGEST_LIST:
        for index, entry in enumerate(value):
            yield from _integers(entry, f"{path}[{index}]", level + 1)
    elif is_config(value):
        for name, entry in vars(value).items():
            if name.isidentifier() and not name.startswith("_") and name not in _NEVER:
                yield from _integers(entry, f"{path}.{name}" if path else name, level + 1)


def minimal_arguments(kind: Any, config: Any, until: float = inf) -> dict[str, Any] | None:
    """Return the fewest arguments with which a class builds an equal configuration; None if this is impossible.

    Raises Ended when the time limit is reached.
    """
    return unless_refused(_minimal_arguments, kind, config, until)


def _minimal_arguments(kind: Any, config: Any, until: float) -> dict[str, Any] | None:
    arguments: dict[str, Any] = {}
    while (name := next(_differences(kind(**deepcopy(arguments)), config), None)) is not None:
        if name in arguments:
            return None
        if thread_time() > until:
            raise Ended
        value = vars(config)[name]
        arguments[name] = _as_given(value) if is_config(value) else deepcopy(value)
    return arguments


def _as_given(config: Any) -> dict[str, Any]:
    """Return the fewest arguments that build a nested configuration."""
    return {"model_type": config.model_type, **(minimal_arguments(type(config), config) or {})}


def _differences(first: Any, second: Any) -> Iterator[str]:
    for name, second_value in vars(second).items():
        if name.startswith("_") or name == "transformers_version":
            continue
        # With heterogeneous layers, getattr raises for a field that differs between layers (transformers 5.23).
        first_value: Any = vars(first)[name] if name in vars(first) else getattr(first, name, None)
        if is_config(first_value) and is_config(second_value):
            first_value, second_value = first_value.to_dict(), second_value.to_dict()
        if first_value != second_value:
            yield name


def completions(kind: Any) -> Iterator[dict[str, int]]:
    """Yield sizes for the fields that are None in the default configuration of the class ``kind``.

    First come sizes for each field alone, then sizes for all of them. Nothing is yielded if the class has no default
    configuration.
    """
    config = unless_refused(kind)
    if config is None:
        return
    sizes = {name: _usual(name, config) for name in unset_fields(config)}
    yield from ({name: value} for name, value in sizes.items())
    if len(sizes) > 1:
        yield sizes


def _usual(name: str, config: Any) -> int:
    heads = getattr(config, "num_attention_heads", None) or 16
    if "head_dim" in name:
        return int(getattr(config, "hidden_size", 0) // heads or 64)
    if "heads" in name:
        return int(heads)
    return next(value for word, value in _USUAL.items() if word in name)
