"""The Hub is asked outside of the server, by two processes: nobody else waits for a large answer or a slow one.

A third reader waits for a place. Who leaves, or asks for something else, makes room at once, as the process is ended;
so it is when the time is over, whatever it does then.
"""

import atexit
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue

from bertcalc.bring.checkpoint import Comparison
from bertcalc.config_json import Reading
from bertcalc.text import N_
from pages.ui.bring import hub
from pages.ui.oracle import wanted
from pages.ui.turn import TURN
from pages.ui.worker import SlowError, StoppedError, Worker

SECONDS = 30.0  # for all requests of a reader together
PATIENCE = 20.0  # seconds that somebody waits for a place
_LOOK = 0.1  # seconds after which somebody who waits looks whether they still want to

PLACES = [Worker(SECONDS, nice=10) for _place in range(2)]
_FREE: LifoQueue[Worker] = LifoQueue()  # the last first: it is warm
for _worker in PLACES:
    _worker.wanted = wanted
    atexit.register(_worker.kill)
    _FREE.put(_worker)


def ask(repo_id: str) -> tuple[Reading, Comparison]:
    """What config.json says of a public model, and its tensors beside ours. Raises HubError."""
    with TURN.pause(), _turn() as worker:
        try:
            return worker.run(hub.compared, repo_id)
        except hub.HubError:
            raise
        except SlowError:
            message = N_("The Hub takes longer than {seconds} seconds: try again later.")
            raise hub.failure(message, seconds=f"{worker.limit:.0f}") from None
        except StoppedError:
            raise hub.failure(N_("The process that reads from the Hub was stopped: try again.")) from None
        except BaseException:
            worker.stop()
            raise


@contextmanager
def _turn() -> Iterator[Worker]:
    """A process that nobody uses."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            worker = _FREE.get(timeout=_LOOK)
            break
        except Empty:
            if time.monotonic() > until:
                raise hub.failure(N_("Others are reading from the Hub right now: try again in a moment.")) from None
            wanted()
    try:
        yield worker
    finally:
        _FREE.put(worker)
