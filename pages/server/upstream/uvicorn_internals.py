"""The undocumented parts of uvicorn and websockets: connections before the app gets a request, and refusals."""

from asyncio import TimerHandle, Transport
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, ref

from pages.server.upstream.internals import Internal, Method, replace

_HTTP = "uvicorn.protocols.http.h11_impl:H11Protocol."
_SOCKET = "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol."

REQUESTS = Internal(
    names=(
        f"{_HTTP}connection_made",
        *(f"{_HTTP}{name}" for name in ("conn", "connections", "cycle", "loop", "transport")),
        "h11:Connection.their_state",
        "h11:SEND_BODY",
    ),
    parameters="self, transport",
    reason="uvicorn keeps connections forever on which no request arrives, and has no setting for it.",
    issue="https://github.com/Kludex/uvicorn/issues/157",
    loss="connections without a request stay open",
)
HANDSHAKES = Internal(
    names=(
        f"{_SOCKET}connection_made",
        *(f"{_SOCKET}{name}" for name in ("conn", "handshake_initiated", "loop", "transport")),
        "websockets.protocol:Protocol.max_message_size",
    ),
    parameters="self, transport",
    reason=(
        "uvicorn does not answer a handshake with a body. It takes messages as large as Streamlit's "
        "``maxMessageSize``, which is for the messages that Streamlit sends."
    ),
    issue="https://github.com/Kludex/uvicorn/issues/306",
    loss="WebSockets without a handshake stay open, and large messages are read before they are refused",
)
FRAGMENTS = Internal(
    names=(
        f"{_SOCKET}data_received",
        *(f"{_SOCKET}{name}" for name in ("conn", "frames", "loop", "transport")),
        "websockets.protocol:Protocol.reader",
        "websockets.streams:StreamReader.buffer",
    ),
    parameters="self, data",
    reason="uvicorn and websockets keep any number of incomplete messages, for any time.",
    issue="https://github.com/python-websockets/websockets/issues/1602",
    loss="incomplete messages of browsers are not limited",
)
BAD_REQUESTS = Internal(
    names=(
        f"{_HTTP}send_400_response",
        *(f"{_HTTP}{name}" for name in ("conn", "cycle", "transport")),
        "h11:Connection.our_state",
        "h11:SEND_RESPONSE",
    ),
    parameters="self, msg",
    reason=(
        "uvicorn answers a request that it cannot read without asking the app, and fails if a response is under way."
    ),
    issue="https://github.com/Kludex/uvicorn/pull/1352",
    loss="refusals of unreadable requests have no security headers",
)
REJECTED_SOCKETS = Internal(
    names=("websockets.server:ServerProtocol.reject", "websockets.http11:Response.headers"),
    parameters="self, status, text",
    reason="uvicorn and websockets reject handshakes without asking the app for headers.",
    loss="rejected WebSockets have no security headers",
)


class Peer:
    """A browser's connection, with a weak reference to the server's object for the connection."""

    def __init__(self, protocol: Any) -> None:
        self._reference = ref(protocol)

    @property
    def _protocol(self) -> Any:
        """The server's object for the connection; None once the server has dropped it."""
        return self._reference()

    @property
    def is_open(self) -> bool:
        """Whether the connection is neither closed nor closing."""
        return self._protocol is not None and not self._protocol.transport.is_closing()

    def call_later(self, seconds: float, function: Callable[[], object]) -> TimerHandle:
        """Call a function after this many seconds in the connection's event loop. The connection must still exist."""
        handle: TimerHandle = self._protocol.loop.call_later(seconds, function)
        return handle

    def end(self) -> None:
        """Close the connection immediately if it is open."""
        if self.is_open:
            self._protocol.transport.abort()


class HttpPeer(Peer):
    """An HTTP connection; a connection that has become a WebSocket counts as closed."""

    @property
    def is_open(self) -> bool:
        """Whether the connection is neither closed nor closing, and has not become a WebSocket."""
        return super().is_open and self._protocol in self._protocol.connections

    def waiting_since(self) -> object:
        """Return the last request of a connection that waits for a request or a body; None before the first request.

        If the connection is not waiting, return a new object, which equals no other object.
        """
        from h11 import IDLE, SEND_BODY

        waits = self._protocol.conn.their_state in (IDLE, SEND_BODY)
        return self._protocol.cycle if waits else object()


class SocketPeer(Peer):
    """A WebSocket connection."""

    @property
    def has_handshake(self) -> bool:
        """Whether the handshake has arrived."""
        return self._protocol is not None and bool(self._protocol.handshake_initiated)

    def limit_messages(self, size: int) -> None:
        """Refuse messages of more than ``size`` bytes as soon as their header arrives."""
        self._protocol.conn.max_message_size = size

    @property
    def fragments(self) -> int:
        """The number of fragments of the incomplete message that have arrived."""
        return len(self._protocol.frames)

    @property
    def incomplete_bytes(self) -> int:
        """The number of bytes of the incomplete message that have arrived."""
        return len(self._protocol.conn.reader.buffer) + sum(map(len, self._protocol.frames))


def watch_requests(begin: Callable[[HttpPeer], object]) -> None:
    """Call ``begin`` for each new HTTP connection."""
    _watch_connections(REQUESTS, lambda protocol: begin(HttpPeer(protocol)))


def watch_handshakes(begin: Callable[[SocketPeer], object]) -> None:
    """Call ``begin`` for each new WebSocket, before its handshake."""
    _watch_connections(HANDSHAKES, lambda protocol: begin(SocketPeer(protocol)))


def _watch_connections(internal: Internal, begin: Callable[[Any], object]) -> None:
    def make(connection_made: Method) -> Method:
        def connection_made_watched(protocol: Any, transport: Transport) -> None:
            connection_made(protocol, transport)
            begin(protocol)

        return connection_made_watched

    replace(internal, make)


def watch_fragments(look: Callable[[SocketPeer], object]) -> None:
    """Call ``look`` whenever bytes arrive on a WebSocket, each time with the same SocketPeer for this WebSocket."""
    peers: WeakKeyDictionary[Any, SocketPeer] = WeakKeyDictionary()

    def make(data_received: Method) -> Method:
        def data_received_watched(protocol: Any, data: bytes) -> None:
            data_received(protocol, data)
            peer = peers.get(protocol)
            if peer is None:
                peer = peers[protocol] = SocketPeer(protocol)
            look(peer)

        return data_received_watched

    replace(FRAGMENTS, make)


def add_headers_to_refusals(headers: Mapping[str, str]) -> None:
    """Add headers to the refusals that uvicorn and websockets send without asking the app."""

    def make_refuse(_send_400_response: Method) -> Method:
        import h11

        def refuse(protocol: Any, message: str) -> None:
            """Send a response if no response is in progress, and close the connection."""
            if protocol.cycle:
                protocol.cycle.disconnected = True
            if protocol.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                fields = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **headers}
                refusal = h11.Response(status_code=400, reason="Bad Request", headers=[*fields.items()])
                for event in (refusal, h11.Data(data=message.encode()), h11.EndOfMessage()):
                    protocol.transport.write(protocol.conn.send(event) or b"")
            protocol.transport.close()

        return refuse

    def make_reject(reject: Method) -> Method:
        def reject_with_headers(protocol: Any, *arguments: Any, **options: Any) -> Any:
            refusal = reject(protocol, *arguments, **options)
            refusal.headers.update(headers)
            return refusal

        return reject_with_headers

    replace(BAD_REQUESTS, make_refuse)
    replace(REJECTED_SOCKETS, make_reject)
