"""The core needs nothing but Python, and SymPy for formulas; a few rooms say what else they need."""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from pkgutil import walk_packages

import pytest

import bertcalc

ROOT = Path(__file__).parents[1]
MODULES = ["bertcalc", *(module.name for module in walk_packages(bertcalc.__path__, "bertcalc."))]
# Libraries that the modules of a room may name; those that only functions import are not loaded with the module.
ROOMS = {
    "bertcalc.proof": {"psutil", "torch", "transformers"},
    "bertcalc.discover": {"huggingface_hub", "sympy", "torch", "transformers"},
    "bertcalc.hub": {"huggingface_hub", "httpx2"},
    "bertcalc.server": {"h11", "starlette", "streamlit", "uvicorn", "websockets"},
}
LOADED = {"bertcalc.proof": {"psutil"}, "bertcalc.discover": {"sympy", "mpmath"}}
CORE = [module for module in MODULES if not module.startswith(tuple(ROOMS))]

# Isolated, so that no setting of the user's puts anything on the path or imports it; what was there before does
# not count (a virtual environment may load hooks of its own at the start). A module comes after its package, whoever
# imports it, so that it is looked at in a copy of the process that has imported the package and nothing else.
PROGRAM = """
import importlib, json, os, sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])

def look(module):
    importlib.import_module(module)
    found = {name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names
    print(json.dumps([module, sorted(found)]), flush=True)
    for inside in sys.argv[2:]:
        if inside.rpartition(".")[0] == module:
            if not os.fork():
                look(inside)
                sys.exit()
            if os.wait()[1]:
                sys.exit(1)

look("bertcalc")
"""


def room_of(module: str) -> str:
    """The first two names of a module's path."""
    return ".".join(module.split(".")[:2])


IMPORTED = [module for module in MODULES if room_of(module) != "bertcalc.server"]


def sympy_of(module: str) -> set[str]:
    """SymPy, and mpmath, which it needs itself, for the modules with formulas."""
    return {"sympy", "mpmath"} if "formula" in module.rpartition(".")[2] else set()


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What importing each module loads."""
    command = [sys.executable, "-I", "-c", PROGRAM, str(ROOT), *IMPORTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("module", IMPORTED)
def test_importing_a_module_loads_nothing_but_what_it_may(module: str, loaded: dict[str, list[str]]) -> None:
    found = set(loaded[module]) - {"bertcalc"}
    assert found == sympy_of(module) if module in CORE else found <= LOADED.get(room_of(module), set())


@pytest.mark.parametrize("module", MODULES)
def test_no_import_statement_names_anything_else(module: str) -> None:
    path = ROOT.joinpath(*module.split("."))
    named = imported(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))
    libraries = {name.partition(".")[0] for name in named} - sys.stdlib_module_names
    assert libraries <= {"bertcalc"} | sympy_of(module) | ROOMS.get(room_of(module), set())
    if module in CORE:
        assert not [name for name in named if name.startswith(tuple(ROOMS))]


def test_every_module_of_the_pages_uses_streamlit() -> None:
    """Itself, or by another module of the pages; what does not belongs into a room of bertcalc."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): imported(path)
        for path in (ROOT / "pages").rglob("*.py")
    }
    found = {"streamlit"}
    while more := {name for name, named in modules.items() if named & found} - found:
        found |= more
    assert sorted(modules.keys() - found) == WITHOUT_STREAMLIT


# pyarrow's tables are what Streamlit's are made of.
WITHOUT_STREAMLIT = ["pages.ui.columns"]


def test_a_module_or_class_has_a_name_of_its_own() -> None:
    """Packages aside, and pages, whose files are addresses: one can have the name of the room that it shows."""
    modules, classes = defaultdict(list), defaultdict(list)
    for path in (path for folder in ("bertcalc", "pages") for path in (ROOT / folder).rglob("*.py")):
        where = str(path.relative_to(ROOT))
        if path.parent != ROOT / "pages" and path.stem not in ("__init__", "__main__"):
            modules[path.stem].append(where)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name.lstrip("_")].append(where)
    assert [found for found in (*modules.values(), *classes.values()) if len(found) > 1] == []


def imported(path: Path) -> set[str]:
    """All that a file imports, inside of functions, too: modules, and what is taken of them."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            assert node.level == 0
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return named | {name.partition(".")[0] for name in named}
