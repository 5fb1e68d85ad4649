"""Run searches in a subprocess with limits on time and memory, and remember their results and refusals.

The search is stopped when the reader leaves or asks for something else. Other pages that need PyTorch use a different
process, so they do not wait for a search.
"""

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from math import ceil

from bertcalc.discover.results.known_results import searched, store
from bertcalc.discover.results.request import SECONDS, DiscoveryRequest, Progress
from bertcalc.discover.results.result import NOT_ASKED, Discovered
from bertcalc.discover.results.search_errors import Ended, Refused
from bertcalc.discover.results.size_steps import more_than_shown
from bertcalc.processes.worker import LOOK, SlowError, StoppedError, Worker, tell
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem, wrong

STARTING = 20.0  # additional seconds to import PyTorch
# A search has SECONDS of CPU time for parameters, and again for FLOPs. The process has a low priority, so on a busy
# machine, it needs several times as much wall-clock time.
_CPU_SECONDS, _WALL = 2 * SECONDS + 5, 3
PATIENCE = 90.0  # seconds to wait while the process searches for other readers
BYTES = 3 * 2**29  # memory limit for the process's data, including 0.3 GB for PyTorch
_ATTEMPTS = 3  # attempts to find FLOPs, because other readers can interrupt the search

WORKER = Worker(_WALL * (SECONDS + STARTING), nice=10)
atexit.register(WORKER.kill)
_TURN = threading.Lock()  # held by the reader whose search is running
_WAITING: set[int] = set()  # ids of the threads that wait to search for parameters

Search = Callable[..., Discovered]  # called with a request and ``progress``


class RetryError(InputError):
    """A temporary failure; the next request tries again."""


class _GaveWay(Exception):  # noqa: N818
    """The search for FLOPs was interrupted because another reader waits for parameters."""


def ask(search: Search, request: DiscoveryRequest, hear: Progress, wanted: Callable[[], object]) -> Discovered:
    """Run a search in the subprocess, or return a remembered result.

    ``hear`` receives the progress of the search; while it waits for other readers, the activity is "". ``wanted`` is
    called regularly, and cancels the search with an exception.

    Raises RetryError for a temporary failure. Any other InputError of a search for parameters is remembered: for
    ``known_results.RETRY_SECONDS``, the same request raises it again without a search.
    """
    if request.earlier:
        return _ask_flops(search, request, request.earlier, hear, wanted)
    if discovery := searched(request):
        return discovery
    with _turn(hear, wanted):
        if discovery := searched(request):
            return discovery
        WORKER.wanted = wanted
        try:
            discovery = _discover(search, request, hear)
        except RetryError:
            raise
        except InputError as error:
            store(request, error)
            raise
        store(request, discovery)
        return discovery


def _ask_flops(
    search: Search, request: DiscoveryRequest, earlier: Discovered, hear: Progress, wanted: Callable[[], object]
) -> Discovered:
    """Add FLOPs to an earlier result. Raises InputError, and RetryError if other readers interrupt it too often.

    The search for FLOPs is slow. It is interrupted if another reader asks for parameters, and restarts afterwards.
    """

    def still() -> None:
        wanted()
        if _WAITING:
            raise _GaveWay

    for _time in range(_ATTEMPTS):
        with suppress(_GaveWay), _turn(hear, wanted, last=True):
            with suppress(InputError):
                earlier = searched(request) or earlier
            if earlier.no_flops != NOT_ASKED:
                return earlier
            WORKER.wanted = still
            discovery = _discover(search, request._replace(earlier=earlier), hear)
            store(request, discovery)
            return discovery
    raise _busy_error()


@contextmanager
def _turn(hear: Progress, wanted: Callable[[], object], *, last: bool = False) -> Iterator[None]:
    """Wait until the process is free; with ``last``, also until no other reader waits for parameters.

    Raises RetryError after PATIENCE seconds.
    """
    until, waits = time.monotonic() + PATIENCE, False
    thread = threading.get_ident()
    try:
        if not last:
            _WAITING.add(thread)
        while (last and _WAITING) or not _TURN.acquire(timeout=LOOK):
            if time.monotonic() > until:
                raise _busy_error()
            if not waits:
                hear("", 0, 0)
                waits = True
            wanted()
            time.sleep(LOOK if last else 0)
    finally:
        _WAITING.discard(thread)
    try:
        yield
    finally:
        _TURN.release()


def _busy_error() -> RetryError:
    return RetryError(Problem.of(N_("The server is busy with other users' models: try again in a moment.")))


def _discover(search: Search, request: DiscoveryRequest, hear: Progress) -> Discovered:
    with _refusals():
        limited = request._replace(seconds=SECONDS)
        discovery = WORKER.listen(lambda event: hear(*event), run_search, search, limited, _CPU_SECONDS)
    if too_many := more_than_shown(discovery.parameters):
        raise InputError(too_many)
    return discovery


@contextmanager
def _refusals() -> Iterator[None]:
    """Convert known exceptions of the subprocess to InputError; on any other exception, stop the subprocess."""
    try:
        yield
    except (SlowError, Ended):
        raise _too_slow() from None
    except StoppedError as stopped:
        if stopped.late:
            raise _too_slow() from None
        if stopped.from_outside:
            message = N_("The process that builds this model was stopped before it had finished. Try again.")
            raise RetryError(Problem.of(message)) from None
        message = N_(
            "The process that builds this model crashed, probably because it ran out of memory: no formula was found."
        )
        raise wrong(message) from None
    except MemoryError:
        raise too_large() from None
    except Refused as error:
        if error.lacks_memory:
            raise too_large() from None
        raise
    except BaseException:
        WORKER.stop()
        raise


def _too_slow() -> InputError:
    message = N_("Building this model repeatedly takes longer than {seconds} seconds: no formula was found.")
    return wrong(message, seconds=fixed(SECONDS, 0))


def too_large() -> InputError:
    """Return the error for a model that needs more memory than BYTES."""
    message = N_("Building this model takes more than {size} GB of memory: no formula was found.")
    return wrong(message, size=fixed(BYTES / 1e9))


def run_search(search: Search, request: DiscoveryRequest, cpu_seconds: float | None = None) -> Discovered:
    """Run a search inside the subprocess.

    Importing PyTorch does not count towards the time limit of the search. The operating system kills the process after
    ``cpu_seconds``, even if the search never checks the time.
    """
    limit_memory()
    tell(("imports", 0, 0))
    import_module("transformers.models.auto.modeling_auto")
    if cpu_seconds is not None:
        limit_time(cpu_seconds)
    return search(request, progress=lambda *event: tell(event))


def limit_time(seconds: float) -> None:
    """Limit the further CPU time of this process to ``seconds``, and PyTorch to one thread."""
    import torch

    torch.set_num_threads(1)
    with suppress(ImportError):  # not supported on Windows
        import resource

        _soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(time.process_time() + seconds), hard))


def limit_memory() -> None:
    """Limit the memory of this process and forbid access to the Hub."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with suppress(ImportError, ValueError, OSError):  # not supported on Windows
        import resource

        _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, hard))
