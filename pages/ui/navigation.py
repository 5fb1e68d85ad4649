"""The pages of the navigation, made once: st.Page looks its file up on the disk, and there are many in every run."""

from copy import copy
from functools import lru_cache

import streamlit as st


def page_of(file: str, *, title: str, icon: str | None = None, default: bool = False) -> st.Page:
    """What st.Page gives, for this run alone: st.navigation marks the page that may run."""
    return copy(_page(file, title, icon, default))


@lru_cache(maxsize=256)
def _page(file: str, title: str, icon: str | None, default: bool) -> st.Page:
    return st.Page(file, title=title, icon=icon, default=default)
