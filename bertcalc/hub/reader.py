"""Read a model's config.json and the headers of its safetensors files from the Hugging Face Hub, never the weights.

huggingface_hub determines the URL of the Hub (``HF_ENDPOINT``) and whether requests are allowed (``HF_HUB_OFFLINE``).
It also keeps the connection open and validates names. It is imported inside functions, which run in another process.
This module has no overall timeout, because hub_workers.py kills that process if it takes too long. All requests are
anonymous, so that visitors cannot see models to which only the owner of the server has access.

This module makes the requests itself for several reasons: huggingface_hub 2.4 (``parse_safetensors_file_metadata``)
downloads as much as a server sends, accepts headers of 25 MB, truncated files and duplicate keys, and follows redirects
to any host. See test_what_huggingface_hub_lacks in tests/hub/test_hub.py.
"""

import importlib.util
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from bertcalc.checkpoints.checkpoint import Matching, best_class, compare
from bertcalc.checkpoints.safetensors import LARGEST_HEADER, header_length, read
from bertcalc.checkpoints.shards import INDEX, names_of, together, too_much
from bertcalc.families.hf_json import LARGEST, ConfigReading, text_of
from bertcalc.families.hf_json import read as read_config
from bertcalc.model.model import Model
from bertcalc.storage.safetensors_file import LENGTH_BYTES
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, Problem, wrong

LONGEST = 96  # maximum length of a name in characters, as on the Hub
_TIMEOUT = 10  # maximum number of seconds without a response
_REDIRECTS = 5
_FIRST = 100_000  # bytes of a file in the first request; nearly every header is shorter
_FILE = "model.safetensors"


class HubModel(NamedTuple):
    """A model on the Hub: its config.json, and the tensors in its files."""

    reading: ConfigReading
    tensors: tuple[StoredTensor, ...]


class _Body(NamedTuple):
    """The first bytes of a file, and the size of the whole file."""

    data: bytes
    size: int


def installed() -> bool:
    """Whether huggingface_hub is installed; it is not imported."""
    return importlib.util.find_spec("huggingface_hub") is not None


def check_name(repo_id: str) -> Problem | None:
    """Return the problem with a model's name, or None if it is valid. This makes no request."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # imported lazily there

    with suppress(HFValidationError):
        validate_repo_id(repo_id)  # also accepts letters of all scripts and a trailing newline, so check more
        if repo_id.isascii() and repo_id.isprintable() and len(repo_id) <= LONGEST:
            return None
    message = N_(
        "{name} is not a name on the Hub: it must look like google-bert/bert-base-uncased, with only "
        "letters, digits and . _ - and at most {most} characters."
    )
    return Problem.of(message, "repo_id", repo_id, name=shorten(repo_id) or '""', most=LONGEST)


def compared(repo_id: str) -> tuple[ConfigReading, Matching]:
    """Read the config.json of a public model, and compare the model's tensors with bertcalc's.

    Raises InputError if the model cannot be read.
    """
    published = find(repo_id)
    config, named = published.reading.config, published.reading.architecture
    model = Model(config, named) if named else best_class(published.tensors, config)
    return published.reading, compare(published.tensors, model)


def find(repo_id: str) -> HubModel:
    """Read the config.json and the safetensors headers of a public model. Raises InputError if this is not possible."""
    return HubModel(read_config(config_text(repo_id)), _Requests(repo_id).tensors())


def config_text(repo_id: str) -> str:
    """Read the text of a public model's config.json. Raises InputError if this is not possible."""
    if problem := check_name(repo_id):
        raise InputError(problem)
    config = _Requests(repo_id).get("config.json", LARGEST + 1)
    if config is None:
        raise wrong(N_("{name} has no config.json."), name=repo_id)
    return text_of(config.data)


class _Requests:
    """Requests for the files of one model. Their headers can have at most LARGEST_HEADER bytes in total."""

    def __init__(self, repo_id: str) -> None:
        self.repo_id = repo_id
        self.left = LARGEST_HEADER

    def tensors(self) -> tuple[StoredTensor, ...]:
        """Read the tensors of the model's single safetensors file, or of all files in its index."""
        if (tensors := self._header(_FILE)) is not None:
            return tensors
        index = self.get(INDEX, LARGEST_HEADER)
        if index is None:
            message = N_(
                "{name} has no safetensors file. bertcalc does not open other weight files, because reading a "
                "pickle can run arbitrary code."
            )
            raise wrong(message, name=self.repo_id)
        parts = []
        for shard in names_of(index.data):
            part = self._header(shard)
            if part is None:
                raise wrong(N_("The index names {file}, which is missing."), file=shard)
            parts.append(part)
        return together(parts)

    def _header(self, filename: str) -> tuple[StoredTensor, ...] | None:
        start = self.get(filename, _FIRST)
        if start is None:
            return None
        length = header_length(start.data, start.size)
        self.left -= length
        if self.left < 0:
            raise too_much()
        end = LENGTH_BYTES + length
        if end > len(start.data):
            start = self.get(filename, end) or start
        return read(start.data[LENGTH_BYTES:end], start.size - end).tensors

    def get(self, filename: str, most: int) -> _Body | None:
        """Return at most ``most`` bytes of a file; None if the model has no such file.

        Raises InputError if the Hub cannot be reached or refuses the request.
        """
        import httpx2
        from huggingface_hub import constants, get_session, hf_hub_url

        url = hf_hub_url(self.repo_id, filename)
        # Without compression, a small response cannot expand into a large one.
        headers = {"user-agent": "bertcalc", "range": f"bytes=0-{most - 1}", "accept-encoding": "identity"}
        try:
            for _redirect in range(_REDIRECTS):
                with get_session().stream(
                    "GET", url, headers=headers, timeout=_TIMEOUT, follow_redirects=False
                ) as response:
                    if not response.has_redirect_location:
                        return self._body(response, most)
                    url = urljoin(url, response.headers["location"])
                if not _is_the_hubs(url, constants.ENDPOINT):
                    break
        except InputError:
            raise
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
            host = urlsplit(constants.ENDPOINT).netloc
            raise wrong(N_("The Hub ({host}) cannot be reached from this server."), host=host) from None
        raise wrong(
            N_("The Hub redirects {file} to another server: bertcalc does not follow such redirects."), file=filename
        )

    def _body(self, response: Any, most: int) -> _Body | None:
        status, why = response.status_code, response.headers.get("x-error-code", "")
        if why == "EntryNotFound":
            return None
        if why == "GatedRepo" or status == 403:
            message = N_(
                "{name} is gated: only users approved by its owner can read it, and this server is not signed in."
            )
            raise wrong(message, name=self.repo_id)
        if status in (401, 404):
            raise wrong(N_("{name} is not on the Hub, or it is not public."), name=self.repo_id)
        if status not in (200, 206):
            raise wrong(N_("The Hub responded with status {status}: try again later."), status=f"{status}")
        size = _size(status, response.headers)
        data = bytearray()
        for chunk in response.iter_raw():
            data += chunk
            if len(data) >= most:
                break
        return _Body(bytes(data[:most]), len(data) if size is None else size)


def _size(status: int, headers: Mapping[str, str]) -> int | None:
    """Return the size of the whole file in bytes; None if the server sends the whole file without its size."""
    if status == 200:
        length = headers.get("content-length", "")
        return int(length) if re.fullmatch("[0-9]{1,18}", length) else None
    whole = re.fullmatch(r"bytes 0-[0-9]{1,18}/([0-9]{1,18})", headers.get("content-range", ""))
    if whole is None:
        raise wrong(N_("The Hub did not report the size of the file."))
    return int(whole[1])


def _is_the_hubs(url: str, endpoint: str) -> bool:
    """Whether a URL is on the endpoint itself, or on a host on which the Hub stores large files."""
    target, hub = urlsplit(url), urlsplit(endpoint)
    if (target.scheme, target.netloc) == (hub.scheme, hub.netloc):
        return True
    host = target.hostname or ""
    return target.scheme == "https" and target.port in (None, 443) and host.endswith((".hf.co", ".huggingface.co"))
