"""Files that a visitor chose, as the browser describes them: names, sizes and first bytes, none of which is trusted.

>>> header = b'{"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}'
>>> start = len(header).to_bytes(8, "little") + header
>>> weights_of([ChosenFile("model.safetensors", len(start) + 20, start)]).cut_off
(CutOff(name='model.safetensors', expected=24, there=20),)
"""

import re
from base64 import b64decode
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from bertcalc.checkpoints.safetensors import LARGEST_HEADER, LENGTH_BYTES, Header, StoredTensor, header_length, read
from bertcalc.checkpoints.shards import MOST_FILES, names_of, together, too_much
from bertcalc.problem import InputError, wrong
from bertcalc.text import N_, shorten

SUFFIX, INDEX_SUFFIX = ".safetensors", ".safetensors.index.json"
_PART = re.compile(r"-of-([0-9]{5})\.safetensors$")  # save_pretrained's names for shards
_LONGEST_NAME = 255
_LARGEST_FILE = 2**53 - 1  # JavaScript's Number.MAX_SAFE_INTEGER


class ChosenFile(NamedTuple):
    """A file: its name, its size in bytes, and its first bytes, which are None if the browser could not read them."""

    name: str
    size: int
    start: bytes | None

    def bytes(self) -> bytes:
        """The first bytes. Raises InputError."""
        if self.start is None:
            raise wrong(N_("{name} could not be read by the browser."), name=shorten(self.name))
        return self.start


class CutOff(NamedTuple):
    """A file with fewer bytes of data than its header announces."""

    name: str
    expected: int
    there: int


class Weights(NamedTuple):
    """The tensors of several files, and the files that are cut off."""

    name: str
    tensors: tuple[StoredTensor, ...]
    cut_off: tuple[CutOff, ...]


def chosen(message: object) -> list[ChosenFile]:
    """Parse a message of the browser. Raises InputError."""
    if not isinstance(message, list) or not message:
        raise wrong(_NO_FILES)
    if len(message) > MOST_FILES:
        raise wrong(N_("These are more than {most} files."), most=MOST_FILES)
    return [_chosen(one) for one in message]


_NO_FILES = N_("What the browser sent is no list of files.")


def _chosen(said: object) -> ChosenFile:
    with suppress(ValueError):  # of Base64, which carries the bytes of a header whether they are UTF-8 or not
        match said:
            case {"name": str(name), "size": int(size), "start": str() | None as start}:
                if 0 < len(name) <= _LONGEST_NAME and type(size) is int and 0 <= size <= _LARGEST_FILE:
                    return ChosenFile(name, size, None if start is None else b64decode(start, validate=True))
    raise wrong(_NO_FILES)


def weights_of(files: Sequence[ChosenFile]) -> Weights:
    """Read the headers of the safetensors files among these. Raises InputError.

    Every file that an index names must be there; files of other kinds are ignored. The field of a problem is the file's
    name.
    """
    weights = [file for file in files if file.name.endswith(SUFFIX)]
    indices = [file for file in files if file.name.endswith(INDEX_SUFFIX)]
    there = {file.name for file in weights}
    for index in indices:
        if missing := [name for name in names_of(index.bytes()) if name not in there]:
            message = N_("The index names {file}, which was not chosen: choose all files together.")
            raise wrong(message, file=shorten(missing[0]))
    for file in weights if not indices else ():
        part = _PART.search(file.name)
        if part and sum(one.name.endswith(part[0]) for one in weights) < int(part[1]):
            message = N_("{name} is one of the {count} files of a model: choose all of them together.")
            raise wrong(message, name=shorten(file.name), count=int(part[1]))
    if not weights:
        message = N_(
            "{name} is no .safetensors file. Other files of weights are not opened: pickles can run any program when "
            "they are read. transformers' save_pretrained writes a .safetensors file."
        )
        raise wrong(message, name=shorten(files[0].name))
    if sum(len(file.start or b"") for file in weights) > LARGEST_HEADER + LENGTH_BYTES * MOST_FILES:
        raise too_much()
    headers = [_header(file) for file in weights]
    tensors = together(header.tensors for header in headers)
    cut_off = tuple(
        CutOff(file.name, header.data_bytes, data_bytes)
        for file, header in zip(weights, headers, strict=True)
        if (data_bytes := file.size - LENGTH_BYTES - header.num_bytes) < header.data_bytes
    )
    names = [shorten(file.name) for file in weights]
    return Weights(" … ".join([names[0], *names[-1:]] if names[1:] else names), tensors, cut_off)


def _header(file: ChosenFile) -> Header:
    start = file.bytes()
    try:
        end = LENGTH_BYTES + header_length(start, file.size)
        if end > len(start):
            raise too_much()
        return read(start[LENGTH_BYTES:end], file.size - end, cut_off=True)
    except InputError as error:
        raise InputError(error.problem._replace(field=file.name)) from None
