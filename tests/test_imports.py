"""The core needs nothing but Python, and SymPy for formulas."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from pkgutil import walk_packages

import pytest

import bertcalc

ROOT = Path(__file__).parents[1]
MODULES = ["bertcalc", *(module.name for module in walk_packages(bertcalc.__path__, "bertcalc."))]
# mpmath is what SymPy itself needs.
LIBRARIES = {module: {"sympy", "mpmath"} for module in MODULES if module.endswith(".formula")}

# Isolated, so that no setting of the user's puts anything on the path or imports it; what was there before does
# not count (a virtual environment may load hooks of its own at the start). One process for all of them: each module is
# imported as the first of the package, and what others loaded that only some may load comes last.
PROGRAM = """
import importlib, json, sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
found = {}
for module in sys.argv[2:]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "bertcalc"]:
        del sys.modules[name]
    importlib.import_module(module)
    found[module] = sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What importing each module loads."""
    order = sorted(MODULES, key=lambda module: module in LIBRARIES)
    command = [sys.executable, "-I", "-c", PROGRAM, str(ROOT), *order]
    found: dict[str, list[str]] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_module_loads_nothing_but_what_it_may(module: str, loaded: dict[str, list[str]]) -> None:
    assert set(loaded[module]) == {"bertcalc"} | LIBRARIES.get(module, set())


@pytest.mark.parametrize("module", MODULES)
def test_no_import_statement_names_anything_else(module: str) -> None:
    path = ROOT.joinpath(*module.split("."))
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    named: set[str] = set()
    for node in ast.walk(ast.parse(source)):  # those inside functions too, which no import would run
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            assert node.level == 0
            named.add(node.module)
    top = {name.partition(".")[0] for name in named}
    assert top - sys.stdlib_module_names <= {"bertcalc"} | LIBRARIES.get(module, set())
