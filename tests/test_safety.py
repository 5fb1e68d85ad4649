"""The source never shows untrusted text as HTML, and never runs it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, build
from pages.ui.widgets import module_tree

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "app.py", *sorted(ROOT.glob("bertcalc/**/*.py")), *sorted(ROOT.glob("pages/**/*.py"))]
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
UNPACKS = {"pickle", "marshal", "shelve", "dill", "joblib"}
# Only two processes of the project exchange pickles; no one else can send them.
UNPACKS_ITS_OWN = {ROOT / "bertcalc" / "processes" / "worker.py"}

# It marks live numbers in Markdown, and escapes everything else: tests/pages/test_live.py.
ESCAPES_HTML = {ROOT / "pages" / "ui" / "shell" / "live" / "__init__.py"}


def _nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_is_run_and_no_markdown_is_html(path: Path) -> None:
    for node in _nodes(path):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                assert name not in RUNS_TEXT
            case ast.keyword(arg=argument):
                assert argument != "unsafe_allow_html" or path in ESCAPES_HTML
            case ast.Import(names=names):
                assert not {alias.name for alias in names} & UNPACKS or path in UNPACKS_ITS_OWN
            case ast.ImportFrom(module=module):
                assert module not in UNPACKS


# The tree, tables and printed text have their own tests.
_OURS = (
    "'<style>",
    '"<style>',
    "tree_html(",
    "_TABLE.format(alt=escape(alt)",
    "'<pre>{report.html(say)}",  # ``html`` escapes the text
    '"""<div class="on-paper">',
)


def test_html_is_a_style_sheet_of_ours_or_one_of_a_few_things() -> None:
    shown = [
        ast.unparse(argument)
        for path in SOURCES
        if not path.is_relative_to(ROOT / "bertcalc")  # bertcalc has no Streamlit: tests/test_imports.py
        for node in _nodes(path)
        for argument in _html(node)
    ]
    assert len(shown) == 6
    assert all(text.lstrip("f").startswith(_OURS) for text in shown)


def _html(node: ast.AST) -> list[ast.expr]:
    """The arguments of a call of ``st.html`` or of a container's ``html``."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="report"), attr="html")):
            return []  # the text itself
        case ast.Call(func=ast.Attribute(attr="html"), args=arguments):
            return arguments
    return []


def test_a_table_is_text() -> None:
    def script() -> None:
        from pages.ui.widgets.text_table import draw_text_table

        hostile = '<img src=x onerror="alert(1)">&'
        draw_text_table({f"`{hostile}`": [f"`{hostile}`", "1 < 2 & 3"]}, hostile)
        draw_text_table({"x": [hostile, "[x](https://evil.example)"]}, "Streamlit's own, without HTML")

    app = AppTest.from_function(script).run()
    [html] = [element.proto.body for element in app.get("html")]
    assert html.count("&lt;img src=x onerror=") == 3
    assert "<img" not in html
    assert "1 &lt; 2 &amp; 3" in html
    assert len(app.table) == 1


def test_the_tree_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_tree, "appearance", lambda: "light")
    monkeypatch.setattr(
        module_tree, "colors", lambda: dict.fromkeys(("embeddings", "encoder", "pooler", "head"), "red")
    )
    hostile = '<img src=x onerror="alert(1)">&'
    model = build(BertConfig())
    model.class_name = hostile
    html = module_tree.tree_html(model, counts=False)
    assert hostile not in html
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;" in html
