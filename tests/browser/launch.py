"""Starting the real server and a real Chromium, for tests and benchmarks."""

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
# A page is seen for a second, in which optimized scripts and frequent collections of garbage cost more than they give.
_SCRIPTS = (
    *("--no-opt", "--no-maglev", "--no-flush-bytecode", "--single-threaded-gc", "--no-parallel-scavenge"),
    *("--min-semi-space-size=64", "--max-semi-space-size=64"),
)
# Without these Chromium looks up its maker's hosts at every start.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # the shell alone would make letters wider, as screens with few pixels do
    f"--js-flags={' '.join(_SCRIPTS)}",
]


@contextmanager
def running_browser(*, compiles: bool = False) -> Iterator[Browser]:
    """An installed Chromium, or the one that ``playwright install chromium`` brings.

    Readers' browsers compile scripts that run often; tests do without, but not a benchmark of scripts.
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
    """A fresh server on a free port, of the loopback interface, unless others are named: its address and its process.

    Its log has to stay free of tracebacks.
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
