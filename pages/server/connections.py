"""Limits on connections: requests that do not arrive, messages that are too large, and refusals without headers.

uvicorn 0.54 keeps connections forever on which no request arrives (Kludex/uvicorn#157). It takes messages as large as
Streamlit's ``maxMessageSize``, which is for the messages that it sends, and any number of incomplete ones. It has no
settings for these, and it has already chosen its protocol classes when it imports the app. So five methods of uvicorn
0.54 and websockets 17.4 are replaced. Each has a test with a real server that fails when the method is no longer called
(tests/server/test_connections.py).
"""

import asyncio
import sys
from http import HTTPStatus
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Response
from websockets.server import ServerProtocol

from bertcalc.text.digits import fixed
from pages.server.headers import HEADERS
from pages.server.messages import LARGE, LARGEST, LOG

# Seconds that a request may take to arrive; its body, and the next request of a connection, may take twice as long.
PATIENCE = 10.0
_FILES = 10_000  # open files; each browser takes six connections
# Of messages of which a part has arrived: bytes of all in this process, fragments of one, seconds until it is complete.
_MOST_INCOMPLETE, _MOST_FRAGMENTS, _SLOWEST = 32_000_000, 1_000, 60.0
_made, _reject = H11Protocol.connection_made, ServerProtocol.reject
_handed_over, _receive = WebSocketsSansIOProtocol.connection_made, WebSocketsSansIOProtocol.data_received


class _Incomplete(NamedTuple):
    """A large message of which a part has arrived: its bytes, and what ends its connection if it takes too long."""

    arrived: int
    end: asyncio.TimerHandle


_incomplete: WeakKeyDictionary[WebSocketsSansIOProtocol, _Incomplete] = WeakKeyDictionary()


def guard() -> None:
    """Replace the methods, and raise the limit of open files."""
    H11Protocol.connection_made = _connection_made  # type: ignore[assignment, method-assign]
    H11Protocol.send_400_response = _refuse_unread  # type: ignore[assignment, method-assign]
    ServerProtocol.reject = _reject_with_headers  # type: ignore[assignment, method-assign]
    WebSocketsSansIOProtocol.connection_made = _handed_over_in_time  # type: ignore[assignment, method-assign]
    WebSocketsSansIOProtocol.data_received = _receive_within_limits  # type: ignore[assignment, method-assign]
    if sys.platform != "win32":
        import resource  # Windows has none

        allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, allowed), most))


def _connection_made(connection: H11Protocol, transport: asyncio.Transport) -> None:
    _made(connection, transport)
    connection.loop.call_later(PATIENCE, _look, ref(connection), None)


def _look(kept: ref[H11Protocol], before: object) -> None:
    """Close a connection that waits for the same request or body as PATIENCE seconds ago."""
    connection = kept()
    if not connection or connection.transport.is_closing() or connection not in connection.connections:
        return  # closed, or upgraded to a WebSocket
    waits = connection.conn.their_state in (h11.IDLE, h11.SEND_BODY)
    if waits and connection.cycle is before:
        connection.transport.abort()
    else:
        connection.loop.call_later(PATIENCE, _look, kept, connection.cycle if waits else kept)


def _handed_over_in_time(socket: WebSocketsSansIOProtocol, transport: asyncio.Transport) -> None:
    _handed_over(socket, transport)
    socket.conn.max_message_size = LARGEST
    socket.loop.call_later(PATIENCE, _look_at_handshake, ref(socket))


def _look_at_handshake(kept: ref[WebSocketsSansIOProtocol]) -> None:
    """Close a WebSocket without a handshake: uvicorn 0.54 does not answer a handshake with a body."""
    socket = kept()
    if socket and not socket.handshake_initiated and not socket.transport.is_closing():
        socket.transport.abort()


def _receive_within_limits(socket: WebSocketsSansIOProtocol, data: bytes) -> None:
    """Take bytes, and close the connection if too much waits for the end of a message."""
    _receive(socket, data)
    arrived = len(socket.conn.reader.buffer) + sum(map(len, socket.frames))
    if len(socket.frames) > _MOST_FRAGMENTS:
        LOG.note(f"it has more than {_MOST_FRAGMENTS:,} fragments")
        socket.transport.abort()
    elif arrived <= LARGE:
        _complete(socket)
    else:
        before = _incomplete.get(socket)
        end = before.end if before else socket.loop.call_later(_SLOWEST, _end_slow, ref(socket))
        _incomplete[socket] = _Incomplete(arrived, end)
        if sum(message.arrived for message in _incomplete.values()) > _MOST_INCOMPLETE:
            LOG.note(f"{_MOST_INCOMPLETE:,} bytes of incomplete messages have arrived already")
            _complete(socket)
            socket.transport.abort()


def _complete(socket: WebSocketsSansIOProtocol) -> None:
    """Stop watching the message of a connection; its next one has its own time."""
    if message := _incomplete.pop(socket, None):
        message.end.cancel()


def _end_slow(kept: ref[WebSocketsSansIOProtocol]) -> None:
    """Close a connection on which a large message has been incomplete for so long."""
    socket = kept()
    if socket and not socket.transport.is_closing():
        LOG.note(f"it was not complete after {fixed(_SLOWEST, 0)} s")
        socket.transport.abort()


def _refuse_unread(connection: H11Protocol, message: str) -> None:
    """H11Protocol.send_400_response with HEADERS; sends nothing if a response is under way."""
    if connection.cycle:
        connection.cycle.disconnected = True
    if connection.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
        headers = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **HEADERS}
        refusal = h11.Response(status_code=400, reason="Bad Request", headers=[*headers.items()])
        for event in (refusal, h11.Data(data=message.encode()), h11.EndOfMessage()):
            connection.transport.write(connection.conn.send(event) or b"")
    connection.transport.close()


def _reject_with_headers(protocol: ServerProtocol, status: HTTPStatus | int, text: str) -> Response:
    refusal = _reject(protocol, status, text)
    refusal.headers.update(HEADERS)
    return refusal
