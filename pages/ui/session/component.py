"""Custom Streamlit components, made from the files of pages/ui."""

from pathlib import Path
from typing import Any

import streamlit as st

from pages.server import scripts

_HERE = Path(__file__).parents[1]
_SHORT = 4000  # characters of a script that is sent with each element; a longer one is a file of the server
# In a blob, which Streamlit makes of a component's script, a relative address means nothing. A single line would be the
# name of a file to it.
_IMPORT = "const module = await import(new URL('{address}', document.baseURI));\nexport default module.default;\n"


def component(name: str, *files: str, **options: Any) -> Any:
    """Make a component from style sheets and scripts in pages/ui; files of the same kind are joined in order."""
    css, js = (
        "".join((_HERE / file).read_text(encoding="utf-8") for file in files if file.endswith(kind))
        for kind in (".css", ".js")
    )
    if len(js) > _SHORT:
        js = _IMPORT.format(address=scripts.offer(name, js))
    return st.components.v2.component(name, css=css or None, js=js, **options)
