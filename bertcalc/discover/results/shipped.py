"""Discoveries for the default configurations of the model types, as data that needs neither PyTorch nor a minute."""

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
    """The entries of a file such as formulas.json, by model type and class."""
    return {(each["model_type"], each["cls"]): each for each in json.loads(text)}


def shipped_classes() -> tuple[tuple[str, str], ...]:
    """The model types and classes that have an entry."""
    return tuple(_data())


@checked
@cache
def shipped(model_type: str, cls: str) -> Discovered | None:
    """The discovery of a class at its default configuration, or None if there is no entry."""
    found = _data().get((model_type, cls))
    return None if found is None else of_json(found)


@checked
def with_count(low: int, high: int) -> list[tuple[str, str]]:
    """The model types and classes whose number of parameters lies between these, at their default configurations."""
    return [key for key, found in _data().items() if low <= found["parameters"] <= high]
