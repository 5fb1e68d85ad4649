"""Measure the effect of each config.json key, so that ``from_config`` can count a file without transformers.

    python -m bertcalc.discover.search.file_keys [llama ...]

writes three files beside formulas.json:

- file_keys.json has an entry for each class with formulas: the keys that change no tensor, the keys that must keep
  their default, and the matrix that tie_word_embeddings adds.
- explicit.json has formulas for classes that derive their key/value heads or head_dim unless a file sets them. In these
  formulas, the derived fields are sizes.
- value_types.json has the types of values that each configuration class accepts for its keys.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from fractions import Fraction
from itertools import product
from math import inf, prod
from pathlib import Path
from typing import Any

from bertcalc.discover.results.config_input import structural_fields
from bertcalc.discover.results.from_config import DERIVED, EXPLICIT, FILE
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.search_errors import Ended
from bertcalc.discover.results.shipped import shipped, shipped_classes
from bertcalc.discover.results.types import write
from bertcalc.discover.results.value_types import COMMON, TYPES
from bertcalc.discover.results.value_types import FILE as VALUE_TYPES
from bertcalc.discover.search import build, search
from bertcalc.discover.search.build import unless_refused
from bertcalc.text.problem import InputError

_TIED = "tie_word_embeddings"
_LAYERS = 4  # enough for layers of different kinds, and fast to build
_MENTIONED = re.compile(r"""config\.(\w+)|self\.(\w+)|["'](\w{1,60})["']""")
_RESULTS = Path(__file__).parents[1] / "results"
_TRIED = (3, 4096, 0.5, True, False)  # values to try for a key that has the default null, or no default
_ATTENTIONS = ("full_attention", "sliding_attention", "chunked_attention")
_ACTIVATIONS = ("relu", "gelu", "silu", "tanh")


def keys_of(model_type: str, cls: str) -> dict[str, Any] | None:
    """Return the effect of each key of a class's config.json.

    Returns None if the class has no formula, or if its configuration or its fields are nested.
    """
    discovery = shipped(model_type, cls)
    if discovery is None or discovery.unexplained or any("." in name or "[" in name for name in discovery.fields):
        return None
    config, real = build.config_class(model_type), build.model_class(cls)
    if config.sub_configs or real.config_class is not config:
        return None
    return _Measured(config, real, discovery).keys()


class _Measured:
    """Compares the tensors of a class, built with few layers, before and after changing one key."""

    def __init__(self, config: Any, real: Any, discovery: Discovered) -> None:
        self.config, self.real, self.discovery = config, real, discovery
        self.arguments = {**deepcopy(discovery.given), **self._few_layers()}
        self.base = self.tensors({})

    def _few_layers(self) -> dict[str, int]:
        for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
            if self.discovery.fields.get(name, 0) > _LAYERS and not self.discovery.outside(**{name: _LAYERS}):
                return {name: _LAYERS}
        return {}

    def tensors(self, changes: Mapping[str, Any]) -> Any:
        config = self.config(**deepcopy(self.arguments), **changes)
        return build.tensors(self.real, config, inf)

    def _value(self, name: str, sizes: Mapping[str, int]) -> int:
        value: int = getattr(self.config(**{**deepcopy(self.arguments), **sizes}), name)
        return value

    def is_same(self, changes: Mapping[str, Any], others: Mapping[str, Any] | None = None) -> bool | None:
        """Whether two changes give the same tensors; None if the class does not accept one of them.

        Without ``others``, the tensors are compared with the unchanged ones.
        """
        return unless_refused(lambda: bool(self.tensors(changes) == (self.tensors(others) if others else self.base)))

    def is_idle(self, name: str, values: tuple[Any, ...]) -> bool:
        """Whether the class accepts at least one of ``values`` for a key, and none of them changes a tensor."""
        built = 0
        for value in values:
            if (is_same := self.is_same({name: value})) is False:
                return False
            built += is_same is True
        return built > 0

    def keys(self) -> dict[str, Any]:
        default = json.loads(self.config(**deepcopy(self.arguments)).to_json_string(use_diff=False))
        default = structural_fields({name: value for name, value in default.items() if name not in self.arguments})
        whole = {**default, **self.discovery.given}
        idle = [name for name in default if name not in self.discovery.fields and self._changes_nothing(name, default)]
        same = {
            name: value
            for name, value in whole.items()
            if name not in (*self.discovery.fields, *self.discovery.derived, *idle, _TIED) and value is not None
        }
        nullable = [name for name in idle if whole[name] is not None and self.is_idle(name, (None,))]
        lists = {name: words for name, value in same.items() if (words := self._idle_words(name, value))}
        keys = {"idle": idle, "same": same, "null": [name for name in whole if whole[name] is None]}
        keys["nullable"] = nullable
        names = {name: own for name, own in getattr(self.config, "attribute_map", {}).items() if isinstance(own, str)}
        read = sorted(mentioned(self.config, self.real) - {*whole, *self.discovery.fields, *names})
        idle += self._idle_together(read)
        names |= {name: own for name in read if name not in idle and (own := self._meaning(name))}
        keys["read"] = [name for name in read if name not in idle and name not in names]
        numbers = [name for name in (*idle, *keys["read"]) if type(default.get(name)) is not bool]
        keys["not_zero"] = self._not_zero(numbers)
        keys["equal"] = {
            name: leaders[0]
            for name, leaders in self.discovery.derived.items()
            if len(leaders) == 1 and name not in DERIVED and self._is_usual(name, leaders)
        }
        derived = {
            name: leaders
            for name, leaders in self.discovery.derived.items()
            if name in DERIVED and self._is_usual(name, leaders)
        }
        keys["multiples"] = {
            name: multiple
            for name, leaders in self.discovery.derived.items()
            if name not in keys["equal"] and name not in derived and (multiple := self._multiple(name, leaders))
        }
        tied = self._tied(default.get(_TIED))
        if tied is None and isinstance(default.get(_TIED), bool):
            same[_TIED] = default[_TIED]  # the formulas assume the default
        return {**keys, "names": names, "lists": lists, "derived": derived, "tied": tied}

    def _changes_nothing(self, name: str, default: Mapping[str, Any]) -> bool:
        value = default[name]
        if name == _TIED or name in self.discovery.derived:
            return False
        if isinstance(value, bool):
            return self.is_idle(name, (not value,))
        if isinstance(value, int | float):
            return self.is_idle(name, (2 * value, value + 1, value / 2 if isinstance(value, float) else value // 2))
        if value is None:
            return self.is_idle(name, _TRIED)
        is_of_layers = isinstance(value, list) and len(value) in self._few_layers().values()
        if is_of_layers and all(isinstance(entry, int | float) for entry in value):
            return self.is_idle(name, ([0] * len(value), [1] * len(value), [2 * entry + 1 for entry in value]))
        return isinstance(value, str) and "act" in name and self.is_idle(name, _ACTIVATIONS)

    def _idle_words(self, name: str, value: Any) -> list[str]:
        """Return the words that change no tensor if every entry of a list with one entry per layer is this word."""
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            return []
        words = sorted({*value, *_ATTENTIONS})
        return [word for word in words if self.is_idle(name, ([word] * len(value),))]

    def _idle_together(self, names: list[str]) -> list[str]:
        """Return the keys that change no tensor.

        The keys are tried together and then in halves, because most keys have no effect.
        """
        outcomes = [self._halved(names, value) for value in _TRIED]
        return [
            name
            for name in names
            if any(outcome[name] for outcome in outcomes) and all(outcome[name] is not False for outcome in outcomes)
        ]

    def _halved(self, names: list[str], value: Any) -> dict[str, bool | None]:
        """Return for each key whether it changes nothing at this value; None if the class does not accept the value."""
        if not names:
            return {}
        is_same = self.is_same(dict.fromkeys(names, value))
        if is_same or len(names) == 1:
            return dict.fromkeys(names, is_same)
        half = len(names) // 2
        return {**self._halved(names[:half], value), **self._halved(names[half:], value)}

    def _not_zero(self, names: list[str]) -> list[str]:
        """Return the keys that change a tensor if they are 0 or False, or for which the class accepts neither value."""
        outcomes = [self._halved(names, value) for value in (0, 0.0, False)]
        return [
            name
            for name in names
            if any(outcome[name] is False for outcome in outcomes) or not any(outcome[name] for outcome in outcomes)
        ]

    def _meaning(self, name: str) -> str:
        """Return the field that a key sets under another name (hidden_size for Bloom's n_embed), or ""."""
        for own, size in self.discovery.fields.items():
            changed = unless_refused(self.tensors, {name: 2 * size})
            if changed not in (None, self.base) and changed == unless_refused(self.tensors, {own: 2 * size}):
                return own
        return ""

    def _is_usual(self, name: str, leaders: list[str]) -> bool:
        """Whether a derived field equals its leader, or the quotient of its two leaders, at several sizes."""
        if not 1 <= len(leaders) <= 2 or not {*leaders} <= self.discovery.fields.keys():
            return False
        built = 0
        for factor in (1, 2, 3):
            leader, *others = leaders
            sizes = {leader: factor * self.discovery.fields[leader], **{o: self.discovery.fields[o] for o in others}}
            value = sizes[leader] // (sizes[others[0]] if others else 1)
            if (is_same := self.is_same(sizes, {**sizes, name: value})) is False:
                return False
            built += is_same is True
        return built > 1

    def _multiple(self, name: str, leaders: list[str]) -> dict[str, Any] | None:
        """Return how a derived field follows from its leaders; None if no rule matches.

        The rule is a multiple of their product, or a multiple of the first leader divided by the others.
        """
        if not leaders or not {*leaders} <= self.discovery.fields.keys():
            return None
        tried: list[tuple[int, dict[str, int]]] = []  # (value of the field, sizes of its leaders) pairs
        for leader, factor in product(leaders, (1, 2, 3)):
            sizes = {field: self.discovery.fields[field] for field in leaders}
            sizes[leader] *= factor
            value = unless_refused(self._value, name, sizes)
            is_same = None if value is None else self.is_same(sizes, {**sizes, name: value})
            if is_same is False:
                return None
            if value is not None and is_same:
                tried.append((value, sizes))
        for by, per in ((leaders, []), (leaders[:1], leaders[1:])):
            ratios = {
                Fraction(value * prod(sizes[size] for size in per), prod(sizes[size] for size in by))
                for value, sizes in tried
            }
            if len(ratios) == 1 and (ratio := ratios.pop()) > 0:
                return {"times": ratio.numerator, "over": ratio.denominator, "by": by, "per": per}
        return None

    def _tied(self, default: Any) -> dict[str, Any] | None:
        """Return the effect of tie_word_embeddings, and its default.

        ``tensor`` is the name of the untied matrix, which exists only without tied weights. ``like`` is the name of an
        embedding table of the same shape. Both names are empty if the field changes no tensor. Returns None if the
        field cannot be flipped or has any other effect.
        """
        if not isinstance(default, bool):
            return None
        flipped = unless_refused(self.tensors, {_TIED: not default})
        if flipped is None:
            return None
        tied, untied = (self.base, flipped) if default else (flipped, self.base)
        more = [name for name in untied if name not in tied]
        if len(more) != 1 or any(tied[name] != untied.get(name) for name in tied):
            return {"default": default, "tensor": "", "like": ""} if tied == untied else None
        like = [name for name in tied if "embed" in name and [*tied[name].values()] == [*untied[more[0]].values()]]
        return {"default": default, "tensor": more[0], "like": like[0]} if like else None


def mentioned(*classes: Any) -> set[str]:
    """Return the names that occur in the source modules of these classes. The classes read no other keys."""
    return {
        name
        for source in {inspect.getsource(inspect.getmodule(cls) or cls) for cls in classes}
        for groups in _MENTIONED.findall(source)
        for name in groups
        if name and not name.startswith("_")
    }


def of_every_class() -> list[str]:
    """Return the keys that the base classes of transformers may read."""
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.modeling_rope_utils import RotaryEmbeddingConfigMixin

    return sorted(mentioned(PreTrainedConfig, PreTrainedModel, RotaryEmbeddingConfigMixin))


def explicit(model_type: str, cls: str, derived: Mapping[str, list[str]]) -> Discovered | None:
    """Return a class's formulas in which the ``derived`` fields are sizes.

    Returns None if some tensors have no formula, or if a derived field is not in the formulas.
    """
    fields = (shipped(model_type, cls) or _searched(model_type, cls, {})).fields
    given = {
        name: fields[leaders[0]] // (fields[leaders[1]] if leaders[1:] else 1) for name, leaders in derived.items()
    }
    try:
        discovery = _searched(model_type, cls, given)
    except (InputError, Ended):
        return None
    return None if discovery.unexplained or not discovery.fields.keys() >= derived.keys() else discovery


def _searched(model_type: str, cls: str, changes: Mapping[str, Any]) -> Discovered:
    return search(DiscoveryRequest(model_type, cls, changes), lambda *_event: None)


def measured(types: list[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (model type, class, result of ``keys_of``) for each shipped class whose keys can be measured.

    ``types`` restricts the model types; an empty list means all of them.
    """
    for model_type, cls in shipped_classes():
        if types and model_type not in types:
            continue
        try:
            with build.refusing_unexpected(cls), build.quiet():
                keys = keys_of(model_type, cls)
        except InputError:
            continue
        if keys is not None:
            print(model_type, cls, len(keys["idle"]), flush=True)
            yield model_type, cls, keys


# Values of each type. A class that accepts a type accepts at least one of them.
_VALUES: Mapping[str, tuple[Any, ...]] = {
    "int": (1, 2, 64),
    "float": (0.5, 1.0),
    "bool": (True,),
    "string": ("gelu", "x", "default"),
    "list": ([], [1], ["x"], [0.5]),
    "object": ({}, {"rope_type": "default", "rope_theta": 10000.0}),
    "null": (None,),
}
# Keys whose accepted types are not recorded, because transformers converts their values.
_NOT_JUDGED = ("architectures", "id2label", "label2id", "dtype", "transformers_version")


def value_types(model_type: str) -> dict[str, list[str]]:
    """Return the types of values that a configuration class accepts, for each key that does not accept every type."""
    config = build.config_class(model_type)
    validators = getattr(config, "__validators__", {})
    names = (*validators, "num_labels")  # num_labels becomes id2label and has no validator
    accepted = {name: [kind for kind in TYPES if _accepts(config, validators, name, kind)] for name in names}
    return {name: kinds for name, kinds in accepted.items() if name not in _NOT_JUDGED and 0 < len(kinds) < len(TYPES)}


def _accepts(config: Any, validators: Mapping[str, Any], name: str, kind: str) -> bool:
    """Whether a class accepts a type of values; it may convert a value before its validator checks it."""
    return any(
        (name in validators and _is_valid(validators[name], value)) or _is_converted(config, name, value)
        for value in _VALUES[kind]
    )


def _is_valid(validators: Any, value: Any) -> bool:
    return unless_refused(lambda: [validator(value) for validator in validators]) is not None


def _is_converted(config: Any, name: str, value: Any) -> bool:
    return unless_refused(lambda: config(**{name: deepcopy(value)})) is not None


def every_value_type() -> dict[str, dict[str, list[str]]]:
    """Return the keys of each model type with formulas, grouped by accepted value types.

    Keys with the same accepted value types in all model types are listed once, under COMMON.
    """
    of_types: dict[str, dict[str, list[str]]] = {}
    for model_type in dict.fromkeys(model_type for model_type, _cls in shipped_classes()):
        with suppress(InputError), build.quiet():
            of_types[model_type] = value_types(model_type)
    first, *others = of_types.values()
    common = {name: kinds for name, kinds in first.items() if all(other.get(name) == kinds for other in others)}
    return {COMMON: _grouped(common)} | {
        model_type: _grouped({name: kinds for name, kinds in accepted.items() if name not in common})
        for model_type, accepted in of_types.items()
    }


def _grouped(accepted: Mapping[str, list[str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, kinds in accepted.items():
        groups.setdefault(" | ".join(kinds), []).append(name)
    return groups


def main() -> None:
    write(every_value_type(), _RESULTS / VALUE_TYPES)
    keys = {f"{model_type}.{cls}": entry for model_type, cls, entry in measured(sys.argv[1:])}
    write({"": {"read": of_every_class()}, **keys}, _RESULTS / FILE)
    more: dict[str, Any] = {}
    for name, entry in keys.items():
        model_type, _dot, cls = name.rpartition(".")
        discovery = explicit(model_type, cls, entry["derived"]) if entry["derived"] else None
        if discovery:
            more[name] = discovery.json()
            print("explicit", name, [*discovery.fields], flush=True)
    write(more, _RESULTS / EXPLICIT)


if __name__ == "__main__":
    main()
