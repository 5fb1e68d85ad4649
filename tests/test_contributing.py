"""CONTRIBUTING.md: its additions are applied to a copy of the repository, then counted, shown and verified."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po
from markdown_it import MarkdownIt

from bertcalc.completeness import missing_parts
from bertcalc.model.family import Family
from bertcalc.model.model import Model
from tests.oracle import Case, facts

ROOT = Path(__file__).parents[1]


class Example(NamedTuple):
    """A code block of the guide, and the last file named in the paragraph before it."""

    path: str
    language: str
    text: str

    def make(self, root: Path) -> None:
        """Change, extend or write the file."""
        file = root / self.path
        if self.language == "diff":
            file.write_text(self.changed(file.read_text(encoding="utf-8")), encoding="utf-8")
        elif self.language == "po" and file.exists():
            file.write_text(f"{file.read_text(encoding='utf-8')}\n{self.text}", encoding="utf-8")
        else:
            assert not file.exists()
            file.write_text(self.text, encoding="utf-8")

    def changed(self, source: str) -> str:
        """Return the changed text of the file. In the lines that the guide shows, "…" stands for any text."""
        lines = self.text.splitlines()
        shown = "\n".join(re.escape(line[1:]).replace("…", ".*") for line in lines if line[0] != "+")
        places = re.findall(rf"^{shown}$", source, re.MULTILINE)
        assert len(places) == 1, f"{self.path} has changed: CONTRIBUTING.md has to show its lines"
        old = iter(places[0].splitlines())
        pairs = [(line[0], line[1:] if line[0] == "+" else next(old)) for line in lines]
        return source.replace(places[0], "\n".join(text for sign, text in pairs if sign != "-"))


def examples() -> Iterator[Example]:
    paragraph = ""
    for before, token in pairwise(MarkdownIt().parse((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))):
        if before.type == "paragraph_open":
            paragraph = token.content
        elif token.type == "fence" and (paths := re.findall(r"`(\w+/[\w./-]+\.\w+)`", paragraph)):
            yield Example(paths[-1], token.info, token.content)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled copy of the repository with everything that the guide adds."""
    root = tmp_path_factory.mktemp("contributed")
    for folder in ("bertcalc", "pages"):
        shutil.copytree(ROOT / folder, root / folder)
    (root / "tests" / "pages").mkdir(parents=True)
    for file in (
        "Makefile",
        "app.py",
        "babel.cfg",
        "tests/component_data.py",
        "tests/pages/apptest.py",
        *(path.name for path in ROOT.glob("*.txt")),
    ):
        shutil.copy2(ROOT / file, root / file)
    for example in examples():
        example.make(root)
    return root


def run(program: str, root: Path) -> Any:
    """Run a program in the copy and return the last line that it prints, parsed as JSON."""
    process = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


CORE = """
import json
import bertcalc
from bertcalc.diagnosis.explain import explain
from bertcalc.families.published import PUBLISHED

base = bertcalc.BertConfig()
print(json.dumps({
    "family": bertcalc.build("facebook/data2vec-text-base", "Data2VecTextForMaskedLM").num_parameters(),
    "preset": bertcalc.build("microsoft/codebert-base").num_parameters(),
    "published": [one.parameters + one.surplus for one in PUBLISHED if one.preset == "codebert-base"],
    "mistakes": [cause.miscount for cause in explain(bertcalc.build(base), base, 52_794_624)[0]],
}))
"""


def test_the_family_the_preset_the_count_and_the_mistake_are_known(tree: Path) -> None:
    assert run(CORE, tree) == {
        "family": 124_697_433,
        "preset": 124_645_632,
        "published": [124_645_632],
        "mistakes": ["feed-forward"],
    }


def test_the_family_is_complete_and_its_classes_are_the_real_ones(tree: Path) -> None:
    spec = spec_from_file_location("data2vec_text", tree / "bertcalc" / "families" / "data2vec_text.py")
    assert spec
    assert spec.loader
    module = sys.modules["data2vec_text"] = module_from_spec(spec)  # dataclass resolves annotations there
    spec.loader.exec_module(module)
    family: Family = module.FAMILY
    assert missing_parts(family) == []
    for cls in family.classes:
        for config in (family.presets["data2vec-text-base"].config, family.fullest()):
            assert facts(Model.of_family(family, cls, config)) == facts(Case(config, cls.name).real())


PAGES = """
import json
from tests.pages.apptest import open_app, without_marks

def texts(page, **link):
    app = open_app(page, **link)
    kinds = ("title", "metric", "markdown", "error")
    return [without_marks(str(shown.value)) for kind in kinds for shown in app.get(kind)]

print(json.dumps({
    "en": texts("file_size.py", preset="data2vec-text-base"),
    "zh": texts("file_size.py", lang="zh"),
    "de": texts("file_size.py", lang="de"),
    "lecture": texts("lecture.py", lecture="small-models"),
}))
"""


def test_the_page_its_texts_the_language_and_the_lecture_are_shown(tree: Path) -> None:
    shown = run(PAGES, tree)
    assert {"How large is the file of weights?", "In float32, the weights take 498,582,528 bytes."} <= {*shown["en"]}
    assert {"权重文件有多大？", "用 bfloat16 存储时，权重占 218,964,480 字节。"} <= {*shown["zh"]}
    assert {"Wie groß ist die Datei mit den Gewichten?", "The bytes of all weights, in each data type."} <= {
        *shown["de"]
    }
    assert "BERT-tiny has 2 layers, and a table of 30,522 rows." in "\n".join(shown["lecture"])


def test_the_guide_translates_every_text_of_its_page(tree: Path) -> None:
    def messages(root: Path, *files: str) -> set[str]:
        keywords = {"_": None, "N_": None}
        paths = [root / "pages" / file for file in files]
        return {str(found[1]) for path in paths for found in extract_from_file("python", path, keywords=keywords)}

    added = messages(tree, "ui/shell/navigation.py", "file_size.py") - messages(ROOT, "ui/shell/navigation.py")
    [texts] = [example.text for example in examples() if example.path.endswith("zh.po")]
    catalog = read_po(texts.splitlines(keepends=True), locale="zh")
    assert {message.id for message in catalog if message.id} == added
    assert all(message.string for message in catalog if message.id)


def test_make_messages_knows_a_new_language(tree: Path) -> None:
    make = ["make", "--no-print-directory", "-n", "messages", f"VENV={sys.prefix}"]
    commands = subprocess.run(make, cwd=tree, check=True, capture_output=True, text=True).stdout
    [update] = re.findall(r"-m (pages\S+update)", commands)
    subprocess.run([sys.executable, "-m", update], cwd=tree, check=True)
    messages = {}
    for language in ("de", "zh"):
        with (tree / "pages" / "ui" / "locale" / f"{language}.po").open("rb") as file:
            messages[language] = {
                message.id: message.string for message in read_po(file, locale=language) if message.id
            }
    assert messages["de"].keys() == messages["zh"].keys()
    assert messages["de"]["File size"] == "Dateigröße"
