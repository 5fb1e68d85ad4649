"""Security headers for every response of the server."""

import re
from base64 import b64encode
from hashlib import sha256

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.server.upstream.streamlit_internals import index_page


def _hashes(html: str) -> str:
    """Return the hashes of a page's inline scripts, in the syntax of a Content-Security-Policy.

    If a hash is missing, browsers refuse the script, and tests/browser/test_security.py fails.
    """
    scripts = re.findall(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", html, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)


# The strictest policy with which Streamlit 1.67 works on every page, determined by trial. 'unsafe-eval' is not needed:
# Streamlit uses Vega's expression interpreter, and our charts use their own interpreter (live_chart/expressions.js).
_POLICY = {
    "default-src": "'none'",
    "script-src": f"'self' {_hashes(index_page())} blob:",  # Streamlit loads the script of a component as a blob
    "style-src": "'self' 'unsafe-inline'",  # Emotion, KaTeX and st.html write styles into the page
    "img-src": "'self' data:",
    "font-src": "'self' data:",  # one font is inlined in KaTeX's style sheet
    "connect-src": "'self'",  # since 2022, browsers apply 'self' to WebSockets, too
    "base-uri": "'none'",
    "form-action": "'none'",
    # Community Cloud shows an app in a frame. To embed the dashboard in other pages, such as course pages, add their
    # addresses to this list.
    "frame-ancestors": "'self' https://share.streamlit.io https://*.streamlit.app",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # a URL reveals which model the reader is viewing
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SecurityHeaders:
    """Middleware that adds HEADERS to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add HEADERS to the first message of an HTTP or WebSocket response; only this message has headers."""
        first = True

        async def send_with_headers(message: Message) -> None:
            nonlocal first
            if first:
                message = {"headers": [], **message}
                MutableHeaders(scope=message).update(HEADERS)
                first = False
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] != "lifespan" else send)
