"""Why transformers does not build a model, said as a sentence: which field is wrong, and what would be right."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from bertcalc.discover.search.build import Refused, made
from bertcalc.discover.search.config_integers import configured
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem

_KIND = re.compile(r"Field '(\w+)' expected (\w+), got")
_KINDS = {
    "int": N_("a whole number"),
    "float": N_("a number"),
    "bool": N_("true or false"),
    "str": N_("a text"),
    "list": N_("a list"),
    "dict": N_("an object"),
}
_MULTIPLE = re.compile(r"\((\d+)\) is not a multiple of .*?\((\d+)\)|divisible by .*?: (\d+)\D*: (\d+)")
_MOST_TRIED = 40  # fields, each of which is left out once


def explained(error: Refused, config: Any, cls: Any, given: Mapping[str, Any], until: float) -> Refused:
    """Return a refusal with the fields that are at fault in it; the same if it is not transformers that refuses."""
    reason = error.problem.values.get("reason", "")
    if not reason:
        return error
    leaves = dict(_leaves(given))
    said = _kind(reason, leaves) or _multiple(reason, leaves) or _at_fault(config, cls, given, leaves, until)
    return Refused(said._replace(values={**said.values, "reason": reason}))


def _kind(reason: str, leaves: Mapping[str, Any]) -> Problem | None:
    """A value of the wrong type, such as a string where a number is expected."""
    found = _KIND.search(reason)
    path = next((path for path in leaves if found and path.split(".")[-1] == found[1]), None)
    if found is None or path is None or found[2] not in _KINDS:
        return None
    message = N_(
        "transformers does not build this model: {size} is {value}, and has to be {right}. In its words: {reason}"
    )
    return Problem.of(message, size=path, value=_written(leaves[path]), right=_KINDS[found[2]])


def _multiple(reason: str, leaves: Mapping[str, Any]) -> Problem | None:
    """A given size that is not a multiple of the number of heads."""
    found = _MULTIPLE.search(reason)
    size, heads = (int(number) for number in found.groups() if number) if found else (0, 0)
    if not heads or size not in leaves.values():
        return None
    near = max(1, round(size / heads)) * heads
    message = N_(
        "transformers does not build this model: {size} is no multiple of {heads}; {near} would be. "
        "In its words: {reason}"
    )
    return Problem.of(message, size=_named(size, leaves), heads=_named(heads, leaves), near=near)


def _named(number: int, leaves: Mapping[str, Any]) -> str:
    """The number, with the name of its field if exactly one field has it."""
    names = [path for path, value in leaves.items() if value == number and not isinstance(value, bool)]
    return f"{names[0]} = {number:,}" if len(names) == 1 else f"{number:,}"


def _at_fault(config: Any, cls: Any, given: Mapping[str, Any], leaves: Mapping[str, Any], until: float) -> Problem:
    """The field without which the class is built."""
    for path, value in list(leaves.items())[:_MOST_TRIED]:
        with suppress(Exception):  # transformers raises exceptions of all types
            here = configured(config, cls, _without(given, path.split(".")))
            made(cls, here, until)
            usual = _default(here, path)
            if not isinstance(usual, int | float | str):
                message = N_(
                    "transformers does not build this model with {size} = {value}, but would without it. "
                    "In its words: {reason}"
                )
                return Problem.of(message, size=path, value=_written(value))
            message = N_(
                "transformers does not build this model with {size} = {value}; with {usual}, the default, it would. "
                "In its words: {reason}"
            )
            return Problem.of(message, size=path, value=_written(value), usual=_written(usual))
    return Problem.of(
        N_("transformers does not build this model, and no field is at fault alone. In its words: {reason}")
    )


def _leaves(given: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every field, also of nested configurations, by its path."""
    for name, value in given.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield above + name, value


def _without(given: Mapping[str, Any], path: list[str]) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {each: value for each, value in given.items() if each != name}
    return {**given, name: _without(given[name], rest)}


def _default(config: Any, path: str) -> Any:
    """The value of a field that is not given; a configuration takes what it does not know for None."""
    for name in path.split("."):
        config = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
    return config


def _written(value: Any) -> str:
    """A value as it stands in a config.json, shortened."""
    return shorten(json.dumps(value, ensure_ascii=False, default=str))
