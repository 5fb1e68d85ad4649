"""Connections that send nothing, or only unreadable data, to the real server."""

import asyncio
import resource
import socket
import time
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pages.server import connections
from pages.server.connections import PATIENCE
from pages.server.headers import HEADERS
from tests.browser.launch import running_server
from tests.loop import finished

HEALTH = b"GET /_stcore/health HTTP/1.1\r\nHost: a\r\n\r\n"
HANDSHAKE = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.fixture(scope="module")
def server(running: tuple[str, int]) -> tuple[str, int]:
    """The (host, port) of a server."""
    return _place(running[0])


def _place(url: str) -> tuple[str, int]:
    address = urlsplit(url)
    return address.hostname or "", address.port or 0


def test_an_endless_request_is_dropped_and_other_connections_stay(server: tuple[str, int]) -> None:
    never = [
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ",
        HANDSHAKE,
        HANDSHAKE + b"Content-Length: 5\r\n\r\nhello",  # complete, but uvicorn never answers it
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
        HEALTH + HEALTH[:-2],  # the second request on the connection is incomplete
    ]
    with ExitStack() as stack:

        def opened(begin: bytes) -> socket.socket:
            connection = stack.enter_context(socket.create_connection(server))
            connection.sendall(begin)
            return connection

        reader = opened(HANDSHAKE + b"\r\n")
        visitor = opened(b"")
        slow = [opened(begin) for begin in never]
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE - 2:
            time.sleep(1)
            for sender in slow[1:]:
                sender.sendall(b"a")
            visitor.sendall(HEALTH)
            assert _answer(visitor).status == 200
        assert not any(map(has_ended, slow))
        while time.monotonic() - began < 2 * PATIENCE + 2:
            time.sleep(1)
            visitor.sendall(HEALTH)
            assert _answer(visitor).status == 200
        assert all(map(has_ended, slow))
        assert _answer(reader).status == 101
        assert not has_ended(reader)


def _answer(connection: socket.socket) -> HTTPResponse:
    answer = HTTPResponse(connection)
    answer.begin()
    if answer.status != 101:
        answer.read()
    answer.close()  # the connection stays open
    return answer


def has_ended(connection: socket.socket) -> bool:
    """Whether the server has closed the connection. Data that it sent before is ignored."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # no host
        (b"anything\r\n\r\n", 400),
        (HANDSHAKE.replace(b"13", b"7") + b"\r\n", 400),
        (HANDSHAKE.replace(b"GET", b"PUT") + b"\r\n", 405),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n", 400),
    ],
    ids=["no host", "no request", "version of WebSocket", "method of WebSocket", "no length"],
)
def test_the_refusal_of_an_unreadable_request_has_the_headers(
    server: tuple[str, int], request_: bytes, status: int
) -> None:
    with socket.create_connection(server) as connection:
        connection.sendall(request_)
        answer = _answer(connection)
    assert answer.status == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_unreadable_data_after_a_response_causes_no_traceback(server: tuple[str, int]) -> None:
    """The fixture of the server asserts that its log has no traceback."""
    with socket.create_connection(server) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert _answer(connection).status == 405
        connection.sendall(b"no length\r\n")
        assert connection.recv(1) == b""


def test_the_server_takes_more_connections_than_a_process_may_have_at_first(tmp_path: Path) -> None:
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, most))
        try:
            url, _ = stack.enter_context(running_server(tmp_path / "log"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
        connections = [stack.enter_context(socket.create_connection(_place(url))) for _ in range(200)]
        connections[-1].sendall(HEALTH)
        assert _answer(connections[-1]).status == 200


class _Peer:
    """A stand-in for a WebSocket.

    It has the sizes of an incomplete message, and whether the connection is open.
    """

    def __init__(self) -> None:
        self.incomplete_bytes = self.fragments = 0
        self.is_open = True
        self.call_later = asyncio.get_running_loop().call_later

    def end(self) -> None:
        self.is_open = False


@pytest.mark.parametrize("completes", [True, False])
def test_each_large_message_has_its_own_time(completes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow message that is complete in time does not shorten the time limit of the next message."""
    monkeypatch.setattr(connections, "_SLOWEST", 0.5)

    async def receive() -> bool:
        peer: Any = _Peer()
        for arrived in (100_000, 0 if completes else 200_000, 100_000):
            peer.incomplete_bytes = arrived
            connections._limit_fragments(peer)
            await asyncio.sleep(0.2)
        return not peer.is_open

    assert finished(receive()) is not completes
