"""A checkpoint in several files: the index that names them, and their tensors together."""

import json
from collections.abc import Iterable

from bertcalc.checkpoints.safetensors import LARGEST_HEADER, Entry, SafetensorsError
from bertcalc.text import N_, shorten

INDEX = "model.safetensors.index.json"


def names_of(index: bytes) -> list[str]:
    """The files that an index names, each once. Raises SafetensorsError."""
    try:
        names = sorted(set(json.loads(index)["weight_map"].values()))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise SafetensorsError(N_("{file} is not an index of safetensors files."), file=INDEX)
    return names


def too_much() -> SafetensorsError:
    """What is said where the headers of several files are longer together than one may be."""
    message = N_("The headers of these files have more than {most} bytes together.")
    return SafetensorsError(message, most=f"{LARGEST_HEADER:,}")


def together(parts: Iterable[tuple[Entry, ...]]) -> tuple[Entry, ...]:
    """The tensors of all files. Raises SafetensorsError if one is in two of them."""
    found: dict[str, Entry] = {}
    for part in parts:
        for entry in part:
            if found.setdefault(entry.name, entry) is not entry:
                raise SafetensorsError(N_("{tensor} is in two of the files."), tensor=shorten(entry.name))
    return tuple(found.values())
