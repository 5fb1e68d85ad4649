"""Files that a user chose, as the browser describes them: untrusted names, sizes and first bytes.

>>> header = b'{"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}'
>>> start = len(header).to_bytes(8, "little") + header
>>> weights_of([ChosenFile("model.safetensors", len(start) + 20, start)]).cut_off
(CutOff(name='model.safetensors', expected=24, there=20),)
"""

import re
import zlib
from base64 import b64decode
from collections.abc import Sequence
from typing import NamedTuple

from bertcalc.checkpoints.safetensors import LARGEST_HEADER, Header, header_length, read
from bertcalc.checkpoints.shards import MOST_FILES, names_of, together, too_much
from bertcalc.storage.safetensors_file import LENGTH_BYTES
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, wrong

SUFFIX, INDEX_SUFFIX = ".safetensors", ".safetensors.index.json"
_PART = re.compile(r"-of-([0-9]{5})\.safetensors$")  # save_pretrained's names for shards
_LONGEST_NAME = 255
_LARGEST_FILE = 2**53 - 1  # JavaScript's Number.MAX_SAFE_INTEGER
_NO_FILES = N_("The browser did not send a list of files.")
_MOST_BYTES = LARGEST_HEADER + LENGTH_BYTES * MOST_FILES  # maximum number of first bytes of all files in total


class ChosenFile(NamedTuple):
    """A file: its name, its size in bytes, and its first bytes, or None if the browser could not read them."""

    name: str
    size: int
    start: bytes | None

    def bytes(self) -> bytes:
        """The first bytes. Raises InputError if the browser could not read them."""
        if self.start is None:
            raise wrong(N_("The browser could not read {name}."), name=shorten(self.name))
        return self.start


class CutOff(NamedTuple):
    """A file with less data than its header announces; ``expected`` and ``there`` are bytes of data."""

    name: str
    expected: int
    there: int


class Weights(NamedTuple):
    """The tensors of the chosen files, and the files that are cut off.

    ``name`` is the name of the file; for several files, it has the first and the last name.
    """

    name: str
    tensors: tuple[StoredTensor, ...]
    cut_off: tuple[CutOff, ...]


def chosen(message: object) -> list[ChosenFile]:
    """Parse a message from the browser. Raises InputError if the message is invalid."""
    if not isinstance(message, list) or not message:
        raise wrong(_NO_FILES)
    if len(message) > MOST_FILES:
        raise wrong(N_("Too many files: at most {most} are allowed."), most=MOST_FILES)
    files: list[ChosenFile] = []
    left = _MOST_BYTES
    for entry in message:
        files.append(_chosen(entry, left))
        left -= len(files[-1].start or b"")
    return files


def _chosen(entry: object, left: int) -> ChosenFile:
    match entry:
        case {"name": str(name), "size": int(size), "gzip": str() | None as gzip}:
            if 0 < len(name) <= _LONGEST_NAME and type(size) is int and 0 <= size <= _LARGEST_FILE:
                return ChosenFile(name, size, None if gzip is None else _decompress(gzip, left))
    raise wrong(_NO_FILES)


def _decompress(gzip: str, most: int) -> bytes:
    """Decompress a gzip file in Base64 to at most ``most`` bytes, because 4 kB can expand to 4 MB.

    Raises InputError if the data is longer or invalid.
    """
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        data = stream.decompress(b64decode(gzip, validate=True), most + 1)
    except (ValueError, zlib.error):
        raise wrong(_NO_FILES) from None
    if len(data) > most:
        raise too_much()
    if not stream.eof or stream.unused_data:
        raise wrong(_NO_FILES)
    return data


def weights_of(files: Sequence[ChosenFile]) -> Weights:
    """Read the headers of the safetensors files among the chosen files.

    Other types of files are ignored. Raises InputError if no file is a safetensors file, if files that an index or the
    count in a file name requires are missing, or if a header is invalid. For an invalid header, the field of the
    problem is the name of the file.
    """
    weights = [file for file in files if file.name.endswith(SUFFIX)]
    indices = [file for file in files if file.name.endswith(INDEX_SUFFIX)]
    present = {file.name for file in weights}
    for index in indices:
        if missing := [name for name in names_of(index.bytes()) if name not in present]:
            message = N_("The index names {file}, which was not chosen: choose all files together.")
            raise wrong(message, file=shorten(missing[0]))
    for file in weights if not indices else ():
        part = _PART.search(file.name)
        if part and sum(shard.name.endswith(part[0]) for shard in weights) < int(part[1]):
            message = N_("{name} is one of the {count} files of a model: choose all of them together.")
            raise wrong(message, name=shorten(file.name), count=int(part[1]))
    if not weights:
        message = N_(
            "{name} is not a .safetensors file. bertcalc does not open other weight files, because reading a pickle "
            "can run arbitrary code. Use save_pretrained of transformers to write a .safetensors file."
        )
        raise wrong(message, name=shorten(files[0].name))
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
