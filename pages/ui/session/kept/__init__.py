"""Values of a session that are not in the link. The browser keeps them in memory, in case the session is lost.

If the server restarts or drops the session, the browser sends the values with its first message.
Each module that puts a value here restores it in a new session. It must check the value, because a browser can send
anything. A reload of the page loses the values, except the texts of text fields and the answers to exercises: the
browser's tab keeps these until it is closed.
"""

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.text.problem import InputError
from bertcalc.text.strict_json import read_json
from pages.server.restarts import sent_by

LONGEST = 60_000  # maximum number of characters of all values as JSON, which every response includes
ANSWERS = "answers"  # the name of the answers to exercises, which the browser keeps during a reload as well
_KEY = "kept by the browser"
_TEXTS = "texts"
_RELOADED = "reloaded texts"  # the keys of text fields that do not yet show their text from before a reload


def begin(component: str) -> None:
    """Read the values that the browser sent, in the first run of a new session. Call this before ``get``.

    ``component`` is the key of the component that sends the values.
    """
    if _KEY not in st.session_state:
        st.session_state[_KEY] = _read(sent_by(component))


def _read(text: str) -> dict[str, Any]:
    try:
        match read_json(text or "{}", 2 * LONGEST):
            case {"kept": dict(values)}:
                json.dumps(values, ensure_ascii=False).encode()  # fails for a lone surrogate (\ud800)
                return values
    except (InputError, UnicodeEncodeError):
        pass
    return {}


def get(name: str) -> Any:
    """The value that the browser has kept under ``name``; None if there is none. The value is unchecked."""
    return st.session_state.get(_KEY, {}).get(name)


def put(name: str, value: Any) -> None:
    """Let the browser keep a JSON value under ``name``; drop the value if it is empty or too long."""
    values: dict[str, Any] = st.session_state.setdefault(_KEY, {})
    values.pop(name, None)
    if value and len(json.dumps(values | {name: value}, ensure_ascii=False)) <= LONGEST:
        values[name] = value


def hold_text(key: str) -> None:
    """Restore the text of a text field in a new session, and let the browser keep it.

    Call this before the field is drawn.
    """
    reloaded: set[str] = st.session_state.get(_RELOADED, set())
    if (key not in st.session_state or key in reloaded) and isinstance(text := _texts().get(key), str):
        st.session_state[key] = text
    reloaded.discard(key)
    _put_text(key, st.session_state.get(key))


def holds_text(key: str) -> bool:
    """Whether the browser keeps the text of a field. An empty or too long text is not kept."""
    return bool(_texts().get(key))


def _texts() -> dict[str, Any]:
    texts = get(_TEXTS)
    return texts if isinstance(texts, dict) else {}


def _put_text(key: str, text: str | None) -> None:
    """Let the browser keep a field's text in addition to the texts of other fields; drop an empty or too long text."""
    others = {name: other for name, other in _texts().items() if name != key}
    put(_TEXTS, {**others, key: text} if text else others)
    if not _texts():
        put(_TEXTS, others)


def values() -> dict[str, Any]:
    """All values that the browser should keep."""
    kept: dict[str, Any] = st.session_state[_KEY]
    return kept


def take_reloaded(sent: Mapping[str, Any]) -> None:
    """Restore the texts and answers that a tab kept during a reload. Call this only in callbacks.

    ``sent`` is the state of the component that sends them. What the new session already has is not replaced.
    """
    values = _read(sent.get("reloaded") or "")
    if sent.get("kept"):  # these values are newer
        return
    if not get(ANSWERS):
        put(ANSWERS, values.get(ANSWERS))
    texts = values.get(_TEXTS)
    for key, text in texts.items() if isinstance(texts, dict) else ():
        if isinstance(text, str) and not holds_text(key):
            _put_text(key, text)
            st.session_state.setdefault(_RELOADED, set()).add(key)
