"""Apply a caller's changes to a configuration, and refuse fields that do not exist.

A transformers configuration accepts any argument, so a misspelled field would silently have no effect.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from bertcalc.discover.results.config_input import structural_fields
from bertcalc.discover.results.field_paths import leaf_fields, put, steps
from bertcalc.discover.search.build import Folded, tensors, unless_refused
from bertcalc.discover.search.config_integers import build_config, integers, is_config, minimal_arguments, nested_name
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

_MOST_NAMED = 3
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*|\[\d{1,9}\])*", re.ASCII)


def merge_changes(
    config: Any, cls: Any, file: Mapping[str, Any], changes: Mapping[str, Any], until: float
) -> dict[str, Any]:
    """Merge a config.json and changes to it into arguments for a configuration class.

    Values of the file that equal the class's defaults or derived values are dropped; all changes are kept. A change is
    nested, or named by its path, as in ``Discovered.count``. If the model class is built from a nested configuration,
    such as the text configuration, fields that exist only there are moved into it. Raises InputError for a field that
    no configuration has and that has no effect, and Ended when the time limit ``until`` is reached.
    """
    default = unless_refused(config)
    inner = nested_name(config, cls)
    arguments = _without_defaults(config, structural_fields(file), until)
    for path, value in changes.items():
        arguments = _put(arguments, path, value, default, config)
    if inner:
        arguments = _moved_into_nested(arguments, default, inner)
    arguments = structural_fields(_under_own_names(arguments, config))
    for name, value in leaf_fields(changes) if default is not None else ():
        place = f"{inner}.{name}" if inner and _has(getattr(default, inner), name) else name
        if not _has(default, place) and _is_idle(config, cls, arguments, place, until):
            raise _unknown(name, default, config, value)
    return arguments


def _without_defaults(config: Any, file: dict[str, Any], until: float) -> dict[str, Any]:
    """Drop values that equal the class's defaults or derived values, because files list every field."""
    least = unless_refused(lambda: minimal_arguments(config, config(**deepcopy(file)), until))
    return file if least is None else least  # if refused, building the model reports the problem later


def _under_own_names(arguments: Mapping[str, Any], config: Any) -> dict[str, Any]:
    """Rename common field names to the type's own names, such as hidden_size to n_embd in GPT-2.

    A configuration accepts both, but the common name wins. Without renaming, a change of n_embd would have no effect.
    """
    names = getattr(config, "attribute_map", {})
    own_names = {name: names.get(name, name) for name in arguments}
    return {name if own_names[name] in arguments else own_names[name]: value for name, value in arguments.items()}


def _put(arguments: Mapping[str, Any], path: str, value: Any, default: Any, config: Any) -> dict[str, Any]:
    if not _PATH.fullmatch(path):
        raise _unknown(path, default, config, value)
    if isinstance(value, Mapping) and isinstance(arguments.get(path), Mapping):
        for name, entry in value.items():
            arguments = _put(arguments, f"{path}.{name}", entry, default, config)
        return dict(arguments)
    try:
        return put(arguments, path, value, default)
    except (IndexError, TypeError, AttributeError):
        raise _unknown(path, default, config, value) from None


def _moved_into_nested(arguments: Mapping[str, Any], default: Any, inner: str) -> dict[str, Any]:
    nested = getattr(default, inner, None)
    moved = {name: value for name, value in arguments.items() if not _has(default, name) and _has(nested, name)}
    rest = {name: value for name, value in arguments.items() if name not in moved}
    return {**rest, inner: {**(rest.get(inner) or {}), **moved}} if moved else rest


def _has(config: Any, path: str) -> bool:
    """Whether a configuration has a field. In a plain dictionary or list, any key counts as a field."""
    for step in steps(path):
        if not is_config(config):
            return config is not None
        if step == "model_type":
            return True
        try:
            config = getattr(config, str(step))
        except AttributeError:
            return False
        except Exception:  # the field differs between layers (see config_integers.py), so it exists
            return True
    return True


def _is_idle(config: Any, cls: Any, arguments: Mapping[str, Any], path: str, until: float) -> bool:
    """Whether a given field changes no tensor; False if the class cannot be built without the field."""

    def built(given: Mapping[str, Any]) -> Folded:
        return tensors(cls, build_config(config, cls, given), until)

    return bool(unless_refused(lambda: built(_without(arguments, path)) == built(arguments)))


def _without(arguments: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the arguments without a field. Raises KeyError if the field was dropped as irrelevant."""
    less = deepcopy(dict(arguments))
    place: Any = less
    *above, last = steps(path)
    for step in above:
        place = place[step]
    del place[last]
    return less


def _unknown(name: str, default: Any, config: Any, value: Any = None) -> InputError:
    kind = str(config.model_type)
    every = list(integers(default)) if default is not None else []
    same = [path for path in every if path.rpartition(".")[2] == name.rpartition(".")[2]]
    names = [*every, *getattr(default, "attribute_map", {}), *vars(default)]
    near = ", ".join(same[:_MOST_NAMED]) or nearest(name, names, beginning=False)
    if near is None:
        return wrong(N_("{kind} has no field {size}."), name, value, kind=kind, size=shorten(name))
    message = N_("{kind} has no field {size}: did you mean {nearest}?")
    return wrong(message, name, value, kind=kind, size=shorten(name), nearest=near)
