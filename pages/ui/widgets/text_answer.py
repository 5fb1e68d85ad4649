"""A button beside a text area, and the answer to the area's text; it turns pale while the area has a newer text.

Streamlit sends an area's text with Ctrl+Enter, or when the area loses the focus, for example by a click on any button.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.ui.shell.i18n import _


def show_read_button() -> None:
    """Draw the button that reads the text."""
    st.button(_("Read the text"), key="read-text", help=_("Or press Ctrl+Enter in the text box"))


@contextmanager
def answering(text: str) -> Iterator[None]:
    """Draw the answer inside a container, which style.css marks as old while the area has an unsent text."""
    with st.container(key="old-answer"):
        if text.strip():
            st.caption(_("The result below is for the text before your change. Press “Read the text”, or Ctrl+Enter."))
    with st.container(key="text-answer"):
        yield
