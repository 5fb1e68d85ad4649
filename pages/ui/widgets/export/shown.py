"""Draw tables and charts, and record them so that the reader can export them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.charts.columns import Columns, sent
from bertcalc.export.report import Settings
from bertcalc.export.table import Table, TableOrChart
from bertcalc.text import code
from bertcalc.text.digits import brief
from pages.ui.shell.present import presenting
from pages.ui.widgets.live_chart import draw_live_chart
from pages.ui.widgets.text_table import draw_text_table

_MOST_ROWS = 400  # maximum number of table rows in projector view; bert-large has 391 tensors


class File(NamedTuple):
    """A file to download: the label of its button, its name, its MIME type, and the function that makes its content."""

    label: str
    name: str
    mime: str
    make: Callable[[], bytes]


class Origin(NamedTuple):
    """The URL of the page from which a file is exported, "" if only this computer can open it, and its language."""

    url: str
    language: str


class OwnExport(NamedTuple):
    """The export of a page that shows its own model instead of the session's: its file-name stem and its files."""

    stem: str
    files: Callable[[Origin], Sequence[File]]


class ShownSteps(NamedTuple):
    """The steps that the page applies to the session's model, a description of each step, and the changed model."""

    steps: Sequence[ChangeStep]
    words: Sequence[str]
    changed: ChangedModel


@dataclass
class PageNotes:
    """Notes that the page records for the export in addition to its tables and charts."""

    settings: Settings | None = None  # how the page trains or runs the model
    models: str = ""  # the names of the models in the page's tables, if these are not about the session's model
    steps: ShownSteps | None = None  # the steps that the page applies to the session's model


def begin() -> None:
    """Clear the record of the previous run. Call it before a page is drawn."""
    st.session_state["shown"] = []
    st.session_state["own files"] = None
    st.session_state["page notes"] = PageNotes()


def notes() -> PageNotes:
    """The page's notes for the export; the caller can modify them."""
    page: PageNotes = st.session_state.setdefault("page notes", PageNotes())
    return page


def note_results(table: Table) -> None:
    """Add a table of the page's results to the report's settings; without settings, do nothing."""
    if settings := notes().settings:
        notes().settings = settings._replace(results=table)


def offer(export: OwnExport) -> None:
    """Record the export of a page with its own model."""
    st.session_state["own files"] = export


def own_export() -> OwnExport | None:
    """The export of the page's own model, or None if the page shows the session's model."""
    export: OwnExport | None = st.session_state.get("own files")
    return export


def shown_elements() -> list[TableOrChart]:
    """The tables and charts of the page, in the order in which they were drawn."""
    elements: list[TableOrChart] = st.session_state.setdefault("shown", [])
    return elements


def note(element: TableOrChart) -> None:
    """Record a table or chart of the page for the export."""
    shown_elements().append(element)


def draw_chart(
    columns: Columns, spec: dict[str, Any], *, numbers: Mapping[str, str], alt: str, key: str = "", **options: Any
) -> None:
    """Draw a Vega-Lite chart and record its data; a clickable chart needs a ``key``.

    ``alt`` describes the chart for screen readers, and is its title in the export.
    ``numbers`` maps the columns to export to their titles. The export omits all other columns, and the rows that lack
    a value in an exported column: they only affect how the chart is drawn.
    """
    note(TableOrChart(alt, columns, spec=spec, numbers=numbers))
    draw_live_chart(columns, spec, alt, key or f"chart-{len(shown_elements())}", **options)


def draw_frame(columns: Columns, *, alt: str, column_config: Mapping[str, Any], **options: Any) -> None:
    """Draw a table of plain text and numbers, which scrolls if it has 40 rows or more.

    Projector view uses an HTML table instead of Streamlit's grid. The grid keeps the font size that the page had when
    the grid was loaded, usually before the projector's style is applied (Streamlit 1.67).
    """
    labels = {name: column["label"] or name for name, column in column_config.items()}
    titled = {labels.get(name, name): cells for name, cells in columns.items()}
    note(TableOrChart(alt, titled))
    if presenting():
        with st.container(key=f"scrolling {len(shown_elements())}"):
            texts = {title: [_as_text(cell) for cell in cells[:_MOST_ROWS]] for title, cells in titled.items()}
            draw_text_table(texts, alt)
        return
    few = all(len(cells) < 40 for cells in columns.values())
    look = {"hide_index": True, "height": "content" if few else 640, **options}
    st.dataframe(sent(columns), alt=alt, column_config=column_config, **look)


def _as_text(cell: object) -> str:
    if isinstance(cell, str):
        return code(cell)
    if isinstance(cell, float):
        return brief(cell, 3)
    return "" if cell is None else f"{cell:,}"
