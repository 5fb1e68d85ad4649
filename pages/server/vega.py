"""Vega, Vega-Lite and Vega-Embed as one file of this server, for the charts that pages draw themselves."""

from functools import cache
from importlib.metadata import version
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ADDRESS = f"_bertcalc/vega-{version('vl-convert-python')}.js"


@cache
def script() -> str:
    """The script, which takes vl-convert a second and a half to make: it is made once, while the app starts."""
    import vl_convert  # 65 MB

    bundle: Any = vl_convert.javascript_bundle  # its stub demands an argument that has a default
    return str(bundle())


def _serve(_request: Request) -> Response:
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(script(), media_type="text/javascript", headers=headers)


def route() -> Route:
    """The route of the script, below the server's base path if it has one."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return Route("/" + "/".join(filter(None, (base, ADDRESS))), _serve)
