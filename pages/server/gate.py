"""Refuse or delay requests and messages before they reach Streamlit."""

import re
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from pages.server.messages import Connection

_ALWAYS = ("localhost", "127.0.0.1", "0.0.0.0")


class Gate:
    """Middleware that refuses requests and limits WebSocket messages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        refusal = _refusal(scope)
        if refusal:
            await refusal(scope, receive, send)
        elif scope["type"] == "websocket":
            # The origin has been checked, so the header is removed. For some allowed origins, Streamlit would send a
            # request to another host.
            headers = [(name, value) for name, value in scope["headers"] if name != b"origin"]
            connection = Connection(receive, send)
            try:
                await self._app({**scope, "headers": headers}, connection.receive, connection.send)
            except RuntimeError:
                # Streamlit 1.67 mistakes the end of a connection for a text message, and raises RuntimeError.
                if not connection.closed:
                    raise
        elif scope["type"] == "http":
            await self._app(_plain_encodings(scope), receive, send)
        else:
            await self._app(scope, receive, send)


def _refusal(scope: Scope) -> ASGIApp | None:
    if scope["type"] == "websocket":
        headers = Headers(scope=scope)
        if not allowed(headers.get("origin"), headers.get("host")):
            return WebSocketClose()  # the server answers with status 403
    elif scope["type"] == "http":
        if "/_stcore/metrics" in scope["path"]:  # the number of sessions is not public
            return Response("Not Found", 404)
        if "/_stcore/upload_file/" in scope["path"]:
            return Response("This app accepts no uploads.", 403)
    return None


def allowed(origin: str | None, host: str | None) -> bool:
    """Whether a page of this origin may open a WebSocket. The arguments are headers of the handshake.

    Streamlit 1.67 also allows the external IP address of the server. This function does not, because Streamlit requests
    this address from another host at every handshake from another site, while all readers wait.
    """
    if origin is None or not st.get_option("server.enableCORS"):
        return True
    try:
        site = urlsplit(origin)
        host_name = site.hostname
    except ValueError:
        return False
    listed = [urlsplit(address.strip()).hostname for address in st.get_option("server.corsAllowedOrigins")]
    return site.netloc == host or (host_name is not None and host_name in (*_ALWAYS, *listed))


def _plain_encodings(scope: Scope) -> Scope:
    """Return the request with its Accept-Encoding header reduced to "gzip", or without the header.

    Streamlit and assets.py would take "gzip;q=0" as accepting gzip.
    """
    headers = MutableHeaders(raw=[*scope["headers"]])
    encodings = headers.get("accept-encoding", "")
    del headers["accept-encoding"]
    if re.search(r"(^|,)\s*gzip\s*(;\s*q=(1|0\.0*[1-9])[0-9.]*\s*)?(,|$)", encodings, re.IGNORECASE):
        headers["accept-encoding"] = "gzip"
    return {**scope, "headers": headers.raw}
