"""Read checkpoints that consist of several files: the index that names the files, and their tensors."""

import re
from collections.abc import Iterable

from bertcalc.checkpoints.safetensors import LARGEST_HEADER
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.strict_json import read_json

INDEX = "model.safetensors.index.json"
MOST_FILES = 50
_SHARD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.safetensors")


@checked
def names_of(index: bytes) -> list[str]:
    """Read the distinct file names in an index. Raises InputError if it is not an index or names too many files."""
    try:
        names = sorted(set(read_json(index, LARGEST_HEADER)["weight_map"].values()))
        right = bool(names) and all(map(_SHARD.fullmatch, names))
    except (InputError, TypeError, KeyError, AttributeError):
        right = False
    if not right:
        raise wrong(N_("{file} is not an index of safetensors files."), file=INDEX)
    if len(names) > MOST_FILES:
        message = N_("The model has {count} files: at most {most} are allowed.")
        raise wrong(message, count=len(names), most=MOST_FILES)
    return names


def too_much() -> InputError:
    """The error for files with headers that together exceed the limit for a single header."""
    message = N_("The headers of these files are too large: at most {most} bytes in total are allowed.")
    return wrong(message, most=LARGEST_HEADER)


@checked
def together(parts: Iterable[tuple[StoredTensor, ...]]) -> tuple[StoredTensor, ...]:
    """Join the tensors of several files. Raises InputError if two files contain the same tensor."""
    by_name: dict[str, StoredTensor] = {}
    for part in parts:
        for entry in part:
            if by_name.setdefault(entry.name, entry) is not entry:
                raise wrong(N_("The tensor {tensor} is in two of the files."), tensor=shorten(entry.name))
    return tuple(by_name.values())
