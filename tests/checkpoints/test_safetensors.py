"""The header parser accepts what the safetensors library writes, refuses what it refuses, and raises one error type."""

import json
from typing import Any

import pytest
import safetensors
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from bertcalc.checkpoints.safetensors import LARGEST_HEADER, MOST_AXES, header_length, read
from bertcalc.storage.stored_tensors import DTYPES
from bertcalc.text.problem import InputError
from tests.checkpoints.checkpoints import read_file
from tests.examples import examples


def sentence(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_file(data)
    assert "{" not in str(caught.value).replace("begin with {", "")
    return str(caught.value)


def file_of(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(begin: int = 0, end: int = 24, **changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end], **changes}


TORCH_DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.float8_e4m3fn]


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name != "__metadata__"),
        st.tuples(st.lists(st.integers(0, 4), max_size=4), st.sampled_from(TORCH_DTYPES)),
        min_size=1,  # the library cannot read the empty file that it writes
        max_size=6,
    ),
    st.none() | st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))),
)
def test_what_the_library_writes_is_read_as_the_library_reads_it(
    tmp_path_factory: pytest.TempPathFactory,
    tensors: dict[str, tuple[list[int], torch.dtype]],
    metadata: dict[str, str] | None,
) -> None:
    path = tmp_path_factory.getbasetemp() / "some.safetensors"
    save_file({name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in tensors.items()}, path, metadata)
    with safetensors.safe_open(path, "pt") as real:
        theirs = {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices(real)}
        their_metadata = real.metadata() or {}
    ours = read_file(path.read_bytes())
    assert {entry.name: (entry.shape, entry.dtype) for entry in ours.tensors} == theirs
    assert ours.metadata == their_metadata


def slices(real: Any) -> list[tuple[str, Any]]:
    return [(name, real.get_slice(name)) for name in real.keys()]  # noqa: SIM118 (it is no dictionary)


def accepted(data: bytes) -> bool:
    try:
        read_file(data)
    except InputError:
        return False
    return True


def accepted_by_the_library(data: bytes) -> bool:
    try:
        safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError:
        return False
    return True


@examples(300)
@given(
    st.binary(max_size=200)
    | st.binary(max_size=60).map(file_of)
    | st.binary(max_size=60).map(lambda b: file_of(b"{" + b))
)
def test_bytes_raise_nothing_else(data: bytes) -> None:
    accepted(data)


SOME_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=8,
)
TENSORS = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from([*DTYPES, "F31", 3]) | SOME_JSON,
        "shape": st.lists(st.integers(-1, 5), max_size=3) | SOME_JSON,
        "data_offsets": st.lists(st.integers(-1, 30), min_size=2, max_size=2) | SOME_JSON,
    }
)


@examples(300)
@given(st.dictionaries(st.text() | st.just("__metadata__"), TENSORS | SOME_JSON, max_size=3), st.integers(0, 60))
def test_headers_raise_nothing_else_and_none_is_accepted_that_the_library_refuses(header: Any, size: int) -> None:
    data = file_of(header, bytes(size))
    if accepted(data):
        assert accepted_by_the_library(data)


@given(
    st.lists(st.tuples(st.sampled_from(list(DTYPES)), st.lists(st.integers(0, 3), max_size=3)), max_size=4),
    st.integers(-1, 1),
    st.integers(-1, 1),
    st.integers(0, 3),
)
def test_offsets_are_judged_as_by_the_library(
    kinds: list[tuple[str, list[int]]], shift: int, more: int, moved: int
) -> None:
    """Tensors are stored one after the other.

    Either one tensor is moved by a byte, or bytes are added or missing at the end.
    """
    header: dict[str, Any] = {}
    at = 0
    for number, (dtype, shape) in enumerate(kinds):
        bits = DTYPES[dtype]
        for side in shape:
            bits *= side
        begin = at + (shift if number == moved else 0)
        header[f"t{number}"] = tensor(max(begin, 0), max(begin, 0) + bits // 8, dtype=dtype, shape=shape)
        at = max(begin, 0) + bits // 8
    data = file_of(header, bytes(max(0, at + more)))
    assert accepted(data) == accepted_by_the_library(data)


@pytest.mark.parametrize("bits", [4, 6, 8, 16, 32, 64])
def test_every_dtype_is_as_wide_as_the_library_says(bits: int) -> None:
    for dtype in [dtype for dtype, width in DTYPES.items() if width == bits]:
        right, wrong = (
            file_of({"a": tensor(0, size, dtype=dtype, shape=[8])}, bytes(size)) for size in (bits, bits + 1)
        )
        assert accepted(right)
        assert accepted_by_the_library(right)
        assert not accepted(wrong)


WRONG: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "it has 0 bytes"),
    "too short": (b"1234567", "it has 7 bytes"),
    "a pickle in a zip": (
        b"PK\x03\x04" + bytes(100),
        "This is a PyTorch file, not a safetensors file. bertcalc does not open pickle files.",
    ),
    "GGUF": (b"GGUF\x03" + bytes(40), "This is a GGUF file"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4", "a Git LFS pointer"),
    "a page": (b"<!DOCTYPE html>" + bytes(40), "This is an HTML page"),
    "random": (bytes(range(1, 60)), "cut off: its first 8 bytes announce a header of 578,437,695,752,307,201 bytes"),
    "cut off": (file_of({"a": tensor()})[:-1], "it is cut off"),
    "too long a header": (
        (LARGEST_HEADER + 1).to_bytes(8, "little") + bytes(LARGEST_HEADER + 1),
        "has 4,000,001 bytes, and at most 4,000,000",
    ),
    "an empty header": (file_of(b""), "does not begin with {"),
    "a list": (file_of(b"[]"), "does not begin with {"),
    "a space first": (file_of(b" {}"), "does not begin with {"),
    "not JSON": (file_of(b"{'a': 1}"), "not JSON: line 1, column 2: names and strings must be in"),
    "not UTF-8": (file_of(b'{"\xff": 1}'), "not UTF-8"),
    "NaN": (file_of(b'{"a": NaN}'), "NaN is not valid in JSON"),
    "a huge number": (file_of(b'{"a": %s}' % (b"9" * 5000)), "too many digits"),
    "deep": (file_of(b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "nested too deeply"),
    "a key twice": (file_of(b'{"a": {}, "a": {}}'), "a appears twice"),
    "a key twice inside": (file_of(b'{"a": {"dtype": "F32", "dtype": "F16"}}'), "dtype appears twice"),
    "metadata of numbers": (
        file_of({"__metadata__": {"a": 1}}),
        "__metadata__ in the header must be an object whose values are strings",
    ),
    "metadata of text": (
        file_of({"__metadata__": "a"}),
        "__metadata__ in the header must be an object whose values are strings",
    ),
    "no object": (file_of({"a": 3}), "a must have dtype, shape and data_offsets"),
    "no dtype": (file_of({"a": {"shape": [], "data_offsets": [0, 0]}}), "a must have dtype, shape and data_offsets"),
    "another dtype": (file_of({"a": tensor(dtype="F33")}, bytes(24)), "a has the unknown dtype F33"),
    "a list as dtype": (file_of({"a": tensor(dtype=["F32"])}, bytes(24)), "a has the unknown dtype list"),
    "a negative side": (file_of({"a": tensor(shape=[-2, -3])}, bytes(24)), "The shape of a must be a list"),
    "a side of True": (file_of({"a": tensor(shape=[True, 6])}, bytes(24)), "The shape of a must be a list"),
    "a decimal": (file_of({"a": tensor(shape=[2.0, 3])}, bytes(24)), "The shape of a must be a list"),
    "a side beyond 64 bits": (file_of({"a": tensor(shape=[0, 2**63])}), "The shape of a must be a list"),
    "too many axes": (file_of({"a": tensor(shape=[1] * (MOST_AXES + 1))}), "a list of at most 64 whole numbers"),
    "one offset": (file_of({"a": tensor(data_offsets=[0])}), "The data_offsets of a must be two"),
    "back to front": (file_of({"a": tensor(24, 0)}, bytes(24)), "the second at least as large as the first"),
    "too few bytes": (
        file_of({"a": tensor(0, 20)}, bytes(20)),
        "a has 20 bytes of data, which do not match its shape [2, 3] and dtype F32",
    ),
    "half a byte": (file_of({"a": tensor(0, 1, dtype="F4", shape=[3])}, bytes(1)), "do not match its shape"),
    "a hole": (
        file_of({"a": tensor(), "b": tensor(25, 49)}, bytes(49)),
        "b begins at byte 25, but the previous tensor ends at byte 24",
    ),
    "an overlap": (file_of({"a": tensor(), "b": tensor(23, 47)}, bytes(47)), "b begins at byte 23"),
    "the same data twice": (file_of({"a": tensor(), "b": tensor()}, bytes(24)), "b begins at byte 0"),
    "beyond the file": (file_of({"a": tensor()}, bytes(23)), "end at byte 24, but there are 23 bytes of data"),
    "more data": (file_of({"a": tensor()}, bytes(25)), "end at byte 24, but there are 25 bytes of data"),
    "half a character": (file_of(b'{"\\ud800": 3}'), r"The tensor \ud800 must have"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_a_sentence(name: str) -> None:
    data, said = WRONG[name]
    assert said in sentence(data)


# Required by the format or by bertcalc's limits, but not checked by the library.
STRICTER = {
    "a space first",
    "a key twice",
    "a key twice inside",
    "too long a header",
    "a side beyond 64 bits",
    "too many axes",
}


@pytest.mark.parametrize("name", sorted(WRONG.keys() - STRICTER))
def test_the_library_refuses_it_too(name: str) -> None:
    assert not accepted_by_the_library(WRONG[name][0])


def test_a_header_may_have_exactly_as_many_bytes_as_the_limit() -> None:
    assert header_length(LARGEST_HEADER.to_bytes(8, "little"), 8 + LARGEST_HEADER) == LARGEST_HEADER
    header = b"{" + b" " * (LARGEST_HEADER - 2) + b"}"
    assert read(header, 0).num_bytes == LARGEST_HEADER


def test_the_fullest_header_of_the_largest_size_is_refused() -> None:
    text = ("{" + ",".join(f'"{number}":[]' for number in range(400_000))).encode()[: LARGEST_HEADER - 5]
    with pytest.raises(InputError):
        read(text[: text.rindex(b",")] + b"}", 0)
