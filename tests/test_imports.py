"""The core needs only Python, and SymPy for formulas. A few rooms (packages) list what else they need."""

import ast
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from pkgutil import walk_packages

import pytest

import bertcalc

ROOT = Path(__file__).parents[1]
MODULES = ["bertcalc", *(module.name for module in walk_packages(bertcalc.__path__, "bertcalc."))]
# Libraries that the modules of a room may import. Libraries that only functions import are not loaded with the module.
ROOMS = {
    "bertcalc.proof": {"psutil", "torch", "transformers"},
    "bertcalc.discover": {"huggingface_hub", "sympy", "torch", "transformers"},
    "bertcalc.hub": {"huggingface_hub", "httpx2"},
    "bertcalc.charts": {"altair", "pandas", "pyarrow", "vl_convert"},
    "bertcalc.widget": {"anywidget", "traitlets"},
}
# The public API and model references. Their functions import what they need from any room.
FACES = {"bertcalc.api", "bertcalc.model_ref"}
LOADED = {"bertcalc.proof": {"psutil"}, "bertcalc.discover": {"sympy", "mpmath"}}


def room_of(module: str) -> str:
    """The first two parts of a module's path."""
    return ".".join(module.split(".")[:2])


CORE = [module for module in MODULES if room_of(module) not in ROOMS]

# Python runs isolated, so that no user setting changes the path or imports anything. Modules loaded at the start do not
# count: a virtual environment may load its own hooks. Importing a module imports its package first, so each module is
# examined in a copy of the process that has imported only the package.
PROGRAM = """
import gc, importlib, json, os, sys
gc.disable()
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
                os._exit(0)  # at once: to take all modules apart would take longer than to import this one
            if os.wait()[1]:
                sys.exit(1)

look("bertcalc")
"""

# Modules that Altair and anywidget import are not checked.
IMPORTED = [module for module in MODULES if room_of(module) not in ("bertcalc.charts", "bertcalc.widget")]
SERVER = {"google", "h11", "starlette", "streamlit", "uvicorn", "vl_convert", "websockets"}


def sympy_of(module: str) -> set[str]:
    """SymPy and mpmath (SymPy's dependency) for the modules with formulas."""
    return {"sympy", "mpmath"} if "formula" in module.rpartition(".")[2] else set()


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """The packages that importing each module loads, keyed by module name."""
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
    if module in CORE and module not in FACES:
        assert not [name for name in named if room_of(name) in ROOMS]


@pytest.mark.parametrize("path", sorted((ROOT / "pages" / "server").rglob("*.py")), ids=lambda path: path.stem)
def test_the_server_needs_no_pages(path: Path) -> None:
    named = imported(path)
    assert {name.partition(".")[0] for name in named} - sys.stdlib_module_names <= {"bertcalc", "pages"} | SERVER
    assert not [name for name in named if name.startswith("pages.") and not name.startswith("pages.server")]


def test_every_module_of_the_pages_uses_streamlit() -> None:
    """Every module in pages uses Streamlit, itself or through imported names.

    A module without Streamlit belongs in bertcalc.
    """
    outside = {"server", "locale"}  # the code in front of Streamlit, and the tool that updates message catalogues
    files = [path for path in (ROOT / "pages").rglob("*.py") if not outside & {*path.parts}]
    paths = {path.relative_to(ROOT).with_suffix("").parts: path for path in files}
    sources = {".".join(name).removesuffix(".__init__"): path.read_text("utf-8") for name, path in paths.items()}
    assert without_streamlit(sources) == []


def test_a_constant_of_a_module_that_uses_streamlit_is_no_use_of_it() -> None:
    sources = {
        "pages.theme": "import streamlit as st\nINK = 1\ndef draw(): st.write(INK)\nclass Row:\n ink: st.Page",
        "pages.words": "from pages import theme\ndef say(draw): draw()\ndef show(): theme.draw()",
        "pages.drawn": "from pages.words import show\nSHOWN = show()",
        "pages.control": "from pages.drawn import SHOWN\nSHOWN.again()",
        "pages.constant": "from pages.theme import INK\nINK + 1",
        "pages.hint": "from pages.theme import draw\ndef ask(draw, other: draw) -> draw: draw()",
        "pages.pure": "from pages.theme import Row\nfrom pages.words import say\nsay(Row)",
    }
    assert without_streamlit(sources) == ["pages.constant", "pages.hint", "pages.pure"]


def without_streamlit(sources: Mapping[str, str]) -> list[str]:
    """Return the modules that use neither Streamlit nor any definition of other modules that uses it."""
    trees = {module: ast.parse(source) for module, source in sources.items()}
    using: dict[str, set[str]] = {}
    of_modules: dict[str, set[str]] = {}
    for module, tree in trees.items():
        defined = {name: node for node in tree.body for name in described_by(node)}
        known = {name: f"{module}.{name}" for name in defined} | dict(names_imported(tree))
        using |= {f"{module}.{name}": set(used(node, known)) for name, node in defined.items()}
        of_modules[module] = set(used(tree, known))
    found = {name for names in of_modules.values() for name in names if name.partition(".")[0] == "streamlit"}
    while more := {name for name, names in using.items() if names & found} - found:
        found |= more
    return sorted(module for module, names in of_modules.items() if not names & found)


def described_by(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign(targets=targets):
            return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(name)):
            return [name]
    return []


def used(node: ast.AST, known: Mapping[str, str]) -> Iterator[str]:
    """Yield the known names that a piece of syntax uses. Annotations are not counted, and parameters hide names."""
    match node:
        case ast.Name(name) if name in known:
            yield known[name]
        case ast.Attribute(ast.Name(name), attribute) if name in known:
            yield from (known[name], f"{known[name]}.{attribute}")
        case ast.FunctionDef() | ast.Lambda():
            hidden = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            known = {name: full for name, full in known.items() if name not in hidden}
    for field, inside in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for each in inside if isinstance(inside, list) else [inside]:
                if isinstance(each, ast.AST):
                    yield from used(each, known)


def test_a_module_or_class_has_a_name_of_its_own() -> None:
    """Module names and class names are unique.

    Packages and pages are exempt: a page's file name is its address, which may equal the name of a room. The public
    API's Model extends the module tree's Model and may share its name.
    """
    modules, classes = defaultdict(list), defaultdict(list)
    for path in (path for folder in ("bertcalc", "pages") for path in (ROOT / folder).rglob("*.py")):
        where = str(path.relative_to(ROOT))
        if path.parent != ROOT / "pages" and path.stem not in ("__init__", "__main__"):
            modules[path.stem].append(where)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not extends_its_name(node):
                classes[node.name.lstrip("_")].append(where)
    assert [found for found in (*modules.values(), *classes.values()) if len(found) > 1] == []


def test_a_name_is_assigned_once_in_a_module() -> None:
    """A second pattern or limit with the same name would also replace the first where the first is meant."""
    twice = []
    for path in (ROOT / "bertcalc").rglob("*.py"):
        assigned = Counter(
            name.id
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        )
        twice += [f"{path.name}: {name}" for name, times in assigned.items() if times > 1]
    assert not twice


def extends_its_name(node: ast.ClassDef) -> bool:
    """Whether a class extends a class of the same name, as in ``class Model(family.Model)``."""
    return any(isinstance(base, ast.Attribute) and base.attr == node.name for base in node.bases)


def imported(path: Path) -> set[str]:
    """Return everything that a file imports, including inside functions: modules, and names imported from them."""
    named = [full.split(".") for _name, full in names_imported(ast.parse(path.read_text(encoding="utf-8")))]
    return {".".join(parts[:length]) for parts in named for length in range(1, len(parts) + 1)}


def names_imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the (name, full name) pairs that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            assert node.level == 0
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
