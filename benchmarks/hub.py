"""Four readers at once read repositories that are made to block the server: ``python -m benchmarks.hub``.

Meanwhile another reader moves the slider on Parameters. The Hub is a server on this machine.
"""

import asyncio
import json
import multiprocessing
import time
from contextlib import AsyncExitStack, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from streamlit.proto.Element_pb2 import Element
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.load import Server, Session, connection
from tests.browser.launch import running_server
from tests.hub.hub_server import endless_body, serving, slow_body, slow_headers

READERS = 4
QUIET = 10.0  # seconds of moves before the others read from the Hub
PAUSE = 0.1  # seconds between two moves
# The repositories. Every reader reads each of them completely.
MODELS = {
    "shards": "20 shards of 55,000 tensors",
    "largest": "one file of 4 MB, 60,000 tensors",
    "headers": "headers that come slowly, for ever",
    "body": "a body that comes slowly",
    "endless": "a body without an end",
}


class Asking(Session):
    """A reader who reads models from the Hub on the Bring anything page."""

    button = ""

    def __init__(self, number: int, *rest: object, name: str) -> None:
        self.alerts: list[str] = []
        super().__init__(2 * number, "bring", *rest, ours=True, suffix=f"&bring=hub&repo_id=some/{name}")  # type: ignore[arg-type]

    async def ask(self) -> tuple[float, str]:
        """Press the button. Return the seconds until the answer, and its text."""
        self.alerts.clear()
        self._widgets[self.button] = WidgetState(id=self.button, trigger_value=True)
        began = time.perf_counter()
        with suppress(TimeoutError):
            await self._run()
        del self._widgets[self.button]
        return time.perf_counter() - began, " ".join(self.alerts)

    def _notice(self, element: Element) -> None:
        super()._notice(element)
        match element.WhichOneof("type"):
            case "button" if element.button.icon == ":material/download:":
                self.button = element.button.id
            case "alert":
                self.alerts.append(element.alert.body.replace("\\", ""))


def shard(number: int, tensors: int) -> bytes:
    """Return a safetensors file of tensors without elements."""
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({f"{number}.{tensor}": empty for tensor in range(tensors)}, separators=(",", ":")).encode()
    return len(header).to_bytes(8, "little") + header


def serve(folder: Path, address: Connection) -> None:
    """Serve the Hub until the parent process sends a message. Runs in a separate process."""
    for name in MODELS:
        (folder / "some" / name).mkdir(parents=True)
        (folder / "some" / name / "config.json").write_text('{"architectures": ["BertModel"]}')
    names = [f"{number}.safetensors" for number in range(20)]
    for number, name in enumerate(names):
        (folder / "some" / "shards" / name).write_bytes(shard(number, 55_000))
    index = json.dumps({"weight_map": {name: name for name in names}})
    (folder / "some" / "shards" / "model.safetensors.index.json").write_text(index)
    (folder / "some" / "largest" / "model.safetensors").write_bytes(shard(1, 60_000))
    with serving(folder) as hub:
        hub.written = {"some/headers": slow_headers, "some/body": slow_body, "some/endless": endless_body}
        address.send(hub.url)
        address.recv()


async def measure(server: Server) -> None:
    """Print the waits of the reader who moves (median / p95 / longest), and the memory of the server process."""
    await server.ready()
    async with AsyncExitStack() as stack:
        mover = Session(0, "", await stack.enter_async_context(connection(server)), ours=True)
        await mover.open()
        await _moves(server, mover, asyncio.create_task(asyncio.sleep(QUIET)), "nobody reads")
        for name, description in MODELS.items():
            sockets = [await stack.enter_async_context(connection(server)) for _reader in range(READERS)]
            readers = [Asking(number, socket, name=name) for number, socket in enumerate(sockets)]
            await asyncio.gather(*(reader.open() for reader in readers))
            asked = asyncio.gather(*(reader.ask() for reader in readers))
            await _moves(server, mover, asked, description)
            for seconds, text in sorted(await asked):
                print(f"    {seconds:5.1f} s  {text[:120]}", flush=True)
            await asyncio.gather(*(socket.close() for socket in sockets))


async def _moves(server: Server, mover: Session, until: "asyncio.Future[Any]", label: str) -> None:
    waited, memory = [], server.memory(alone=True)
    while not until.done():
        began = time.perf_counter()
        await mover.move()
        waited.append(1000 * (time.perf_counter() - began))
        memory = max(memory, server.memory(alone=True))
        await asyncio.sleep(PAUSE)
    waited.sort()
    p95 = waited[len(waited) * 95 // 100]
    print(f"{label}: {median(waited):,.0f} / {p95:,.0f} / {waited[-1]:,.0f} ms; {memory:,.0f} MB", flush=True)


def main() -> None:
    """Start the Hub and a server that reads from it, and measure the waits."""
    ours, theirs = multiprocessing.Pipe()
    with TemporaryDirectory() as folder:
        hub = multiprocessing.Process(target=serve, args=(Path(folder) / "hub", theirs))
        hub.start()
        try:
            with running_server(Path(folder) / "log", HF_ENDPOINT=ours.recv(), HF_HUB_OFFLINE="0") as running:
                asyncio.run(measure(Server(running)))
        finally:
            ours.send(None)
            hub.join()


if __name__ == "__main__":
    main()
