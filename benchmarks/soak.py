"""Hours of use in half an hour: ``python -m benchmarks.soak --minutes 30 --sessions 20``.

Each reader opens a page with a model and a language, moves a slider a few times at random moments, leaves, and comes
back with another model. Most readers open any page with a preset of any family. Some open Any model with a class that
has a shipped formula. One in ten has a class discovered, and one in twenty leaves during the discovery. As in
benchmarks/load.py, every answer is checked: its sizes, language and total must belong to the reader's model.

At the end, the log must have no tracebacks, and no reader may have waited while the server worked for many others. The
server's memory must not have grown after the first third of the time, in which all pages are opened and caches filled.
Once all readers have left, no process that the server started and no open file may remain. ``--pages explain`` sends
all readers to the named pages.
"""

import argparse
import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil
from streamlit.proto.Element_pb2 import Element

from benchmarks.load import FORGOTTEN, Server, Session, connection, row
from benchmarks.models import ANY_MODEL, LAYERS, Model, OfAnyModel, OfSidebar, formula_of
from bertcalc.config import ConfigError
from bertcalc.discover.results.shipped import shipped_classes
from bertcalc.discover.results.size_steps import ranked, stops
from bertcalc.families.presets import PRESETS
from bertcalc.processes.worker import IDLE
from pages.ui.shell.i18n import catalogue
from pages.ui.shell.navigation import PAGES
from tests.browser.launch import running_server

MOST_MOVES = 12
MEAN_PAUSE = 3.0  # seconds between the moves of one reader
GROWTH = 1.05  # limit on the ratio of the last third's median memory to the second third's
MORE_FILES = 5  # limit on additional open files at the end
TURN = 2.0  # limit on the server's CPU seconds per reader until a reader has an answer: four of Explain's moves
# Classes that are discovered in seconds, with their field for the number of layers.
DISCOVERED = {
    ("gpt2", "GPT2LMHeadModel"): "n_layer",
    ("bloom", "BloomForCausalLM"): "n_layer",
    ("llama", "LlamaForCausalLM"): "num_hidden_layers",
    ("opt", "OPTForCausalLM"): "num_hidden_layers",
    ("roberta", "RobertaForMaskedLM"): "num_hidden_layers",
}
# The messages that a reader may get instead of a formula.
REFUSALS = (
    "The server is busy with other users' models: try again in a moment.",
    "Building this model repeatedly takes longer than {seconds} seconds: no formula was found.",
)


class Reader(Session):
    """A reader who waits as long as a busy machine needs. Only the server's CPU time until the answer is checked."""

    patience = 600.0


class Discovering(Reader):
    """A reader who waits for a formula, or for a message that refuses one."""

    refused = ""

    def _notice(self, element: Element) -> None:
        if element.WhichOneof("type") == "alert":
            self.refused = element.alert.body
        super()._notice(element)

    def _check(self, answer: Iterable[bytes]) -> None:
        translate = catalogue(self.language).gettext
        for refusal in REFUSALS:
            if re.fullmatch(".*".join(map(re.escape, re.split(r"{\w+}", translate(refusal)))), self.refused):
                self.refused = refusal
                return
        assert not self.refused, (self.refused, self.model.link())
        super()._check(answer)


class State(NamedTuple):
    """A sample of the server; memory is in MB.

    ``workers`` counts the server's child processes.
    """

    memory: float
    workers: int
    workers_memory: float
    files: int
    threads: int


def state(server: psutil.Process) -> State:
    """Return the current state. Child processes that end meanwhile are not counted."""
    taken = []
    for process in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            taken.append(process.memory_info().rss / 1e6)
    return State(server.memory_info().rss / 1e6, len(taken), sum(taken), server.num_fds(), server.num_threads())


class Soak:
    """Readers who use a server until the time is up, and the measurements."""

    def __init__(self, server: tuple[str, int], minutes: float, pages: Sequence[str]) -> None:
        self.server, self.process = Server(server), psutil.Process(server[1])
        self.pages = pages
        self.seconds = 60 * minutes
        self.until = time.monotonic() + self.seconds
        self.waited: list[float] = []  # seconds from each move to its answer
        self.worked: list[float] = []  # the server's CPU seconds until each answer, which other programs do not affect
        self.done: Counter[str] = Counter()
        self.states: list[State] = []

    async def run(self, sessions: int, seed: int) -> bool:
        """Run the readers.

        Return whether memory stayed constant, no process or file is left, and no reader waited too long.
        """
        await self.server.ready()
        first = state(self.process)
        watching = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._read(Random(seed + number)) for number in range(sessions)))
        await watching
        await asyncio.sleep(max(FORGOTTEN, IDLE + 10))
        async with connection(self.server) as socket:  # the server discards old sessions when a reader arrives
            await Session(0, "", socket, ours=True).open()
        await asyncio.sleep(5)
        return self._report(first, state(self.process)) and max(self.worked) <= TURN * sessions

    async def _read(self, reader: Random) -> None:
        """Simulate one reader, who comes back again and again."""
        while time.monotonic() < self.until:
            number, draw = reader.randrange(10**6), reader.random() if ANY_MODEL in self.pages else 1.0
            if draw < 0.15:
                await self._discover(reader, number, leaves=draw < 0.05)
            elif draw < 0.25:
                await self._visit(reader, number, ANY_MODEL, any_model(reader))
            else:
                page = reader.choice(self.pages)
                await self._visit(reader, number, page, None if page == ANY_MODEL else of_sidebar(reader))

    async def _visit(self, reader: Random, number: int, page: str, model: Model | None) -> None:
        async with connection(self.server) as socket:
            session = Reader(number, page, socket, ours=True, model=model)
            await session.open()
            self.done[page or "parameters"] += 1
            await self._move(reader, session)

    async def _move(self, reader: Random, session: Session) -> None:
        for _move in range(reader.randint(1, MOST_MOVES)):
            await asyncio.sleep(reader.expovariate(1 / MEAN_PAUSE))
            began, worked = time.monotonic(), sum(self.process.cpu_times()[:2])
            await session.move()
            self.waited.append(time.monotonic() - began)
            self.worked.append(sum(self.process.cpu_times()[:2]) - worked)

    async def _discover(self, reader: Random, number: int, *, leaves: bool) -> None:
        kind, cls = reader.choice([*DISCOVERED])
        field = DISCOVERED[kind, cls]
        fields = {"vocab_size": reader.randrange(1_000, 100_000), field: reader.randint(2, 12)}
        model = OfAnyModel(formula_of(kind, cls), {}, field, LAYERS, fields)
        async with connection(self.server) as socket:
            session = Discovering(number, ANY_MODEL, socket, ours=True, model=model)
            if leaves:
                with suppress(TimeoutError):
                    async with asyncio.timeout(reader.expovariate(1 / MEAN_PAUSE)):
                        await session.open()
                self.done["left while it was discovered"] += 1
                return
            await session.open()
            self.done[session.refused or "discovered"] += 1
            if not session.refused:
                await self._move(reader, session)

    async def _watch(self) -> None:
        """Print and record the state of the server thirty times."""
        titles = ("minute", "server, MB", "processes", "theirs, MB", "open files", "threads", "moves")
        print(row(*titles), "|---" * len(titles) + "|", sep="\n")
        began = time.monotonic()
        while time.monotonic() < self.until:
            await asyncio.sleep(self.seconds / 30)
            sample = state(self.process)
            self.states.append(sample)
            figures = ((time.monotonic() - began) / 60, *sample, len(self.waited))
            print(row(*(f"{figure:,.0f}" for figure in figures)), flush=True)

    def _report(self, first: State, last: State) -> bool:
        third = len(self.states) // 3
        second, rest = self.states[third : 2 * third], self.states[2 * third :]
        before, after = (median(sample.memory for sample in states) for states in (second, rest))
        most = max(sample.workers_memory for sample in self.states)
        print(
            f"\n{len(self.waited):,} moves, half of them within {median(self.waited):.2f} s, the slowest "
            f"{max(self.waited):.1f} s; until then the server worked for {median(self.worked):.2f} s of CPU, "
            f"{max(self.worked):.1f} s at most\n"
            f"the server alone: {first.memory:,.0f} MB when it was ready, {before:,.0f} MB in the second third of the "
            f"time, {after:,.0f} MB in the last; its processes: {most:,.0f} MB at most\n"
            f"when it was ready: {first}\nwhen all had left: {last}\n{dict(self.done.most_common())}"
        )
        return after <= GROWTH * before and last.workers == 0 and last.files <= first.files + MORE_FILES


def of_sidebar(reader: Random) -> Model:
    """Return a random preset with another valid vocabulary size and number of layers."""
    while True:
        model = OfSidebar(reader.randrange(20_000, 200_000), reader.choice(LAYERS), reader.choice([*PRESETS]))
        with suppress(ConfigError):
            model.count()
            return model


def any_model(reader: Random) -> Model:
    """Return a class with a shipped formula, and another value of its most important size."""
    while True:
        formula = formula_of(*reader.choice([*shipped_classes()]))
        if formula.unexplained:
            continue
        field = ranked(formula)[0]
        places = stops(formula, field, {})
        if len(places) > 1:
            return OfAnyModel(formula, {field: reader.choice(places)}, field, places)


def tracebacks(log: str) -> Sequence[str]:
    """Return the last line of each traceback."""
    return [
        next((line for line in after.splitlines()[1:] if line[:1].strip()), "") for after in log.split("Traceback")[1:]
    ]


def main() -> None:
    """Start a server, run the readers, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pages", nargs="+", default=[name or "parameters" for name in PAGES])
    options = parser.parse_args()
    pages = ["" if name == "parameters" else name for name in options.pages]
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        try:
            with running_server(log) as running:  # fails at the end if the log has a traceback
                steady = asyncio.run(Soak(running, options.minutes, pages).run(options.sessions, options.seed))
        except BaseException:
            print(log.read_text()[-20_000:], Counter(tracebacks(log.read_text())))
            raise
    raise SystemExit(not steady)


if __name__ == "__main__":
    main()
