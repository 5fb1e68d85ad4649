"""The parts and the tensors of the page's model: ranked bars that open, and a table of names and shapes."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from bertcalc.charts.colors import INK
from bertcalc.charts.columns import Columns
from bertcalc.discover.results.components import Part, count, folded, openable, parts
from bertcalc.discover.results.expressions import latex, letters, shape_numbers, text, value
from bertcalc.discover.results.result import Discovered, Tensors
from bertcalc.export.cells import Shown
from bertcalc.text import N_
from bertcalc.text.digits import latex_number
from pages.ui.shell.any_model import PAGE
from pages.ui.shell.controls import Fold, Reason, Select
from pages.ui.shell.i18n import _
from pages.ui.shell.present import presenting
from pages.ui.shell.theme import appearance, colors
from pages.ui.widgets.bars import Bars, draw_bars, open_clicked
from pages.ui.widgets.export.shown import draw_frame, note
from pages.ui.widgets.formulas import aligned
from pages.ui.widgets.numbers import percent
from pages.ui.widgets.tables import shape_text

_WHOLE = ""
_LONG, _FEW, _SOME = 8, 3, 7  # fields of a long formula; bars on the projector beside it, and beside others


class _Paths(Select[str]):
    def wrong(self, text: str) -> Reason | None:
        """Accept any path: the whole model is shown if it does not have it."""
        return None


OPEN = _Paths("part", N_("Open"), words={_WHOLE: N_("the whole model")}, label_visibility="collapsed", width=320)
TENSORS = Fold("any_tensors", N_("Tensors: name, copies, shape in fields and in numbers"))


def show_parts(found: Discovered, values: Mapping[str, int]) -> None:
    """Draw a bar for each part, which opens by a click, or by the control above."""
    paths = [_WHOLE, *openable(found)]
    opened = OPEN.value(paths)
    shown = parts(found, opened)
    long = presenting() and len(found.fields) > _LONG
    if presenting():  # where nothing is scrolled
        shown = folded(shown, _FEW if long else _SOME, found.fields)
    if not long:
        with st.container(horizontal=True, vertical_alignment="center"):
            OPEN.show(paths)
            if opened:
                st.latex(_formula(found, shown, values))
            else:
                st.caption(_("Click a bar, or choose here, to open a part of the model"))
    _draw(found, shown, values, opened, paths)
    st.session_state["drawn choices"][OPEN.name] = opened or None


def _formula(found: Discovered, shown: list[Part], values: Mapping[str, int]) -> str:
    """The parameters of the opened module: letters = number."""
    from sympy import Add, expand, factor_terms

    expression = factor_terms(expand(Add(*(one.expression for part in shown for one in part.tensors))))
    written = latex(expression, letters(found))
    total = latex_number(sum(part.count(values) for part in shown))
    if len(written) > 400:  # no line holds that: the table below has the formula of each tensor
        return total
    return aligned([f"&{written}", f"&= {total}"]) if len(written) > 120 else f"{written} = {total}"


def _draw(found: Discovered, shown: list[Part], values: Mapping[str, int], opened: str, paths: list[str]) -> None:
    inks, said, key = colors(), letters(found), f"any bars of {opened}"
    figures = {part.path: part.count(values) for part in shown}
    names, hues = [part.name for part in shown], [inks[part.component] for part in shown]
    formulas = [text(sum(one.expression for one in part.tensors), said) for part in shown]
    opening = [part.path if part.path in paths else "" for part in shown]
    rest = found.parameters - found.explained
    if rest and not opened:  # rows sum to the total
        figures[""] = rest
        names.append(_("without a formula"))
        hues.append(INK[appearance()])
        formulas.append("?")
        opening.append("")
    draw_bars(
        Bars(figures, {}, names, hues, formulas, opening),
        PAGE,
        (found.model_type, found.cls, opened),
        alt=_("Parameters of each part of {opened}").format(opened=opened or found.cls),
        key=key,
        on_select=partial(open_clicked, OPEN, key),
    )


def show_tensors(found: Discovered, values: Mapping[str, int]) -> None:
    """Show every tensor in a folded table; the export has the table in any case."""
    columns, title = tensor_columns(found, values), _("The tensors of the model")
    details = TENSORS.unfolded()
    names = {
        "name": _("Name"),
        "copies": _("Copies"),
        "fields": _("Shape in fields"),
        "shape": _("Shape"),
        "parameters": _("Parameters"),
        "share": _("Share"),
    }
    if details is None:
        note(Shown(title, {names[name]: cells for name, cells in columns.items()}))
        return
    with details:
        st.caption(
            _("{rows:,} rows, {total:,} parameters").format(rows=len(columns["name"]), total=sum(columns["parameters"]))
        )
        draw_frame(
            columns,
            column_config={name: st.column_config.TextColumn(label) for name, label in names.items()}
            | {
                "copies": st.column_config.NumberColumn(names["copies"], format="%d ×"),
                "parameters": st.column_config.NumberColumn(names["parameters"], format="%,d"),
            },
            alt=title,
        )


def tensor_columns(found: Discovered, values: Mapping[str, int]) -> Columns:
    """The rows of the table, by column; their parameters sum to the model's."""
    tensors = sorted(found.tensors, key=lambda one: one.name)
    counts = [count([one], values) for one in tensors]
    total = sum(counts)
    return {
        "name": [one.name for one in tensors],
        "copies": [value(one.copies, values) for one in tensors],
        "fields": [_shape(one) for one in tensors],
        "shape": [shape_text(shape_numbers(one.shape, values)) for one in tensors],
        "parameters": counts,
        "share": [percent(number, total) for number in counts],
    }


def _shape(tensors: Tensors) -> str:
    """A shape in the fields' names: vocab_size × n_embd."""
    plain = {name.name: name.name for side in tensors.shape for name in side.free_symbols}
    return " × ".join(text(side, plain, product=True) for side in tensors.shape)
