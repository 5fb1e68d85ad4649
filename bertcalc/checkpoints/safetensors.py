"""Read the header of a safetensors file: the names, dtypes and shapes of its tensors, without their data.

The format is described at https://github.com/huggingface/safetensors#format. A file starts with the length of its
header in eight bytes, little-endian. The header is a JSON object. The rest is the data of the tensors, without gaps.

>>> header = b'{"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}'
>>> read(header, 24).tensors
(StoredTensor(name='a', dtype='F32', shape=(2, 3)),)
>>> read(header, 20)
Traceback (most recent call last):
    ...
bertcalc.text.problem.InputError: The tensors end at byte 24, but there are 20 bytes of data.
"""

from math import prod
from typing import Any, NamedTuple

from bertcalc.storage.safetensors_file import LENGTH_BYTES
from bertcalc.storage.stored_tensors import DTYPES, StoredTensor
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import checked
from bertcalc.text.problem import wrong
from bertcalc.text.strict_json import read_json

# The format allows 100 MB. bert-large's header has 50 kB, and the header of a model with a thousand layers 2 MB.
LARGEST_HEADER = 4_000_000
MOST_AXES = 64  # PyTorch's limit
_LARGEST = 2**63 - 1
# Errors for other files that users rename or download by mistake, keyed by the first bytes of the file.
_OTHER_FILES = {
    b"PK\x03\x04": N_("This is a PyTorch file, not a safetensors file. bertcalc does not open pickle files."),
    b"GGUF": N_("This is a GGUF file, not a safetensors file."),
    b"version ": N_("This is a Git LFS pointer, not the file itself: run git lfs pull to download it."),
    b"<": N_("This is an HTML page, not the file itself: download it again."),
}
_FIELDS = {"dtype", "shape", "data_offsets"}


class Header(NamedTuple):
    """The contents of a file's header, and the sizes of the header and the data in bytes."""

    tensors: tuple[StoredTensor, ...]  # in the order of their data
    metadata: dict[str, str]
    num_bytes: int  # the size of the header
    data_bytes: int  # the size of all tensors


@checked
def header_length(start: bytes, size: int) -> int:
    """Read the header length in bytes from the start of a file of ``size`` bytes.

    Raises InputError if the length is impossible or too large.
    """
    if len(start) < LENGTH_BYTES or size < LENGTH_BYTES:
        message = N_("This is not a safetensors file: it has {size} bytes, but the length of its header alone takes 8.")
        raise wrong(message, size=size)
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if length > size - LENGTH_BYTES:
        for begins, other in _OTHER_FILES.items():
            if start.startswith(begins):
                raise wrong(other)
        message = N_(
            "This is not a safetensors file, or it is cut off: its first 8 bytes announce a header of {length} "
            "bytes, but only {rest} follow."
        )
        raise wrong(message, length=length, rest=size - LENGTH_BYTES)
    if length > LARGEST_HEADER:
        message = N_("The header of this file is too large: it has {length} bytes, and at most {most} are allowed.")
        raise wrong(message, length=length, most=LARGEST_HEADER)
    return length


@checked
def read(header: bytes, data_bytes: int, *, cut_off: bool = False) -> Header:
    """Parse and check the header of a file with ``data_bytes`` bytes of data.

    With ``cut_off``, the file may have less data than the header announces. Raises InputError if the header is invalid.
    """
    if not header.startswith(b"{"):
        raise wrong(N_("This is not a safetensors file: its header does not begin with {brace}."), brace="{")
    entries = read_json(header, LARGEST_HEADER)
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise wrong(N_("__metadata__ in the header must be an object whose values are strings."))
    placed = sorted(_placed(name, description) for name, description in entries.items())
    end = 0
    for begin, its_end, entry in placed:
        if begin != end:
            message = N_("The data of {name} begins at byte {begin}, but the previous tensor ends at byte {end}.")
            raise wrong(message, name=shorten(entry.name), begin=begin, end=end)
        end = its_end
    if end < data_bytes or (end > data_bytes and not cut_off):
        message = N_("The tensors end at byte {end}, but there are {data} bytes of data.")
        raise wrong(message, end=end, data=data_bytes)
    return Header(tuple(entry for _begin, _end, entry in placed), metadata, len(header), end)


def _placed(name: str, description: Any) -> tuple[int, int, StoredTensor]:
    """Check a tensor's entry; return the first byte of its data, the byte after its last byte, and the tensor."""
    if not isinstance(description, dict) or not description.keys() >= _FIELDS:
        raise wrong(N_("The tensor {name} must have dtype, shape and data_offsets."), name=shorten(name))
    dtype, shape, offsets = description["dtype"], description["shape"], description["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        message = N_("{name} has the unknown dtype {dtype}: it must be a safetensors dtype, such as F32 or I64.")
        written = dtype if isinstance(dtype, str) else type(dtype).__name__
        raise wrong(message, dtype=shorten(written), name=shorten(name))
    if not _are_sizes(shape) or len(shape) > MOST_AXES:
        message = N_("The shape of {name} must be a list of at most {most} whole numbers.")
        raise wrong(message, name=shorten(name), most=MOST_AXES)
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        message = N_("The data_offsets of {name} must be two whole numbers, the second at least as large as the first.")
        raise wrong(message, name=shorten(name))
    begin, end = offsets
    if prod(shape) * DTYPES[dtype] != 8 * (end - begin):
        message = N_("{name} has {bytes} bytes of data, which do not match its shape {shape} and dtype {dtype}.")
        raise wrong(message, name=shorten(name), bytes=end - begin, shape=shorten(str(shape)), dtype=dtype)
    return begin, end, StoredTensor(name, dtype, tuple(shape))


def _are_sizes(value: Any) -> bool:
    # type() instead of isinstance(), because JSON's true is an instance of int.
    return isinstance(value, list) and all(type(size) is int and 0 <= size <= _LARGEST for size in value)
