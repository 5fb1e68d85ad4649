"""Requests that are refused before Streamlit handles them, on a real server, which must not contact other hosts."""

import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.responses import Response

from pages.server import gate
from pages.server.headers import HEADERS
from tests.browser.launch import running_server

_HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def outside() -> Iterator[socket.socket]:
    """A stand-in for all other hosts: it accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as hole:
        hole.setblocking(False)
        yield hole


@pytest.fixture(scope="module")
def address(outside: socket.socket, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server on all interfaces, for which Streamlit determines the machine's address.

    It reaches other hosts only through ``outside``.
    """
    proxy = f"http://127.0.0.1:{outside.getsockname()[1]}"
    log: Path = tmp_path_factory.mktemp("gate") / "log"
    with running_server(log, bound="0.0.0.0", http_proxy=proxy, https_proxy=proxy) as (url, _):
        yield urlsplit(url).netloc


def ask(address: str, path: str, method: str = "GET", **headers: str) -> HTTPResponse:
    with closing(HTTPConnection(address, timeout=10)) as connection:
        connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
        answer = connection.getresponse()
        if answer.status != 101:
            answer.read()
        return answer


@pytest.mark.parametrize("origin", ["https://example.org", "http://127.0.0.1.example.org", "null", "http://[", ""])
def test_another_site_may_not_connect_and_no_host_is_asked_about_it(
    address: str, outside: socket.socket, origin: str
) -> None:
    answer = ask(address, "/_stcore/stream", Origin=origin, **_HANDSHAKE)
    assert answer.status == 403
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    with pytest.raises(BlockingIOError):
        outside.accept()


@pytest.mark.parametrize("origin", [None, "http://{address}", "http://localhost:3000"])
def test_the_same_site_may(address: str, outside: socket.socket, origin: str | None) -> None:
    headers = _HANDSHAKE | ({"Origin": origin.format(address=address)} if origin else {})
    answer = ask(address, "/_stcore/stream", **headers)
    assert answer.status == 101
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    with pytest.raises(BlockingIOError):
        outside.accept()


def test_a_refusal_of_streamlits_own_has_the_headers(address: str) -> None:
    answer = ask(address, "/no/such/socket", **_HANDSHAKE)
    assert answer.status == 403
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/_stcore/metrics", 404),
        ("GET", "/_stcore/metrics%0a", 404),
        ("PUT", "/_stcore/upload_file/a/b", 403),
        ("GET", "/_stcore/health", 200),
    ],
)
def test_paths_that_no_page_requests_are_refused(address: str, method: str, path: str, status: int) -> None:
    assert ask(address, path, method).status == status
    is_refused = isinstance(gate._refusal({"type": "http", "path": path}), Response)
    assert is_refused == (status != 200)  # Streamlit would accept an upload from its own sessions


@pytest.mark.parametrize(
    ("asked", "gets"),
    [
        ("gzip", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
        ("gzip;q=1.0, *;q=0", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.000", None),
        ("x-gzip", None),
        ("br", None),
    ],
)
@pytest.mark.parametrize("path", ["/", "/layers", "/_stcore/host-config"])
def test_gzip_is_sent_to_clients_that_accept_it(address: str, asked: str, gets: str | None, path: str) -> None:
    answer = ask(address, path, Accept_Encoding=asked)
    assert answer.status == 200
    assert answer.headers["content-encoding"] in (gets, None if path.startswith("/_stcore") else gets)
