"""The header of a safetensors file: names, kinds and shapes of its tensors, read with care, and never the weights.

The format: https://github.com/huggingface/safetensors#format. A file begins with the length of its header in eight
bytes, the lowest first; the header is a JSON object; the rest is the tensors' data, one after the other, without holes.

>>> header = b'{"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}'
>>> read(header, 24).tensors
(Entry(name='a', dtype='F32', shape=(2, 3)),)
>>> read(header, 20)
Traceback (most recent call last):
    ...
bertcalc.checkpoints.safetensors.SafetensorsError: The tensors end at byte 24 of the data, which has 20.
"""

import json
from math import prod
from typing import Any, BinaryIO, NamedTuple, NoReturn

from bertcalc.config import Problem
from bertcalc.text import N_, shorten
from bertcalc.tree.nn import Shape

LENGTH_BYTES = 8
# The format allows 100 MB; the header of bert-large has 50 kB, that of a thousand layers 2 MB.
LARGEST_HEADER = 4_000_000
MOST_AXES = 64  # as many as PyTorch's tensors have
_LARGEST = 2**63 - 1
# Bits of one number.
DTYPES: dict[str, int] = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}
_FIELDS = {"dtype", "shape", "data_offsets"}


class SafetensorsError(ValueError):
    """What is no header of a safetensors file: the first thing that is wrong with it."""

    def __init__(self, message: str, **values: object) -> None:
        self.problem = Problem("", None, message, {name: str(value) for name, value in values.items()})
        super().__init__(str(self.problem))


class Entry(NamedTuple):
    """A tensor of a file."""

    name: str
    dtype: str
    shape: Shape

    def numbers(self) -> int:
        """Its elements."""
        return prod(self.shape)


class Header(NamedTuple):
    """What the header of a file says."""

    tensors: tuple[Entry, ...]  # in the order of their data
    metadata: dict[str, str]
    num_bytes: int  # of itself
    data_bytes: int  # of all tensors


class _Placed(NamedTuple):
    begin: int
    end: int
    entry: Entry


def read_file(file: BinaryIO, size: int) -> Header:
    """The header at the beginning of a file of so many bytes; nothing after it is read. Raises SafetensorsError."""
    length = header_length(file.read(LENGTH_BYTES), size)
    return read(file.read(length), size - LENGTH_BYTES - length)


def header_length(start: bytes, size: int) -> int:
    """Bytes of the header in a file of ``size`` bytes, by the first eight of them. Raises SafetensorsError."""
    if len(start) < LENGTH_BYTES or size < LENGTH_BYTES:
        raise SafetensorsError(
            N_("This is not a safetensors file: it has {size} bytes, and the length of its header alone takes 8."),
            size=f"{size:,}",
        )
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if length > size - LENGTH_BYTES:
        raise SafetensorsError(
            N_(
                "This is not a safetensors file, or it is cut off: its first 8 bytes announce a header of {length} "
                "bytes, and {rest} come after them."
            ),
            length=f"{length:,}",
            rest=f"{size - LENGTH_BYTES:,}",
        )
    if length > LARGEST_HEADER:
        raise SafetensorsError(
            N_("The header of this file has {length} bytes: at most {most} are read here."),
            length=f"{length:,}",
            most=f"{LARGEST_HEADER:,}",
        )
    return length


def read(header: bytes, data_bytes: int, *, cut_off: bool = False) -> Header:
    """What a header says, if it fits so many bytes of data. Raises SafetensorsError.

    With ``cut_off`` there may be less data than the header says.
    """
    given = _parse(header)
    metadata = given.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise SafetensorsError(N_("__metadata__ in the header must be an object whose values are strings."))
    placed = sorted(_tensor(name, said) for name, said in given.items())
    end = 0
    for one in placed:
        if one.begin != end:
            wrong = N_("The data of {name} begin at byte {begin}, those of the tensor before end at byte {end}.")
            raise SafetensorsError(wrong, name=shorten(one.entry.name), begin=f"{one.begin:,}", end=f"{end:,}")
        end = one.end
    if end < data_bytes or (end > data_bytes and not cut_off):
        wrong = N_("The tensors end at byte {end} of the data, which has {data}.")
        raise SafetensorsError(wrong, end=f"{end:,}", data=f"{data_bytes:,}")
    return Header(tuple(one.entry for one in placed), metadata, len(header), end)


def _tensor(name: str, said: Any) -> _Placed:
    if not isinstance(said, dict) or not said.keys() >= _FIELDS:
        raise SafetensorsError(N_("The tensor {name} must have dtype, shape and data_offsets."), name=shorten(name))
    dtype, shape, offsets = said["dtype"], said["shape"], said["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        wrong = N_("The dtype {dtype} of {name} is not one of the format, such as F32 or I64.")
        raise SafetensorsError(
            wrong, dtype=shorten(dtype if isinstance(dtype, str) else type(dtype).__name__), name=shorten(name)
        )
    if not _are_sizes(shape) or len(shape) > MOST_AXES:
        wrong = N_("The shape of {name} must be a list of at most {most} whole numbers.")
        raise SafetensorsError(wrong, name=shorten(name), most=MOST_AXES)
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise SafetensorsError(
            N_("The data_offsets of {name} must be two whole numbers, the second not below the first."),
            name=shorten(name),
        )
    begin, end = offsets
    if prod(shape) * DTYPES[dtype] != 8 * (end - begin):
        raise SafetensorsError(
            N_("{name} has {bytes} bytes of data, which its shape {shape} of {dtype} does not fill exactly."),
            name=shorten(name),
            bytes=f"{end - begin:,}",
            shape=shorten(str(shape)),
            dtype=dtype,
        )
    return _Placed(begin, end, Entry(name, dtype, tuple(shape)))


def _are_sizes(given: Any) -> bool:
    # type(), because JSON's true is an int to isinstance.
    return isinstance(given, list) and all(type(one) is int and 0 <= one <= _LARGEST for one in given)


def _parse(header: bytes) -> dict[str, Any]:
    """The object in a header, of which every key is there once."""
    if not header.startswith(b"{"):
        raise SafetensorsError(N_("This is not a safetensors file: its header does not begin with {brace}."), brace="{")
    try:
        given: dict[str, Any] = json.loads(
            header.decode("utf-8"), object_pairs_hook=_each_once, parse_constant=_no_number
        )
    except SafetensorsError:
        raise
    except UnicodeDecodeError:
        raise SafetensorsError(N_("The header of this file is not UTF-8.")) from None
    except json.JSONDecodeError as error:
        raise SafetensorsError(
            N_("The header of this file is not JSON: character {at}: {why}."), at=f"{error.pos + 1:,}", why=error.msg
        ) from None
    except RecursionError:
        raise SafetensorsError(N_("The header of this file is nested too deeply.")) from None
    except ValueError:  # Python reads no whole number of thousands of digits
        raise SafetensorsError(N_("A number in the header of this file has too many digits.")) from None
    return given


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SafetensorsError(
                N_("{name} appears twice in the header of this file: it must appear once."), name=shorten(key)
            )
        found[key] = value
    return found


def _no_number(text: str) -> NoReturn:
    raise SafetensorsError(N_("{value} in the header of this file is not a number in JSON."), value=text)
