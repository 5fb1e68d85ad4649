"""The waits of a reader beside a hostile visitor: ``python -m benchmarks.hostile``, six minutes, only on loopback.

A reader moves a slider on Parameters, first alone, then beside a hostile client, which does what no browser does. The
server's soft limit is 1,024 open files, as on most systems, and its proxy for other hosts never answers. Name trials to
run only those: ``python -m benchmarks.hostile floods messages``.
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from benchmarks.load import Server, Session, connection, row
from tests.browser.launch import running_server

MOVES = 20
SECONDS = 20.0
HALF = 1_100  # incomplete requests
CLASS = 200  # sessions that lose the network
PANEL = "$$STREAMLIT_INTERNAL_KEY_panel__events"
ANOTHER_SITE = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: a\r\nOrigin: https://example.org\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
Rows = Iterator[tuple[str, str]]


class Target(NamedTuple):
    """The server under test: its client interface, its (host, port), its process and its log file."""

    server: Server
    place: tuple[str, int]
    process: psutil.Process
    log: Path

    @property
    def stream(self) -> str:
        return self.server.streams[0]


async def moves(target: Target, least: float = 0.0) -> str:
    """Move the slider twice a second.

    Return the reader's median, p95 and longest wait in ms, and the peak thread count.

    The numbers in brackets are the server's CPU time until the answer, which other programs do not affect.
    """
    waited: list[float] = []
    worked: list[float] = []
    threads = 0
    began = time.monotonic()
    try:
        async with asyncio.timeout(60 + least), connection(target.server) as opened:
            reader = Session(0, "", opened, ours=True)
            await reader.open()
            while len(waited) < MOVES or time.monotonic() - began < least:
                moved, cpu = time.perf_counter(), _cpu(target)
                await reader.move()
                waited.append(1000 * (time.perf_counter() - moved))
                worked.append(1000 * (_cpu(target) - cpu))
                threads = max(threads, target.process.num_threads())
                await asyncio.sleep(0.5)
    except (TimeoutError, OSError, WebSocketException) as error:
        return f"no answer in {time.monotonic() - began:.0f} s after {len(waited)} moves ({type(error).__name__})"
    return f"{_percentiles(waited)} ({_percentiles(worked)}); {threads} threads"


def _cpu(target: Target) -> float:
    return sum(target.process.cpu_times()[:2])


def _percentiles(figures: list[float]) -> str:
    ordered = sorted(figures)
    late = ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]
    return f"{statistics.median(ordered):,.0f} / {late:,.0f} / {ordered[-1]:,.0f}"


def send(stream: str, payload: bytes, count: int, a_second: float) -> None:
    """Send a message over ``count`` connections, ``a_second`` times a second on each. Reopen closed connections."""

    async def sender() -> None:
        while True:
            with suppress(OSError, WebSocketException):
                async with connect(stream, subprotocols=[Subprotocol("streamlit")], max_size=None) as opened:

                    async def read() -> None:
                        with suppress(WebSocketException):
                            async for _ in opened:
                                pass

                    reading = asyncio.create_task(read())
                    while not reading.done():
                        await opened.send(payload)
                        await asyncio.sleep(1 / a_second if a_second else 0)
            await asyncio.sleep(0.05)

    async def senders() -> None:
        await asyncio.gather(*(sender() for _ in range(count)))

    asyncio.run(senders())


def other_sites(place: tuple[str, int]) -> None:
    """Send WebSocket handshakes with the origin of another site, one after the other."""
    while True:
        with suppress(OSError), socket.create_connection(place) as opened:
            opened.sendall(ANOTHER_SITE)
            opened.recv(1)


def put_files(place: tuple[str, int]) -> None:
    """Upload twenty files of 100 MB."""
    for number in range(20):
        with suppress(OSError):
            HTTPConnection(*place).request("PUT", f"/_stcore/upload_file/session/{number}", bytes(100_000_000))


@contextmanager
def doing(function: Callable[..., None], *arguments: object) -> Iterator[None]:
    """Run a function in another process while the body runs."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    time.sleep(3)
    try:
        yield
    finally:
        process.kill()
        process.join()


def nothing(target: Target) -> Rows:
    """Measure the waits of a reader alone."""
    asyncio.run(moves(target))
    yield "nothing", asyncio.run(moves(target))


def sites(target: Target) -> Rows:
    """Measure the waits during handshakes that would make Streamlit ask another host."""
    with doing(other_sites, target.place):
        yield "handshakes of another site, one after the other", asyncio.run(moves(target))


def uploads(target: Target) -> Rows:
    """Measure the waits during uploads, which the server refuses."""
    before = target.server.memory()
    with doing(put_files, target.place):
        yield "20 uploads of 100 MB", asyncio.run(moves(target, least=SECONDS))
    yield "memory before and after them, MB", f"{before:,.0f}, {target.server.memory():,.0f}"


def messages(target: Target) -> Rows:
    """Measure the waits during messages that are large, that would become many objects, or that cannot be parsed."""
    for size in (16_000_000, 1_900_000, 60_000):
        message = BackMsg()
        widget = message.rerun_script.widget_states.widgets.add()
        events = [{"event": "events", "value": [{}] * (size // 3)}]
        widget.id, widget.json_trigger_value = PANEL, json.dumps(events, separators=(",", ":"))
        before = target.server.memory(alone=True)
        most = 0.0
        with doing(send, target.stream, message.SerializeToString(), 4, 1.0):
            waited = asyncio.run(moves(target))
            most = target.server.memory(alone=True)
        yield f"four connections that send messages of {size:,} bytes to the panel", waited
        yield "memory before and with them, MB", f"{before:,.0f}, {most:,.0f}"
    before = target.log.stat().st_size
    with doing(send, target.stream, b"\xff" * 1_000, 4, 40.0):
        yield "four connections that send what cannot be read", asyncio.run(moves(target))
    yield "bytes of the log for that", f"{target.log.stat().st_size - before:,}"


def floods(target: Target) -> Rows:
    """Measure the waits during floods of ordinary messages."""
    message = BackMsg()
    message.rerun_script.query_string = "vocab_size=21128"
    for count, a_second in ((5, 0.0), (5, 40.0), (20, 10.0)):
        rate = f"{a_second:.0f} times a second" if a_second else "without pause"
        with doing(send, target.stream, message.SerializeToString(), count, a_second):
            waited = asyncio.run(moves(target, least=SECONDS))
        yield f"{count} connections that ask for the page {rate} each", waited
    yield "afterwards", asyncio.run(moves(target))


def half(target: Target) -> Rows:
    """Measure the waits beside incomplete requests, and 15 seconds later."""
    with ExitStack() as stack:
        for _ in range(HALF):
            opened = stack.enter_context(socket.create_connection(target.place))
            opened.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        time.sleep(1)
        yield f"{HALF:,} requests half sent: who comes then", asyncio.run(moves(target))
        time.sleep(15)
        yield "15 seconds after", asyncio.run(moves(target))


def network(target: Target) -> Rows:
    """Count how many sessions of a class survive when its Wi-Fi fails for five seconds."""
    yield f"{CLASS} sessions lose the network for 5 s: that many find their session again", asyncio.run(_lose(target))


async def _lose(target: Target) -> str:
    readers: list[Session] = []
    async with AsyncExitStack() as stack:
        for number in range(CLASS):
            opened = await stack.enter_async_context(connection(target.server))
            readers.append(Session(number, "", opened, ours=True))
            await readers[-1].open()
            stack.callback(opened.transport.abort)
    await asyncio.sleep(5)
    returned = 0
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(connection(target.server, again=reader.id)) for reader in readers]
        for number, (reader, opened) in enumerate(zip(readers, sockets, strict=True)):
            again = Session(number, "", opened, ours=True)
            await again.open()
            returned += again.id == reader.id
    return f"{returned}"


def verify(target: Target) -> Rows:
    """Measure the waits when Verify's process hangs or dies."""
    asyncio.run(verified(target))
    for worker in workers(target.process):
        worker.suspend()
    yield "Verify's process hangs, and somebody waits for it", asyncio.run(beside_verify(target))
    for worker in workers(target.process):
        worker.kill()
    time.sleep(1)
    yield "it was killed: Verify, once", asyncio.run(verified(target))


def workers(process: psutil.Process) -> list[psutil.Process]:
    """The processes that build the real model."""
    return [child for child in process.children(recursive=True) if "bertcalc.processes.worker" in child.cmdline()]


async def verified(target: Target) -> str:
    """Return the wait, in milliseconds, of a reader who opens Verify with a model that is not cached."""
    began = time.perf_counter()
    async with connection(target.server) as opened:
        reader = Session(time.monotonic_ns() % 1000, "verify", opened, ours=True)
        await reader.open()
    return f"{1000 * (time.perf_counter() - began):,.0f}"


async def beside_verify(target: Target) -> str:
    """Measure the waits of a reader while another reader waits for Verify."""
    other = asyncio.create_task(verified(target))
    waited = await moves(target)
    if other.done():
        return "nobody waits"
    other.cancel()
    return waited


TRIALS = (nothing, sites, uploads, messages, floods, network, half, verify)


def main() -> None:
    """Print the table: median, p95 and longest wait in milliseconds, unless another unit is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = {trial.__name__: trial for trial in TRIALS}
    parser.add_argument("trials", nargs="*", metavar="trial", help=f"of {', '.join(names)}; all if none is named")
    chosen = parser.parse_args().trials or [*names]
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"there is no trial {unknown[0]}, only {', '.join(names)}")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        nowhere = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        proxy = f"http://127.0.0.1:{nowhere.getsockname()[1]}"
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, most))
        log = Path(folder) / "log"
        app = running_server(log, bound="0.0.0.0", http_proxy=proxy, https_proxy=proxy)
        url, process = stack.enter_context(app)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        address = urlsplit(url)
        place = address.hostname or "", address.port or 0
        target = Target(Server((url, process)), place, psutil.Process(process), log)
        asyncio.run(target.server.ready())
        for name in chosen:
            for label, waited in names[name](target):
                print(row(label, waited), flush=True)


if __name__ == "__main__":
    main()
