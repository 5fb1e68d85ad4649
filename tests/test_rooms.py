"""The rooms of the project in their order: a module imports only its own room and those before it."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# From the bottom to the top; docs/architecture.md says what is in each.
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
        "bertcalc.reading",
        "bertcalc.discover.results",
    ),
    *("bertcalc.discover.search", "bertcalc.discover", "bertcalc.hub", "bertcalc.proof", "bertcalc.charts"),
    *("bertcalc.completeness", "bertcalc.widget", "bertcalc.api", "bertcalc", "bertcalc.__main__", "pages.server"),
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
    *("pages.ui.bring", "pages.ui.lecture", "pages", "app"),
)
MOST_FILES = 25  # in one folder


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {
    module_of(path): path.read_text(encoding="utf-8")
    for path in [ROOT / "app.py", *(ROOT / "bertcalc").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
}


def room_of(module: str) -> str:
    """The room of a module: the longest name in the order that it begins with. The package alone is the public face."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next(name for name in names if name in ORDER and (name != "bertcalc" or module == name))


def imports_of(source: str, modules: set[str]) -> Iterator[str]:
    """The modules of ours that a source imports, in functions and for types, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in modules:
                    yield whole
                elif node.module in modules:
                    yield str(node.module)


def upward(sources: dict[str, str]) -> list[str]:
    return [
        f"{module} imports {other}"
        for module, source in sources.items()
        for other in imports_of(source, set(sources))
        if ORDER.index(room_of(other)) > ORDER.index(room_of(module))
    ]


def circle(sources: dict[str, str]) -> list[str]:
    """The modules of a circle of imports; none if there is no circle."""
    graph = {module: set(imports_of(source, set(sources))) - {module} for module, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def named_in_text(source: str) -> list[str]:
    """The modules of ours that are imported by a text."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
        for argument in node.args[:1]
        if "bertcalc" in ast.unparse(argument) or "__name__" in ast.unparse(argument)
    ]


def test_every_module_is_in_a_room() -> None:
    assert {room_of(module) for module in SOURCES} == set(ORDER)


def test_no_import_runs_upward() -> None:
    assert upward(SOURCES) == []


def test_no_import_runs_in_a_circle() -> None:
    # The package of the families imports its own files, which import each other by its name.
    assert circle({**SOURCES, "bertcalc.families": ""}) == []


def test_no_module_of_ours_is_imported_by_a_text() -> None:
    assert {module: texts for module, source in SOURCES.items() if (texts := named_in_text(source))} == {}


@pytest.mark.parametrize("folder", sorted({path.parent for path in [*ROOT.glob("bertcalc/**/*.py")]}))
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
    assert named_in_text('import_module(f"{__name__}.bert")\nimportlib.import_module("bertcalc.proof")') != []
