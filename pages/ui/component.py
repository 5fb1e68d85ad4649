"""A component of ours, from its files."""

from pathlib import Path
from typing import Any

import streamlit as st

_HERE = Path(__file__).parent


def component(name: str, *files: str, **options: Any) -> Any:
    """A component of style sheets and scripts in this folder, those of a kind joined in their order."""
    css, js = (
        "".join((_HERE / file).read_text(encoding="utf-8") for file in files if file.endswith(kind))
        for kind in (".css", ".js")
    )
    return st.components.v2.component(name, css=css or None, js=js, **options)
