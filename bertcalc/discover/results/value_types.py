"""The types of JSON values that transformers accepts for the keys of a config.json.

For example, clip_qkv is a float, never an int. ``bertcalc.discover.search.file_keys`` measures the types with the real
configuration classes.

>>> print(next(refused("olmo", {"clip_qkv": 2})))
transformers does not accept clip_qkv = 2: the type must be float | null.
>>> list(refused("olmo", {"clip_qkv": 2.0}))
[]
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem

FILE = "value_types.json"
TYPES = ("int", "float", "bool", "string", "list", "object", "null")
COMMON = ""  # the entry for keys that all classes share
_NAMES = {int: "int", float: "float", bool: "bool", str: "string", list: "list", dict: "object", type(None): "null"}


def refused(model_type: str, fields: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each value in a config.json whose type the configuration class does not accept."""
    accepted = _accepted(model_type)
    for name, value in fields.items():
        types = accepted.get(name)
        if types and _NAMES[type(value)] not in types.split(" | "):
            message = N_("transformers does not accept {field} = {value}: the type must be {types}.")
            shown = shorten(json.dumps(value, ensure_ascii=False))
            yield Problem.of(message, name, value, field=name, value=shown, types=types)


@cache
def _accepted(model_type: str) -> Mapping[str, str]:
    groups = _groups()
    measured = (groups[COMMON], groups[model_type]) if model_type in groups else ()
    return {name: types for entry in measured for types, names in entry.items() for name in names}


@cache
def _groups() -> Mapping[str, Mapping[str, list[str]]]:
    groups: dict[str, dict[str, list[str]]] = json.loads(
        files("bertcalc.discover.results").joinpath(FILE).read_text(encoding="utf-8")
    )
    return groups
