"""Address the fields of a configuration by path: ``hidden_size``, ``text_config.hidden_size``, ``block_sizes[0]``."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import pairwise
from typing import Any

_STEP = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")


def leaf_fields(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of every given field, including fields of nested configurations.

    ``above`` is the prefix of all paths.
    """
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from leaf_fields(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def steps(path: str) -> list[str | int]:
    """Split the path of a field into names and indices."""
    return [name or int(index) for name, index in _STEP.findall(path)]


def put(arguments: Mapping[str, Any], path: str, value: Any, default: Any = None) -> dict[str, Any]:
    """Return the arguments of a configuration with the field at ``path`` set to a value.

    To set a list entry, the list is copied from the arguments or else from the ``default`` configuration. Raises
    IndexError if the list has no such entry.
    """
    whole = deepcopy(dict(arguments))
    place: Any = whole
    source = default
    path_steps = steps(path)
    for step, following in pairwise(path_steps):
        source = source[step] if isinstance(step, int) else getattr(source, step, None)
        inside = place[step] if isinstance(step, int) else place.get(step)
        if isinstance(following, int):
            usual = source if isinstance(source, list | tuple) else []
            inside = list(inside if isinstance(inside, list | tuple) else usual)
        elif not isinstance(inside, dict):
            inside = {}
        place[step] = inside
        place = inside
    place[path_steps[-1]] = value
    return whole
