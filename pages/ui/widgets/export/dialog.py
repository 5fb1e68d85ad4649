"""The export dialog, and the button that opens it on every page."""

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urlencode, urlsplit

import streamlit as st

from bertcalc.export.formats import cell_text
from bertcalc.export.formula_tables import component_table, tensor_table
from bertcalc.export.table import Table, TableOrChart
from bertcalc.text import distinct
from pages.ui.session import address, kept
from pages.ui.shell.controls import set_values
from pages.ui.shell.i18n import _, translator
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.batch_controls import present_batch
from pages.ui.widgets.export.files import chart_files, exported, left_out, model_files, model_name, stem_of, table_files
from pages.ui.widgets.export.shown import File, Origin, notes, own_export, shown_elements

KEY = "t"


def offer() -> None:
    """Draw the button that opens the dialog; ``show_if_asked`` draws the dialog after the page."""
    st.button(
        _("Export"),
        icon=":material/download:",
        key="take",
        shortcut=KEY,
        on_click=set_values,
        args=({"taking": True},),
        width="stretch",
    )


def show_if_asked(choice: Choice) -> None:
    """Draw the dialog if it is open. This is necessary in every run: Streamlit closes a dialog that a run omits."""
    is_open = st.session_state.setdefault("taking", kept.get("taking") is True)
    kept.put("taking", is_open)
    if is_open:
        closed = partial(set_values, {"taking": False})
        st.dialog(_("Export and share"), width="medium", icon=":material/download:", on_dismiss=closed)(_show)(choice)


def exported_tables(choice: Choice) -> dict[str, tuple[Callable[[], Table], TableOrChart | None]]:
    """The exportable tables, keyed by title: the page's tables and the data of its charts, then tables of the model.

    Each value is a pair: a function that makes the table, and the chart to which the data belong, or None. A page that
    exports its own model has no tables of the session's model.
    """
    offered: dict[str, tuple[Callable[[], Table], TableOrChart | None]] = {}
    for element, title in zip(shown_elements(), distinct([element.title for element in shown_elements()]), strict=True):
        kind = _("Chart: {title}") if element.spec else _("Table: {title}")
        offered[kind.format(title=title)] = element.table, element if element.spec else None
    if own_export():
        return offered
    model = exported(choice, notes().steps)
    tables: dict[str, Callable[[], Table]] = {
        _("Parameters of each component, with formulas"): partial(component_table, model, translator()),
        _("Every tensor, with formulas"): partial(tensor_table, model, translator()),
    }
    return offered | {_("Model: {title}").format(title=title): (make, None) for title, make in tables.items()}


def _show(choice: Choice) -> None:
    url = _link()
    st.markdown(_("**The link** opens this page exactly as it is now."))
    st.code(url, language=None, wrap_lines=True)
    st.markdown(_("**The model**"))
    other = own_export()
    place = Origin(address.for_others(url), st.session_state.get("lang", "en"))
    if other:
        _buttons(other.files(place))
    else:
        steps = notes().steps
        _buttons(model_files(choice, present_batch(choice.config), place, translator(), notes().settings, steps))
        for message in left_out(steps) if steps else ():
            st.caption(message)
        if not choice.model.add_pooling_layer:
            st.caption(_("A config.json cannot record that the pooler is left out; the Python program can."))
    with st.container(key="making"):  # style.css shows it only while a file is being created
        st.caption(_("Creating the file. A report builds the real model first, which can take a few seconds."))
    st.markdown(_("**The numbers**, and the charts of this page"))
    offered = exported_tables(choice)
    if not offered:
        return
    title = st.selectbox(_("Table"), list(offered), key="taken", label_visibility="collapsed")
    make, chart = offered[title]
    stem, name = (other.stem, other.stem) if other else (stem_of(choice), model_name(choice))
    if list(offered).index(title) < len(shown_elements()):  # the page's tables come first
        name = notes().models or name
    files = table_files(stem, title, _chosen_rows(make), name)
    if chart:
        files += chart_files(stem, chart, title)
    _buttons(files)


def _chosen_rows(make: Callable[[], Table]) -> Callable[[], Table]:
    """Draw a choice of rows; return a function that makes the table with the chosen rows, or with all by default."""
    table = make()
    labels = [f"{number}. {cell_text(row[0])}" for number, row in enumerate(table.rows, 1)]
    chosen = st.multiselect(_("Rows (leave empty for all)"), labels, select_all=False, placeholder=_("all"))
    rows = tuple(row for label, row in zip(labels, table.rows, strict=True) if label in chosen)
    return lambda: table._replace(rows=rows) if rows else table


def _buttons(files: Sequence[File]) -> None:
    with st.container(horizontal=True):
        for file in files:
            key = f"take {file.label}"
            st.download_button(file.label, file.make, file.name, file.mime, key, on_click="ignore")


def _link() -> str:
    query = urlencode(st.query_params.to_dict())
    page = f"{st.context.url}"
    return f"{page}{'' if urlsplit(page).path else '/'}{'?' if query else ''}{query}"
