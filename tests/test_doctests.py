import doctest
import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import bertcalc

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / room / "README.md" for room in ("tests", "benchmarks")),
    *ROOT.glob("docs/*.md"),
]
PATH = r"`((?:bertcalc|pages|tests|docs|benchmarks)/[\w./-]+)`"
CREATED = re.compile(rf"{PATH}:\n\n```(?:python|po|toml)")  # files that the document asks the reader to write
MODULES = ["bertcalc", *(module.name for module in walk_packages(bertcalc.__path__, "bertcalc."))]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_the_docstrings_of_a_module_are_true(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = {module for module in MODULES for test in finder.find(import_module(module)) if test.examples}
    assert found >= {"bertcalc", "bertcalc.config", "bertcalc.model.formula"}


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "docs/library.md", "docs/others.md"])
def test_the_examples_in_the_documents_are_true(file: str) -> None:
    outcome = doctest.testfile(str(ROOT / file), module_relative=False)
    assert outcome.attempted
    assert not outcome.failed


@pytest.mark.parametrize("file", ["README.md", "docs/library.md", "docs/others.md"])
def test_an_example_of_the_library_needs_one_import(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.findall(r"^>>> (.*import .*)$", text, re.MULTILINE) == ["import bertcalc"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_path_in_a_document_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    links = set(re.findall(r"\]\((?!https?:)([^)#\s]+)", text))
    paths = links | set(re.findall(PATH, text)) - set(CREATED.findall(text))
    assert [path for path in paths if not any((folder / path).exists() for folder in (ROOT, document.parent))] == []
