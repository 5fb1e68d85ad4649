"""Custom Streamlit components, made from the files of pages/ui."""

from pathlib import Path
from typing import Any

import streamlit as st

_HERE = Path(__file__).parents[1]


def component(name: str, *files: str, **options: Any) -> Any:
    """Make a component from style sheets and scripts in pages/ui; files of the same kind are joined in order."""
    css, js = (
        "".join((_HERE / file).read_text(encoding="utf-8") for file in files if file.endswith(kind))
        for kind in (".css", ".js")
    )
    return st.components.v2.component(name, css=css or None, js=js, **options)
