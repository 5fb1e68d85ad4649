"""Write titles and descriptions into the served HTML for link previews, and tags for files to load early."""

import gzip
import posixpath
from collections.abc import Callable
from functools import lru_cache
from html import escape
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.server.upstream.streamlit_internals import with_head

# Headers that request a part of the page or a different encoding. Streamlit would apply them to its original page.
_OF_BYTES = (b"accept-encoding", b"range", b"if-range", b"if-none-match", b"if-modified-since")


class Preview:
    """Middleware that writes each page's title and description into the HTML that Streamlit serves for all pages.

    ``about`` maps the address of a page and the language in the URL to the language, title and description of the page,
    or to None if there is no such page. ``preloaded`` returns the tags of scripts and style sheets that the page at an
    address needs, with or without ``present=1`` in the URL.
    """

    def __init__(
        self,
        app: ASGIApp,
        about: Callable[[str, str], tuple[str, str, str] | None],
        preloaded: Callable[[str, bool], tuple[str, ...]],
    ) -> None:
        self._app, self._about, self._preloaded = app, about, preloaded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request for a page; leave all other requests to Streamlit."""
        entry, address, presents = None, "", False
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            link = parse_qs(scope["query_string"].decode("latin-1"))
            language, presents = link.get("lang", [""])[0], link.get("present") == ["1"]
            address = posixpath.basename(scope.get("path", ""))
            entry = self._about(address, language)
        if not entry:
            await self._app(scope, receive, send)
            return
        body = b""
        start: Message = {}

        async def collect(message: Message) -> None:
            nonlocal body, start
            if message["type"] == "http.response.start":
                start = message
            else:
                body += message.get("body", b"")

        headers = [(name, value) for name, value in scope["headers"] if name not in _OF_BYTES]
        await self._app({**scope, "method": "GET", "headers": headers}, receive, collect)
        answer = MutableHeaders(scope=start)
        if start["status"] == 200:
            zipped = "gzip" in Headers(scope=scope).get("accept-encoding", "")
            body = _page(body, *entry, self._preloaded(address, presents), zipped)
            answer["content-length"] = f"{len(body)}"
            answer.add_vary_header("Accept-Encoding")
            if zipped:
                answer["content-encoding"] = "gzip"
            del answer["etag"], answer["last-modified"], answer["accept-ranges"]  # they describe Streamlit's page
        await send(start)
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


@lru_cache(maxsize=128)
def _page(
    html: bytes, language: str, heading: str, description: str, preloaded: tuple[str, ...], zipped: bool
) -> bytes:
    title = f"{heading} · bertcalc"
    tags = [
        f"<title>{escape(title)}</title>",
        f'<meta name="description" content="{escape(description)}" />',
        f'<meta property="og:title" content="{escape(title)}" />',
        f'<meta property="og:description" content="{escape(description)}" />',
        '<meta property="og:type" content="website" />',
        '<meta property="og:site_name" content="bertcalc" />',
        '<meta name="twitter:card" content="summary" />',
        *preloaded,
    ]
    page = with_head(html, language, "\n    ".join(tags))
    return gzip.compress(page) if zipped else page
