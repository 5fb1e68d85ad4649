"""Custom Streamlit components, made from the files of pages/ui."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages.server import scripts

_HERE = Path(__file__).parents[1]
# Streamlit makes a blob of this script, in which a relative address means nothing. If new data arrive while the browser
# loads a script, Streamlit 1.67 cleans up after the old data, although the component is still on the page. So the
# script leaves only if its element is gone.
_IMPORT = """const {{ default: draw }} = await import(new URL("{address}", document.baseURI));
export default (component) => {{
  const data = component.data && JSON.parse(new TextDecoder().decode(component.data));
  const leave = draw({{ ...component, data }});
  return () => component.parentElement.isConnected || leave?.();
}};
"""


def component(name: str, *files: str, **options: Any) -> Any:
    """Make a component from style sheets and scripts in pages/ui; files of the same kind are joined in order.

    The server offers the scripts as a file: browsers cache it, and runs do not send it.
    """
    css, js = (
        "".join((_HERE / file).read_text(encoding="utf-8") for file in files if file.endswith(kind))
        for kind in (".css", ".js")
    )
    script = _IMPORT.format(address=scripts.offer(name, js))
    mount = st.components.v2.component(name, css=css or None, js=script, **options)

    def draw(*, data: Mapping[str, Any] | None = None, **arguments: Any) -> Any:
        # As bytes: Streamlit 1.67 would serialize other data twice, the second time for an id that the key replaces.
        written = None if data is None else json.dumps(data, separators=(",", ":")).encode()
        return mount(data=written, **arguments)

    return draw
