"""Search results for default configurations, shipped as data: they need neither PyTorch nor a search."""

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
    """Index the entries of a file such as formulas.json by (model type, class) pairs."""
    return {(entry["model_type"], entry["cls"]): entry for entry in json.loads(text)}


def shipped_classes() -> tuple[tuple[str, str], ...]:
    """Return the (model type, class) pair of each shipped result."""
    return tuple(_data())


@checked
@cache
def shipped(model_type: str, cls: str) -> Discovered | None:
    """Return the shipped result for a class at its default configuration, or None if there is none."""
    entry = _data().get((model_type, cls))
    return None if entry is None else of_json(entry)


@checked
def with_count(low: int, high: int) -> list[tuple[str, str]]:
    """Return the (model type, class) pairs with ``low`` to ``high`` parameters at their default configurations."""
    return [key for key, entry in _data().items() if low <= entry["parameters"] <= high]
