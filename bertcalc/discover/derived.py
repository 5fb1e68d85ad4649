"""Fields that a configuration class derives from others unless they are given, and that change the model if they are.

Llama's num_key_value_heads is as many as num_attention_heads: a formula of the default knows nothing of it. Once it is
given, it is a size like the others. ``python -m bertcalc.discover.derived`` writes down what is derived for the classes
that are shipped.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cache
from importlib.resources import files
from math import inf
from pathlib import Path
from time import thread_time
from typing import Any

FILE = "derived.json"


@cache
def _data() -> Mapping[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads(
        files("bertcalc.discover").joinpath(FILE).read_text(encoding="utf-8")
    )
    return found


def shipped(model_type: str, cls: str) -> Mapping[str, list[str]]:
    """The derived fields of a class at its default configuration, each with those that it follows."""
    return _data().get(f"{model_type}.{cls}", {})


def put(given: Mapping[str, Any], path: str, value: int) -> dict[str, Any]:
    """What is given of a configuration with one field more, which may lie in a configuration inside."""
    name, _dot, rest = path.partition(".")
    inside = given.get(name)
    return {**given, name: put(inside if isinstance(inside, dict) else {}, rest, value) if rest else value}


def derived(model_type: str, cls: str, given: Mapping[str, Any], until: float = inf) -> dict[str, list[str]]:
    """The derived fields that change the tensors of a class if they are given, each with those that it follows.

    It needs PyTorch. What a class cannot be asked, or not before the time is up, is left out.
    """
    from bertcalc.discover import _inner, _recipe
    from bertcalc.discover.build import Ended, config_class, model_class, quiet, tensors

    config, real = config_class(model_type), model_class(cls)
    prefix = f"{inner}." if (inner := _inner(config, real)) else ""
    found: dict[str, list[str]] = {}
    with quiet(), suppress(Ended):
        recipe = _recipe(config, real, given, until)
        here = tensors(real, recipe.config, until)
        for field, leaders in _leaders(recipe).items():
            for value in _others(recipe.fields.get(field)):
                if thread_time() > until:
                    raise Ended
                with suppress(Exception):  # transformers raises whatever it likes
                    changed = _recipe(config, real, put(deepcopy(dict(given)), prefix + field, value), until)
                    if tensors(real, changed.config, until) != here:
                        found[prefix + field] = [prefix + leader for leader in leaders]
                        break
    return found


def _others(value: int | None) -> Iterator[int]:
    """Values that a field can be tried with."""
    if value is None:
        yield from (64, 2)
    else:
        yield from (each for each in (2 * value, value // 2, value + 1) if each not in (0, value))


def _leaders(recipe: Any) -> dict[str, list[str]]:
    """Fields that change when another is changed, with those others; and those that are left open, with none."""
    from bertcalc.discover.fields import integers, left_open

    found: dict[str, list[str]] = {field: [] for field in left_open(recipe.config)}
    for path, value in recipe.fields.items():
        for other in (2 * value, value + 1):
            with suppress(Exception):  # transformers raises whatever it likes
                after = integers(recipe.changed({path: other}))
                if after.get(path) != other:
                    continue
                for name, here in recipe.fields.items():
                    if name != path and after.get(name, here) != here and path not in found.setdefault(name, []):
                        found[name].append(path)
    return {field: leaders for field, leaders in found.items() if "[" not in field and field not in recipe.given}


def main() -> None:
    """Write the file."""
    from bertcalc.discover.shipped import shipped as known
    from bertcalc.discover.shipped import shipped_classes
    from bertcalc.discover.types import write

    found = {}
    for model_type, cls in shipped_classes():
        one = known(model_type, cls)
        if one is None or one.unexplained:
            continue
        with suppress(Exception):  # transformers raises whatever it likes
            if fields := derived(model_type, cls, one.given):
                found[f"{model_type}.{cls}"] = fields
    write(found, Path(__file__).parent / FILE)


if __name__ == "__main__":
    main()
