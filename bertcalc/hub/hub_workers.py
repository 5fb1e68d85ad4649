"""Read from the Hub in two separate processes, so that large or slow responses do not delay other readers.

A third reader waits for a free process. A process is killed if it takes too long, or if its reader leaves or asks for
something else.
"""

import atexit
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue
from typing import TypeVar

from bertcalc.checkpoints.checkpoint import Matching
from bertcalc.families.hf_json import ConfigReading
from bertcalc.hub import reader
from bertcalc.processes.worker import LOOK, SlowError, StoppedError, Worker
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, wrong

Answer = TypeVar("Answer")

SECONDS = 30.0  # maximum number of seconds for all requests of a reader in total
PATIENCE = 20.0  # maximum number of seconds that a reader waits for a free process

PLACES = [Worker(SECONDS, nice=10) for _place in range(2)]
_FREE: LifoQueue[Worker] = LifoQueue()  # last in, first out, because the most recently used process is warm
for _worker in PLACES:
    atexit.register(_worker.kill)
    _FREE.put(_worker)


def ask(repo_id: str, wanted: Callable[[], object]) -> tuple[ConfigReading, Matching]:
    """Read the config.json of a public model, and compare the model's tensors with bertcalc's.

    While waiting, ``wanted`` is called repeatedly. It raises an exception if the reader has asked for something else.
    Raises InputError if the model cannot be read.
    """
    return _run(reader.compared, repo_id, wanted)


def ask_config(repo_id: str, wanted: Callable[[], object]) -> str:
    """Read the text of a public model's config.json, of any model type.

    Raises InputError if it cannot be read. ``wanted`` is called as in ``ask``.
    """
    return _run(reader.config_text, repo_id, wanted)


def _run(function: Callable[[str], Answer], repo_id: str, wanted: Callable[[], object]) -> Answer:
    with _free(wanted) as worker:
        worker.wanted = wanted
        try:
            return worker.run(function, repo_id)
        except InputError:
            raise
        except SlowError:
            message = N_("The Hub did not respond within {seconds} seconds: try again later.")
            raise wrong(message, seconds=fixed(worker.limit, 0)) from None
        except StoppedError:
            raise wrong(N_("The process that reads from the Hub was stopped: try again.")) from None
        except BaseException:
            worker.stop()
            raise


@contextmanager
def _free(wanted: Callable[[], object]) -> Iterator[Worker]:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            worker = _FREE.get(timeout=LOOK)
            break
        except Empty:
            if time.monotonic() > until:
                message = N_("Other users are reading from the Hub right now: try again in a moment.")
                raise wrong(message) from None
            wanted()
    try:
        yield worker
    finally:
        _FREE.put(worker)
