"""Style sheets that browsers load once as files, instead of with every run."""

from functools import cache
from pathlib import Path

import streamlit as st

from pages.server import scripts


@cache
def sheet_address(path: Path) -> str:
    """The address of a style sheet."""
    return scripts.offer(f"{path.parent.name}-{path.stem}", path.read_text(encoding="utf-8"), "css")


def style_page(path: Path, rules: str = "") -> None:
    """Style the page with a style sheet, and more ``rules``."""
    st.html(f"<style>@import url('./{sheet_address(path)}'); {rules}</style>")
