"""Changes of a configuration as a caller gives them: put where the class takes them, or refused by name.

A configuration class of transformers keeps any argument, known or not, so that a misspelled field changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from bertcalc.discover.search.build import Ended, tensors
from bertcalc.discover.search.config_input import structure
from bertcalc.discover.search.config_integers import configured, inside, integers, is_config, minimal, put, steps
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

_MOST_NAMED = 3
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*|\[\d{1,9}\])*", re.ASCII)


def merged(config: Any, cls: Any, file: Mapping[str, Any], changes: Mapping[str, Any], until: float) -> dict[str, Any]:
    """Return the fields of a file, and changes of them, as the arguments of a type's configuration class.

    Of a file, only what differs from the class's defaults and from what it derives is kept, and all of the changes.
    A change may be named by its path, as ``Discovered.count`` takes it, or be nested. If the class takes a nested
    configuration of its type's, such as the text's, fields that only that one has are put there. Raises InputError for
    a change that no configuration has and that changes nothing.
    """
    default = _default(config)
    inner = inside(config, cls)
    arguments = _lean(config, structure(file), until)
    for path, value in changes.items():
        arguments = _put(arguments, path, value, default, config)
    if inner:
        arguments = _placed(arguments, default, inner)
    arguments = structure(_under_own_names(arguments, config))
    for path in changes if default is not None else ():
        for name, value in _leaves(path, changes[path]):
            place = f"{inner}.{name}" if inner and _has(getattr(default, inner), name) else name
            if not _has(default, place) and _is_idle(config, cls, arguments, place, until):
                raise _unknown(name, default, config, value)
    return arguments


def _lean(config: Any, file: dict[str, Any], until: float) -> dict[str, Any]:
    """Leave out what a file says and the class would derive or take as its default: files say everything."""
    try:
        least = minimal(config, config(**deepcopy(file)), until)
    except Exception:  # transformers raises exceptions of all types; the model is refused for it later
        return file
    return file if least is None else least


def _under_own_names(arguments: Mapping[str, Any], config: Any) -> dict[str, Any]:
    """Replace the names that all types share by the type's own: hidden_size by n_embd in GPT-2.

    A configuration takes both, and then the shared one decides, so that n_embd could not be changed.
    """
    names = getattr(config, "attribute_map", {})
    own = {name: names.get(name, name) for name in arguments}
    return {name if own[name] in arguments else own[name]: value for name, value in arguments.items()}


def _put(arguments: Mapping[str, Any], path: str, value: Any, default: Any, config: Any) -> dict[str, Any]:
    if not _PATH.fullmatch(path):
        raise _unknown(path, default, config, value)
    if isinstance(value, Mapping) and isinstance(arguments.get(path), Mapping):
        for name, each in value.items():
            arguments = _put(arguments, f"{path}.{name}", each, default, config)
        return dict(arguments)
    try:
        return put(arguments, path, value, default)
    except (IndexError, TypeError, AttributeError):
        raise _unknown(path, default, config, value) from None


def _default(config: Any) -> Any:
    """The default configuration; None if the class has none."""
    try:
        return config()
    except Exception:  # transformers raises exceptions of all types
        return None


def _placed(arguments: Mapping[str, Any], default: Any, inner: str) -> dict[str, Any]:
    """Put the fields that only the nested configuration has into it."""
    nested = getattr(default, inner, None)
    moved = {name: each for name, each in arguments.items() if not _has(default, name) and _has(nested, name)}
    rest = {name: each for name, each in arguments.items() if name not in moved}
    return {**rest, inner: {**(rest.get(inner) or {}), **moved}} if moved else rest


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _leaves(f"{path}.{name}", each)
    else:
        yield path, value


def _has(config: Any, path: str) -> bool:
    """Whether a configuration has a field; whatever is in a plain dictionary or list is taken for one."""
    for step in steps(path):
        if not is_config(config):
            return config is not None
        if step == "model_type":
            return True
        if not hasattr(config, str(step)):
            return False
        config = getattr(config, str(step))
    return True


def _is_idle(config: Any, cls: Any, arguments: Mapping[str, Any], path: str, until: float) -> bool:
    """Whether the class has the same tensors without a field; False if it cannot be built."""
    less = deepcopy(dict(arguments))
    place: Any = less
    *above, last = steps(path)
    try:
        for step in above:
            place = place[step]
        del place[last]
        return tensors(cls, configured(config, cls, arguments), until) == tensors(
            cls, configured(config, cls, less), until
        )
    except Ended:
        raise
    except Exception:  # transformers raises exceptions of all types, or the field was left out as no part of a shape
        return False


def _unknown(name: str, default: Any, config: Any, value: Any = None) -> InputError:
    kind = str(config.model_type)
    every = list(integers(default)) if default is not None else []
    same = [path for path in every if path.rpartition(".")[2] == name.rpartition(".")[2]]
    near = ", ".join(same[:_MOST_NAMED]) or nearest(name, _names(every, default), beginning=False)
    if near is None:
        return wrong(N_("{kind} has no field {size}."), name, value, kind=kind, size=shorten(name))
    message = N_("{kind} has no field {size}: did you mean {nearest}?")
    return wrong(message, name, value, kind=kind, size=shorten(name), nearest=near)


def _names(every: Iterable[str], default: Any) -> list[str]:
    return [*every, *getattr(default, "attribute_map", {}), *vars(default)]
