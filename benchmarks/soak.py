"""Hours of use in half of one: ``python -m benchmarks.soak --minutes 30 --sessions 20``.

So many readers come to pages at random, each time with another configuration, move a slider a few times at random
moments, and leave; then they come again. Every answer is checked as in benchmarks/load.py: the numbers, the language
and the total are the reader's own. At the end the log has to be free of tracebacks, and the memory of the server may
not have grown after the first third of the time, in which all pages were opened and caches filled.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.load import Server, Session, connection, pages
from tests.browser.launch import running_server

MOST_MOVES = 12
MEAN_PAUSE = 3.0  # seconds between the moves of one reader
GROWTH = 1.05  # the median of the last third to that of the second


async def read(server: Server, reader: Random, until: float, moves: list[float]) -> None:
    """One reader, who comes again and again."""
    addresses = pages()
    while time.monotonic() < until:
        async with connection(server) as socket:
            session = Session(reader.randrange(10**6), reader.choice(addresses), socket, own=True)
            await session.open()
            for _move in range(reader.randint(1, MOST_MOVES)):
                await asyncio.sleep(reader.expovariate(1 / MEAN_PAUSE))
                began = time.monotonic()
                await session.move()
                moves.append(time.monotonic() - began)


async def watch(server: Server, until: float, seconds: float, moves: Sequence[float]) -> list[float]:
    """Print the memory of the server in MB, and keep it."""
    memory = []
    while time.monotonic() < until:
        await asyncio.sleep(seconds)
        memory.append(server.memory())
        print(f"{len(memory) * seconds / 60:6.1f} min  {memory[-1]:5.0f} MB  {len(moves):,} moves", flush=True)
    return memory


async def soak(server: Server, sessions: int, minutes: float, seed: int) -> bool:
    """Whether the memory stays as it is after the first third of the time."""
    moves: list[float] = []
    until = time.monotonic() + 60 * minutes
    readers = [read(server, Random(seed + number), until, moves) for number in range(sessions)]
    watching = asyncio.create_task(watch(server, until, minutes * 60 / 30, moves))
    await asyncio.gather(*readers)
    memory = await watching
    third = len(memory) // 3
    before, after = median(memory[third : 2 * third]), median(memory[2 * third :])
    print(
        f"{len(moves):,} moves, the slowest {max(moves):.1f} s; memory {before:,.0f} MB in the second third of the "
        f"time, {after:,.0f} MB in the last"
    )
    return after <= GROWTH * before


def main() -> None:
    """Start a server, use it, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    said = parser.parse_args()
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        try:
            with running_server(log) as running:  # which looks for tracebacks in the log at the end
                steady = asyncio.run(soak(Server(running), said.sessions, said.minutes, said.seed))
        except BaseException:
            print(log.read_text())
            raise
    raise SystemExit(not steady)


if __name__ == "__main__":
    main()
