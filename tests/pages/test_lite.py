"""The dashboard without PyTorch and transformers (requirements-lite.txt)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(file.name for file in (ROOT / "pages").glob("*.py") if file.name != "main.py")
# A module that is None in sys.modules cannot be imported.
PROGRAM = """
import json, sys
for name in ("torch", "transformers", "safetensors", "tokenizers"):
    sys.modules[name] = None
from tests.pages.apptest import open_app
found = {}
for page in sys.argv[1:]:
    app = open_app(page)
    found[page] = [[one.value for one in app.info], len(app.main)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def opened() -> dict[str, tuple[list[str], int]]:
    """The messages of each page, and its number of elements."""
    command = [sys.executable, "-W", "error::FutureWarning", "-c", PROGRAM, *PAGES]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens(page: str, opened: dict[str, tuple[list[str], int]]) -> None:
    said, elements = opened[page]
    assert elements > 1
    if page == "verify.py":
        [sentence] = said
        assert "pip install -r requirements.txt" in sentence
    else:
        assert not [sentence for sentence in said if "not installed" in sentence]
