"""A local server for the part of the Hub's protocol that files need.

Files are in folders named owner/name. ``Server.answers`` and ``Server.written`` define other answers for a name.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

COMMIT = "0" * 40


class Answer(NamedTuple):
    """A fixed answer to all requests for a model: a status, and headers."""

    status: int
    headers: Mapping[str, str] = MappingProxyType({})


class Server:
    """The server's address, its requests, and its answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.answers: dict[str, Answer] = {}
        # Functions that write the whole answer, keyed by repository name.
        self.written: dict[str, Callable[[BufferedIOBase], object]] = {}
        self.asked: list[tuple[str, str, str | None]] = []  # (path, range, authorization) of each request
        self.sent = 0
        self.ranges = True


def slow_headers(answer: BufferedIOBase) -> None:
    """Send a byte of headers every half second, for ever."""
    answer.write(b"HTTP/1.1 200 OK\r\nx: ")
    while True:
        answer.write(b"x")
        time.sleep(0.5)


def slow_body(answer: BufferedIOBase) -> None:
    """Send a byte every half second, of 100,000 announced."""
    answer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while True:
        answer.write(b" ")
        time.sleep(0.5)


def endless_body(answer: BufferedIOBase) -> None:
    """Send bytes until the client stops reading."""
    answer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        answer.write(bytes(100_000))


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serve the models in a folder."""
    server = Server(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append((self.path, self.headers.get("range", ""), self.headers.get("authorization")))
            match = re.fullmatch(r"/([\w.-]+/[\w.-]+)/resolve/main/([\w.-]+)", self.path)
            if match is None:
                self._answer(Answer(404, {"X-Error-Code": "RepoNotFound"}))
            elif match[1] in server.answers:
                self._answer(server.answers[match[1]])
            elif match[1] in server.written:
                self.close_connection = True
                with suppress(OSError):  # the client has stopped reading
                    server.written[match[1]](self.wfile)
            elif not (folder / match[1]).is_dir():
                self._answer(Answer(401, {"X-Error-Code": "RepoNotFound"}))
            elif not (folder / match[1] / match[2]).is_file():
                self._answer(Answer(404, {"X-Error-Code": "EntryNotFound"}))
            else:
                self._send((folder / match[1] / match[2]).read_bytes())

        def _send(self, data: bytes) -> None:
            asked = re.fullmatch(r"bytes=([0-9]+)-([0-9]+)", self.headers.get("range", ""))
            headers = {"X-Repo-Commit": COMMIT, "ETag": '"0"'}
            if asked and server.ranges:
                first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
                headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
                self._answer(Answer(206, headers), data[first : last + 1])
            else:
                self._answer(Answer(200, headers), data)

        def _answer(self, answer: Answer, data: bytes = b"") -> None:
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": f"{len(data)}"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            server.sent += len(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        yield server
        http.shutdown()
        thread.join()
