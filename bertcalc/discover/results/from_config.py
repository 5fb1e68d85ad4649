"""Count the parameters for a config.json of another type with the shipped formulas, without transformers.

A file is counted only if every key in it is known: it is a size of the formula, it changes no tensor of the real class,
or it has the class's default. ``bertcalc.discover.search.file_keys`` measures the effect of the keys.

>>> llama_2_13b = {"hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40, "num_attention_heads": 40}
>>> counted_config("llama", "LlamaForCausalLM", llama_2_13b).parameters
13015864320
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from importlib.resources import files
from math import prod
from typing import Any, NamedTuple

from bertcalc.config.fields import is_int
from bertcalc.discover.results.components import count
from bertcalc.discover.results.result import Discovered, Tensors, of_json
from bertcalc.discover.results.shipped import shipped
from bertcalc.discover.results.types import types
from bertcalc.families.uncounted_keys import is_neutral
from bertcalc.text import N_, shorten
from bertcalc.text.problem import wrong

FILE, EXPLICIT = "file_keys.json", "explicit.json"
# Fields that a class derives from others unless a file sets them. explicit.json has formulas in which they are sizes.
DERIVED = ("num_key_value_heads", "head_dim")
# The angles of rotary position embeddings: they change values, not shapes.
_NUMBERS_OF_ANGLES = ("rope_theta", "rope_local_base_freq")
_ANGLES = (*_NUMBERS_OF_ANGLES, "rope_scaling", "rope_parameters")
_TIED = "tie_word_embeddings"
_LONGEST = 60  # maximum number of a key's characters that are compared with the names of sizes
_NAMED = 6  # maximum number of keys named in a message


class CountedConfig(NamedTuple):
    """A configuration with its formulas, the sizes in the file, and the number of parameters."""

    discovery: Discovered
    changes: dict[str, int]
    parameters: int

    def sizes(self) -> dict[str, int]:
        """Return all sizes in the formula, keyed by field."""
        used = {symbol.name for symbol in self.discovery.total.free_symbols}
        return {name: size for name, size in self.discovery.values(**self.changes).items() if name in used}

    def defaults(self) -> dict[str, int]:
        """Return the sizes in the formula that are not in the file and therefore have their defaults."""
        return {name: size for name, size in self.sizes().items() if name not in self.changes}

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """Yield the name, shape and number of copies of each tensor; in a name, * stands for the layer number."""
        values = self.discovery.values(**self.changes)
        for tensors in self.discovery.tensors:
            if counted := tensors.counted(values):
                yield tensors.name, *counted


def counted_config(model_type: str, cls: str | None, fields: Mapping[str, Any]) -> CountedConfig:
    """Count a class with the fields of a config.json, as ``config_input.read_config`` returns them.

    Without a class, the first class of the type that has a formula is counted. Raises InputError if there are no
    formulas for the class, if the effect of a key is unknown, or if the class has no default for a missing key. Errors
    of ``Discovered.count`` are raised as well.
    """
    cls = cls or next((name for name in types().get(model_type, ()) if f"{model_type}.{name}" in _keys()), model_type)
    keys = _keys().get(f"{model_type}.{cls}")
    if keys is None:
        if nested := [
            name
            for name, value in fields.items()
            if name.endswith("_config") and isinstance(value, Mapping) and name not in _OF_NO_SIZES
        ]:
            raise wrong(_NESTED, cls=cls, keys=_listed(nested))
        raise wrong(_NO_FORMULA, cls=cls)
    named = _under_own_names(keys, fields)
    discovery = _with_ties(_discovery(model_type, cls, keys, named), keys, named.get(_TIED))
    if unknown := list(_unknown(keys, discovery, named)):
        message = N_("bertcalc does not know how these keys change {cls}: {keys}.")
        raise wrong(message, unknown[0], named[unknown[0]], cls=cls, keys=_listed(unknown))
    if overriding := next(_overriding(keys, discovery, named), None):
        raise wrong(_OVERRIDES, overriding, named[overriding], key=shorten(overriding), cls=cls)
    if lacking := [name for name in _needed(model_type, cls) if named.get(name) is None]:
        message = N_("The file lacks these keys, for which {cls} has no default: {keys}.")
        raise wrong(message, lacking[0], None, cls=cls, keys=_listed(lacking))
    used = {symbol.name for symbol in discovery.total.free_symbols}
    changes = {
        name: value
        for name, value in named.items()
        if name in discovery.fields and value is not None and (name in used or not isinstance(value, list))
    }  # skips Longformer's attention_window, which can be a list and changes no shape
    changes |= _derived(keys, discovery, changes)
    return CountedConfig(discovery, changes, discovery.count(**changes))


_NO_FORMULA = N_(
    "bertcalc has no formula for the config.json of {cls}. Use the Any model page or bertcalc.infer, which build "
    "the real class."
)
_OF_NO_SIZES = ("quantization_config", "generation_config")
_NESTED = N_(
    "The sizes of {cls} are in nested configurations ({keys}), which bertcalc cannot count from the file. Use the "
    "Any model page or bertcalc.infer, which build the real class."
)


_OVERRIDES = N_(
    "{key} has sizes of its own, which take precedence over other sizes in the file. bertcalc counts {cls} with this "
    "key only if all sizes have their defaults."
)


def _overriding(keys: Mapping[str, Any], discovery: Discovered, fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the nested keys that may replace a size that the file changes, such as per_layer_config of Dots 3 Note."""
    changed = any(fields.get(name) not in (None, size) for name, size in discovery.fields.items())
    for name, value in fields.items():
        if changed and isinstance(value, Mapping) and value and name in keys["same"] and name.endswith("_config"):
            yield name


@cache
def _keys() -> Mapping[str, dict[str, Any]]:
    keys: dict[str, dict[str, Any]] = _data(FILE)
    return keys


@cache
def classes_with_formulas() -> frozenset[str]:
    """Return the names of all classes that can be counted from a config.json."""
    return frozenset(name.rpartition(".")[2] for name in _keys())


def _data(file: str) -> Any:
    return json.loads(files("bertcalc.discover.results").joinpath(file).read_text(encoding="utf-8"))


_every_explicit = cache(partial(_data, EXPLICIT))


@cache
def _explicit(name: str) -> Discovered | None:
    """Return formulas of a class in which derived fields are sizes; None if there are none."""
    entry = _every_explicit().get(name)
    return None if entry is None else of_json(entry)


def _under_own_names(keys: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Rename fields to the type's own names, such as num_hidden_layers to n_layer.

    If a file has both names, the value of the common name wins, as in transformers.
    """
    names = keys["names"]
    own = {name: value for name, value in fields.items() if name not in names}
    return own | {names[name]: value for name, value in fields.items() if name in names}


def _discovery(model_type: str, cls: str, keys: Mapping[str, Any], fields: Mapping[str, Any]) -> Discovered:
    explicit = _explicit(f"{model_type}.{cls}")
    given = any(fields.get(name) is not None for name in keys["derived"])
    discovery = explicit if given and explicit else shipped(model_type, cls)
    if discovery is None:
        raise wrong(_NO_FORMULA, cls=cls)
    return discovery


def _needed(model_type: str, cls: str) -> tuple[str, ...]:
    usual = shipped(model_type, cls)
    return tuple(usual.given) if usual else ()


def _with_ties(discovery: Discovered, keys: Mapping[str, Any], tied: Any) -> Discovered:
    """Return the formulas with or without the matrix that can be tied to the word embeddings, depending on ``tied``."""
    ties = keys["tied"]
    if ties is None or not isinstance(tied, bool) or tied == ties["default"] or not ties["tensor"]:
        return discovery
    tensors = tuple(tensor for tensor in discovery.tensors if tensor.name != ties["tensor"])
    if not tied:
        tensors += tuple(
            Tensors(ties["tensor"], tensor.copies, tensor.shape)
            for tensor in discovery.tensors
            if tensor.name == ties["like"]
        )
    parameters = count(tensors, discovery.fields)
    given = {**discovery.given, _TIED: tied}
    return replace(discovery, tensors=tensors, parameters=parameters, explained=parameters, given=given, compute=None)


def _unknown(keys: Mapping[str, Any], discovery: Discovered, fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that may change the formulas, because no measurement shows that they do not."""
    for name, value in fields.items():
        if name == _TIED:
            is_known = (keys["tied"] is not None and isinstance(value, bool)) or _is_usual(keys, name, value)
        elif name in discovery.fields:
            is_known = value is not None or name in keys["derived"]
        elif name in keys["equal"] and value is not None:
            is_known = value == {**discovery.fields, **fields}.get(keys["equal"][name])
        elif name in keys["multiples"] and is_int(value):
            is_known = _is_multiple(keys["multiples"][name], {**discovery.fields, **fields}, value)
        elif name in discovery.derived and name not in keys["derived"] and value is not None:
            leaders = discovery.derived[name]  # such as num_layers for T5's num_decoder_layers
            are_layers = len(leaders) == 1 and "layers" in name and "layers" in leaders[0]
            is_known = are_layers and value == {**discovery.fields, **fields}.get(leaders[0])
        else:
            is_known = _leaves_formulas(keys, discovery, name, value)
        if not is_known or _replaces_size(discovery, fields, name, value):
            yield name


def _is_multiple(multiple: Mapping[str, Any], sizes: Mapping[str, Any], value: int) -> bool:
    """Whether a derived field has the value that the class computes from other sizes (Mamba's intermediate_size)."""
    by, per = ([sizes.get(name, 0) for name in multiple[kind]] for kind in ("by", "per"))
    are_sizes = all(map(_is_size, (*by, *per)))
    return are_sizes and bool(value * multiple["over"] * prod(per) == multiple["times"] * prod(by))


def _replaces_size(discovery: Discovered, fields: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether a key that the class does not read sets a size under another program's name, such as n_layer for Mamba.

    transformers ignores the key and uses its default, which is not the size of the model in the file.
    """
    size = _OTHER_NAMES.get(name)
    if size is None or name in discovery.fields or type(value) is not int:
        return False
    return size in discovery.fields and fields.get(size) is None and value != discovery.fields[size]


_OTHER_NAMES = {
    **dict.fromkeys(("n_layer", "n_layers", "num_layers"), "num_hidden_layers"),
    **dict.fromkeys(("n_embd", "d_model", "dim"), "hidden_size"),
    **dict.fromkeys(("n_head", "n_heads", "num_heads"), "num_attention_heads"),
    **dict.fromkeys(("n_inner", "d_ff", "ffn_dim", "hidden_dim"), "intermediate_size"),
}


def _leaves_formulas(keys: Mapping[str, Any], discovery: Discovered, name: str, value: Any) -> bool:
    """Whether a key that is not a size is known to leave the formulas unchanged."""
    is_declared = any(name in keys[kind] for kind in ("idle", "same", "null", "derived"))
    if value is None:
        return name in (*keys["null"], *keys["nullable"], *keys["derived"], *_ANGLES) or not is_declared
    if name in _ANGLES:
        return _is_angle(name, value)
    if not value and name in keys["not_zero"]:
        return _is_usual(keys, name, value)
    if is_declared:
        is_idle = name in keys["idle"] and not (name in keys["null"] and isinstance(value, bool))
        return is_idle or _is_usual(keys, name, value)
    if name in keys["read"]:
        return value in (0, False)
    may_be_read = name in _keys()[""]["read"] or name.startswith("_") or _is_doubtful(discovery, name, value)
    return not may_be_read or not value or is_neutral(name, value)


def _is_angle(name: str, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value > 0 if name in _NUMBERS_OF_ANGLES else isinstance(value, Mapping)


def _is_usual(keys: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether a value is the class's default, or a list of words that change no tensor."""
    usual, words = keys["same"].get(name), keys["lists"].get(name, [])
    if isinstance(value, list) and value and words:
        return all(entry in words for entry in value)
    return usual is not None and usual == value and isinstance(usual, bool) == isinstance(value, bool)


def _is_doubtful(discovery: Discovered, name: str, value: Any) -> bool:
    """Whether a key that the class does not read may still be a size: a number of experts, or a misspelled field."""
    if type(value) is not int:
        return False
    return "expert" in name or bool(get_close_matches(name[:_LONGEST], discovery.fields, n=1, cutoff=0.85))


def _derived(keys: Mapping[str, Any], discovery: Discovered, changes: Mapping[str, int]) -> dict[str, int]:
    """Compute the derived fields that the file does not set but that are sizes in the formulas."""
    sizes = {**discovery.fields, **changes}
    derived: dict[str, int] = {}
    for name, (leader, *others) in keys["derived"].items():
        if name in discovery.fields and name not in changes and all(_is_size(sizes[o]) for o in (leader, *others)):
            derived[name] = sizes[leader] // (sizes[others[0]] if others else 1)
    return derived


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _listed(names: list[str]) -> str:
    return ", ".join(map(shorten, names[:_NAMED])) + (" ..." if names[_NAMED:] else "")
