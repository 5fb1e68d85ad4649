"""The waits of a reader beside a hostile visitor: ``python -m benchmarks.hostile``, four minutes, on loopback alone.

A reader moves a slider on Parameters, first alone, then while somebody else does what no browser does. The server's
soft limit is 1,024 open files, as on most systems, and its proxy for other hosts never answers.
"""

import asyncio
import multiprocessing
import resource
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from benchmarks.load import Server, Session, connection
from tests.browser.launch import running_server

MOVES = 20
SECONDS = 20.0
HALF = 1_100  # incomplete requests
ANOTHER_SITE = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: a\r\nOrigin: https://example.org\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def moves(server: Server, least: float = 0.0) -> str:
    """Median and longest wait, in milliseconds, of a reader who moves the slider twice a second."""
    waited: list[float] = []
    began = time.monotonic()
    try:
        async with asyncio.timeout(60), connection(server) as opened:
            reader = Session(0, "", opened, own=True)
            await reader.open()
            while len(waited) < MOVES or time.monotonic() - began < least:
                moved = time.perf_counter()
                await reader.move()
                waited.append(1000 * (time.perf_counter() - moved))
                await asyncio.sleep(0.5)
    except (TimeoutError, OSError, WebSocketException) as error:
        return f"no answer in {time.monotonic() - began:.0f} s after {len(waited)} moves ({type(error).__name__})"
    return f"{statistics.median(waited):,.0f} / {max(waited):,.0f}"


def flood(stream: str) -> None:
    """Ask for the page without pause over five connections."""

    async def one() -> None:
        message = BackMsg()
        message.rerun_script.query_string = "vocab_size=21128"
        asked = message.SerializeToString()
        async with connect(stream, subprotocols=[Subprotocol("streamlit")], max_size=None) as opened:

            async def read() -> None:
                async for _ in opened:
                    pass

            reading = asyncio.create_task(read())
            while not reading.done():
                await opened.send(asked)
                await asyncio.sleep(0)

    async def five() -> None:
        await asyncio.gather(*(one() for _ in range(5)), return_exceptions=True)

    asyncio.run(five())


def other_sites(place: tuple[str, int]) -> None:
    """Send handshakes of a page of another site, one after the other."""
    while True:
        with suppress(OSError), socket.create_connection(place) as opened:
            opened.sendall(ANOTHER_SITE)
            opened.recv(1)


def uploads(place: tuple[str, int]) -> None:
    """Upload twenty files of 100 MB."""
    for number in range(20):
        with suppress(OSError):
            HTTPConnection(*place).request("PUT", f"/_stcore/upload_file/session/{number}", bytes(100_000_000))


@contextmanager
def doing(what: Callable[..., None], *given: object) -> Iterator[None]:
    """Have another process do something meanwhile."""
    process = multiprocessing.get_context("spawn").Process(target=what, args=given)
    process.start()
    time.sleep(3)
    try:
        yield
    finally:
        process.kill()
        process.join()


def half_sent(server: Server, place: tuple[str, int]) -> Iterator[tuple[str, str]]:
    """Send incomplete requests, and measure the waits of a reader who comes then."""
    with ExitStack() as stack:
        for _ in range(HALF):
            opened = stack.enter_context(socket.create_connection(place))
            opened.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        time.sleep(1)
        yield f"{HALF:,} requests half sent: who comes then", asyncio.run(moves(server))
        time.sleep(15)
        yield "15 seconds after", asyncio.run(moves(server))


def workers(process: int) -> list[psutil.Process]:
    """The processes that build the real model."""
    return [one for one in psutil.Process(process).children(recursive=True) if "bertcalc.worker" in one.cmdline()]


async def verified(server: Server) -> str:
    """The wait, in milliseconds, of a reader who opens Verify with a model that is not cached."""
    began = time.perf_counter()
    async with connection(server) as opened:
        reader = Session(time.monotonic_ns() % 1000, "verify", opened, own=True)
        await reader.open()
    return f"{1000 * (time.perf_counter() - began):,.0f}"


async def beside_verify(server: Server) -> str:
    """The waits of a reader while another one waits for Verify."""
    other = asyncio.create_task(verified(server))
    waited = await moves(server)
    if other.done():
        return "nobody waits"
    other.cancel()
    return waited


def measure(server: Server, url: str, process: int) -> Iterator[tuple[str, str]]:
    """The visitor's actions, and the waits of the reader meanwhile."""
    address = urlsplit(url)
    place = address.hostname or "", address.port or 0
    asyncio.run(moves(server))
    yield "nothing", asyncio.run(moves(server))
    with doing(other_sites, place):
        yield "handshakes of another site, one after the other", asyncio.run(moves(server))
    before = server.memory()
    with doing(uploads, place):
        yield "20 uploads of 100 MB", asyncio.run(moves(server, least=SECONDS))
    yield "memory before and after them, MB", f"{before:,.0f}, {server.memory():,.0f}"
    asyncio.run(verified(server))
    for worker in workers(process):
        worker.suspend()
    yield "Verify's process hangs, and somebody waits for it", asyncio.run(beside_verify(server))
    for worker in workers(process):
        worker.kill()
    time.sleep(1)
    yield "it was killed: Verify, once", asyncio.run(verified(server))
    yield from half_sent(server, place)
    with doing(flood, server.streams[0]):
        yield "five connections that send without pause", asyncio.run(moves(server, least=SECONDS))
    yield "afterwards", asyncio.run(moves(server))


def main() -> None:
    """Print the table: median and longest wait in milliseconds, unless another unit is named."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Streamlit 1.67 logs a traceback if somebody leaves while it sends them a page.
    with suppress(AssertionError), TemporaryDirectory() as folder, ExitStack() as stack:
        nowhere = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        proxy = f"http://127.0.0.1:{nowhere.getsockname()[1]}"
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, most))
        app = running_server(Path(folder) / "log", bound="0.0.0.0", http_proxy=proxy, https_proxy=proxy)
        url, process = stack.enter_context(app)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        for what, waited in measure(Server((url, process)), url, process):
            print(f"| {what} | {waited} |", flush=True)


if __name__ == "__main__":
    main()
