"""The rooms (packages) of the project in order: a module imports only from its own and earlier rooms."""

import ast
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# From bottom to top; docs/architecture.md describes each room.
ORDER = (
    *("bertcalc.text", "bertcalc.config", "bertcalc.processes", "bertcalc.model", "bertcalc.live"),
    *(
        "bertcalc.transformers4",
        "bertcalc.families",
        "bertcalc.changes",
        "bertcalc.controls",
        "bertcalc.forward",
        "bertcalc.memory",
        "bertcalc.memory.simulator",
    ),
    *(
        "bertcalc.memory.family_steps",
        "bertcalc.memory.peak",
        "bertcalc.storage",
        "bertcalc.compute",
        "bertcalc.change_steps",
        "bertcalc.explore",
        "bertcalc.export",
    ),
    *(
        "bertcalc.diagnosis",
        "bertcalc.proofreading.mentions",
        "bertcalc.proofreading",
        "bertcalc.teach",
        "bertcalc.checkpoints",
        "bertcalc.reading.tensors",
        "bertcalc.reading",
        "bertcalc.discover.results",
    ),
    *("bertcalc.discover.search", "bertcalc.discover", "bertcalc.hub", "bertcalc.proof", "bertcalc.charts"),
    *(
        "bertcalc.model_ref",
        "bertcalc.completeness",
        "bertcalc.widget",
        "bertcalc.api",
        "bertcalc",
        "bertcalc.__main__",
        "pages.server",
    ),
    *("pages.ui.session", "pages.ui.shell", "pages.ui.widgets", "pages.ui.any_model", "pages.ui.diagnosis"),
    *(
        "pages.ui.compute",
        "pages.ui.memory",
        "pages.ui.change",
        "pages.ui.compare",
        "pages.ui.parameters",
        "pages.ui.sweep",
    ),
    *("pages.ui.design", "pages.ui.tools", "pages.ui.walk", "pages.ui.exercises", "pages.ui.checkpoints"),
    *("pages.ui.bring", "pages.ui.lecture", "pages.ui.opening", "pages", "app"),
)
MOST_FILES = 25  # in one folder
# Rooms that others use through one function of their package, with the rooms that may also enter them.
SEALED = {
    "bertcalc.discover.search": ("search", ()),
    "bertcalc.discover": ("discover", ("bertcalc.discover.results",)),
    "bertcalc.memory.simulator": ("simulate", ("bertcalc.memory.family_steps",)),
}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {
    module_of(path): path.read_text(encoding="utf-8")
    for path in [ROOT / "app.py", *(ROOT / "bertcalc").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
}


def room_of(module: str) -> str:
    """The room of a module: the longest prefix in the order. Only the package ``bertcalc`` itself is the public API."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next(name for name in names if name in ORDER and (name != "bertcalc" or module == name))


def names_of(source: str) -> Iterator[str]:
    """Yield the full names of everything that a source imports, including in functions and for type checking."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of(source: str, modules: set[str]) -> Iterator[str]:
    """Yield the project's modules that a source imports."""
    for name in names_of(source):
        if name in modules:
            yield name
        elif (module := name.rpartition(".")[0]) in modules:
            yield module


def is_within(name: str, rooms: Iterable[str]) -> bool:
    return f"{name}.".startswith(tuple(f"{room}." for room in rooms))


def break_ins(sources: dict[str, str]) -> list[str]:
    """Return the imports that reach into a sealed room by anything other than its one function."""
    return [
        f"{module} imports {name}"
        for room, (function, others) in SEALED.items()
        for module, source in sources.items()
        if not is_within(module, (room, *others))
        for name in names_of(source)
        if is_within(name, [room]) and not is_within(name, others) and name != f"{room}.{function}"
    ]


def upward(sources: dict[str, str]) -> list[str]:
    return [
        f"{module} imports {other}"
        for module, source in sources.items()
        for other in imports_of(source, set(sources))
        if ORDER.index(room_of(other)) > ORDER.index(room_of(module))
    ]


def circle(sources: dict[str, str]) -> list[str]:
    """Return the modules of an import cycle, or an empty list."""
    graph = {module: set(imports_of(source, set(sources))) - {module} for module, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def named_in_text(source: str) -> list[str]:
    """Return the calls that import one of the project's modules by a string."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
        for argument in node.args[:1]
        if not (isinstance(argument, ast.Constant) and is_foreign(argument.value))
    ]


def is_foreign(name: object) -> bool:
    return isinstance(name, str) and not is_within(name, ("bertcalc", "pages", "app"))


def test_every_module_is_in_a_room() -> None:
    assert {room_of(module) for module in SOURCES} == set(ORDER)


def test_no_import_runs_upward() -> None:
    assert upward(SOURCES) == []


def test_no_import_runs_in_a_circle() -> None:
    assert circle(SOURCES) == []


def test_a_sealed_room_is_entered_by_its_function() -> None:
    assert break_ins(SOURCES) == []
    assert break_ins({"pages.memory": "from bertcalc.memory import simulator\nimport bertcalc.memory.simulator.tape"})
    assert not break_ins({"bertcalc.memory.peak": "from bertcalc.memory.simulator import simulate"})
    sources = {
        "bertcalc.discover.discovery_worker": "from bertcalc.discover.search.build import config_class",
        "bertcalc.hub": "from bertcalc.discover.search import search",
        "pages.any_model": "from bertcalc.discover import discover, discovery_worker",
        "pages.compare": "from bertcalc.discover.results.result import Discovered",
    }
    assert break_ins(sources) == [
        "bertcalc.discover.discovery_worker imports bertcalc.discover.search.build.config_class",
        "bertcalc.hub imports bertcalc.discover.search.search",
        "pages.any_model imports bertcalc.discover.discovery_worker",
    ]


def test_no_module_of_ours_is_imported_by_a_text() -> None:
    imports = {module: texts for module, source in SOURCES.items() if (texts := named_in_text(source))}
    # It looks up names of Streamlit, uvicorn and websockets that a new version may lack.
    assert imports.pop("pages.server.upstream.internals") == ["import_module(module_name)"]
    assert imports == {}


@pytest.mark.parametrize(
    "folder", sorted({path.parent for room in ("bertcalc", "pages") for path in ROOT.glob(f"{room}/**/*.py")})
)
def test_no_room_is_too_full(folder: Path) -> None:
    assert len(list(folder.glob("*.py"))) <= MOST_FILES


def test_an_import_that_runs_upward_is_found() -> None:
    sources = {
        "bertcalc.text": "",
        "bertcalc.config": "def late():\n    from bertcalc.model import totals",
        "bertcalc.model": "from bertcalc import text",
        "bertcalc.model.totals": "from bertcalc.text import N_",
    }
    assert upward(sources) == ["bertcalc.config imports bertcalc.model.totals"]
    sources["bertcalc.text"] = "from bertcalc.model import totals"
    assert set(circle(sources)) == {"bertcalc.model.totals", "bertcalc.text"}
    ours = (
        *("import_module(f'{__name__}.bert')", "importlib.import_module('bertcalc.proof')"),
        *("import_module('pages.main')", "__import__(PAGE)"),
    )
    assert [named_in_text(text) for text in ours] == [[text] for text in ours]
    assert named_in_text('import_module("numpy")') == []
