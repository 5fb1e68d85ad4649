"""Tables of Markdown texts as HTML. The browser needs two milliseconds per cell for Streamlit's own table."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from bertcalc.charts.columns import sent
from bertcalc.export.table import marked_html


def draw_text_table(columns: Mapping[str, Sequence[str]], alt: str) -> None:
    """Draw a table of Markdown titles and cells; fall back to ``st.table`` if ``marked_html`` cannot render a cell."""
    rows = [*map(list, zip(*columns.values(), strict=True))]
    titles, *lines = [[*map(marked_html, row)] for row in [[*columns], *rows]]
    if not lines or any(None in line for line in (titles, *lines)):
        st.table(sent(columns), border="horizontal", hide_index=True, alt=alt)
    else:
        st.html(_TABLE.format(alt=escape(alt), head=_row(titles, 'th scope="col"'), body="".join(map(_row, lines))))


# The data-testid equals the data-testid of Streamlit's own table, because style sheets and scripts refer to it.
_TABLE = (
    '<div class="text-table" data-testid="stTable"><div>'
    '<table aria-label="{alt}"><thead>{head}</thead><tbody>{body}</tbody></table></div></div>'
)


def _row(cells: Sequence[str | None], tag: str = "td") -> str:
    end = tag.partition(" ")[0]
    return "<tr>" + "".join(f"<{tag}><div><p>{cell}</p></div></{end}>" for cell in cells) + "</tr>"
