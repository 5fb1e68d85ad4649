"""At its start, the server names missing requirements. It never reports that it is healthy if no page works."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import streamlit

from pages.server.requirements import problem_of
from pages.server.upstream.internals import WRITTEN_FOR
from tests.browser.launch import ROOT


def test_this_version_the_one_before_and_newer_ones_are_accepted() -> None:
    assert streamlit.__version__.startswith(f"{WRITTEN_FOR['streamlit']}.")
    for version in (streamlit.__version__, "1.66.1", "1.67.0rc1", "1.68.0", "1.100", "2.0"):
        assert problem_of(version, 0) is None
    assert problem_of("1.67.0", 1) is None


@pytest.mark.parametrize("version", ["1.65.9", "1.60.0", "1.54.0", "1.9.2", "0.89"])
def test_an_older_streamlit_is_refused_in_a_sentence(version: str) -> None:
    assert problem_of(version, 0) == (
        f"bertcalc needs Streamlit 1.66 or newer, and this is {version}: "
        "install it with pip install -r requirements-lite.txt."
    )


def start(*options: str, **environment: str) -> tuple[int, str, bool]:
    """Start the server. Return its exit code, its last line, and whether it ever reported that it is healthy."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, *options, "-m", "streamlit", "run", "app.py", "--server.port", f"{port}"]
    healthy = False
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as server:
        try:
            while server.poll() is None:
                try:
                    with urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
                        healthy = True
                        break
                except (URLError, OSError):
                    pass
        finally:
            server.kill()
        assert server.stderr
        lines = server.stderr.read().strip().splitlines()
    return server.wait(), lines[-1] if lines else "", healthy


def test_without_docstrings_it_does_not_start() -> None:
    line = "bertcalc needs docstrings: start Python without -OO, and without PYTHONOPTIMIZE=2."
    assert start("-OO") == (1, line, False)


def test_with_an_older_streamlit_it_does_not_start(tmp_path: Path) -> None:
    """Streamlit reports another version here. docs/hosting.md lists the real versions that were tried."""
    (tmp_path / "sitecustomize.py").write_text("import streamlit\nstreamlit.__version__ = '1.60.0'\n")
    assert start(PYTHONPATH=str(tmp_path)) == (1, problem_of("1.60.0", 0), False)
