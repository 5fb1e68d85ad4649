"""Discovery in a process beside the server, within limits of time and memory; results and refusals are cached.

The process is stopped when its reader leaves or asks for something else. The other pages that ask PyTorch have another
process, so that nobody there waits for a discovery.
"""

import atexit
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from math import inf
from typing import Any, NamedTuple

from bertcalc.discover.results.result import NOT_ASKED, Discovered, of_json
from bertcalc.discover.results.size_steps import more_than_shown
from bertcalc.discover.search.build import Ended, Refused
from bertcalc.discover.search.config_input import structure
from bertcalc.processes.worker import LOOK, SlowError, StoppedError, Worker, tell
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem, wrong

SECONDS = 60.0  # for one model
STARTING = 20.0  # in addition, for the import of PyTorch
PATIENCE = 90.0  # to wait for the models of other readers
BYTES = 3 * 2**29  # of memory for data, including PyTorch's own 0.3 GB
AGAIN = 600.0  # seconds until a refused model is tried again
_KEPT = 60
_TIMES = 3  # that a search for FLOPs is begun, if it gives way to other readers
_LONGEST = 60_000  # characters of a printed tree

WORKER = Worker(SECONDS + STARTING, nice=10)
atexit.register(WORKER.kill)
_FOUND: OrderedDict[tuple[str, str, str], "Asked | Refusal"] = OrderedDict()
_LOCK = threading.Lock()
_TURN = threading.Lock()  # held for the reader whose model is discovered
_WAITING: set[int] = set()  # threads that wait to ask for parameters

# Takes the present activity, the steps done and the number of steps; the activity is "" while others are served.
Hear = Callable[[str, int, int], object]


class Asked(NamedTuple):
    """A class that was discovered, and the model as PyTorch prints it."""

    found: Discovered
    tree: str


class Refusal(NamedTuple):
    """Why there is no result, and until when that answer is repeated."""

    problems: tuple[Problem, ...]
    until: float


class AgainError(InputError):
    """There is no result this time; the next request tries again."""


class _GaveWay(Exception):  # noqa: N818
    """Another reader waits for parameters while FLOPs are looked for."""


def known(model_type: str, cls: str, given: Mapping[str, Any]) -> Asked | None:
    """Return the cached result for a class; None if there is none, or a refusal."""
    with suppress(InputError):
        return _held(_key(model_type, cls, given))
    return None


def refusal(model_type: str, cls: str, given: Mapping[str, Any]) -> Problem | None:
    """Return why a class was refused, as long as that answer is repeated."""
    try:
        _held(_key(model_type, cls, given))
    except InputError as error:
        return error.problem
    return None


def _held(key: tuple[str, str, str]) -> Asked | None:
    """Return the cached result, or None. Raises InputError if it was refused recently."""
    with _LOCK:
        found = _FOUND.get(key)
    if isinstance(found, Asked):
        return found
    if found and time.monotonic() < found.until:
        raise InputError(*found.problems)
    return None


def ask(model_type: str, cls: str, given: Mapping[str, Any], hear: Hear, wanted: Callable[[], object]) -> Asked:
    """Discover a class. ``wanted`` is called repeatedly meanwhile, and raises if the reader wants something else.

    Readers are served one after the other; those who wait for the same model share the result. Raises InputError, for
    AGAIN seconds without another try, or AgainError.
    """
    key = _key(model_type, cls, given)
    if held := _held(key):
        return held
    with _turn(hear, wanted):
        if held := _held(key):
            return held
        try:
            asked = _discover(model_type, cls, given, hear, wanted)
        except AgainError:
            raise
        except InputError as error:
            _keep(key, Refusal(error.problems, time.monotonic() + AGAIN))
            raise
        _keep(key, asked)
        return asked


def ask_flops(
    model_type: str, cls: str, given: Mapping[str, Any], asked: Asked, hear: Hear, wanted: Callable[[], object]
) -> Asked:
    """Add FLOPs to a class that was discovered. Raises InputError.

    That takes long: readers who ask for parameters meanwhile go first, and the search begins anew after them.
    """

    def still() -> None:
        wanted()
        if _WAITING:
            raise _GaveWay

    for _time in range(_TIMES):
        with suppress(_GaveWay), _turn(hear, wanted, last=True):
            held = known(model_type, cls, given) or asked
            if held.found.no_flops != NOT_ASKED:
                return held
            WORKER.wanted = still
            with _refusals():
                json_of = WORKER.listen(lambda said: hear(*said), computed, json.dumps(held.found.json()))
            asked = held._replace(found=of_json(json_of))
            _keep(_key(model_type, cls, given), asked)
            return asked
    raise _others()


@contextmanager
def _turn(hear: Hear, wanted: Callable[[], object], *, last: bool = False) -> Iterator[None]:
    """Wait until nobody else has the process; with ``last``, also until nobody else waits for it."""
    until, waits = time.monotonic() + PATIENCE, False
    me = threading.get_ident()
    try:
        if not last:
            _WAITING.add(me)
        while (last and _WAITING) or not _TURN.acquire(timeout=LOOK):
            if time.monotonic() > until:
                raise _others()
            if not waits:
                hear("", 0, 0)
                waits = True
            wanted()
            time.sleep(LOOK if last else 0)
    finally:
        _WAITING.discard(me)
    try:
        yield
    finally:
        _TURN.release()


def _others() -> AgainError:
    return AgainError(Problem.of(N_("Other readers' models are being examined: try again in a moment.")))


def _discover(model_type: str, cls: str, given: Mapping[str, Any], hear: Hear, wanted: Callable[[], object]) -> Asked:
    WORKER.wanted = wanted
    fields = json.dumps(structure(given))
    with _refusals():
        json_of, tree = WORKER.listen(lambda said: hear(*said), discovered, model_type, cls, fields)
    found = of_json(json_of)
    if too_many := more_than_shown(found.parameters):
        raise InputError(too_many)
    return Asked(found, tree)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the process raises into InputError; stop the process if the reader leaves."""
    try:
        yield
    except (SlowError, Ended):
        message = N_("Building this model often enough takes longer than {seconds} seconds: no formula was found.")
        raise wrong(message, seconds=fixed(SECONDS, 0)) from None
    except StoppedError as stopped:
        if stopped.from_outside:
            message = N_("The process that builds this model was stopped before it had finished. Try again.")
            raise AgainError(Problem.of(message)) from None
        message = N_("The process that builds this model crashed, probably for lack of memory: no formula was found.")
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


def _keep(key: tuple[str, str, str], answer: "Asked | Refusal") -> None:
    with _LOCK:
        _FOUND[key] = answer
        while len(_FOUND) > _KEPT:
            _FOUND.popitem(last=False)


def too_large() -> InputError:
    """Return the error for a model that needs too much memory."""
    message = N_("Building this model takes more than {size} GB of memory: no formula was found.")
    return wrong(message, size=fixed(BYTES / 1e9))


def _key(model_type: str, cls: str, given: Mapping[str, Any]) -> tuple[str, str, str]:
    return model_type, cls, json.dumps(dict(given), sort_keys=True)


def discovered(model_type: str, cls: str, given: str) -> tuple[dict[str, Any], str]:
    """Discover a class, in the process: the result as JSON data, and the printed model."""
    _begin()
    from bertcalc.discover import discover
    from bertcalc.discover.search.build import config_class, readable

    with readable(cls):  # also for what comes before and after the search: an exception would end the process
        config_class(model_type)  # refused before its configuration is read
        found = discover(
            {**json.loads(given), "model_type": model_type}, cls, seconds=SECONDS, progress=lambda *said: tell(said)
        )
        return found.json(), _printed(model_type, cls, found.given)


def computed(json_of: str) -> dict[str, Any]:
    """Add FLOPs, or why there are none, to a result in JSON, in the process."""
    _begin()
    from bertcalc.discover import with_flops

    found = of_json(json.loads(json_of))
    return with_flops(found, seconds=SECONDS, progress=lambda *said: tell(said)).json()


def _begin() -> None:
    """Set the limits of the process and import PyTorch, which is not part of a model's time."""
    limit_memory()
    tell(("imports", 0, 0))
    import_module("transformers.models.auto.modeling_auto")


def limit_memory() -> None:
    """Limit the memory of this process, and have it load nothing from the Hub."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with suppress(ImportError, ValueError, OSError):  # Windows has no limits
        import resource

        _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, hard))


def _printed(model_type: str, cls: str, given: Mapping[str, Any]) -> str:
    """Return the text of print(model); "" if it is too long or the model cannot be built."""
    from bertcalc.discover.search.build import config_class, made, model_class, quiet
    from bertcalc.discover.search.config_integers import configured

    with suppress(Exception), quiet():  # transformers raises exceptions of all types
        real = model_class(cls)
        text = str(made(real, configured(config_class(model_type), real, given), inf))
        return text if len(text) <= _LONGEST else ""
    return ""
