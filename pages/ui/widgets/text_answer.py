"""The button beside a text area, and the answer to its text. The answer is dimmed while the area has unsent changes.

Streamlit sends the text on Ctrl+Enter, or when the area loses the focus, for example by a click on any button.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.ui.shell.i18n import _


def show_read_button() -> None:
    """Draw the button "Read the text". A click takes the focus from the text area, which sends its text."""
    st.button(_("Read the text"), key="read-text", help=_("Or press Ctrl+Enter in the text box"))


@contextmanager
def answering(text: str) -> Iterator[None]:
    """Context manager for the answer to ``text``; style.css marks it as outdated while the area has an unsent text."""
    with st.container(key="old-answer"):
        if text.strip():
            st.caption(_("The result below is for the text before your change. Press “Read the text”."))
    with st.container(key="text-answer"):
        yield
