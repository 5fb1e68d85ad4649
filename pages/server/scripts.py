"""Serve scripts and style sheets as files that browsers cache and load early; one copy serves all readers."""

from collections.abc import Callable, Collection
from hashlib import sha256
from importlib.metadata import version
from threading import Lock

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bertcalc.charts.vega import vega_script
from pages.server.upstream.streamlit_internals import address_script, element_scripts

_FOLDER = "_bertcalc"
_TEXTS: dict[str, str] = {}  # keyed by address
_MAKING = Lock()


VEGA = f"{_FOLDER}/vega-{version('vl-convert-python')}.js"
_MAKERS: dict[str, Callable[[], str]] = {VEGA: vega_script}


def offer(name: str, text: str, kind: str = "js") -> str:
    """Serve ``text`` as a file, and return its address, which contains a hash of the text.

    ``name`` is the beginning of the file's name. ``kind`` is its ending: "js" for a script, "css" for a style sheet.
    """
    address = f"{_FOLDER}/{name}-{sha256(text.encode()).hexdigest()[:12]}.{kind}"
    _TEXTS[address] = text
    return address


def script(address: str) -> str | None:
    """Return the text of the file at an address, creating it on first use; None for an unknown address."""
    with _MAKING:
        if address not in _TEXTS and address in _MAKERS:
            _TEXTS[address] = _MAKERS[address]()
    return _TEXTS.get(address)


# This script runs before Streamlit's scripts. If it loaded Vega at the same time, Vega would delay Streamlit's scripts.
# So it loads Vega after them, while the browser waits for the first run.
_EARLY = offer(
    "early",
    f"""{address_script('new URL("..", import.meta.url).href')}const load = () => import("./{VEGA.rpartition("/")[2]}");
if (document.readyState === "complete") load();
else addEventListener("load", load);
""",
)


def preloaded(page: str, sheets: Collection[str]) -> tuple[str, ...]:
    """Return the HTML tags that make a browser load a page's scripts and style sheets early.

    ``page`` is the page's address, and ``sheets`` are the addresses of its style sheets.
    """
    elements = element_scripts(page)
    small = [address for address in [*_TEXTS] if address.endswith(".js") and address not in (*_MAKERS, _EARLY)]
    return (
        *(f'<link rel="preload" as="style" href="{address}" />' for address in sheets),
        # Browsers fetch in this order. ``crossorigin`` loads Streamlit's scripts without credentials, as Streamlit's
        # own page does.
        *(f'<link rel="modulepreload" fetchpriority="low" crossorigin href="{file}" />' for file in elements),
        *(f'<link rel="modulepreload" fetchpriority="low" href="{address}" />' for address in small),
        f'<script type="module" src="{_EARLY}"></script>',
    )


def _serve(request: Request) -> Response:
    text = script(f"{_FOLDER}/{request.path_params['file']}")
    if text is None:
        return Response(status_code=404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    kind = "css" if request.url.path.endswith(".css") else "javascript"
    return Response(text, media_type=f"text/{kind}", headers=headers)


def route() -> Route:
    """Return the route for the scripts and style sheets, below the server's base path if there is one."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return Route("/" + "/".join(filter(None, (base, _FOLDER, "{file}"))), _serve)
