"""Style sheets as static files, which browsers load once instead of receiving them in every run."""

from functools import cache
from pathlib import Path

import streamlit as st

from pages.server import scripts


@cache
def sheet_address(path: Path) -> str:
    """The relative URL of the style sheet at ``path``."""
    return scripts.offer(f"{path.parent.name}-{path.stem}", path.read_text(encoding="utf-8"), "css")


def style_page(path: Path, rules: str = "") -> None:
    """Apply the style sheet at ``path`` and the CSS ``rules`` to the page."""
    st.html(f"<style>@import url('./{sheet_address(path)}'); {rules}</style>")
