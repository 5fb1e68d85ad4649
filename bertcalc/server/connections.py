"""Connections on which no request arrives, which uvicorn 0.54 keeps for ever, and requests that it cannot read.

It has no setting for either (Kludex/uvicorn#157), and has chosen its classes when it imports the app: so methods of
these classes are replaced.
"""

import asyncio
import sys
from http import HTTPStatus
from weakref import ref

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Response
from websockets.server import ServerProtocol

from bertcalc.server.headers import HEADERS

# Seconds that a request may take to arrive; twice as long for its body, or where others were answered before it.
PATIENCE = 10.0
_FILES = 10_000  # open at once, of which each browser that comes takes six
_made, _reject = H11Protocol.connection_made, ServerProtocol.reject
_handed_over = WebSocketsSansIOProtocol.connection_made


def guard() -> None:
    """From now on a request has PATIENCE, its refusal the HEADERS, and the server many connections."""
    H11Protocol.connection_made = _connection_made  # type: ignore[assignment, method-assign]
    H11Protocol.send_400_response = _refuse_unread  # type: ignore[assignment, method-assign]
    ServerProtocol.reject = _reject_with_headers  # type: ignore[assignment, method-assign]
    WebSocketsSansIOProtocol.connection_made = _handed_over_in_time  # type: ignore[assignment, method-assign]
    if sys.platform != "win32":
        import resource  # Windows has none

        allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, allowed), most))


def _connection_made(connection: H11Protocol, transport: asyncio.Transport) -> None:
    _made(connection, transport)
    connection.loop.call_later(PATIENCE, _look, ref(connection), None)


def _look(kept: ref[H11Protocol], before: object) -> None:
    """End a connection that waits for the request after the same one as before, or for the rest of the same one."""
    connection = kept()
    if not connection or connection.transport.is_closing() or connection not in connection.connections:
        return  # it has gone, or is a WebSocket's now
    waits = connection.conn.their_state in (h11.IDLE, h11.SEND_BODY)
    if waits and connection.cycle is before:
        connection.transport.abort()
    else:
        connection.loop.call_later(PATIENCE, _look, kept, connection.cycle if waits else kept)


def _handed_over_in_time(socket: WebSocketsSansIOProtocol, transport: asyncio.Transport) -> None:
    _handed_over(socket, transport)
    socket.loop.call_later(PATIENCE, _look_at_handshake, ref(socket))


def _look_at_handshake(kept: ref[WebSocketsSansIOProtocol]) -> None:
    """End a WebSocket whose handshake was not understood: uvicorn 0.54 answers nothing where it has a body, say."""
    socket = kept()
    if socket and not socket.handshake_initiated and not socket.transport.is_closing():
        socket.transport.abort()


def _refuse_unread(connection: H11Protocol, message: str) -> None:
    """As H11Protocol does it, with HEADERS, and where an answer is under way already, without another."""
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
