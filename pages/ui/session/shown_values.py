"""Keys for controls that show a value of the model: a new key each time the model has changed the value.

A browser that has not drawn the new value yet sends the old one with its next message, whatever the reader did. Under
the same key, Streamlit would treat the old value as the reader's choice: a slider that was moved just before another
page was opened went back. A new key distinguishes old values from choices.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from pages.ui.session import kept

_CONTROLS = "controls that show values"
_EARLIER = 20  # values that a browser may still show


class _ShownValue(NamedTuple):
    """How often the model has changed a control's value, the shown value, and earlier pairs of key and value."""

    changes: int
    value: Any
    earlier: tuple[tuple[str, Any], ...] = ()


def showing(name: str, value: Any, take: Callable[[Any], None]) -> dict[str, Any]:
    """Set a control to a value before it is drawn; return the arguments with its key and its callback.

    The callback calls ``take`` with the reader's choice. The first key is the control's name.
    """
    controls: dict[str, _ShownValue] = st.session_state.setdefault(_CONTROLS, {})
    shown = controls.get(name) or _ShownValue(_kept_changes(name), value)
    if shown.value != value:
        earlier = (*shown.earlier, (_key(name, shown), shown.value))[-_EARLIER:]
        shown = _ShownValue(shown.changes + 1, value, earlier)
        kept.put(_CONTROLS, _kept() | {name: shown.changes})
    controls[name] = shown
    key = _key(name, shown)
    st.session_state[key] = value
    return {"key": key, "on_change": _take_choice, "args": (name, key, take)}


def _take_choice(name: str, key: str, take: Callable[[Any], None]) -> None:
    """Take the reader's choice, unless it is the value that the control showed under an old key."""
    value, controls = st.session_state[key], st.session_state[_CONTROLS]
    shown: _ShownValue = controls[name]
    if key == _key(name, shown):
        controls[name] = shown._replace(value=value)  # the control keeps its key if the model takes the value
    elif (key, value) in shown.earlier:
        return
    take(value)


def _key(name: str, shown: _ShownValue) -> str:
    return f"{name} {shown.changes}" if shown.changes else name


def _kept() -> dict[str, Any]:
    values = kept.get(_CONTROLS)
    return values if isinstance(values, dict) else {}


def _kept_changes(name: str) -> int:
    """How often a value had changed in the browser's last session: the first message uses that session's keys."""
    changes = _kept().get(name)
    return changes if isinstance(changes, int) else 0
