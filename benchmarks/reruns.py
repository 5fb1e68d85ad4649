"""CPU time per rerun beside another checkout: ``python -m benchmarks.reruns ../other --pages memory``."""

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.load import FLOOR, Server, Session, connection, row
from pages.ui.shell.navigation import PAGES
from tests.browser.launch import ROOT, running_server

MOVES = 10  # moves per turn
READERS = 8  # with models of their own, so that the server's caches hold few of their next models
WARM_UP = 30  # moves before measuring


async def measure(servers: Sequence[Server], page: str, turns: int) -> list[float]:
    """Return the CPU time of a rerun on each server in ms, from the median turn. The first server is the floor."""
    spent: list[list[float]] = [[] for _server in servers]
    async with AsyncExitStack() as stack:
        readers = []
        for number, server in enumerate(servers):
            sessions = []
            for reader in range(READERS):
                socket = await stack.enter_async_context(connection(server, reader))
                sessions.append(Session(reader, page, socket, ours=number > 0))
                await sessions[-1].open()
            readers.append(cycle(sessions))
            for _move in range(WARM_UP):
                await next(readers[-1]).move()
        for _turn in range(turns):
            for server, sessions_in_turn, times in zip(servers, readers, spent, strict=True):
                before = server.cpu()
                for _move in range(MOVES):
                    await next(sessions_in_turn).move()
                times.append(1000 * (server.cpu() - before) / MOVES)
    return [*map(median, spent)]


def main() -> None:
    """Measure the pages of the command line in both checkouts, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the root of the other checkout")
    parser.add_argument("--pages", nargs="+", default=[name or "parameters" for name in PAGES])
    parser.add_argument("--turns", type=int, default=6)
    options = parser.parse_args()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        places = ((FLOOR, ROOT), ("app.py", options.other), ("app.py", ROOT))
        servers = [
            Server(stack.enter_context(running_server(Path(folder) / f"{at}", script, root=root)))
            for at, (script, root) in enumerate(places)
        ]
        print(row("page", "one slider", "the other checkout", "this one", "ratio"))
        print("|---" * 5 + "|")
        for name in options.pages:
            floor, before, now = asyncio.run(measure(servers, "" if name == "parameters" else name, options.turns))
            print(row(name, f"{floor:.1f}", f"{before:.1f}", f"{now:.1f}", f"{now / before:.2f}"), flush=True)


if __name__ == "__main__":
    main()
