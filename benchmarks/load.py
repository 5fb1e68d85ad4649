"""Many sessions at once on the real server, over its WebSocket: ``python -m benchmarks.load``.

Every session has its own configuration and language, and moves a slider at random moments. It checks each answer: the
sizes in the sidebar, the language, and the total, if the page shows it, must belong to this session. The one-slider app
is loaded in the same way in the same run. Nothing leaves the loopback interface.

A move that is due before the previous one is answered is sent late, and its latency counts from its due time. A slow
server therefore cannot hide its latency by receiving fewer requests.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple
from urllib.parse import urlencode

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from benchmarks.models import ANY_MODEL, LAYERS, Model, OfAnyModel, OfSidebar, OneSlider, formula_of
from pages.ui.shell.i18n import LANGUAGES, catalogue
from pages.ui.shell.navigation import PAGES
from tests.browser.launch import running_server
from tests.component_data import sent_to

FLOOR = "benchmarks/one_slider.py"
SESSIONS = (1, 10, 50, 100, 200)
SECONDS = 4.0
LONGER = 5  # factor on the duration with the most sessions, so that a growing queue becomes visible
MEAN_PAUSE = 5.0  # seconds between the moves of one session in a class
LEAST_PAUSE = 0.5
TOTAL_PAGES = ("", "layers", "sweep", ANY_MODEL, "verify", "tools")  # the pages that show the total
LONGEST = 120.0  # seconds after which a waiting session counts as starved
FORGOTTEN = 125.0  # seconds after which Streamlit has discarded a session that left


def model_of(number: int, page: str) -> Model:
    """Return the model of reader ``number`` on a page."""
    vocab_size, layers = 20_000 + number, 1 + number % 24
    if page != ANY_MODEL:
        return OfSidebar(vocab_size, layers)
    formula = formula_of("gpt2", "GPT2LMHeadModel")
    return OfAnyModel(formula, {"vocab_size": vocab_size, "n_layer": layers}, "n_layer", LAYERS)


class Session:
    """One reader: an open WebSocket with its own model and language.

    ``ours`` is False for the floor, an app with one slider, one language and no link. ``suffix`` is appended to the
    link. By default, ``model`` follows from the reader's number.
    """

    patience = LONGEST

    def __init__(
        self,
        number: int,
        page: str,
        socket: ClientConnection,
        *,
        ours: bool,
        suffix: str = "",
        model: Model | None = None,
    ) -> None:
        self.page, self.ours, self._suffix = page, ours, suffix
        self.language = LANGUAGES[number % len(LANGUAGES)]
        self.model = model or (model_of(number, page) if ours else OneSlider())
        self.random = Random(number)
        self._socket = socket
        self.id = ""  # id of Streamlit's session
        self._page_hash = ""
        self._widgets: dict[str, WidgetState] = {}
        self._slider = ""  # id of the floor's slider
        self._panel = ""  # id of bertcalc's panel
        self._program = ""  # id of the program for live numbers, which a browser reports as loaded
        self._events = 0
        self.received = 0  # bytes of the last answer
        self._first_page = ""

    @property
    def total(self) -> str:
        """The total that the page should show."""
        return f"{self.model.count():,}"

    async def open(self) -> None:
        """Open the link to the page, which causes the first run."""
        await self._run()

    async def move(self) -> None:
        """Move the slider to another stop."""
        await self._move_to(self._next_place())

    async def drag(self, seconds: float) -> float:
        """Drag the slider for ``seconds``. Return the milliseconds from its release to the answer.

        During a drag, the browser computes the page and sends nothing. Streamlit's own slider sends nothing either.
        """
        await asyncio.sleep(seconds)
        began = time.perf_counter()
        await self.move()
        return 1000 * (time.perf_counter() - began)

    def _next_place(self) -> int:
        present = self.model.size(self.model.field)
        return self.random.choice([place for place in self.model.places if place != present])

    async def _move_to(self, place: int) -> None:
        self.model.sizes[self.model.field] = place
        if not self.ours:
            self._widgets[self._slider].double_array_value.data[:] = [place]
            await self._run()
            return
        self._events += 1
        value = {"do": "move", "field": self.model.field, "value": place}
        value |= {"number": self._events, "program": self._program}
        event = WidgetState(id=f"$$STREAMLIT_INTERNAL_KEY_{self._panel}__events")
        event.json_trigger_value = json.dumps([{"event": "events", "value": [value]}])
        self._widgets[event.id] = event
        await self._run()
        del self._widgets[event.id]

    async def see_total(self) -> None:
        """Go to a page that shows the total, unless the current page shows it."""
        if self.ours and self.page not in TOTAL_PAGES:
            self.page, self._page_hash = "", self._first_page
            self._widgets.clear()
            await self._run()

    async def _run(self) -> None:
        message = BackMsg()
        state = message.rerun_script
        if self.ours:
            state.query_string = urlencode(self.model.link() | {"lang": self.language}) + self._suffix
        state.page_script_hash = self._page_hash
        state.page_name = "" if self._page_hash else self.page
        state.context_info.color_scheme = "light"
        state.widget_states.widgets.extend(self._widgets.values())
        async with asyncio.timeout(self.patience):
            await self._socket.send(message.SerializeToString())
            self._check(await self._answer())

    async def _answer(self) -> list[bytes]:
        """Receive the messages of a run until the script has finished."""
        answer: list[bytes] = []
        self.received = 0
        while True:
            payload = await self._socket.recv(decode=False)
            self.received += len(payload)
            answer.append(payload)
            message = ForwardMsg.FromString(payload)
            match message.WhichOneof("type"):
                case "new_session":
                    self._page_hash = message.new_session.page_script_hash
                    self.id = message.new_session.initialize.session_id
                case "navigation":
                    self._page_hash = message.navigation.page_script_hash
                    self._first_page = next(page.page_script_hash for page in message.navigation.app_pages)
                    names = {page.page_name for page in message.navigation.app_pages}
                    assert catalogue(self.language).gettext("Step by step") in names, (self.language, names)
                case "delta":
                    self._notice(message.delta.new_element)
                case "script_finished" if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    answer.clear()
                case "script_finished":
                    assert message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY, message
                    return answer

    def _notice(self, element: Element) -> None:
        """Record the state of each control, which a browser would send back."""
        match element.WhichOneof("type"):
            case "slider":
                slider = element.slider
                state = self._widgets.setdefault(slider.id, WidgetState(id=slider.id))
                if slider.set_value or not state.double_array_value.data:
                    state.double_array_value.data[:] = slider.value if slider.set_value else slider.default
                if slider.label.startswith("num_hidden_layers"):
                    self._slider = slider.id
            case "bidi_component" if element.bidi_component.component_name == "bertcalc_panel":
                self._panel = element.bidi_component.id
                for field in sent_to(element.bidi_component)["fields"]:
                    wanted = self.model.size(field["name"])
                    assert wanted in (field["value"], None), (field["name"], field["value"], self.model.link())
            case "bidi_component" if element.bidi_component.component_name == "bertcalc_page_end":
                self._program = sent_to(element.bidi_component)["live"]["program"]
            case "number_input":
                number = element.number_input
                state = self._widgets.setdefault(number.id, WidgetState(id=number.id))
                source: Literal["value", "default"] = "value" if number.set_value else "default"
                if not number.HasField(source):  # an empty field
                    state.ClearField("int_value")
                elif number.set_value or not state.HasField("int_value"):
                    state.int_value = int(getattr(number, source))
            case "selectbox":
                box = element.selectbox
                state = self._widgets.setdefault(box.id, WidgetState(id=box.id))
                if box.set_value:
                    state.string_value = box.raw_value
                elif not state.string_value and box.HasField("default"):  # otherwise nothing is chosen
                    state.string_value = box.options[box.default]
            case "exception":
                raise AssertionError(element.exception.message)

    def _check(self, answer: Iterable[bytes]) -> None:
        """Assert that the total is in the answer, if the page shows it."""
        if not self.ours or self.page in TOTAL_PAGES:
            total = self.total.encode()
            assert any(total in payload for payload in answer), f"{self.total} is not on the page {self.page!r}"


class Server:
    """One or more servers of the same app, with the processes that they start.

    ``running`` holds (address, process id) pairs.
    """

    def __init__(self, *running: tuple[str, int]) -> None:
        self.streams = [f"ws{url.removeprefix('http')}/_stcore/stream" for url, _process in running]
        self._servers = [psutil.Process(process) for _url, process in running]

    def cpu(self) -> float:
        """Return the seconds of CPU time used so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self._processes())

    def memory(self, *, alone: bool = False) -> float:
        """Return the resident memory in MB. With ``alone``, processes that the servers started do not count."""
        return sum(process.memory_info().rss for process in (self._servers if alone else self._processes())) / 1e6

    async def ready(self) -> None:
        """Wait until the servers are idle."""
        worked = -1.0
        while self.cpu() - worked > 0.05:
            worked = self.cpu()
            await asyncio.sleep(1)

    def _processes(self) -> list[psutil.Process]:
        return [process for server in self._servers for process in (server, *server.children(recursive=True))]


class Load(NamedTuple):
    """Measurements of a page with a fixed number of sessions: times in milliseconds, and the client's share of a core.

    ``sent`` is the kB that the WebSocket transfers for a visit and for a move, without files.
    """

    reruns_per_second: float
    latencies: list[float]
    cpu_per_rerun: float
    client_share: float
    sent: tuple[float, float]

    def latency(self, percent: int) -> float:
        """Return a percentile of the latencies in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


class Loads(NamedTuple):
    """A page under load, keyed by the number of sessions.

    The last sessions arrive at once: ``opening`` is the seconds until all have the page. ``memory`` is in MB with all
    sessions.
    """

    loads: dict[int, Load]
    opening: float
    memory: float


async def load(
    server: Server, page: str, seconds: Mapping[int, float], *, ours: bool = True, drag: float = 0.0
) -> Loads:
    """Load a page with growing numbers of sessions.

    ``seconds`` maps the number of sessions to the duration. The page "mixed" means all pages at once. With ``drag``,
    each move is a drag of that many seconds, and its latency counts from the release.
    """
    everywhere = [*PAGES]
    sessions: list[Session] = []
    loads = {}
    async with AsyncExitStack() as stack:
        for count in sorted(seconds):
            began = time.perf_counter()
            arrivals = range(len(sessions), count)
            sockets = await asyncio.gather(
                *(stack.enter_async_context(connection(server, number)) for number in arrivals)
            )
            for number, socket in zip(arrivals, sockets, strict=True):
                # Every page is loaded in both languages on every server: see ``Session`` and ``connection``.
                address = everywhere[number // (2 * len(server.streams)) % len(everywhere)] if page == "mixed" else page
                sessions.append(Session(number, address, socket, ours=ours))
            await asyncio.gather(*(session.open() for session in sessions[arrivals.start :]))
            opened = time.perf_counter() - began
            if not arrivals.start:  # fills the caches, which is not part of a rerun
                await asyncio.gather(*(session.move() for session in sessions[: 2 * len(server.streams)]))
            loads[count] = await _moves(server, sessions, seconds[count], drag)
        memory = server.memory()
        await asyncio.gather(*(session.see_total() for session in sessions))
    return Loads(loads, opened, memory)


def connection(server: Server, number: int = 0, again: str = "") -> connect:
    """Open a WebSocket as a browser does, without compression, which is Streamlit's default.

    Sessions are spread over the servers in pairs, one in each language. ``again`` is the id of a session that lost its
    connection.
    """
    return connect(
        server.streams[number // 2 % len(server.streams)],
        subprotocols=[Subprotocol(name) for name in (["streamlit", "none", again] if again else ["streamlit"])],
        compression=None,
        max_size=None,
        open_timeout=LONGEST,  # a busy machine may need more than the default of 10 s
    )


async def _moves(server: Server, sessions: Sequence[Session], seconds: float, drag: float) -> Load:
    # A few sessions move more often: otherwise there would be too few moves to measure.
    pause = min(MEAN_PAUSE, max(LEAST_PAUSE, len(sessions) / 10))
    latencies: list[float] = []
    visit = sessions[-1].received
    began, cpu, own_cpu = time.perf_counter(), server.cpu(), time.process_time()

    async def use(session: Session) -> None:
        due = began + session.random.expovariate(1 / pause)
        while due < began + seconds:
            await asyncio.sleep(due - time.perf_counter())
            if drag:
                latencies.append(await session.drag(drag))
            else:
                await session.move()
                latencies.append(1000 * (time.perf_counter() - due))
            due += session.random.expovariate(1 / pause)
            # Too late: no reader would wait for it any more.
            if not drag and due < began + seconds < time.perf_counter():
                latencies.append(1000 * (time.perf_counter() - due))
                return
            if time.perf_counter() > began + seconds:
                return

    await asyncio.gather(*map(use, sessions))
    passed = time.perf_counter() - began
    count = max(1, len(latencies))
    spent = 1000 * (server.cpu() - cpu) / count
    sent = (visit / 1000, sessions[-1].received / 1000)
    return Load(len(latencies) / passed, latencies or [0.0], spent, (time.process_time() - own_cpu) / passed, sent)


def row(*cells: str) -> str:
    """Format a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _table(counts: Sequence[int], rows: dict[str, Loads], cell: Callable[[Load, int], str], opened: bool) -> str:
    """Format a Markdown table with a row for each page and a column for each number of sessions."""
    arrivals = counts[-1] - (counts[-2] if len(counts) > 1 else 0)
    titles = ["sessions", *(f"{count:,}" for count in counts), *([f"{arrivals} come at once, s"] if opened else [])]
    lines = [row(*titles), "|---" * len(titles) + "|"]
    for name, loads in rows.items():
        last = [f"{loads.opening:.1f}"] if opened else []
        lines.append(row(name, *(cell(loads.loads[count], count) for count in counts), *last))
    return "\n".join(lines)


def report(counts: Sequence[int], floor: Loads, rows: dict[str, Loads], memory: dict[str, float]) -> str:
    """Format the tables for benchmarks/README.md."""
    rows = {"a slider and a number": floor, **rows}

    def latency(load: Load, _count: int) -> str:
        return " / ".join(f"{load.latency(percent):,.0f}" for percent in (50, 95, 99))

    def cpu(load: Load, count: int) -> str:
        return f"{load.cpu_per_rerun:.0f} ({load.cpu_per_rerun / floor.loads[count].cpu_per_rerun:.1f} x)"

    def rate(load: Load, _count: int) -> str:
        return f"{load.reruns_per_second:.1f} ({load.client_share:.0%})"

    def sent(load: Load, _count: int) -> str:
        return " / ".join(f"{kilobytes:,.0f}" for kilobytes in load.sent)

    amounts = [row(when, f"{amount:,.0f}") for when, amount in memory.items()]
    return "\n\n".join(
        [
            "Milliseconds from a move to the script's end: median / p95 / p99.",
            _table(counts, rows, latency, opened=True),
            "Server CPU for each rerun in milliseconds, and how many times the one-slider app's.",
            _table(counts, rows, cpu, opened=False),
            "Reruns per second, and how much of one core the load generator took.",
            _table(counts, rows, rate, opened=False),
            "Kilobytes over the WebSocket for a visit / a move.",
            _table(counts, rows, sent, opened=False),
            "\n".join([row("memory of the server", "MB"), "|---|---|", *amounts]),
        ]
    )


async def come(server: Server, page: str, count: int) -> str:
    """Let ``count`` readers arrive at once. Return the seconds until 50 %, 95 % and all of them have the page."""
    waited: list[float] = []
    began = time.perf_counter()

    async def arrive(number: int, stack: AsyncExitStack) -> None:
        socket = await stack.enter_async_context(connection(server, number))
        await Session(number, page, socket, ours=True).open()
        waited.append(time.perf_counter() - began)

    async with AsyncExitStack() as stack:
        await asyncio.gather(*(arrive(number, stack) for number in range(count)))
    return " / ".join(f"{waited[-1 - count * late // 100]:.1f}" for late in (50, 5, 0))


async def cold(app: Server, page: str, count: int) -> str:
    """Return a row with the waits on a server that has just started, and once it is idle."""
    first = await come(app, page, count)
    await app.ready()
    return row(page or "parameters", first, await come(app, page, count))


async def measure(
    app: Server, floor: Server, names: Sequence[str], seconds: Mapping[int, float], *, drag: float, left: bool
) -> str:
    """Load every page in turn and return the report. Verify and "mixed" (all pages at once) come last.

    With ``left``, the memory after all sessions have left is measured as well, which takes some minutes.
    """
    await app.ready()
    memory = {"when it is ready": app.memory()}
    rows: dict[str, Loads] = {}
    least = await load(floor, "", seconds, ours=False, drag=drag)
    for name in sorted(names, key=lambda name: name in ("verify", "mixed")):
        if name == "verify":
            await _left(app, memory, "without Verify", rows, waits=left)
        rows[name or "parameters"] = await load(app, name, seconds, drag=drag)
    await _left(app, memory, "with Verify" if "verify" in names else "without Verify", rows, waits=left)
    return report(sorted(seconds), least, rows, memory)


async def _left(app: Server, memory: dict[str, float], when: str, rows: dict[str, Loads], *, waits: bool) -> None:
    """Record the memory after the server has discarded the sessions that left, which it does when a reader arrives."""
    if rows:
        most = max(rows.values(), key=lambda loads: loads.memory)
        memory[f"{when}, most with {max(most.loads)} sessions"] = most.memory
    if rows and waits:
        await asyncio.sleep(FORGOTTEN)
        await load(app, "", {2 * len(app.streams): 0})
        memory[f"{when}, after all have left"] = app.memory()


def main() -> None:
    """Run the benchmark with the command line's options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, nargs="+", default=SESSIONS)
    parser.add_argument("--pages", nargs="+", default=[name or "parameters" for name in PAGES] + ["mixed"])
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for each number; {LONGER} x for the most")
    parser.add_argument("--drag", type=float, default=0.0, help="make each move a drag of so many seconds")
    parser.add_argument("--left", action="store_true", help="measure the memory after all have left, too")
    parser.add_argument("--processes", type=int, default=1, help="servers of the app, among which sessions are spread")
    parser.add_argument(
        "--cold", action="store_true", help="only measure the waits of readers who arrive while a server starts"
    )
    parser.add_argument("--quick", action="store_true", help="1 and 10 sessions on two pages, 2 seconds each")
    options = parser.parse_args()
    if options.quick:
        options.sessions, options.pages, options.seconds = (1, 10), ["parameters", "layers"], 2.0
    names = ["" if name == "parameters" else name for name in options.pages]
    seconds = dict.fromkeys(options.sessions, options.seconds) | {max(options.sessions): LONGER * options.seconds}
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder)
        if options.cold:
            for name in names:
                with running_server(path / "cold") as starting:
                    print(asyncio.run(cold(Server(starting), name, max(options.sessions))))
            return
        app = [stack.enter_context(running_server(path / f"app{number}")) for number in range(options.processes)]
        floor = stack.enter_context(running_server(path / "floor", FLOOR))
        print(asyncio.run(measure(Server(*app), Server(floor), names, seconds, drag=options.drag, left=options.left)))


if __name__ == "__main__":
    main()
