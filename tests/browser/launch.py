"""Start the real server and a real Chromium, for tests and benchmarks."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
# Each page is open for about a second. In that time, optimising scripts and frequent garbage collection do not pay off.
_SCRIPTS = (
    *("--no-opt", "--no-maglev", "--no-flush-bytecode", "--single-threaded-gc", "--no-parallel-scavenge"),
    *("--min-semi-space-size=64", "--max-semi-space-size=64"),
)
# Without these flags, Chromium contacts Google's hosts at every start.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The headless shell would otherwise widen letters, as it does for low-resolution screens.
    "--font-render-hinting=none",
    f"--js-flags={' '.join(_SCRIPTS)}",
]


@contextmanager
def running_browser(*, compiles: bool = False) -> Iterator[Browser]:
    """Start an installed Chromium, or the Chromium that ``playwright install chromium`` installs.

    With ``compiles``, scripts that run often are optimised, as in a reader's browser. Benchmarks of scripts need it,
    tests do not.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    installed = os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=installed, args=FLAGS[:-1] if compiles else FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def running_server(
    log: Path,
    script: str = "app.py",
    *,
    bound: str = "127.0.0.1",
    port: int = 0,
    root: Path = ROOT,
    **environment: str,
) -> Iterator[tuple[str, int]]:
    """Start a new server and yield its address and process id. By default it listens on a free loopback port.

    The server's log must be free of tracebacks.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = port or probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", f"{port}"]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "--server.address", bound],
            cwd=root,
            env=os.environ | environment,
            stdout=output,
            stderr=output,
        ) as server,
    ):
        try:
            yield _wait_for(f"http://127.0.0.1:{port}", server), server.pid
        finally:
            server.terminate()
    assert "Traceback" not in log.read_text(), log.read_text()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> str:
    while server.poll() is None:
        try:
            with urlopen(f"{url}/_stcore/health"):
                return url
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("the server did not start")
