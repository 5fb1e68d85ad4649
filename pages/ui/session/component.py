"""Custom Streamlit components, whose scripts and style sheets are files in pages/ui."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages.server import scripts

_HERE = Path(__file__).parents[1]
# Streamlit loads this script as a blob, where relative URLs do not work. If new data arrive while the browser loads the
# script, Streamlit 1.67 calls the cleanup function although the component is still on the page. So the cleanup function
# does nothing as long as its element is connected.
_IMPORT = """const {{ default: draw }} = await import(new URL("{address}", document.baseURI));
export default (component) => {{
  const data = component.data && JSON.parse(new TextDecoder().decode(component.data));
  const leave = draw({{ ...component, data }});
  return () => component.parentElement.isConnected || leave?.();
}};
"""


def component(name: str, *files: str, **options: Any) -> Any:
    """Create a component from style sheets and scripts in pages/ui, which are concatenated in the given order.

    The server offers the joined script as a static file, which browsers cache. Runs do not send it.
    """
    css, js = (
        "".join((_HERE / file).read_text(encoding="utf-8") for file in files if file.endswith(kind))
        for kind in (".css", ".js")
    )
    script = _IMPORT.format(address=scripts.offer(name, js))
    mount = st.components.v2.component(name, css=css or None, js=script, **options)

    def draw(*, data: Mapping[str, Any] | None = None, **arguments: Any) -> Any:
        # Streamlit 1.67 would serialize types other than bytes twice, the second time for an ID that ``key`` replaces.
        written = None if data is None else json.dumps(data, separators=(",", ":")).encode()
        return mount(data=written, **arguments)

    return draw
