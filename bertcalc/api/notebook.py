"""Show a module tree in a notebook: a collapsible tree in HTML, and the same rows as plain text.

Modules without parameters are left out. A repeated layer has a single row with the total of all copies, so each row is
the sum of the rows below it and its own tensors.

>>> from bertcalc.families import build
>>> print("\\n".join(tree_text(build("bert-base-uncased")).splitlines()[:4]))
BertModel                                                                          109,482,240  100.0 %
  embeddings               BertEmbeddings                                           23,837,184   21.8 %
    word_embeddings        Embedding          30,522 × 768                          23,440,896   21.4 %
    position_embeddings    Embedding          512 × 768                                393,216    0.4 %
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from bertcalc.model.modules import Module, ModuleList
from bertcalc.text import text_table
from bertcalc.text.digits import share


class TreeRow(NamedTuple):
    """A module with parameters: its name, class, own tensors, parameters per copy, and number of copies."""

    name: str
    kind: str
    tensors: str
    each: int
    copies: int
    children: "tuple[TreeRow, ...]"

    @property
    def total(self) -> int:
        return self.copies * self.each

    @property
    def sum_of_copies(self) -> str:
        """The number of copies times the parameters of each copy: 12 × 7,087,872; empty for a single copy."""
        return f"{self.copies:,} × {self.each:,}" if self.copies > 1 else ""


def tree_rows(tree: Module) -> TreeRow:
    """The row of a tree's root; its ``children`` are the rows of the modules that have parameters."""
    return _row("", tree, 1)


def _row(name: str, module: Module, copies: int) -> TreeRow:
    children = tuple(_row(path, child, copies * count) for path, child, count in _children(module))
    return TreeRow(name, module.class_name, _tensors(module), module.num_parameters(), copies, children)


def _children(module: Module) -> Iterator[tuple[str, Module, int]]:
    """The children with parameters or tied tensors; a list of layers is replaced by its layers, such as layer.*."""
    for name, child, copies in module.named_children(folded=True):
        if isinstance(child, ModuleList) and child.class_name == "ModuleList":
            yield from ((f"{name}.{inner}", layer, copies * count) for inner, layer, count in _children(child))
        elif child.num_parameters() or any(inside.tied for _path, inside, _copies in child.modules()):
            yield name, child, copies


def _tensors(module: Module) -> str:
    """The shapes of a module's own tensors, and the names of its tied tensors, which are counted with their owners."""
    own = [" × ".join(f"{side:,}" for side in shape) or "1" for shape in module.parameters.values()]
    return " + ".join([*own, *(f"tied {name}" for name in module.tied)])


def tree_text(tree: Module) -> str:
    """The tree as lines of text."""
    top = tree_rows(tree)
    cells = [
        (
            f"{'  ' * depth}{row.name or row.kind}",
            row.kind if row.name else "",
            row.tensors,
            row.sum_of_copies,
            f"{row.total:,}",
            _percent(row.total, top.total),
        )
        for depth, row in _with_depth(top, 0)
    ]
    return text_table(cells, "<<<>>>")


def _with_depth(row: TreeRow, depth: int) -> Iterator[tuple[int, TreeRow]]:
    yield depth, row
    for child in row.children:
        yield from _with_depth(child, depth + 1)


def _percent(part: int, whole: int) -> str:
    return f"{share(part, whole)} %" if whole else ""


def mime_bundle(tree: Module, remark: str = "") -> dict[str, str]:
    """The text and HTML that a notebook shows for a tree, below a remark, keyed by media type.

    For a tree with columns or symbols as sizes, there is only a text: its repr.
    """
    if not isinstance(tree.num_parameters(), int):
        return {"text/plain": repr(tree)}
    lines = [remark, "", tree_text(tree)] if remark else [tree_text(tree)]
    return {"text/plain": "\n".join(lines), "text/html": tree_html(tree, remark)}


def tree_html(tree: Module, remark: str = "") -> str:
    """The tree as collapsible HTML, below a remark."""
    top = tree_rows(tree)
    above = f"<p>{escape(remark)}</p>" if remark else ""
    style = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    return f'<style>{style}</style><div class="bertcalc">{above}{_html(top, top.total, opened=True)}</div>'


def _html(row: TreeRow, whole: int, *, opened: bool = False) -> str:
    small = " · ".join(filter(None, (row.kind if row.name else "", row.tensors, row.sum_of_copies)))
    cells = (
        f'<span class="name">{escape(row.name or row.kind)} <small>{escape(small)}</small></span> '
        f'<span class="number">{row.total:,}</span> '
        f'<span class="number share">{escape(_percent(row.total, whole))}</span>'
    )
    if not row.children:
        return f'<div class="row">{cells}</div>'
    inside = "".join(_html(child, whole) for child in row.children)
    return f'<details{" open" if opened else ""}><summary class="row">{cells}</summary>{inside}</details>'
