"""Limit how long connections wait and how large their messages are, and add headers to refusals.

uvicorn has no settings for these limits, and it chooses its protocol classes before it imports the app. So ``upstream``
replaces methods of these classes. Each limit has a test with a real server (tests/server/test_connections.py).
"""

import asyncio
import sys
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from bertcalc.text.digits import fixed
from pages.server.headers import HEADERS
from pages.server.messages import LARGE, LARGEST, LOG
from pages.server.upstream import uvicorn_internals
from pages.server.upstream.uvicorn_internals import HttpPeer, SocketPeer

# Seconds within which a request must arrive. Its body, and the next request on a connection, may take twice as long.
PATIENCE = 10.0
_FILES = 10_000  # number of open files to allow; each browser opens six connections
# Limits on incomplete messages: the bytes of all such messages together, the fragments of one message, and the seconds
# within which a message must be complete.
_MOST_INCOMPLETE, _MOST_FRAGMENTS, _SLOWEST = 32_000_000, 1_000, 60.0


class _Incomplete(NamedTuple):
    """A large incomplete message: its bytes so far, and the timer that closes its connection."""

    arrived: int
    end: asyncio.TimerHandle


_incomplete: WeakKeyDictionary[SocketPeer, _Incomplete] = WeakKeyDictionary()


def guard() -> None:
    """Limit connections from now on, and raise the limit on open files."""
    uvicorn_internals.watch_requests(_expect_request)
    uvicorn_internals.watch_handshakes(_expect_handshake)
    uvicorn_internals.watch_fragments(_limit_fragments)
    uvicorn_internals.add_headers_to_refusals(HEADERS)
    if sys.platform != "win32":
        import resource  # not available on Windows

        allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, allowed), most))


def _expect_request(peer: HttpPeer, before: object = None) -> None:
    """Close a connection if, PATIENCE seconds from now, it is still waiting for the same request or body.

    Otherwise, check again later. ``before`` is the result of ``waiting_since`` at the last check; for a new connection,
    it is None.
    """
    peer.call_later(PATIENCE, partial(_end_waiting, peer, before))


def _end_waiting(peer: HttpPeer, before: object) -> None:
    if not peer.is_open:
        return
    since = peer.waiting_since()
    if since is before:
        peer.end()
    else:
        _expect_request(peer, since)


def _expect_handshake(peer: SocketPeer) -> None:
    """Limit the messages of a WebSocket, and close it if no handshake arrives within PATIENCE seconds."""
    peer.limit_messages(LARGEST)
    peer.call_later(PATIENCE, partial(_end_without_handshake, peer))


def _end_without_handshake(peer: SocketPeer) -> None:
    if not peer.has_handshake:
        peer.end()


def _limit_fragments(peer: SocketPeer) -> None:
    """Close a connection if its incomplete message exceeds a limit."""
    arrived = peer.incomplete_bytes
    if peer.fragments > _MOST_FRAGMENTS:
        LOG.note(f"it has more than {_MOST_FRAGMENTS:,} fragments")
        peer.end()
    elif arrived <= LARGE:
        _complete(peer)
    else:
        before = _incomplete.get(peer)
        end = before.end if before else peer.call_later(_SLOWEST, partial(_end_slow, peer))
        _incomplete[peer] = _Incomplete(arrived, end)
        if sum(message.arrived for message in _incomplete.values()) > _MOST_INCOMPLETE:
            LOG.note(f"{_MOST_INCOMPLETE:,} bytes of incomplete messages have arrived already")
            _complete(peer)
            peer.end()


def _complete(peer: SocketPeer) -> None:
    """Stop watching a connection's message; the next message gets a new time limit."""
    if message := _incomplete.pop(peer, None):
        message.end.cancel()


def _end_slow(peer: SocketPeer) -> None:
    if peer.is_open:
        LOG.note(f"it was not complete after {fixed(_SLOWEST, 0)} s")
        peer.end()
