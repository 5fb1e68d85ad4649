"""Ask the libraries in the separate environment for the sizes of real files."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def judges_python() -> Path:
    """The interpreter of the environment with the libraries of tests/requirements-judges.txt."""
    python = Path(os.environ.get("BERTCALC_JUDGES_PYTHON", ROOT / ".venv-judges" / "bin" / "python"))
    if not python.exists():
        pytest.fail(f"The libraries that write files are missing at {python}: `make test` installs them.")
    return python


def library_files(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers of tests/storage/library_files.py. Its errors are on stderr."""
    command = [judges_python(), Path(__file__).with_name("library_files.py")]
    run = subprocess.run(command, input=json.dumps(cases), stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(run.stdout.splitlines()[-1])
    return found
