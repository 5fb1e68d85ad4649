"""``make run``: the dashboard on a port that is free, whose address it says."""

import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]


def test_run_takes_another_port_if_its_own_is_taken_and_says_the_address() -> None:
    # Under `make test`, make would say which directory it enters and leaves, too.
    make = ["make", "--no-print-directory", "-n", "run", f"VENV={sys.prefix}"]
    said = subprocess.run(make, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    command = said.splitlines()[-1].split()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # somebody else has it: as good
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
