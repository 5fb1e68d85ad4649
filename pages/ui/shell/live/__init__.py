"""Live values: numbers, texts and charts that the browser recomputes while the reader drags a slider.

While a page is drawn, each live text and chart adds its numbers to one program. The end of the page sends the program
to the browser (pages/ui/shell/page_end), together with the places of the texts. Then live.js runs the program in every
frame of a drag. After a run, live.js compares its own results with Python's texts.
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
_LONGEST = 300  # maximum number of characters of a mismatch in the log


class _Page:
    """The live values of a run. Without ``moves``, the sliders do not change the page, and it has no live values."""

    def __init__(self, *, moves: bool) -> None:
        self.moves = moves
        self.program = LiveProgram()
        self.places: list[dict[str, Any]] = []
        self.counts: dict[str, int] = {}
        self.containers = 0
        self.expected: dict[int, str] = {}
        self.sizes: dict[str, int] = {}


class _ThreadPage(threading.local):
    """The page that this thread draws. A run adds hundreds of numbers to it, for which session state is too slow."""

    page: _Page | None = None


_RUN = _ThreadPage()


def begin(*, moves: bool = True) -> None:
    """Begin a run; ``moves`` says whether the sliders change the page."""
    st.session_state["live run"] = run_number() + 1
    _RUN.page = _Page(moves=moves)


def _page() -> _Page:
    if _RUN.page is None:  # Streamlit reruns a dialog without the page
        begin()
    assert _RUN.page is not None
    return _RUN.page


def argument(value: Any) -> Any:
    """Add a live value to the program, and return the reference to its operation.

    Return None if the value is not live, or if sliders do not change the page.
    """
    page = _page()
    if not (page.moves and isinstance(value, Live)):
        return None
    place = page.program.add(value)
    if isinstance(value, LiveText):
        page.expected[place[0]] = str(value)
    return place


def with_arguments(data: Any) -> Any:
    """Replace each live text in the data of a component with a dictionary of the text and its reference."""
    if type(data) is str:  # a fast path for most data
        return data
    if isinstance(data, Live):
        return {"text": str(data), "live": place} if (place := argument(data)) else str(data)
    if isinstance(data, dict):
        return {name: with_arguments(value) for name, value in data.items()}
    return [*map(with_arguments, data)] if isinstance(data, list | tuple) else data


def run_number() -> int:
    """The number of this run. A component sends it with its references, to identify the program they refer to."""
    number: int = st.session_state.get("live run", 0)
    return number


def note_sizes(sizes: Mapping[str, int]) -> None:
    """Record sizes that are not sizes of the model, such as batch_size, for the page's program."""
    _page().sizes.update(sizes)


def key(kind: str = "live") -> str:
    """A new key for a container of live text, unique on the page."""
    _page().containers += 1
    return f"{kind}-{_page().containers}"


def put(key: str, role: str, at: int, value: object, node: int = 0) -> None:
    """Record where live.js writes the text of a live value; ignore values that are not live.

    ``key`` identifies the container and ``role`` the kind of element. ``at`` is the index of the element among the
    elements with this role, and ``node`` the index of the text node in the element.
    """
    if (place := argument(value)) is not None:
        _page().places.append({"key": key, "role": role, "at": at, "value": place, "node": node})


def note_count(key: str, count: int) -> None:
    """Record how many metrics a container has. Until the browser has drawn all of them, their indexes are not final."""
    if any(place["key"] == key for place in _page().places):
        _page().counts[key] = count


def container_within(bounds: tuple[FigureBound, ...], **look: Any) -> Any:
    """A container for content that is not live; the browser dims it while a figure is outside its bounds."""
    place = key()
    box = st.container(key=place, **look)
    put(place, "group", 0, within("", bounds))
    return box


def older(name: str, **look: Any) -> Any:
    """A container for content that is not live; the browser dims it until the server has answered the latest change."""
    return st.container(key=f"older-{name}", **look)


def markdown(text: str, **look: Any) -> None:
    """Show a Markdown text with live parts; HTML in it is escaped."""
    _show(st.markdown, text, look)


def caption(text: str, **look: Any) -> None:
    """Show a live text in small type (see ``st.caption``)."""
    _show(st.caption, text, look)


def success(text: str, **look: Any) -> None:
    """Show a live text in a success box (see ``st.success``)."""
    _show_plain(st.success, text, look)


def error(text: str, **look: Any) -> None:
    """Show a live text in an error box (see ``st.error``)."""
    _show_plain(st.error, text, look)


def info(text: str, **look: Any) -> None:
    """Show a live text in an information box (see ``st.info``)."""
    _show_plain(st.info, text, look)


def code(text: str) -> None:
    """Show a live text as a code block."""
    place = key()
    with st.container(key=place):
        st.code(text, language=None, wrap_lines=True)
    put(place, "code", 0, text)


def _show_plain(draw: Any, text: str, look: Mapping[str, Any]) -> None:
    """Show a live text with a function that does not support HTML. The browser replaces its pieces."""
    place = key()
    with st.container(key=place):
        draw(text, **look)
    put_pieces(place, "node", 0, text)


def put_pieces(key: str, role: str, at: int, text: str) -> None:
    """Record the places of a Markdown text's pieces. A piece has one style (bold, code, plain) and is one text node."""
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
    """The text as Markdown, in which a <span> encloses each live part; other HTML is escaped.

    >>> from bertcalc.text.live_numbers import LiveNode, fill, live
    >>> marked(fill("<b> has {count:,}", count=live(12, LiveNode("field", ("num_hidden_layers",)))))
    "&lt;b&gt; has <span class='live'>12</span>"
    """
    written = ((part, escape(part, quote=False)) for part in text.parts)
    # A part without text becomes a zero-width space, so that there is a text node for the browser to replace.
    return "".join(
        f"<span class='live'>{html or '&#8203;'}</span>" if isinstance(part, LiveText) else html
        for part, html in written
    )


def note_browser_has(program: str) -> None:
    """Record the name of the program that the browser has, so that this run does not send it again."""
    st.session_state["browser's program"] = program


def end(sizes: Mapping[str, int]) -> dict[str, Any]:
    """End the page; return the data for live.js.

    The data contain the places of live texts and the sizes of this run. They contain the program only if the browser
    does not have it yet.
    """
    page = _page()
    program = page.program.name
    known = st.session_state.pop("browser's program", None) == program
    data = {
        "run": run_number(),
        "program": program,
        "operations": None if known else page.program.operations,
        "places": page.places,
        "counts": page.counts,
        "expected": [[at, text] for at, text in page.expected.items()],
        "sizes": {**page.sizes, **sizes},
    }
    _RUN.page = None
    return data


def log_mismatch(mismatch: object) -> None:
    """Log a browser's report of a text that it computed differently. The report is untrusted and is truncated."""
    _MISMATCHES.note(f"{mismatch!r}"[:_LONGEST])
