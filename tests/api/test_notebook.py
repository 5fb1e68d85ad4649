"""The output of a real, executed notebook: a tree that opens and closes, formulas, tables, and text."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from transformers import BertConfig, BertModel

import bertcalc
from bertcalc.api.notebook import TreeRow, tree_html, tree_rows, tree_text
from bertcalc.families import FAMILIES

CELLS = (
    "import bertcalc",
    'bert = bertcalc.load("bert-base-uncased")\nbert',
    'bert.formula("encoder.layer.*")',
    'bert.compare(bertcalc.load("bert-large-uncased"))',
    "bertcalc.load(bertcalc.columns(bert.config, num_hidden_layers=[1, 2]))",
    'print(bert.formula("pooler"))',
    "widget = bert.widget()\nwidget.sizes = {**widget.sizes, 'num_hidden_layers': 24}\nwidget",
    "widget.model.num_parameters()",
)


@pytest.fixture(scope="module")
def executed() -> Any:
    """A notebook after a kernel has executed its cells."""
    v4: Any = nbformat.v4  # nbformat has no types for it
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in CELLS])
    resources = {"metadata": {"path": str(Path(__file__).parents[2])}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    nbformat.validate(notebook)
    return notebook


@pytest.fixture(scope="module")
def shown(executed: Any) -> list[dict[str, Any]]:
    """The outputs of the notebook's cells, each keyed by media type."""
    return [dict(output.get("data") or output) for cell in executed.cells for output in cell.outputs]


def test_a_notebook_shows_a_tree_latex_and_a_table_with_text_beside_each(shown: list[dict[str, Any]]) -> None:
    tree, formula, table, columns, text, *_widget = shown
    assert tree["text/html"].count("<details") == tree["text/html"].count("</details>") == 10
    assert tree["text/plain"].splitlines()[0].split() == ["BertModel", "109,482,240", "100.0", "%"]
    assert formula == {"text/plain": "4H² + 2HI + 9H + I", "text/latex": "$4 H^{2} + 2 H I + 9 H + I$"}
    assert table["text/html"].startswith("<table>")
    assert table["text/plain"].splitlines()[-1].split() == ["BertModel", "335,141,888", "+225,659,648"]
    assert columns == {"text/plain": "<BertModel>"}
    assert text["text"] == "H² + H\n"


def test_a_notebook_stores_a_widget_that_works_when_it_is_opened_again(
    executed: Any, shown: list[dict[str, Any]]
) -> None:
    *_others, widget, count = shown
    states = executed.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    stored = states[widget["application/vnd.jupyter.widget-view+json"]["model_id"]]
    assert stored["model_module"] == "anywidget"
    assert "class FormulaView" in stored["state"]["_esm"]
    assert stored["state"]["sizes"]["num_hidden_layers"] == 24
    with torch.device("meta"):
        real = BertModel(BertConfig(num_hidden_layers=24))
    assert count["text/plain"] == str(sum(tensor.numel() for tensor in real.parameters()))


def test_without_anywidget_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bertcalc.api, "find_spec", lambda name: None if name == "anywidget" else object())
    with pytest.raises(ImportError, match=r"pip install anywidget sympy\.$"):
        bertcalc.load("bert-base-uncased").widget()


class _Texts(HTMLParser):
    """The texts of the elements with a CSS class, in order. Raises AssertionError for a tag that is not closed."""

    def __init__(self, wanted: str) -> None:
        super().__init__()
        self.wanted = wanted
        self.open: list[tuple[str, bool]] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        matches = self.wanted in (dict(attrs).get("class") or "").split()
        self.open.append((tag, matches))
        if matches:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if any(matches for _tag, matches in self.open):
            self.found[-1] += data


def texts(html: str, wanted: str) -> list[str]:
    parser = _Texts(wanted)
    parser.feed(html)
    assert parser.open == []
    return [text.strip() for text in parser.found]


def walk(row: TreeRow) -> list[TreeRow]:
    return [row, *(below for child in row.children for below in walk(child))]


MODELS = [(family.config.default(), cls.name) for family in FAMILIES.values() for cls in family.classes[:2]]


@pytest.mark.parametrize(("config", "architecture"), MODELS, ids=[name for _config, name in MODELS])
def test_the_rows_of_a_tree_add_up(config: Any, architecture: str) -> None:
    """Rows and their own tensors add up to the total. Each row has the total of its module, including all copies."""
    model = bertcalc.load(config, architecture)
    top = tree_rows(model)
    assert top.total == model.num_parameters()
    assert tree_text(model).count("\n") + 1 == len(walk(top)) == len(texts(tree_html(model), "name"))
    for row in walk(top):
        below = sum(child.total for child in row.children)
        assert below <= row.total
        if row.children and not row.tensors:
            assert below == row.total
        assert row.total or "tied" in row.tensors or any("tied" in inside.tensors for inside in walk(row))


def test_a_repeated_layer_stands_once() -> None:
    text = tree_text(bertcalc.load("bert-base-uncased"))
    assert len(re.findall(r"BertLayer", text)) == 1
    assert re.search(r"layer\.\* +BertLayer +12 × 7,087,872 +85,054,464 +77.7 %", text)
    assert re.search(r"query +Linear +768 × 768 \+ 768 +12 × 590,592 +7,087,104 +6.5 %", text)
    modern = tree_text(bertcalc.load("ModernBERT-base"))  # its first layer lacks a norm
    assert [re.findall(r"layers\.(\S+)", line) for line in modern.splitlines() if "layers." in line] == [["0"], ["*"]]


def test_a_tied_decoder_is_shown_and_counts_nothing() -> None:
    text = tree_text(bertcalc.load("bert-base-uncased", "BertForMaskedLM"))
    assert re.search(r"decoder +Linear +tied weight \+ tied bias +0 +0.0 %", text)


def test_columns_of_the_text_end_at_the_same_place() -> None:
    lines = tree_text(bertcalc.load("bert-base-uncased")).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert len({re.search(r"([\d,]+) +\S+ %$", line).end(1) for line in lines}) == 1  # type: ignore[union-attr]
