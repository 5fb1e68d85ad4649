"""Messages from a browser about chosen files. Any client could send them."""

import json
import zlib
from base64 import b64encode
from gzip import compress
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from bertcalc.checkpoints.local_files import ChosenFile, CutOff, chosen, weights_of
from bertcalc.checkpoints.safetensors import LARGEST_HEADER
from bertcalc.checkpoints.shards import MOST_FILES
from bertcalc.text.problem import InputError
from tests.checkpoints.test_safetensors import SOME_JSON, file_of, tensor

DATA = save({"a": torch.zeros(1000)})
END = 8 + int.from_bytes(DATA[:8], "little")


def said(name: str = "model.safetensors", data: bytes = DATA[:END], size: int = len(DATA)) -> dict[str, Any]:
    return {"name": name, "size": size, "gzip": b64encode(compress(data)).decode()}


def sentence(*message: object) -> str:
    with pytest.raises(InputError) as caught:
        weights_of(chosen(list(message)))
    return str(caught.value)


def test_a_header_is_enough_whatever_the_file_weighs() -> None:
    found = weights_of(chosen([said()]))
    assert [(entry.name, entry.shape) for entry in found.tensors] == [("a", (1000,))]
    assert (found.name, found.cut_off) == ("model.safetensors", ())
    large = file_of({"a": tensor(0, 4 * 10**12, shape=[10**12])})
    assert weights_of(chosen([said(data=large, size=len(large) + 4 * 10**12)])).tensors[0].numbers() == 10**12


@pytest.mark.parametrize("there", [0, 1, 3999])
def test_data_that_is_missing_is_counted(there: int) -> None:
    assert weights_of(chosen([said(size=END + there)])).cut_off == (CutOff("model.safetensors", 4000, there),)


FORGED: list[object] = [
    None,
    3,
    {},
    [],
    [3],
    [{}],
    [[said()]],
    [{**said(), "name": 3}],
    [{**said(), "name": ""}],
    [{**said(), "name": "a" * 256}],
    [{**said(), "size": "9"}],
    [{**said(), "size": True}],
    [{**said(), "size": -1}],
    [{**said(), "size": 2**53}],
    [{**said(), "size": 9.5}],
    [{**said(), "gzip": 3}],
    [{**said(), "gzip": "*"}],
    [{**said(), "gzip": "é"}],
    [{**said(), "gzip": b64encode(DATA).decode()}],  # not compressed
    [{**said(), "gzip": b64encode(zlib.compress(DATA)).decode()}],  # in another format
    [{**said(), "gzip": b64encode(compress(DATA)[:-1]).decode()}],
    [{**said(), "gzip": b64encode(compress(DATA) * 2).decode()}],
    [{"name": "a", "size": 1}],
]


@pytest.mark.parametrize("message", FORGED)
def test_what_no_browser_sends_is_refused(message: object) -> None:
    with pytest.raises(InputError, match="The browser did not send a list of files"):
        chosen(message)


NAMES = st.text(st.characters(exclude_characters="{}"))


@given(st.lists(SOME_JSON | st.fixed_dictionaries({"name": NAMES, "size": st.integers(), "gzip": st.text()})))
def test_messages_raise_nothing_else(message: list[object]) -> None:
    for sent in (message, *message):
        try:
            weights_of(chosen(sent))
        except InputError as error:
            assert "{" not in str(error.problem).replace("begin with {", "")  # noqa: PT017


def test_limits_are_the_servers_own() -> None:
    assert sentence(*[said()] * (MOST_FILES + 1)) == "Too many files: at most 50 are allowed."
    long = LARGEST_HEADER + 1
    assert "at most 4,000,000 are allowed" in sentence(said(data=long.to_bytes(8, "little"), size=10**9))
    half = file_of(b"{" + b" " * (LARGEST_HEADER // 2))
    assert "at most 4,000,000 bytes in total" in sentence(*[said(data=half, size=10**9)] * 3)
    assert "at most 4,000,000 bytes in total" in sentence(said(data=DATA[: END - 1]))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            [said("pytorch_model.bin", b"", 438 * 10**6)],
            "pytorch_model.bin is not a .safetensors file. bertcalc does not open",
        ),
        ([said("config.json", b"{}", 2)], "config.json is not a .safetensors file"),
        ([said("pytorch_model.bin.index.json", b"", 9)], "pytorch_model.bin.index.json is not a .safetensors file"),
        (
            [said("model-00001-of-00003.safetensors"), said("model-00003-of-00003.safetensors")],
            "model-00001-of-00003.safetensors is one of the 3 files of a model: choose all of them together.",
        ),
        ([said(data=b"version ", size=135)], "This is a Git LFS pointer, not the file itself"),
        ([{**said(), "gzip": None}], "The browser could not read model.safetensors."),
        ([said(data=b"PK", size=2)], "it has 2 bytes, but the length of its header alone takes 8"),
        ([said(size=END - 1)], "it is cut off: its first 8 bytes announce a header of"),
        ([said(size=len(DATA) + 1)], "The tensors end at byte 4,000, but there are 4,001 bytes of data."),
        ([said("a.safetensors"), said("b.safetensors")], "The tensor a is in two of the files."),
        ([said(), said("model.safetensors.index.json", b"[]")], "is not an index of safetensors files"),
        (
            [said(), said("model.safetensors.index.json", b'{"weight_map": {"a": "other.safetensors"}}')],
            "The index names other.safetensors, which was not chosen: choose all files together.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(files: list[object], expected: str) -> None:
    assert expected in sentence(*files)


def test_what_else_is_in_the_folder_is_left_out() -> None:
    index = said("model.safetensors.index.json", b'{"weight_map": {"a": "model.safetensors"}}')
    folder = [said("config.json", b"{}"), said(), index, {**said("README.md"), "gzip": None}]
    assert weights_of(chosen(folder)).name == "model.safetensors"
    assert chosen(folder)[3] == ChosenFile("README.md", len(DATA), None)


def test_a_long_name_keeps_its_ending() -> None:
    """Regression: the name was cut before its ending was checked, so a name of more than 40 characters was refused."""
    long = "bert-base-uncased-finetuned-on-everything-00001-of-00002.safetensors"
    index = said("model.safetensors.index.json", json.dumps({"weight_map": {"a": long}}).encode())
    assert weights_of(chosen([said(long), index])).name == f"{long[:36]} ..."
