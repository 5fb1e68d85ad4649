"""Streamlit's own files are served from memory: the same bytes as on disk, and only files that never change."""

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import streamlit
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_gzip_middleware import SelectiveGZipMiddleware
from streamlit.web.server.starlette.starlette_static_routes import create_streamlit_static_handler

from pages.server.assets import Assets
from tests.loop import finished

STATIC = Path(streamlit.__file__).parent / "static"
FIRST = re.findall(r'(?:src|href)="\./(static/[^"]+)"', (STATIC / "index.html").read_text(encoding="utf-8"))
GZIP = {"accept-encoding": "gzip, deflate, br"}


class Counted:
    """Streamlit's own handler, which compresses some responses. It records the requested paths."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._handler = SelectiveGZipMiddleware(create_streamlit_static_handler(str(STATIC), None))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        await self._handler(scope, receive, send)


async def answer(app: ASGIApp, path: str, headers: dict[str, str] = GZIP, method: str = "GET") -> tuple[Headers, bytes]:
    """Return the response of an ASGI application. The status is among the headers."""
    messages: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()  # the client stays connected
        raise AssertionError

    async def send(message: Message) -> None:
        messages.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": raw, "query_string": b""}
    await app(scope, receive, send)
    start, *bodies = messages
    status = (b"status", f"{start['status']}".encode())
    return Headers(raw=[*start["headers"], status]), b"".join(body.get("body", b"") for body in bodies)


def plain(headers: Headers, body: bytes) -> bytes:
    assert headers["content-length"] == f"{len(body)}"
    return gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body


def test_every_file_of_a_first_visit_comes_from_the_disk_once_and_unchanged() -> None:
    streamlits = Counted()
    app = Assets(streamlits)

    async def visits() -> None:
        sizes = []
        for _visit in range(3):
            answers = [await answer(app, f"/{path}") for path in FIRST]
            sizes.append(sum(len(body) for _headers, body in answers))
            for path, (headers, body) in zip(FIRST, answers, strict=True):
                assert plain(headers, body) == (STATIC / path).read_bytes()
                assert "immutable" in headers["cache-control"]
                assert ("content-encoding" in headers) == ("accept-encoding" in headers.get("vary", "").lower())
        assert sizes[2] == sizes[1] < 0.5 * sizes[0]

    finished(visits())
    assert len(FIRST) > 50
    assert streamlits.asked == [f"/{path}" for path in FIRST]


@pytest.mark.parametrize(
    ("path", "headers", "method"),
    [
        ("/", GZIP, "GET"),
        ("/layers", GZIP, "GET"),
        ("/static/js/none.js", GZIP, "GET"),
        (f"/{FIRST[0]}", {}, "GET"),
        (f"/{FIRST[0]}", GZIP | {"range": "bytes=0-9"}, "GET"),
        (f"/{FIRST[0]}", GZIP | {"if-none-match": "x"}, "GET"),
        (f"/{FIRST[0]}", GZIP, "HEAD"),
    ],
)
def test_all_else_is_streamlits_answer(path: str, headers: dict[str, str], method: str) -> None:
    streamlits = Counted()
    app = Assets(streamlits)

    async def asked() -> None:
        await answer(app, f"/{FIRST[0]}")
        await answer(app, path, headers, method)
        streamlits.asked.clear()
        ours, theirs = [await answer(server, path, headers, method) for server in (app, Counted())]
        assert ours == theirs

    finished(asked())
    assert streamlits.asked == [path]


@pytest.mark.parametrize("name", ["/static//{}", "/static/./{}", "/./static/{}", "/static/js/../{}", "//static/{}"])
def test_a_file_is_stored_under_one_name(name: str) -> None:
    file = FIRST[-1].removeprefix("static/")
    streamlits = Counted()
    app = Assets(streamlits)

    async def twice() -> None:
        for _time in range(2):
            headers, body = await answer(app, name.format(file))
            if headers["status"] == "200":
                content = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
                assert content in ((STATIC / "static" / file).read_bytes(), (STATIC / "index.html").read_bytes())

    finished(twice())
    assert len(streamlits.asked) == 2


def test_a_request_during_the_first_response_does_not_wait_for_it() -> None:
    streamlits = Counted()
    app = Assets(streamlits)

    async def at_once() -> None:
        answers = await asyncio.gather(*(answer(app, f"/{FIRST[0]}") for _reader in range(5)))
        assert {plain(*response) for response in answers} == {(STATIC / FIRST[0]).read_bytes()}
        assert len(streamlits.asked) == 5
        await answer(app, f"/{FIRST[0]}")
        assert len(streamlits.asked) == 5

    finished(at_once())


@pytest.mark.parametrize("lost", ["half", "error"])
def test_half_a_response_is_not_stored(lost: str) -> None:
    asked = []

    async def breaks(_scope: Scope, _receive: Receive, send: Send) -> None:
        asked.append(1)
        headers = [(b"cache-control", b"immutable"), (b"content-length", b"4"), (b"content-type", b"text/css")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ab", "more_body": True})
        if lost == "error":
            raise ConnectionError

    async def twice(ask: Callable[[], Awaitable[object]]) -> None:
        for _time in range(2):
            if lost == "error":
                with pytest.raises(ConnectionError):
                    await ask()
            else:
                await ask()

    app = Assets(breaks)
    finished(twice(lambda: answer(app, "/static/a.css")))
    assert len(asked) == 2
