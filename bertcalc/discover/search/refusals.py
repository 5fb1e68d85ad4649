"""Explain why transformers does not build a model: which field is wrong, and which value would be valid."""

import json
import re
from collections.abc import Mapping
from typing import Any

from bertcalc.discover.results.field_paths import leaf_fields
from bertcalc.discover.results.search_errors import Refused
from bertcalc.discover.search.build import build_model, unless_refused
from bertcalc.discover.search.config_integers import build_config
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem

_KIND = re.compile(r"Field '(\w+)' expected (\w+), got")
_KINDS = {
    "int": N_("a whole number"),
    "float": N_("a number"),
    "bool": N_("true or false"),
    "str": N_("a string"),
    "list": N_("a list"),
    "dict": N_("an object"),
}
_MULTIPLE = re.compile(r"\((\d+)\) is not a multiple of .*?\((\d+)\)|divisible by .*?: (\d+)\D*: (\d+)")
_MOST_TRIED = 40  # maximum number of fields that are removed, one at a time


def explain(error: Refused, config: Any, cls: Any, fields: Mapping[str, Any], until: float) -> Refused:
    """Add the offending field to a refusal by transformers; return other refusals unchanged."""
    reason = error.problem.values.get("reason", "")
    if not reason:
        return error
    leaves = dict(leaf_fields(fields))
    problem = _kind(reason, leaves) or _multiple(reason, leaves) or _at_fault(config, cls, fields, leaves, until)
    return Refused(problem._replace(values={**problem.values, "reason": reason}))


def _kind(reason: str, leaves: Mapping[str, Any]) -> Problem | None:
    """Return the problem with a value of the wrong type, such as a string for a number; None for other reasons."""
    match = _KIND.search(reason)
    path = next((path for path in leaves if match and path.split(".")[-1] == match[1]), None)
    if match is None or path is None or match[2] not in _KINDS:
        return None
    message = N_(
        "transformers cannot build this model: {size} is {value} but must be {right}. transformers says: {reason}"
    )
    return Problem.of(message, size=path, value=_written(leaves[path]), right=_KINDS[match[2]])


def _multiple(reason: str, leaves: Mapping[str, Any]) -> Problem | None:
    """Return the problem with a given size that is not a multiple of the number of heads; None for other reasons."""
    match = _MULTIPLE.search(reason)
    size, heads = (int(number) for number in match.groups() if number) if match else (0, 0)
    if not heads or size not in leaves.values():
        return None
    near = max(1, round(size / heads)) * heads
    message = N_(
        "transformers cannot build this model: {size} is not a multiple of {heads} (try {near}). "
        "transformers says: {reason}"
    )
    return Problem.of(message, size=_named(size, leaves), heads=_named(heads, leaves), near=near)


def _named(number: int, leaves: Mapping[str, Any]) -> str:
    """Return a number, preceded by its field if exactly one field has this value."""
    names = [path for path, value in leaves.items() if value == number and not isinstance(value, bool)]
    return f"{names[0]} = {number:,}" if len(names) == 1 else f"{number:,}"


def _at_fault(config: Any, cls: Any, fields: Mapping[str, Any], leaves: Mapping[str, Any], until: float) -> Problem:
    """Return the problem with the first field without which the class can be built, or a problem without a field."""
    for path, value in list(leaves.items())[:_MOST_TRIED]:
        if problem := unless_refused(_problem_with, config, cls, fields, path, value, until):
            return problem
    return Problem.of(
        N_("transformers cannot build this model, and no single field is the cause. transformers says: {reason}")
    )


def _problem_with(config: Any, cls: Any, fields: Mapping[str, Any], path: str, value: Any, until: float) -> Problem:
    """Return the problem with a field. Raises any exception if the class cannot be built without it."""
    reduced = build_config(config, cls, _without(fields, path.split(".")))
    build_model(cls, reduced, until)
    usual = _default(reduced, path)
    if not isinstance(usual, int | float | str):
        message = N_(
            "transformers cannot build this model with {size} = {value}, but can without it. "
            "transformers says: {reason}"
        )
        return Problem.of(message, size=path, value=_written(value))
    message = N_(
        "transformers cannot build this model with {size} = {value}, but can with the default, {usual}. "
        "transformers says: {reason}"
    )
    return Problem.of(message, size=path, value=_written(value), usual=_written(usual))


def _without(fields: Mapping[str, Any], path: list[str]) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {key: value for key, value in fields.items() if key != name}
    return {**fields, name: _without(fields[name], rest)}


def _default(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
    return config


def _written(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str))
