"""Discoveries for default configurations, shipped as data, so that they need neither PyTorch nor a search."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from bertcalc.discover.results.result import Discovered, of_json
from bertcalc.text.arguments import checked

FILE = "formulas.json"


@cache
def _data() -> Mapping[tuple[str, str], dict[str, Any]]:
    return by_class(files("bertcalc.discover.results").joinpath(FILE).read_text(encoding="utf-8"))


def by_class(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Index the entries of a file such as formulas.json by model type and class."""
    return {(entry["model_type"], entry["cls"]): entry for entry in json.loads(text)}


def shipped_classes() -> tuple[tuple[str, str], ...]:
    """Return the model type and class of each shipped discovery."""
    return tuple(_data())


@checked
@cache
def shipped(model_type: str, cls: str) -> Discovered | None:
    """Return the shipped discovery of a class at its default configuration, or None if there is none."""
    entry = _data().get((model_type, cls))
    return None if entry is None else of_json(entry)


@checked
def with_count(low: int, high: int) -> list[tuple[str, str]]:
    """Return the model types and classes with ``low`` to ``high`` parameters at their default configurations."""
    return [key for key, entry in _data().items() if low <= entry["parameters"] <= high]
