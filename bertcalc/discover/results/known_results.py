"""Remember the results and refusals of earlier searches, so that pages show them without a new search."""

import threading
import time
from collections import OrderedDict
from contextlib import suppress
from typing import NamedTuple

from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.shipped import shipped
from bertcalc.text.problem import InputError, Problem

RETRY_SECONDS = 600.0  # seconds until the search for a refused model may be repeated
_MOST = 60


class Refusal(NamedTuple):
    """The reasons why there is no result, and the time (time.monotonic) until which no new search is made."""

    problems: tuple[Problem, ...]
    until: float


_RESULTS: OrderedDict[tuple[str, str | None, str], Discovered | Refusal] = OrderedDict()
_LOCK = threading.Lock()


def known(request: DiscoveryRequest) -> Discovered | None:
    """Return the remembered result for a model, or else the shipped one; None if there is neither."""
    result = None
    with suppress(InputError):
        result = searched(request)
    is_default = request.cls and not (request.config or request.changes)
    return result or (shipped(request.model_type, request.cls) if is_default else None)


def refusal(request: DiscoveryRequest) -> Problem | None:
    """Return the problem with which a model was recently refused, or None."""
    try:
        searched(request)
    except InputError as error:
        return error.problem
    return None


def searched(request: DiscoveryRequest) -> Discovered | None:
    """Return the remembered result of a search, or None. Raises InputError if the model was recently refused."""
    with _LOCK:
        result = _RESULTS.get(request.subject)
    if isinstance(result, Refusal):
        if time.monotonic() < result.until:
            raise InputError(*result.problems)
        return None
    return result


def store(request: DiscoveryRequest, result: Discovered | InputError) -> None:
    """Remember a result, or the error with which a model was refused."""
    if isinstance(result, InputError):
        entry: Discovered | Refusal = Refusal(result.problems, time.monotonic() + RETRY_SECONDS)
    else:
        entry = result
    with _LOCK:
        _RESULTS[request.subject] = entry
        while len(_RESULTS) > _MOST:
            _RESULTS.popitem(last=False)
