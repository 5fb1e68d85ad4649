"""Warming up the server: when the first page opens, its libraries are already imported."""

import subprocess
import sys

from tests.pages.apptest import ROOT

PROGRAM = """
import gc, sys
from app import warm_up
warm_up()
ready = set(sys.modules)
from tests.pages.apptest import open_app
app = open_app("parameters.py")
assert "109,482,240" in app.metric[0].value
late = {name.partition(".")[0] for name in set(sys.modules) - ready}
print(gc.get_freeze_count() > 100_000, *sorted(late & {"sympy", "altair", "pandas", "pyarrow", "numpy"}))
"""


def test_the_first_page_imports_no_library() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
