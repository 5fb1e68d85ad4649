"""The parts of the model on the page Any model as bars that the reader can open, and its tensors as a table."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from bertcalc.charts.colors import INK
from bertcalc.charts.columns import Columns
from bertcalc.discover.results.components import Part, count, folded, live_count, openable, parts
from bertcalc.discover.results.expressions import latex, letters, shape_numbers, text, value
from bertcalc.discover.results.result import Discovered, Tensors
from bertcalc.export.table import TableOrChart
from bertcalc.text import N_
from bertcalc.text.digits import latex_number
from pages.ui.shell.any_model import PAGE
from pages.ui.shell.controls import Fold, Reason, Select
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.theme import appearance, colors
from pages.ui.widgets.bars import Bars, draw_bars, open_clicked
from pages.ui.widgets.export.shown import note
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.tables import draw_tensors, shape_text, tensor_titles

_WHOLE = ""
# A formula with more than _LONG fields is long. In projector view, there is room for _FEW bars beside a long formula,
# and for _SOME bars beside a short formula.
_LONG, _FEW, _SOME = 8, 3, 7


class _Paths(Select[str]):
    def wrong(self, text: str) -> Reason | None:
        """Accept any path, because the page shows the whole model if the path does not exist."""
        return None


OPEN = _Paths("part", N_("Open"), words={_WHOLE: N_("the whole model")}, label_visibility="collapsed", width=320)
TENSORS = Fold("any_tensors", N_("Tensors: name, copies, and shape in symbols and in numbers"))


def show_parts(discovery: Discovered, values: Mapping[str, int]) -> None:
    """Draw a bar for each part of the opened module; a click or the control above the bars opens a part.

    Projector view merges the smallest parts, and has no control if the formula is long.
    """
    paths = [_WHOLE, *openable(discovery)]
    opened = OPEN.value(paths)
    rows = parts(discovery, opened)
    long = presenting() and len(discovery.fields) > _LONG
    if presenting():  # fold rows, because a page in projector view does not scroll
        rows = folded(rows, _FEW if long else _SOME, discovery.fields)
    if not long:
        with st.container(horizontal=True, vertical_alignment="center"):
            OPEN.show(paths)
            if opened:
                st.latex(_formula(discovery, rows, values))
            else:
                st.caption(_("Click a bar, or choose here, to open a part of the model"))
    _draw(discovery, rows, values, opened, paths)
    st.session_state["drawn choices"][OPEN.name] = opened or None


def _formula(discovery: Discovered, rows: list[Part], values: Mapping[str, int]) -> str:
    """Return LaTeX for the count of the opened module: "letters = number", or the number if the formula is too long."""
    from sympy import Add, expand, factor_terms

    expression = factor_terms(expand(Add(*(tensor.expression for part in rows for tensor in part.tensors))))
    written = latex(expression, letters(discovery))
    total = latex_number(sum(part.count(values) for part in rows))
    if len(written) > 400:  # the formula is too long for a line, and the table below has the formula of each tensor
        return total
    return f"{written} = {total}"


def _draw(discovery: Discovered, rows: list[Part], values: Mapping[str, int], opened: str, paths: list[str]) -> None:
    inks, field_letters, key = colors(), letters(discovery), f"any bars of {opened}"
    figures = {part.path: live_count(part.tensors, values) for part in rows}
    names, hues = [part.name for part in rows], [inks[part.component] for part in rows]
    formulas = [text(sum(tensor.expression for tensor in part.tensors), field_letters) for part in rows]
    opening = [part.path if part.path in paths else "" for part in rows]
    rest = discovery.parameters - discovery.explained
    if rest and not opened:  # add a row, so that all rows sum to the total
        figures[""] = rest
        names.append(_("without a formula"))
        hues.append(INK[appearance()])
        formulas.append("?")
        opening.append("")
    draw_bars(
        Bars(figures, {}, names, hues, formulas, opening),
        PAGE,
        (discovery.model_type, discovery.cls, opened),
        alt=_("Parameters of each part of {opened}").format(opened=opened or discovery.cls),
        key=key,
        on_select=partial(open_clicked, OPEN, key),
    )


def show_tensors(discovery: Discovered, values: Mapping[str, int]) -> None:
    """Show every tensor in a table inside an expander; exports contain the table even if the expander is closed."""
    columns, titles = tensor_columns(discovery, values), tensor_titles()
    details = TENSORS.unfolded()
    if details is None:
        note(TableOrChart(_("The tensors of the model"), {titles[name]: cells for name, cells in columns.items()}))
        return
    with details:
        draw_tensors(columns)


def tensor_columns(discovery: Discovered, values: Mapping[str, int]) -> Columns:
    """Return the columns of the tensor table.

    The parameters sum to the model's count, unless some tensors have no formula.
    """
    tensors = sorted(discovery.tensors, key=lambda tensor: tensor.name)
    counts = [count([tensor], values) for tensor in tensors]
    total = sum(counts)
    return {
        "name": [tensor.name for tensor in tensors],
        "copies": [value(tensor.copies, values) for tensor in tensors],
        "fields": [_shape(tensor) for tensor in tensors],
        "shape": [shape_text(shape_numbers(tensor.shape, values)) for tensor in tensors],
        "parameters": counts,
        "share": [percent(number, total) for number in counts],
    }


def _shape(tensors: Tensors) -> str:
    """Return a shape as text with field names, such as "vocab_size × n_embd"."""
    plain = {name.name: name.name for side in tensors.shape for name in side.free_symbols}
    return " × ".join(text(side, plain, product=True) for side in tensors.shape)
