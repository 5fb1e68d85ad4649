"""The output of ``print(model)`` as foldable HTML: one line per module, in the color of its component."""

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

import streamlit as st

from bertcalc.charts.colors import BACKGROUND
from bertcalc.families import CLASSES
from bertcalc.model.difference import ModuleChange
from bertcalc.model.model import Model
from bertcalc.model.modules import PrintedLine, split_layer
from bertcalc.model.totals import component_at
from bertcalc.text import N_
from bertcalc.text.live_choices import either
from bertcalc.text.live_numbers import fill, grouped, is_live, joined
from pages.ui.shell import live
from pages.ui.shell.controls import Select, Switch, view
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.theme import appearance, colors

VIEW = view(
    "view", {"tree": N_("Tree"), "parts": N_("Module types"), "notebook": N_("Tensors"), "freezing": N_("Freezing")}
)
COUNTS = Switch("counts", N_("Counts"))
BESIDE = Select(
    "beside", N_("Compared with"), ("none", *CLASSES), {"none": N_("Nothing")}, label_visibility="collapsed", width=270
)
# Maps a module's path, without the prefix of the base model, to its sign; + also applies to all modules inside it.
Signs = Mapping[str, str]


def signs_of(changes: Sequence[ModuleChange]) -> tuple[Signs, Signs]:
    """The signs for two trees side by side: + marks modules that only this tree has, ≠ modules that differ."""
    left = {change.path: "≠" if change.there else "+" for change in changes if change.here}
    right = {change.path: "≠" if change.here else "+" for change in changes if change.there}
    return left, right


def draw_tree(
    tree: Model, signs: Signs = MappingProxyType({}), *, counts: bool, folded: bool = False, number: int = 0
) -> None:
    """Draw the tree of ``tree_html``; its live texts update while a slider moves.

    ``number`` distinguishes trees side by side.
    """
    key = f"tree-{number}"
    with st.container(key=key):
        st.html(tree_html(tree, signs, counts=counts, folded=folded))
    texts = [text for line in tree.printed_lines() for text in _texts(line, counts=counts) if is_live(text)]
    for at, text in enumerate(texts):
        live.put(key, "text", at, text)


def tree_html(model: Model, signs: Signs = MappingProxyType({}), *, counts: bool, folded: bool = False) -> str:
    """The tree as HTML, with folded layers if ``folded``, and with each module's parameter count if ``counts``.

    Modules are <details> elements, which the browser folds by mouse and keyboard without the server.
    """
    html = [f'<div class="tree" style="--paper: {BACKGROUND[appearance()]}">']
    for line in model.printed_lines():
        content = _line(model, line, signs, counts=counts)
        if line.opens:
            start = "<details>" if folded and split_layer(line.path)[0] else "<details open>"
            html.append(f"{start}<summary {content}</summary>")
        else:
            html.append(f"<div {content}</div>{'</details>' if line.closes else ''}")
    return "".join([*html, "</div>"])


def count_text(line: PrintedLine) -> str:
    """A module's parameter count as text, "all = copies × one" for several copies, with the names of tied tensors."""
    copies, one = line.copies, line.module.num_parameters()
    several = fill("{all:,} = {copies:,} × {one:,}", all=copies * one, copies=copies, one=one)
    text = either(copies, 1, grouped(one), several)
    tied = _("(tied: {names})").format(names=listed(line.module.tied)) if line.module.tied else ""
    return joined(" ", (text, tied))


def _texts(line: PrintedLine, *, counts: bool) -> tuple[str, str]:
    """The text of a line, and the parameter count after it, which can be empty."""
    return line.text, count_text(line) if counts and not line.closes else ""


def _line(model: Model, line: PrintedLine, signs: Signs, *, counts: bool) -> str:
    path = model.without_prefix(line.path)
    inside = any(sign == "+" and path.startswith(f"{start}.") for start, sign in signs.items())
    sign = "+" if inside else signs.get(path, "")
    whole = line.module in (model, model.body())
    color = "" if whole else f' style="color: {colors()[component_at(model, path)]}"'
    before = f"<b>{sign}</b>" if sign else ""
    text, count = _texts(line, counts=counts)
    code, after = _element("code", text), _element("span", count) if count else ""
    kind = "line" + (" marked" if sign else "") + (" end" if line.closes else "")
    return f'class="{kind}"{color}>{before}{code}{after}'


def _element(tag: str, text: str) -> str:
    """An HTML element with a text; an element with a live text has the class "live", which live.js searches for."""
    start = f'{tag} class="live"' if is_live(text) else tag
    return f"<{start}>{escape(text)}</{tag}>"
