"""Code for one version of transformers or one family stays in its own files. These tests read all other sources."""

import ast
import re
from pathlib import Path

import pytest

from bertcalc.families import FAMILIES

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    str(path.relative_to(ROOT)) for folder in ("bertcalc", "pages") for path in (ROOT / folder).rglob("*.py")
)
# BERT's program declares the table of distances, and the modules with other names in transformers 4.
OF_FOUR = (
    *("bertcalc/transformers4/", "bertcalc/families/bert.py", "bertcalc/forward/between_versions.py"),
    *("bertcalc/memory/einsum.py", "bertcalc/memory/family_steps/relative_step.py"),
)
# Files that name the field without comparing it.
NAMED = {
    "bertcalc/config/__init__.py": "whatever a family lacks has a default, and what shapes a model is listed",
    "bertcalc/families/config_files/other_programs.py": "other programs have other positions, which are refused",
    "bertcalc/explore/model_values.py": "the order of all fields in what is written of a model",
    "bertcalc/config/fields.py": "the field, its values, and what they mean, as readers are told",
    "bertcalc/controls/chosen_model.py": "the values that a link can have",
    "pages/ui/widgets/export/files.py": "readers are told what was not compared",
    "pages/ui/widgets/real_answers.py": "readers are told why nothing is counted",
    "pages/ui/widgets/verdict.py": "readers are told what was not compared",
}
FIELD = {"position_embedding_type", "relative_key", "relative_key_query"}
VERSION = {"transformers_version", "_version", "FOUR"}


def words(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names and the strings in a syntax tree."""
    names: set[str] = set()
    strings: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.keyword(arg=str(word)):
                names.add(word)
            case ast.Constant(str(word)):
                strings.add(word)
    return names, strings


def mentions(tree: ast.AST) -> set[str]:
    names, strings = words(tree)
    return FIELD & (names | strings)


def branches(tree: ast.AST) -> list[str]:
    """The comparisons and match cases that test the version of transformers or the kind of positions."""
    asked = (node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.match_case))
    tests = (node.pattern if isinstance(node, ast.match_case) else node for node in asked)
    return [ast.unparse(node) for node in tests if mentions(node) or VERSION & words(node)[0]]


def read(path: str) -> tuple[str, ast.Module]:
    source = (ROOT / path).read_text(encoding="utf-8")
    return source, ast.parse(source)


@pytest.mark.parametrize("path", [path for path in SOURCES if not path.startswith(OF_FOUR)])
def test_what_only_transformers_4_does_is_in_one_place(path: str) -> None:
    source, tree = read(path)
    assert branches(tree) == []
    assert bool(mentions(tree)) == (path in NAMED)
    assert path in NAMED or re.findall(r"transformers 4\b.*", source) == []


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.startswith("bertcalc/memory/") and "family_steps" not in path]
)
def test_no_module_of_memory_names_a_family(path: str) -> None:
    """A family may be named in its own program, and as an example in a message."""
    _source, tree = read(path)
    names, strings = words(tree)
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    found = {word.lower() for word in names | imported | {word for word in strings if " " not in word}}
    others = [family for family in FAMILIES.values() if family.kind != "Bert"]
    kinds = {name.lower() for family in others for name in (family.kind, family.name, family.config.__module__)}
    assert [word for word in found for kind in kinds if kind in word] == []
