"""Counts with a planted mistake, computed from the tensors of a real model on the meta device."""

import re
from collections.abc import Mapping
from functools import cache

from bertcalc.families.presets import PRESETS
from tests.oracle import Case


@cache
def real_tensors(preset: str, architecture: str) -> Mapping[str, int]:
    """The number of elements of each parameter of the real model, keyed by name."""
    model = Case(PRESETS[preset].config, architecture).real()
    return {name: tensor.numel() for name, tensor in model.named_parameters()}


def planted(preset: str, architecture: str, change: str) -> int:
    """Return the real count after some changes, separated by ", ".

    ``only NAMES`` keeps the tensors with names that match the pattern, and ``- NAMES`` removes them. ``11* NAMES`` adds
    eleven more copies of them. ``/ 12`` divides the sum, and ``+ 12*768`` adds a number.
    """
    tensors = dict(real_tensors(preset, architecture))
    for step in change.split(", "):
        operation, _space, argument = step.partition(" ")
        concerned = {name: size for name, size in tensors.items() if re.search(argument, name)}
        if operation == "/":
            tensors = {"": sum(tensors.values()) // int(argument)}
            continue
        if operation == "+":
            # ``eval`` is safe: planted_counts.csv is part of the repository.
            tensors[step] = eval(argument, {"__builtins__": {}})
            continue
        assert concerned, step
        if operation == "only":
            tensors = concerned
        elif operation == "-":
            tensors = {name: size for name, size in tensors.items() if name not in concerned}
        else:
            tensors |= {f"{name} again": int(operation.strip("*")) * size for name, size in concerned.items()}
    return sum(tensors.values())
