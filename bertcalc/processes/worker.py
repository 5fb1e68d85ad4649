"""Run functions that need too much time or memory for the server in a separate process.

Importing PyTorch is slow and needs a lot of memory. With a separate process, only the sessions that need PyTorch wait,
and its memory is freed after the process has been idle for a while.
"""

import atexit
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_Answer = tuple[int, Any, Exception | None]  # number of the call, result, exception


class _Progress(NamedTuple):
    """A progress report of a running function, sent through the same queue as results."""

    report: Any


IDLE = 120.0  # seconds without work after which the process ends
LIMIT = 60.0  # maximum number of seconds that a caller waits, including the time for earlier calls
LOOK = 0.1  # seconds between two calls of ``wanted``
_ROOT = Path(__file__).parents[2]
_STOPPING = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGKILL", 9))  # signals with which other processes stop it
_OUT_OF_TIME = getattr(signal, "SIGXCPU", 24)
# Files with a line "oom_kill COUNT", for the whole machine and for this container.
_MEMORY_EVENTS = (Path("/proc/vmstat"), Path("/sys/fs/cgroup/memory.events"))


class SlowError(Exception):
    """The worker did not return a result in time."""


class StoppedError(Exception):
    """The process ended without a result.

    If ``from_outside`` is true, another process stopped it, and another attempt may succeed. Otherwise it crashed, or
    Linux killed it because it ran out of memory or CPU time (``late``).
    """

    def __init__(self, *, from_outside: bool = False, late: bool = False) -> None:
        super().__init__()
        self.from_outside, self.late = from_outside, late


class Worker:
    """A process that runs functions of importable modules, one at a time. If it ends or hangs, a new process starts.

    While a caller waits, ``wanted`` is called repeatedly. It raises an exception if the result is no longer wanted. A
    caller waits at most ``limit`` seconds. ``nice`` lowers the priority of the process (see os.nice).
    """

    def __init__(self, limit: float = LIMIT, nice: int = 0) -> None:
        self.limit = limit
        self._nice = nice
        self.wanted: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: SimpleQueue[_Answer | None] = SimpleQueue()
        self._timer: threading.Timer | None = None
        self._asked = 0

    def run(self, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Run a function and return its result. Raises the function's exception, SlowError or StoppedError."""
        return self.listen(_ignore, function, *arguments, **named)

    def listen(
        self, hear: Callable[[Any], object], function: Callable[P, R], *arguments: P.args, **named: P.kwargs
    ) -> R:
        """Run a function like ``run``, and call ``hear`` with each progress report of the function (see ``tell``)."""
        until = time.monotonic() + self.limit
        with self._locked(until):
            if self._timer:
                self._timer.cancel()
            if self._process and self._process.poll() is not None:
                self._end()
            process = self._process or self._start()
            try:
                answer, error = self._answer(process, pickle.dumps((function, arguments, named)), until, hear)
            except (SlowError, StoppedError):
                self._end()
                raise
            finally:
                self._timer = threading.Timer(IDLE, self.stop)
                self._timer.daemon = True
                self._timer.start()
        if error:
            raise error
        result: R = answer
        return result

    @contextmanager
    def _locked(self, until: float) -> Iterator[None]:
        while not self._lock.acquire(timeout=LOOK):
            self._look(until)
        try:
            yield
        finally:
            self._lock.release()

    def _answer(
        self, process: subprocess.Popen[bytes], asked: bytes, until: float, hear: Callable[[Any], object]
    ) -> tuple[Any, Exception | None]:
        assert process.stdin
        self._asked += 1
        kills = _out_of_memory_kills()
        with suppress(BrokenPipeError):
            pickle.dump((self._asked, asked), process.stdin)
            process.stdin.flush()
        while True:
            try:
                received = self._answers.get(timeout=LOOK)
            except Empty:
                self._look(until)
                continue
            if received is None:
                number = -process.wait()
                stopped = number in _STOPPING and _out_of_memory_kills() == kills
                raise StoppedError(from_outside=stopped, late=number == _OUT_OF_TIME)
            number, answer, error = received
            if number != self._asked:  # the answer to an earlier call whose caller stopped waiting
                continue
            if not isinstance(answer, _Progress):
                return answer, error
            hear(answer.report)
            self._look(until)

    def _look(self, until: float) -> None:
        if time.monotonic() > until:
            raise SlowError
        self.wanted()

    def stop(self) -> None:
        """End the process after its current call."""
        with self._lock:
            self._end()

    def kill(self) -> None:
        """End the process immediately, without waiting for its current call."""
        if process := self._process:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "bertcalc.processes.worker", f"{self._nice}"]
        process = self._process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answers = SimpleQueue()
        threading.Thread(target=_read, args=(process.stdout, self._answers), daemon=True).start()
        return process

    def _end(self) -> None:
        if self._process:
            self._process.kill()  # the process has no state to lose
            with suppress(BrokenPipeError), self._process:  # from flushing a call that the process has not read
                self._process = None


def _out_of_memory_kills() -> int:
    """Return the number of processes that Linux has killed because memory ran out; 0 if the number cannot be read."""
    lines: list[str] = []
    for file in _MEMORY_EVENTS:
        with suppress(OSError):
            lines += file.read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def _read(answers: BinaryIO, into: SimpleQueue[_Answer | None]) -> None:
    """Put each answer of a process into a queue, and None when the process has ended."""
    with suppress(EOFError, pickle.UnpicklingError, OSError, ValueError):  # a truncated answer, or a closed pipe
        while True:
            into.put(pickle.load(answers))
    into.put(None)


def _ignore(_report: Any) -> None:
    """Ignore a progress report."""


_tell: Callable[[Any], object] = _ignore


def tell(report: Any) -> None:
    """Report progress from a function in a worker to the caller of ``listen``. Outside a worker, this does nothing."""
    _tell(report)


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Run the functions that arrive through the pipe ``asked``, and write their results to ``answers``.

    Returns when ``asked`` is closed.
    """
    import bertcalc.processes.worker as imported  # the module that functions import; this copy runs as __main__

    def answer_with(answer: _Answer) -> None:
        pickle.dump(answer, answers)
        answers.flush()

    def say(number: int, report: Any) -> None:
        answer_with((number, imported._Progress(report), None))

    frozen = False
    while True:
        try:
            number, call = pickle.load(asked)
        except EOFError:
            return
        imported._tell = partial(say, number)
        try:
            function, arguments, named = pickle.loads(call)
            answer: _Answer = number, function(*arguments, **named), None
        except Exception as error:
            answer = number, None, MemoryError() if _short_of_memory(error) else error
        answer_with(answer)
        if not frozen:
            gc.freeze()  # PyTorch and transformers are imported by now; the garbage collector need not scan them
            frozen = True


def _short_of_memory(error: Exception) -> bool:
    """Whether an error means that PyTorch 2.13 ran out of CPU memory, for which it has no separate exception."""
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)


WORKER = Worker()
atexit.register(WORKER.kill)

if __name__ == "__main__":
    with suppress(AttributeError):  # Windows has no os.nice
        os.nice(int(sys.argv[1]))
    # If memory runs out, Linux kills this process before it kills the server.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    # Answers go through stdout, so redirect the output of libraries to stderr.
    to_server = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, to_server)
