"""Record what the links of links.txt show, and compare it after a change.

    python -m tests.shown record FILE
    python -m tests.shown compare FILE [BEGINNING]

``compare`` checks the links that begin with BEGINNING: by default all; ``/memory`` selects one page. FILE is compressed
JSON: for each link a list of lines in page order, with everything that a reader can read, hear or choose. Appearance is
left out: ids, widths, styles, and invisible controls.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from tests.component_data import sent_to
from tests.pages.apptest import ROOT

LINKS = Path(__file__).parent / "links.txt"
_MOST, _WIDEST = 40, 400  # lines to print per difference, and characters per line
_FAILED = "failed:"
_UNSEEN = re.compile(r"unseen-|lecture-state$|present$")  # keys of controls that hold the link's values
_SILENT = {"bertcalc_page_end", "bertcalc_stepping"}  # components that draw nothing
# Fields of Streamlit's messages that identify elements, style them, or repeat ``value`` and ``data``.
_LOOK = """
    id formId queryParamKey pageScriptHash url elementType type tag wrap hideAnchor setValue rawValue rawValues default
    defaultExpanded defaultOpen acceptNewOptions useContainerWidth useContainerHeight theme selectionMode clickMode
    style mixed componentName jsContent jsSourcePath htmlContent cssContent cssSourcePath isolateStyles deferredFileId
    labelVisibility hasMin hasMax dataType rowHeight editingMode disabledRows required ignoreRerun flexContainer weight
    enterToSubmit isFormSubmitter allowEmpty borderMode hideIndex color arrowData data datasets spec json columns
    columnOrder elementId isPlainText commandDescription
"""
# Values measured on this machine: they differ from run to run.
_MEASURED = re.compile(r"[0-9,]+(?= (ms|毫秒)\b)|(?<=; )[^;]+(?= is free on the server)|(?<=服务器可用 )[^。]+")


def links() -> list[str]:
    """The links in links.txt, without scheme and host."""
    return [line for line in LINKS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("# ")]


def shown(link: str) -> list[str]:
    """Return what a link shows as the first request of a session, and the link of that state; or why it fails."""
    try:
        app = opened(link)
    except (RuntimeError, ValueError) as error:  # the page takes too long, or does not exist
        return [f"{_FAILED} {error}"]
    if app.exception:
        return [f"{_FAILED} {line}" for line in app.exception[0].stack_trace]
    said = [line for _place, node in sorted(app._tree.children.items()) for line in _lines(node)]
    return [f"link: {urlencode(sorted(app.query_params.items()), doseq=True)}", *said]


def opened(link: str) -> AppTest:
    """Open the app at a link. The link's path is the name of the page's file."""
    parts = urlsplit(link)
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=120)
    app.query_params.update(parse_qsl(parts.query, keep_blank_values=True))
    if parts.path != "/":
        app.switch_page(f"{parts.path[1:]}.py")
    return app.run()


def _lines(node: Any) -> Iterator[str]:
    """Yield the lines that an element and its children show. Each field is one line; long fields are split."""
    if _UNSEEN.match(node.key or ""):
        return
    for name, said in _said(node):
        yield from _MEASURED.sub("…", f"{node.type}.{name}: {said}").splitlines()
    for _place, child in sorted(getattr(node, "children", {}).items()):
        yield from _lines(child)


def _said(node: Any) -> Iterator[tuple[str, object]]:
    message = getattr(node, "proto", None)
    if message is None or node.type == "empty" or getattr(message, "component_name", "") in _SILENT:
        return
    if node.type == "html" and not re.sub(r"<(style|script)\b.*?</\1>", "", message.body, flags=re.DOTALL).strip():
        return
    fields = MessageToDict(message)
    block = fields.get(node.type if node.type != "unknown" else "", {})
    for name, said in (fields | (block if isinstance(block, dict) else {})).items():
        if name not in _LOOK.split() and not name.endswith("Config") and said is not block:
            yield name, said.replace("><", ">\n<") if isinstance(said, str) else _json(said)
    match node.type:
        case "bidi_component":
            yield "data", _json(sent_to(message))
        case "dataframe" | "table":
            yield "columns", _json(json.loads(getattr(message, "columns", "") or "{}"))
            yield "data", _csv(node.value)
        case _ if isinstance(node, Widget) and node.type not in ("button", "download_button"):
            yield "value", _value(node)


def _value(widget: Any) -> str:
    """The selected value, as the page writes it."""
    write = getattr(widget, "format_func", str)
    value = widget.value
    return ", ".join(map(str, map(write, value))) if isinstance(value, list) else str(write(value))


def _json(said: object) -> str:
    return json.dumps(said, ensure_ascii=False, sort_keys=True, indent=1)


def _csv(frame: Any) -> str:
    written: str = frame.to_csv(index=False, float_format="%.12g")
    return written


def difference(before: list[str], now: list[str]) -> str:
    """Return the lines that differ, with one line of context each, cut to a readable length."""
    found = unified_diff(before, now, n=1, lineterm="")
    return "\n".join(line[:_WIDEST] for line in islice(found, 2, 2 + _MOST))


def main(do: str, file: Path, beginning: str = "/") -> int:
    """Record all links, or compare the links that begin with ``beginning``.

    Return 1 if a link fails or shows something else.
    """
    if do == "record":
        now = {link: shown(link) for link in links()}
        failed = [link for link in now if now[link][0].startswith(_FAILED)]
        file.write_bytes(gzip.compress(json.dumps(now, ensure_ascii=False).encode(), mtime=0))
        print(*failed, f"{len(now):,} links, {len(failed):,} fail", sep="\n")
        return bool(failed)
    kept: dict[str, list[str]] = json.loads(gzip.decompress(file.read_bytes()))
    compared = [link for link in kept if link.startswith(beginning)]
    differ: dict[str, list[str]] = {}  # links keyed by their difference: many links differ in the same way
    for link in compared:
        if (now_shown := shown(link)) != kept[link]:
            differ.setdefault(difference(kept[link], now_shown), []).append(link)
    for found, those in differ.items():
        print(*those[:3], *([f"and {len(those) - 3:,} more"] if len(those) > 3 else []), found, "", sep="\n")
    print(f"{sum(map(len, differ.values())):,} of {len(compared):,} links differ")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]))
