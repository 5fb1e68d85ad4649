"""The processes that answer questions of tests."""

import sys
from pathlib import Path

import pytest

from tests.oracle import ask

ECHO = """import os, sys
for line in sys.stdin:
    if "abort" in line:
        os.abort()
    print(line.strip(), flush=True)
"""


def test_a_question_that_ends_the_process_fails_alone(tmp_path: Path) -> None:
    script = tmp_path / "echo.py"
    script.write_text(ECHO)
    python = Path(sys.executable)
    for number in range(2):
        assert ask(python, script, f"{number}") == number
        with pytest.raises(pytest.fail.Exception, match="ended with -6"):
            ask(python, script, "abort")
