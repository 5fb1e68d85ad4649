"""Remarks on the keys of a config.json from which transformers 4 and 5 build different models."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from bertcalc.config import Config
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.transformers4.version import ABSOLUTE, version_of


def of_distances(config: Config, count: Callable[[Config], int]) -> Iterator[Problem]:
    """Yield a remark if a configuration has relative positions; ``count`` returns a configuration's parameters."""
    if version_of(config).distances:
        message = N_(
            "{field} {value}: transformers 4 builds distance tables, which makes {count} parameters in total. "
            "transformers 5 ignores the key and builds {absolute} parameters."
        )
        [field] = ABSOLUTE
        counts = {"count": count(config), "absolute": count(replace(config, **ABSOLUTE))}
        value = getattr(config, field)
        yield Problem.of(message, field, value, field=field, value=value, **counts)


def of_labels(labels: int, named: int) -> Problem:
    """Return the remark on a num_labels of ``labels`` in a file that names ``named`` labels in id2label."""
    message = N_(
        "num_labels {count} is used, as in transformers 5. transformers 4 uses the number of names in id2label: "
        "{named}."
    )
    return Problem.of(message, "num_labels", labels, count=labels, named=named)
