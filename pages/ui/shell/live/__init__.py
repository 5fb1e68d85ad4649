"""The live part of a page: its live numbers as one program, and the places of their texts, for the browser.

While a page is drawn, each live text and chart adds its numbers to the program. The end of the page sends the program
(pages/ui/shell/page_end), and live.js runs it in every frame of a drag. After a run, live.js compares Python's texts
with its own results.
"""

import re
import threading
from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from bertcalc.live.live_program import LiveProgram
from bertcalc.text.live_numbers import FigureBound, Live, LiveText, between, is_live, within
from pages.server.limited_log import LimitedLog

_MISMATCHES = LimitedLog("A browser computed something else")
_LONGEST = 300  # characters of a reported mismatch


class _Page:
    """The live values of a run; none on a page that the sliders do not change."""

    def __init__(self, *, moves: bool) -> None:
        self.moves = moves
        self.program = LiveProgram()
        self.places: list[dict[str, Any]] = []
        self.containers = 0
        self.expected: dict[int, str] = {}
        self.sizes: dict[str, int] = {}


class _ThreadPage(threading.local):
    """The page that this thread draws. Each run adds hundreds of numbers to it, and session state is slow."""

    page: _Page | None = None


_RUN = _ThreadPage()


def begin(*, moves: bool = True) -> None:
    """Begin a run; ``moves`` says whether the page moves with the sliders."""
    st.session_state["live run"] = run_number() + 1
    _RUN.page = _Page(moves=moves)


def _page() -> _Page:
    if _RUN.page is None:  # in a dialog, which Streamlit draws without the page
        begin()
    assert _RUN.page is not None
    return _RUN.page


def argument(value: Any) -> Any:
    """The reference to the program's operation that computes a value; None if the value does not move."""
    page = _page()
    if not (page.moves and isinstance(value, Live)):
        return None
    place = page.program.add(value)
    if isinstance(value, LiveText):
        page.expected[place[0]] = str(value)
    return place


def with_arguments(data: Any) -> Any:
    """The data of a component, with each live text replaced by the text and its reference to the program."""
    if type(data) is str:  # most data
        return data
    if isinstance(data, Live):
        return {"text": str(data), "live": place} if (place := argument(data)) else str(data)
    if isinstance(data, dict):
        return {name: with_arguments(value) for name, value in data.items()}
    return [*map(with_arguments, data)] if isinstance(data, list | tuple) else data


def run_number() -> int:
    """The number of this run; a component sends it with references, to identify the program that they refer to."""
    number: int = st.session_state.get("live run", 0)
    return number


def note_sizes(sizes: Mapping[str, int]) -> None:
    """Record the sizes of the page's call, such as batch_size, which are not sizes of the model."""
    _page().sizes.update(sizes)


def key(kind: str = "live") -> str:
    """A key for the next container of live text."""
    _page().containers += 1
    return f"{kind}-{_page().containers}"


def put(key: str, role: str, at: int, value: object, node: int = 0) -> None:
    """Record the place of a text: its container, its role, and the indices of its element and text node (live.js)."""
    if (place := argument(value)) is not None:
        _page().places.append({"key": key, "role": role, "at": at, "value": place, "node": node})


def container_within(bounds: tuple[FigureBound, ...], **look: Any) -> Any:
    """A container for content that does not move, marked as outdated while a figure is out of its bounds."""
    place = key()
    box = st.container(key=place, **look)
    put(place, "group", 0, within("", bounds))
    return box


def older(name: str, **look: Any) -> Any:
    """A container for content that does not move, marked as outdated while the sliders are ahead of the server."""
    return st.container(key=f"older-{name}", **look)


def markdown(text: str, **look: Any) -> None:
    """Show a text whose live parts move with the sliders; it can contain Markdown, but no HTML."""
    _show(st.markdown, text, look)


def caption(text: str, **look: Any) -> None:
    """Show a live text in small type."""
    _show(st.caption, text, look)


def success(text: str, **look: Any) -> None:
    """Show a live text in a box for good news."""
    _show_plain(st.success, text, look)


def error(text: str, **look: Any) -> None:
    """Show a live text in a box for bad news."""
    _show_plain(st.error, text, look)


def info(text: str, **look: Any) -> None:
    """Show a live text in a box."""
    _show_plain(st.info, text, look)


def code(text: str) -> None:
    """Show a live text as code."""
    place = key()
    with st.container(key=place):
        st.code(text, language=None, wrap_lines=True)
    put(place, "code", 0, text)


def _show_plain(draw: Any, text: str, look: Mapping[str, Any]) -> None:
    """Show a live text where HTML is not possible; the browser replaces whole pieces of one style."""
    place = key()
    with st.container(key=place):
        draw(text, **look)
    put_pieces(place, "node", 0, text)


def put_pieces(key: str, role: str, at: int, text: str) -> None:
    """Record the pieces of a text with one style, which are the browser's text nodes: bold, code, or neither."""
    pieces: list[list[str]] = [[]]
    for part in text.parts if isinstance(text, LiveText) else ():
        first, *others = (part,) if isinstance(part, LiveText) else re.split(r"\*\*|`|  \n", part)
        pieces[-1].append(first)
        pieces += [[piece] for piece in others]
    nodes = [piece for piece in pieces if "".join(piece).strip() or any(map(is_live, piece))]
    for node, piece in enumerate(nodes):
        put(key, role, at, between("", piece), node)


def _show(draw: Any, text: str, look: Mapping[str, Any]) -> None:
    if not isinstance(text, LiveText):
        draw(text, **look)
        return
    place = key()
    with st.container(key=place, width=look.get("width", "stretch")):
        draw(marked(text), unsafe_allow_html=True, **look)
    for at, part in enumerate(part for part in text.parts if isinstance(part, LiveText)):
        put(place, "text", at, part)


def marked(text: LiveText) -> str:
    """The text as Markdown with its live parts marked; all HTML in it is escaped.

    >>> from bertcalc.text.live_numbers import LiveNode, fill, live
    >>> marked(fill("<b> has {count:,}", count=live(12, LiveNode("field", ("num_hidden_layers",)))))
    "&lt;b&gt; has <span class='live'>12</span>"
    """
    written = ((part, escape(part, quote=False)) for part in text.parts)
    # An empty part becomes a zero-width space, which the browser replaces when the part gets a text.
    return "".join(
        f"<span class='live'>{html or '&#8203;'}</span>" if isinstance(part, LiveText) else html
        for part, html in written
    )


def note_browser_has(program: str) -> None:
    """Record the program that a browser said it has, so that this run does not send it again."""
    st.session_state["browser's program"] = program


def end(sizes: Mapping[str, int]) -> dict[str, Any]:
    """End the page: the data for live.js, with the program unless the browser has it, and the sizes of this run."""
    page = _page()
    program = page.program.name
    known = st.session_state.pop("browser's program", None) == program
    data = {
        "run": run_number(),
        "program": program,
        "operations": None if known else page.program.operations,
        "places": page.places,
        "expected": [[at, text] for at, text in page.expected.items()],
        "sizes": {**page.sizes, **sizes},
    }
    _RUN.page = None
    return data


def log_mismatch(mismatch: object) -> None:
    """Log a text that a browser computed differently. The browser's report is not trusted."""
    _MISMATCHES.note(f"{mismatch!r}"[:_LONGEST])
