"""Limit the messages that a browser sends over its WebSocket: kinds, bytes, structure and rate.

When Streamlit parses 16 MB of JSON text, it creates 430 MB of Python objects. So the bytes and the number of objects in
a message are checked before Streamlit receives the message. A refused message closes the connection. The log has at
most one line per minute for refusals.
"""

import asyncio
import re
import time

from google.protobuf.message import DecodeError
from starlette.types import Message, Receive, Send

from pages.server.limited_log import LimitedLog
from pages.server.upstream.streamlit_internals import BrowserMessage, read_message

# The maximum size of a message in bytes. A message may contain a pasted config.json of 1 MB, or the compressed headers
# of chosen files.
LARGEST = 2_000_000
# The number of messages that a connection may send in a burst, and per second. A slider sends ten per second, and a
# browser that was offline sends its backlog.
BURST, A_SECOND = 100, 40.0
# The number of bytes that a connection may send in a burst, and per second.
BYTES_BURST, BYTES_A_SECOND = 2.0 * LARGEST, 250_000.0
# The size in bytes above which a message is large, and the bytes of large messages that all connections together may
# send in a burst, and per second.
LARGE, ALL_BURST, ALL_A_SECOND = 65_536, 4.0 * LARGEST, 1_000_000.0
# The maximum number of bytes of large messages that wait in this process.
MOST_WAITING = 16_000_000
# Maximum numbers for a message: controls, JSON objects, values, and nesting levels. A page has fewer than a hundred
# controls. The panel sends some fields for each unanswered event.
_MOST_ITEMS, _MOST_OBJECTS, _MOST_VALUES, _DEEPEST = 1_000, 5_000, 50_000, 50
_SMALL = 4_096  # bytes; smaller messages cannot contain a harmful structure
# A JSON string, or the rest of the text if the string is not closed. Matching takes linear time.
_STRING = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)


class RefusedMessage(Exception):  # noqa: N818  # the browser's fault, not an error here
    """A message that Streamlit must not receive, and the code with which to close its connection."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Bucket:
    """A token bucket: it limits a rate, but allows bursts."""

    def __init__(self, burst: float, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._left, self._since = burst, time.monotonic()

    def take(self, amount: float) -> float:
        """Take an amount, and return the seconds to wait until it is available; 0 if it already is."""
        moment = time.monotonic()
        self._left = min(self._burst, self._left + (moment - self._since) * self._rate) - amount
        self._since = moment
        return max(0.0, -self._left / self._rate)


LOG = LimitedLog("A browser's message was refused")
_all = Bucket(ALL_BURST, ALL_A_SECOND)
_waiting = 0  # bytes of large messages that wait


class Connection:
    """Passes messages between a browser's WebSocket and Streamlit, and limits the browser's messages."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._messages, self._bytes = Bucket(BURST, A_SECOND), Bucket(BYTES_BURST, BYTES_A_SECOND)
        self.closed = False

    async def receive(self) -> Message:
        """Return the next message that Streamlit needs; wait if messages arrive too fast.

        A refused message closes the connection. A disconnect message is then returned instead.
        """
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                self.closed = True
            if message["type"] != "websocket.receive":
                return message
            try:
                payload = _bytes_of(message)
                await self._wait(len(payload))
                if _wanted(payload):
                    return message
            except RefusedMessage as refusal:
                LOG.note(refusal)
                await self.send({"type": "websocket.close", "code": refusal.code})
                self.closed = True
                return {"type": "websocket.disconnect", "code": refusal.code}

    async def send(self, message: Message) -> None:
        """Send a message from Streamlit. Raises OSError if the connection is closed, as an ASGI server does."""
        if self.closed:
            raise OSError("the connection is closed")
        try:
            await self._send(message)
        except OSError:
            self.closed = True
            raise

    async def _wait(self, size: int) -> None:
        global _waiting
        seconds = max(self._messages.take(1), self._bytes.take(size))
        if size <= LARGE:
            await asyncio.sleep(seconds)
            return
        if _waiting + size > MOST_WAITING:
            raise RefusedMessage(1013, f"{_waiting:,} bytes of large messages are already waiting")
        _waiting += size
        try:
            await asyncio.sleep(max(seconds, _all.take(size)))
        finally:
            _waiting -= size


def _bytes_of(message: Message) -> bytes:
    payload: bytes | None = message.get("bytes")
    if payload is None:
        raise RefusedMessage(1003, "it is text")
    if len(payload) > LARGEST:
        raise RefusedMessage(1009, f"it has {len(payload):,} bytes; at most {LARGEST:,} are allowed")
    return payload


def _wanted(payload: bytes) -> bool:
    """Whether Streamlit needs this message. Raises RefusedMessage if it is unreadable or not acceptable."""
    try:
        message = read_message(payload)
    except DecodeError:
        raise RefusedMessage(1007, "it cannot be read") from None
    if message is None:
        return True
    if message.is_run:
        if message.has_foreign_names:
            raise RefusedMessage(1008, "it names a control that Streamlit did not name")  # otherwise, pages would fail
        if len(payload) > _SMALL:
            _check(message)
    return message.is_of_page


def _check(message: BrowserMessage) -> None:
    """Raise RefusedMessage if a message has more values, objects or nesting levels than any page needs."""
    if message.size > _MOST_ITEMS:
        raise RefusedMessage(1008, f"it has more than {_MOST_ITEMS:,} values")
    # Strings are removed first: a pasted file arrives as a single string, which may contain any number of brackets.
    texts = [_STRING.sub("", text) for text in message.json_texts]
    if message.value_count + sum(text.count(",") for text in texts) > _MOST_VALUES:
        raise RefusedMessage(1008, f"it has more than {_MOST_VALUES:,} values")
    if sum(text.count("{") + text.count("[") for text in texts) > _MOST_OBJECTS:
        raise RefusedMessage(1008, f"it has more than {_MOST_OBJECTS:,} objects")
    if any(_depth(text) > _DEEPEST for text in texts):
        raise RefusedMessage(1008, f"it is nested more than {_DEEPEST} levels deep")


def _depth(text: str) -> int:
    """Return the maximum nesting depth of a JSON text whose strings have been removed."""
    depth = deepest = 0
    for bracket in re.findall(r"[][{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
