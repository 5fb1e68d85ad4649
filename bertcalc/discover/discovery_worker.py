"""Discovery in a subprocess, with limits on time and memory; results and refusals are cached.

The process is stopped when its reader leaves or asks for something else. Other pages that need PyTorch use a different
process, so that they do not wait for a discovery.
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
from bertcalc.discover.search.config_input import structural_fields
from bertcalc.processes.worker import LOOK, SlowError, StoppedError, Worker, tell
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem, wrong

SECONDS = 60.0  # limit for one model
STARTING = 20.0  # additional seconds to import PyTorch
PATIENCE = 90.0  # seconds to wait for other readers' models
BYTES = 3 * 2**29  # limit of memory for data, including 0.3 GB for PyTorch itself
RETRY_SECONDS = 600.0  # until a refused model may be tried again
_MOST_ANSWERS = 60
_ATTEMPTS = 3  # at finding FLOPs, as other readers can interrupt the search
_LONGEST = 60_000  # characters of a printed tree

WORKER = Worker(SECONDS + STARTING, nice=10)
atexit.register(WORKER.kill)
_ANSWERS: OrderedDict[tuple[str, str, str], "Answer | Refusal"] = OrderedDict()
_LOCK = threading.Lock()
_TURN = threading.Lock()  # held for the reader whose model is discovered
_WAITING: set[int] = set()  # threads that wait to discover parameters

# Takes the current activity, the steps done and the number of steps; the activity is "" while others are served.
Hear = Callable[[str, int, int], object]


class Answer(NamedTuple):
    """A discovered class, with the model as PyTorch prints it."""

    discovery: Discovered
    tree: str


class Refusal(NamedTuple):
    """Why there is no result, and the time until which this answer is repeated."""

    problems: tuple[Problem, ...]
    until: float


class RetryError(InputError):
    """A temporary failure; the next request tries again."""


class _GaveWay(Exception):  # noqa: N818
    """The search for FLOPs was interrupted because another reader waits for parameters."""


def cached(model_type: str, cls: str, fields: Mapping[str, Any]) -> Answer | None:
    """Return the cached result for a class; None if there is none or the class was refused."""
    with suppress(InputError):
        return _cached(_key(model_type, cls, fields))
    return None


def refusal(model_type: str, cls: str, fields: Mapping[str, Any]) -> Problem | None:
    """Return the reason why a class was recently refused, or None."""
    try:
        _cached(_key(model_type, cls, fields))
    except InputError as error:
        return error.problem
    return None


def _cached(key: tuple[str, str, str]) -> Answer | None:
    """Return the cached result, or None. Raises InputError if the class was recently refused."""
    with _LOCK:
        answer = _ANSWERS.get(key)
    if isinstance(answer, Answer):
        return answer
    if answer and time.monotonic() < answer.until:
        raise InputError(*answer.problems)
    return None


def ask(model_type: str, cls: str, fields: Mapping[str, Any], hear: Hear, wanted: Callable[[], object]) -> Answer:
    """Discover a class. ``wanted`` is called regularly meanwhile, and raises if the reader wants something else.

    Readers are served one at a time; those who wait for the same model share the result. Raises RetryError for a
    temporary failure, or InputError, which is repeated for RETRY_SECONDS without another attempt.
    """
    key = _key(model_type, cls, fields)
    if answer := _cached(key):
        return answer
    with _turn(hear, wanted):
        if answer := _cached(key):
            return answer
        try:
            answer = _discover(model_type, cls, fields, hear, wanted)
        except RetryError:
            raise
        except InputError as error:
            _store(key, Refusal(error.problems, time.monotonic() + RETRY_SECONDS))
            raise
        _store(key, answer)
        return answer


def ask_flops(
    model_type: str, cls: str, fields: Mapping[str, Any], answer: Answer, hear: Hear, wanted: Callable[[], object]
) -> Answer:
    """Add FLOPs to a discovered class. Raises InputError.

    As this is slow, readers who ask for parameters meanwhile are served first, after which the search restarts.
    """

    def still() -> None:
        wanted()
        if _WAITING:
            raise _GaveWay

    for _time in range(_ATTEMPTS):
        with suppress(_GaveWay), _turn(hear, wanted, last=True):
            latest = cached(model_type, cls, fields) or answer
            if latest.discovery.no_flops != NOT_ASKED:
                return latest
            WORKER.wanted = still
            with _refusals():
                json_of = WORKER.listen(lambda event: hear(*event), computed, json.dumps(latest.discovery.json()))
            answer = latest._replace(discovery=of_json(json_of))
            _store(_key(model_type, cls, fields), answer)
            return answer
    raise _busy_error()


@contextmanager
def _turn(hear: Hear, wanted: Callable[[], object], *, last: bool = False) -> Iterator[None]:
    """Wait until the process is free; with ``last``, also until no other reader waits for it."""
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
    return RetryError(Problem.of(N_("The server is busy with other readers' models: try again in a moment.")))


def _discover(model_type: str, cls: str, fields: Mapping[str, Any], hear: Hear, wanted: Callable[[], object]) -> Answer:
    WORKER.wanted = wanted
    text = json.dumps(structural_fields(fields))
    with _refusals():
        json_of, tree = WORKER.listen(lambda event: hear(*event), discovered, model_type, cls, text)
    discovery = of_json(json_of)
    if too_many := more_than_shown(discovery.parameters):
        raise InputError(too_many)
    return Answer(discovery, tree)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn the process's exceptions into InputError; stop the process if the reader leaves."""
    try:
        yield
    except (SlowError, Ended):
        message = N_("Building this model repeatedly takes longer than {seconds} seconds: no formula was found.")
        raise wrong(message, seconds=fixed(SECONDS, 0)) from None
    except StoppedError as stopped:
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


def _store(key: tuple[str, str, str], answer: "Answer | Refusal") -> None:
    with _LOCK:
        _ANSWERS[key] = answer
        while len(_ANSWERS) > _MOST_ANSWERS:
            _ANSWERS.popitem(last=False)


def too_large() -> InputError:
    """Return the error for a model that needs too much memory."""
    message = N_("Building this model takes more than {size} GB of memory: no formula was found.")
    return wrong(message, size=fixed(BYTES / 1e9))


def _key(model_type: str, cls: str, fields: Mapping[str, Any]) -> tuple[str, str, str]:
    return model_type, cls, json.dumps(dict(fields), sort_keys=True)


def discovered(model_type: str, cls: str, fields: str) -> tuple[dict[str, Any], str]:
    """Discover a class, inside the process. Return the result as JSON data, and the printed model."""
    _begin()
    from bertcalc.discover import discover
    from bertcalc.discover.search.build import config_class, refusing_unexpected

    with refusing_unexpected(cls):  # also around the search, as an exception would end the process
        config_class(model_type)  # refuses unknown types before the configuration is read
        discovery = discover(
            {**json.loads(fields), "model_type": model_type}, cls, seconds=SECONDS, progress=lambda *event: tell(event)
        )
        return discovery.json(), _printed(model_type, cls, discovery.given)


def computed(json_of: str) -> dict[str, Any]:
    """Add FLOPs, or the reason why there are none, to a result as JSON, inside the process."""
    _begin()
    from bertcalc.discover import with_flops

    discovery = of_json(json.loads(json_of))
    return with_flops(discovery, seconds=SECONDS, progress=lambda *event: tell(event)).json()


def _begin() -> None:
    """Set the process's limits and import PyTorch, which does not count towards a model's time."""
    limit_memory()
    tell(("imports", 0, 0))
    import_module("transformers.models.auto.modeling_auto")


def limit_memory() -> None:
    """Limit the memory of this process and forbid access to the Hub."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with suppress(ImportError, ValueError, OSError):  # not supported on Windows
        import resource

        _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, hard))


def _printed(model_type: str, cls: str, fields: Mapping[str, Any]) -> str:
    """Return the text of print(model); "" if it is too long or the model cannot be built."""
    from bertcalc.discover.search.build import build_model, config_class, model_class, quiet
    from bertcalc.discover.search.config_integers import build_config

    with suppress(Exception), quiet():  # transformers raises exceptions of all types
        real = model_class(cls)
        text = str(build_model(real, build_config(config_class(model_type), real, fields), inf))
        return text if len(text) <= _LONGEST else ""
    return ""
