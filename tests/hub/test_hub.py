"""Requests to the Hub: which are sent, how few they are, and what readers are told if there is nothing to show."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.utils._validators import validate_repo_id
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.checkpoints.checkpoint import compare
from bertcalc.checkpoints.safetensors import LARGEST_HEADER
from bertcalc.hub import reader as client
from bertcalc.model.model import Model
from bertcalc.text.problem import InputError
from tests.checkpoints.checkpoints import entries
from tests.hub.hub_server import Answer, Server, endless_body


def sentence(repo_id: str) -> str:
    with pytest.raises(InputError) as caught:
        client.find(repo_id)
    assert "{" not in str(caught.value)
    return str(caught.value)


def test_a_model_is_read_without_its_weights(hub: Server, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    folder = models / "some" / "published"
    found = client.find("some/published")
    assert sorted(found.tensors) == sorted(entries(folder))
    assert found.reading.architecture == "BertForMaskedLM"
    assert "pooler_fc_size" in str(found.reading.remarks[0])
    assert [(path.rpartition("/")[2], authorization) for path, _range, authorization in hub.asked] == [
        ("config.json", None),
        ("model.safetensors", None),
    ]
    assert hub.sent <= 100_000 + (folder / "config.json").stat().st_size
    assert hub.sent < (folder / "model.safetensors").stat().st_size


def test_the_headers_of_all_shards(hub: Server, models: Path) -> None:
    folder = models / "some" / "sharded"
    files = list(folder.glob("*.safetensors"))
    assert len(files) > 1
    found = client.find("some/sharded")
    assert sorted(found.tensors) == sorted(entries(folder))
    assert compare(found.tensors, Model(found.reading.config, "BertForSequenceClassification")).agrees


def test_a_long_header_takes_a_second_request(hub: Server, monkeypatch: pytest.MonkeyPatch, models: Path) -> None:
    monkeypatch.setattr(client, "_FIRST", 100)
    assert len(client.find("some/published").tensors) == len(entries(models / "some" / "published"))
    assert [asked for _path, asked, _authorization in hub.asked][1] == "bytes=0-99"
    assert len(hub.asked) == 3


def test_a_server_that_knows_no_ranges_is_left_as_soon_as_there_is_enough(hub: Server, models: Path) -> None:
    hub.ranges = False
    assert sorted(client.find("some/published").tensors) == sorted(entries(models / "some" / "published"))


def test_a_renamed_model_is_followed_on_the_hub(hub: Server) -> None:
    hub.answers["some/renamed"] = Answer(307, {"Location": "/some/published/resolve/main/config.json"})
    model = client._Requests("some/renamed")
    body = model.get("config.json", 10**6)
    assert body is not None
    assert json.loads(body.data)["model_type"] == "bert"


@pytest.mark.parametrize(
    "location",
    [
        "http://example.com/x",
        "//example.com/x",
        "file:///etc/passwd",
        "https://hf.co.example.com/",
        "http://[",
        "ftp://cdn.hf.co/",
    ],
)
def test_no_other_place_is_asked(hub: Server, location: str) -> None:
    hub.answers["some/elsewhere"] = Answer(302, {"Location": location})
    assert "does not follow such redirects" in sentence("some/elsewhere") or "cannot be reached" in sentence(
        "some/elsewhere"
    )
    assert {path for path, _range, _authorization in hub.asked} == {"/some/elsewhere/resolve/main/config.json"}


def test_a_redirect_in_a_circle_ends(hub: Server) -> None:
    hub.answers["some/circle"] = Answer(302, {"Location": "/some/circle/resolve/main/config.json"})
    assert "does not follow such redirects" in sentence("some/circle")
    assert len(hub.asked) == 5


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("https://cas-bridge.xethub.hf.co/x?y", True),
        ("https://cdn-lfs.huggingface.co/x", True),
        ("https://huggingface.co/x", True),
        ("http://huggingface.co/x", False),
        ("http://cdn-lfs.hf.co/x", False),
        ("https://cdn-lfs.hf.co:8443/x", False),
        ("https://evilhf.co/x", False),
        ("https://cdn-lfs.hf.co@example.com/x", False),
    ],
)
def test_large_files_lie_in_the_hubs_own_places(url: str, right: bool) -> None:
    assert client._is_the_hubs(url, "https://huggingface.co") == right


def test_what_huggingface_hub_lacks(hub: Server, models: Path) -> None:
    """This is why bertcalc sends its own requests. Once this test fails, the library may suffice."""
    folder = models / "some" / "loose"
    folder.mkdir(exist_ok=True)
    one = '{"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}'
    header = f'{{"a": {one}, "a": {one}}}'.encode()
    large = 10**7  # bytes of data; the header announces 8
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(large))
    hub.ranges = False
    with pytest.raises(InputError, match="a appears twice"):
        client._Requests("some/loose").tensors()
    assert hub.sent < large
    library = huggingface_hub.HfApi(hub.url, token=False)
    assert library.parse_safetensors_file_metadata("some/loose", "model.safetensors").tensors.keys() == {"a"}
    until = time.monotonic() + 10
    # The server updates its count after the client has read the bytes.
    while hub.sent <= large and time.monotonic() < until:
        time.sleep(0.01)
    assert hub.sent > large
    with pytest.raises(InputError, match="bytes of data"):
        client._Requests("some/cut").tensors()
    assert library.parse_safetensors_file_metadata("some/cut", "model.safetensors").tensors
    assert huggingface_hub.constants.SAFETENSORS_MAX_HEADER_LENGTH > LARGEST_HEADER


def test_what_is_not_there_is_said(hub: Server) -> None:
    hub.answers["some/gated"] = Answer(401, {"X-Error-Code": "GatedRepo"})
    hub.answers["some/broken"] = Answer(503)
    assert sentence("some/nothing") == "some/nothing is not on the Hub, or it is not public."
    assert "some/gated is gated" in sentence("some/gated")
    assert sentence("some/bare") == "some/bare has no config.json."
    assert "some/pickled has no safetensors file. bertcalc does not open other weight files" in sentence("some/pickled")
    assert "model_type 't5' is not supported" in sentence("some/other")
    assert "hidden_size 'many' is invalid" in sentence("some/wrong")
    assert "num_hidden_layers 0: transformers accepts this value" in sentence("some/wrong")
    assert "bytes of data" in sentence("some/cut")
    assert "responded with status 503" in sentence("some/broken")


def test_offline_is_said(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "cannot be reached from this server" in sentence("some/published")
    assert hub.asked == []
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    template = "http://127.0.0.1:1/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:1")
    assert "The Hub (127.0.0.1:1) cannot be reached" in sentence("some/published")


def test_of_a_body_without_an_end_little_is_read(hub: Server) -> None:
    hub.written["some/endless"] = endless_body
    assert sentence("some/endless").startswith("This file has at least 1,000,001 bytes")


def test_the_headers_of_all_shards_together_are_not_too_long(hub: Server) -> None:
    model = client._Requests("some/sharded")
    model.left = 1_000
    with pytest.raises(InputError, match="headers of these files are too large: at most 4,000,000 bytes in total"):
        model.tensors()
    assert 0 < len([path for path, _range, _authorization in hub.asked if "-of-" in path]) < 5


WRONG_NAMES = [
    "",
    "..",
    "../secret",
    "some/../other",
    "a/b/c",
    "http://example.com/a",
    "//example.com/a",
    "file:///etc/passwd",
    "some/model?x=1",
    "some/model#x",
    "some/mo del",
    "some/model\n",
    "some/model%2e%2e",
    "some\\model",
    "-a/b",
    "a/b.",
    "a--b/c",
    "a/b.git",
    "a" * 97,
    "模型/bert",
]


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_wrong_name_asks_nothing(hub: Server, name: str) -> None:
    assert "is not a name on the Hub" in sentence(name)
    assert hub.asked == []


@given(st.text() | st.from_regex(r"[a-zA-Z0-9._/-]{1,100}", fullmatch=True))
def test_a_name_that_is_let_through_is_one_for_huggingface_hub(name: str) -> None:
    if client.check_name(name) is None:
        validate_repo_id(name)


@pytest.mark.parametrize("name", ["bert-base-uncased", "google-bert/bert-base-uncased", "a/b_", "A.b-c/1.0", "x"])
def test_real_names_are_let_through(name: str) -> None:
    assert client.check_name(name) is None


@pytest.fixture
def index(models: Path) -> Iterator[Path]:
    path = models / "some" / "sharded" / "model.safetensors.index.json"
    before = path.read_bytes()
    yield path
    path.write_bytes(before)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not an index"),
        ("[]", "is not an index"),
        ("[" * 100_000, "is not an index"),
        ('{"weight_map": {}}', "is not an index"),
        ('{"weight_map": {"a": 3}}', "is not an index"),
        ('{"weight_map": {"a": ["b"]}}', "is not an index"),
        ('{"weight_map": {"a": "../x.safetensors"}}', "is not an index"),
        ('{"weight_map": {"a": "http://x/y.safetensors"}}', "is not an index"),
        ('{"weight_map": {"a": "x.safetensors"}}', "The index names x.safetensors, which is missing."),
        (json.dumps({"weight_map": {f"{n}": f"{n}.safetensors" for n in range(51)}}), "has 51 files: at most 50"),
        (json.dumps({"weight_map": {f"{n}": f"{n}.safetensors" for n in range(50)}}), "The index names 0.safetensors,"),
    ],
)
def test_a_wrong_index_is_said(hub: Server, index: Path, content: str, said: str) -> None:
    index.write_text(content)
    assert said in sentence("some/sharded")
    assert all(path.startswith("/some/sharded/resolve/main/") for path, _range, _authorization in hub.asked)
