"""One other process for what needs PyTorch: it takes a second to import, 300 MB, and the interpreter for itself.

Sessions wait for each other there, not in the server, where all others would wait, too; and the memory comes back when
nobody has asked for a while.
"""

import atexit
import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

from pages.ui.turn import TURN

P = ParamSpec("P")
R = TypeVar("R")

IDLE = 120.0  # seconds without work after which the process ends
_ROOT = Path(__file__).parents[2]


class Worker:
    """A process that runs functions of importable modules, one at a time; it is there from the first to the last."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None

    def run(self, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """What the function returns, or raises; MemoryError if the process was killed for the memory that it took."""
        asked = pickle.dumps((function, arguments, named))
        with TURN.pause(), self._turn:
            if self._timer:
                self._timer.cancel()
            process = self._process = self._process or _started()
            assert process.stdin
            assert process.stdout
            try:
                process.stdin.write(asked)
                process.stdin.flush()
                result, error = pickle.load(process.stdout)
            except (EOFError, BrokenPipeError) as died:
                self._end()
                raise MemoryError from died
            self._timer = threading.Timer(IDLE, self.stop)
            self._timer.daemon = True
            self._timer.start()
        if error:
            raise error
        answer: R = result
        return answer

    def stop(self) -> None:
        """End the process, once it has done its work."""
        with self._turn:
            self._end()

    def _end(self) -> None:
        if self._process:
            with self._process:  # closes its input, at which it ends, and waits for that
                self._process = None


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pages.ui.worker"]
    return subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Do what is asked until nobody is there any more."""
    frozen = False
    while True:
        try:
            function, arguments, named = pickle.load(asked)
        except EOFError:
            return
        try:
            answer: tuple[Any, Exception | None] = function(*arguments, **named), None
        except Exception as error:
            answer = None, error
        pickle.dump(answer, answers)
        answers.flush()
        if not frozen:
            gc.freeze()  # PyTorch and transformers are imported by now: the collector need not look at them again
            frozen = True


WORKER = Worker()
atexit.register(WORKER.stop)

if __name__ == "__main__":
    # What a library prints must not stand between the answers.
    kept = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, kept)
