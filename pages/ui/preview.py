"""Title and description in the served HTML, for programs that show previews of links."""

import gzip
import posixpath
from functools import lru_cache
from html import escape
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertcalc.text import N_
from pages.ui.i18n import LANGUAGES, catalogue
from pages.ui.navigation import PAGES

# README.md begins with the heading of the first page and this sentence.
DESCRIPTION = N_(
    "Every number as a formula, the formula with the numbers in it, and the proof that the real Hugging Face model "
    "agrees, to the last tensor."
)
# Headers that ask for other bytes than the whole page: Streamlit would apply them to its own page, not to ours.
_OF_BYTES = (b"accept-encoding", b"range", b"if-range", b"if-none-match", b"if-modified-since")


class Preview:
    """Middleware that writes a page's title and description into the HTML that Streamlit serves for all pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page; leave all others to Streamlit."""
        path = posixpath.basename(scope.get("path", ""))
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or path not in PAGES:
            await self._app(scope, receive, send)
            return
        body = b""
        start: Message = {}

        async def note(message: Message) -> None:
            nonlocal body, start
            if message["type"] == "http.response.start":
                start = message
            else:
                body += message.get("body", b"")

        headers = [(name, value) for name, value in scope["headers"] if name not in _OF_BYTES]
        await self._app({**scope, "method": "GET", "headers": headers}, receive, note)
        answer = MutableHeaders(scope=start)
        if start["status"] == 200:
            language = parse_qs(scope["query_string"].decode("latin-1")).get("lang", [LANGUAGES[0]])[0]
            zipped = "gzip" in Headers(scope=scope).get("accept-encoding", "")
            body = _page(body, path, language if language in LANGUAGES else LANGUAGES[0], zipped)
            answer["content-length"] = f"{len(body)}"
            answer.add_vary_header("Accept-Encoding")
            if zipped:
                answer["content-encoding"] = "gzip"
            del answer["etag"], answer["last-modified"], answer["accept-ranges"]  # of Streamlit's page
        await send(start)
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


@lru_cache(maxsize=4 * len(PAGES))
def _page(html: bytes, path: str, language: str, zipped: bool) -> bytes:
    translate = catalogue(language).gettext
    title = f"{translate(PAGES[path].heading)} · bertcalc"
    description = translate(PAGES[path].line or DESCRIPTION)
    tags = [
        f"<title>{escape(title)}</title>",
        f'<meta name="description" content="{escape(description)}" />',
        f'<meta property="og:title" content="{escape(title)}" />',
        f'<meta property="og:description" content="{escape(description)}" />',
        '<meta property="og:type" content="website" />',
        '<meta property="og:site_name" content="bertcalc" />',
        '<meta name="twitter:card" content="summary" />',
    ]
    page = html.replace(b"<title>Streamlit</title>", "\n    ".join(tags).encode())
    page = page.replace(b'<html lang="en">', f'<html lang="{language}">'.encode())
    return gzip.compress(page) if zipped else page
