"""Values of a session that are not in the link: the browser keeps them in the memory of its window.

If the server restarts or drops the session, the browser sends the values with its first message.
The owner of a value restores it in a new session and checks it, since the browser can send anything. Reloading the page
loses the values, except the texts of text fields, which the tab keeps until it is closed.
"""

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.text.problem import InputError
from bertcalc.text.strict_json import read_json
from pages.server.restarts import sent_by

LONGEST = 60_000  # characters of JSON for all values, which go with each answer of the server
_KEY = "kept by the browser"
_TEXTS = "texts"
_RELOADED = "reloaded texts"  # the fields that have yet to show the text that a tab has kept over a reload


def begin(component: str) -> None:
    """At the start of a new session's first run, before anything is restored: read the values that the browser sent.

    ``component`` is the key of the component that sends the values.
    """
    if _KEY not in st.session_state:
        st.session_state[_KEY] = _read(sent_by(component))


def _read(text: str) -> dict[str, Any]:
    try:
        match read_json(text or "{}", 2 * LONGEST):
            case {"kept": dict(values)}:
                json.dumps(values, ensure_ascii=False).encode()  # fails for half a character (\ud800)
                return values
    except (InputError, UnicodeEncodeError):
        pass
    return {}


def get(name: str) -> Any:
    """An unchecked value that the browser has kept, or None."""
    return st.session_state.get(_KEY, {}).get(name)


def put(name: str, value: Any) -> None:
    """Have the browser keep a JSON value; drop it if it is empty or too long."""
    values: dict[str, Any] = st.session_state.setdefault(_KEY, {})
    values.pop(name, None)
    if value and len(json.dumps(values | {name: value}, ensure_ascii=False)) <= LONGEST:
        values[name] = value


def hold_text(key: str) -> None:
    """Before a text field is drawn: restore its text in a new session, and have the browser keep it."""
    reloaded: set[str] = st.session_state.get(_RELOADED, set())
    if (key not in st.session_state or key in reloaded) and isinstance(text := _texts().get(key), str):
        st.session_state[key] = text
    reloaded.discard(key)
    _put_text(key, st.session_state.get(key))


def holds_text(key: str) -> bool:
    """Whether the browser keeps the text of a field: it is neither empty nor too long."""
    return bool(_texts().get(key))


def _texts() -> dict[str, Any]:
    texts = get(_TEXTS)
    return texts if isinstance(texts, dict) else {}


def _put_text(key: str, text: str | None) -> None:
    """Keep the text of a field in addition to other fields' texts; drop it if it is empty or too long."""
    others = {name: other for name, other in _texts().items() if name != key}
    put(_TEXTS, {**others, key: text} if text else others)
    if not _texts():
        put(_TEXTS, others)


def values() -> dict[str, Any]:
    """All values, for the browser to keep."""
    kept: dict[str, Any] = st.session_state[_KEY]
    return kept


def take_texts(sent: Mapping[str, Any]) -> None:
    """Callback: restore the texts that a tab has kept over a reload, unless the new session has newer texts."""
    texts = _read(sent.get("reloaded") or "").get(_TEXTS)
    if sent.get("kept") or not isinstance(texts, dict):  # values that were kept since are newer
        return
    for key, text in texts.items():
        if isinstance(text, str) and not holds_text(key):
            _put_text(key, text)
            st.session_state.setdefault(_RELOADED, set()).add(key)
