"""What every answer of the server tells the browser to refuse."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def _hashes(html: str) -> str:
    """The scripts that are written in a page, as a policy names them."""
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)


_PAGE = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
# As strict as Streamlit 1.67 works with on every page, found by trying. No 'unsafe-eval': it has Vega interpret the
# expressions of charts.
_POLICY = {
    "default-src": "'none'",
    "script-src": f"'self' {_hashes(_PAGE)} blob:",  # as which Streamlit's own code loads a component's script
    "style-src": "'self' 'unsafe-inline'",  # Emotion, KaTeX and st.html write styles into the page
    "img-src": "'self' data:",
    "font-src": "'self' data:",  # one of KaTeX's is in its style sheet
    "connect-src": "'self'",  # includes the WebSocket, in browsers since 2022
    "base-uri": "'none'",
    "form-action": "'none'",
    # Community Cloud shows an app in a frame of a page of its own. Whoever wants the dashboard inside other pages,
    # such as a course's, adds their address here.
    "frame-ancestors": "'self' https://share.streamlit.io https://*.streamlit.app",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # a link says what somebody looks at
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SecurityHeaders:
    """Middleware that adds HEADERS to every answer, whoever gives it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; of a WebSocket the first answer alone has headers, those of a refusal come later."""
        first = True

        async def send_with_headers(message: Message) -> None:
            nonlocal first
            if first:
                message = {"headers": [], **message}
                MutableHeaders(scope=message).update(HEADERS)
                first = False
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] != "lifespan" else send)
