"""The tables and charts of the page, noted while they are drawn, for export."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from pages.ui.columns import Columns, sent


class Shown(NamedTuple):
    """A table or a chart: its alternative text, and its data."""

    title: str
    data: Columns
    marked: bool = False  # the texts in it are Markdown
    spec: Mapping[str, Any] | None = None  # of a chart, in Vega-Lite
    numbers: Mapping[str, str] | None = None  # of a chart: what is taken of its data, with what a reader calls it

    @property
    def frame(self) -> pd.DataFrame:
        """The data for export; whole numbers stay whole where some are missing."""
        return pd.DataFrame(self.data, dtype=object)


class File(NamedTuple):
    """A file: what its button says, its name, its type, and the function that writes it."""

    label: str
    name: str
    mime: str
    make: Callable[[], bytes]


class Own(NamedTuple):
    """What a page offers of a model of its own instead of the session's: how the names of files begin, and files."""

    stem: str
    files: tuple[File, ...]


def begin() -> None:
    """A page begins: nothing is shown yet."""
    st.session_state["shown"] = []
    st.session_state["own files"] = None


def offer(own: Own) -> None:
    """The page is about a model of its own."""
    st.session_state["own files"] = own


def own() -> Own | None:
    """What the page offers of a model of its own."""
    found: Own | None = st.session_state.get("own files")
    return found


def shown() -> list[Shown]:
    """All that the page shows, in its order."""
    found: list[Shown] = st.session_state.setdefault("shown", [])
    return found


def note(one: Shown) -> None:
    shown().append(one)


def draw_chart(columns: Columns, spec: dict[str, Any], *, numbers: Mapping[str, str], alt: str, **options: Any) -> None:
    """A chart of Vega-Lite.

    ``numbers`` are the columns to take away, with what a reader calls them: the others say how it is drawn, and so do
    the rows that do not have all of them.
    """
    note(Shown(alt, columns, spec=spec, numbers=numbers))
    st.vega_lite_chart(sent(columns), spec, alt=alt, **options)


def draw_frame(columns: Columns, *, alt: str, column_config: Mapping[str, Any], **options: Any) -> None:
    """A table to scroll in, of texts and numbers as they are; up to forty rows without scrolling."""
    labels = {name: column["label"] or name for name, column in column_config.items()}
    note(Shown(alt, {labels.get(name, name): cells for name, cells in columns.items()}))
    few = all(len(cells) < 40 for cells in columns.values())
    look = {"hide_index": True, "height": "content" if few else 640, **options}
    st.dataframe(sent(columns), alt=alt, column_config=column_config, **look)
