"""``make run`` serves the dashboard on a free port and prints its address. ``make test`` announces what it installs."""

import re
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[1]


def test_run_takes_another_port_if_its_own_is_taken_and_says_the_address() -> None:
    # Under `make test`, make would also print the directories that it enters and leaves.
    make = ["make", "--no-print-directory", "-n", "run", f"VENV={sys.prefix}"]
    said = subprocess.run(make, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    command = said.splitlines()[-1].split()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # another process has the port, which serves the same purpose
            other.bind(("127.0.0.1", 8501))
            other.listen()
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
            patience = Timer(60, server.kill)
            patience.start()
            assert server.stdout
            found = (re.search(r"http://localhost:(\d+)", line) for line in server.stdout)
            try:
                address = next(filter(None, found))
                assert address[1] != "8501"
                with urlopen(f"{address[0]}/_stcore/health") as answer:
                    assert answer.read() == b"ok"
            finally:
                patience.cancel()
                server.terminate()


PROGRAMS = {"apt-get": 'echo "apt-get $@"', "fc-list": "", "uname": "echo Linux", "../venv/bin/playwright": "exit 1"}


@pytest.mark.parametrize(("target", "package"), [("font", "fonts-noto-cjk"), ("browser", "chromium-headless-shell")])
def test_what_is_installed_with_apt_is_said_before(target: str, package: str, tmp_path: Path) -> None:
    """The machine has only the programs that make itself needs."""
    programs, environment = tmp_path / "bin", tmp_path / "venv"
    for folder in (programs, environment / "bin"):
        folder.mkdir(parents=True)
    for name, command in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    for name in ("make", "grep", "touch"):
        (programs / name).symlink_to(shutil.which(name) or "")
    for name in ("bin/python", "dev", *(["font"] if target == "browser" else [])):
        (environment / name).touch()
    make: list[str | Path] = [programs / "make", f"VENV={environment}", f"{environment}/{target}"]
    done = subprocess.run(make, cwd=ROOT, check=True, capture_output=True, text=True, env={"PATH": f"{programs}"})
    lines = [line.partition(":")[0] for line in done.stdout.splitlines() if line.startswith(("Installing", "apt-get"))]
    options = "-y --no-install-recommends"
    assert lines == [f"Installing {package} with apt", "apt-get update", f"apt-get install {options} {package}"]
