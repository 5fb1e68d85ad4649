"""Limits on what a browser sends over its WebSocket: kinds, bytes, structure and rate.

A JSON text of 16 MB becomes 430 MB of Python objects when Streamlit parses it. So a message is judged by its bytes and
by the number of objects in it before Streamlit gets it. A refusal closes the connection; the log has one line for many.
"""

import asyncio
import re
import time

from google.protobuf.message import DecodeError
from starlette.types import Message, Receive, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState

from pages.server.limited_log import LimitedLog

# Bytes of a message: a pasted config.json of 1 MB with the rest of its page, or the compressed headers of chosen files.
LARGEST = 2_000_000
# Messages of a connection: a slider sends ten a second, and a browser that was offline sends its backlog.
BURST, A_SECOND = 100, 40.0
# Bytes of a connection, and those of large messages of all connections together.
BYTES_BURST, BYTES_A_SECOND = 2.0 * LARGEST, 250_000.0
LARGE, ALL_BURST, ALL_A_SECOND = 65_536, 4.0 * LARGEST, 1_000_000.0
# Bytes of large messages that may wait for their turn in this process.
MOST_WAITING = 16_000_000
# A page has less than a hundred controls; the panel sends some fields for each event without an answer.
_MOST_ITEMS, _MOST_OBJECTS, _MOST_VALUES, _DEEPEST = 10_000, 5_000, 50_000, 50
_IDS = "$$ID", "$$STREAMLIT_INTERNAL_KEY"  # the beginnings of Streamlit's names for controls
_SMALL = 4_096  # bytes that cannot hold a harmful structure
_KINDS = {"rerun_script", "stop_script", "app_heartbeat", "backend_operation_request"}
_OPERATIONS = {"deferred_file", "dataframe_chunk"}
# A string of JSON, or the rest of the text where it is not closed: matching takes no longer than the text is long.
_STRING = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)


class RefusedMessage(Exception):  # noqa: N818  # the browser's fault, not an error here
    """A message that Streamlit must not get, with the code that closes its connection."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Bucket:
    """A token bucket: a rate with a burst."""

    def __init__(self, burst: float, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._left, self._since = burst, time.monotonic()

    def take(self, amount: float) -> float:
        """Take an amount, and return the seconds to wait until it is available."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._since) * self._rate) - amount
        self._since = now
        return max(0.0, -self._left / self._rate)


LOG = LimitedLog("A message of a browser was refused")
_all = Bucket(ALL_BURST, ALL_A_SECOND)
_waiting = 0  # bytes


class Connection:
    """The messages of one WebSocket on their way to Streamlit."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._messages, self._bytes = Bucket(BURST, A_SECOND), Bucket(BYTES_BURST, BYTES_A_SECOND)
        self.closed = False

    async def receive(self) -> Message:
        """The next message that Streamlit may have; a disconnect in place of one that is refused."""
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
        """Send a message of Streamlit's. Raises OSError, as servers do, if the connection is closed."""
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
            raise RefusedMessage(1013, f"{_waiting:,} bytes of large messages wait already")
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
        raise RefusedMessage(1009, f"it has {len(payload):,} bytes, at most {LARGEST:,} are taken")
    return payload


def _wanted(payload: bytes) -> bool:
    """Whether Streamlit needs this message: no page asks for files, clears caches or installs anything."""
    try:
        message = BackMsg.FromString(payload)
    except DecodeError:
        raise RefusedMessage(1007, "it cannot be read") from None
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        return message.backend_operation_request.WhichOneof("payload") in _OPERATIONS
    if kind == "rerun_script":
        if not all(widget.id.startswith(_IDS) for widget in message.rerun_script.widget_states.widgets):
            raise RefusedMessage(1008, "a control has another name than Streamlit gives")  # and pages would fail
        if len(payload) > _SMALL:
            _check(message.rerun_script)
    return kind in _KINDS


def _check(state: ClientState) -> None:
    """Refuse a message from which Streamlit would make more objects than a page can mean."""
    widgets = state.widget_states.widgets
    if len(widgets) + len(state.cached_message_hashes) > _MOST_ITEMS:
        raise RefusedMessage(1008, f"it has more than {_MOST_ITEMS:,} values")
    # Without its strings: a pasted file, which the browser keeps as one, may have any number of brackets.
    texts = [_STRING.sub("", widget.json_value or widget.json_trigger_value) for widget in widgets]
    if sum(map(_items, widgets)) + sum(text.count(",") for text in texts) > _MOST_VALUES:
        raise RefusedMessage(1008, f"it has more than {_MOST_VALUES:,} values")
    if sum(text.count("{") + text.count("[") for text in texts) > _MOST_OBJECTS:
        raise RefusedMessage(1008, f"it has more than {_MOST_OBJECTS:,} objects")
    if any(_depth(text) > _DEEPEST for text in texts):
        raise RefusedMessage(1008, f"it is nested more than {_DEEPEST} deep")


def _items(widget: WidgetState) -> int:
    """The number of values that a control has, apart from those in its JSON."""
    kind = widget.WhichOneof("value") or ""
    return len(getattr(widget, kind).data) if kind.endswith("_array_value") else 1


def _depth(text: str) -> int:
    """How deep JSON without strings is nested."""
    depth = deepest = 0
    for bracket in re.findall(r"[][{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
