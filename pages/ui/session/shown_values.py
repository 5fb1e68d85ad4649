"""Keys for controls that show a value of the model. The key changes each time the model changes the value.

A browser that has not drawn the new value yet sends the old value with its next message. Under the same key, Streamlit
would take the old value for the reader's choice: a slider would go back if the reader opened another page just after
moving it. A new key distinguishes outdated values from choices.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from pages.ui.session import kept

_CONTROLS = "controls that show values"
_EARLIER = 20  # the number of earlier values that a browser may still send


class _ShownValue(NamedTuple):
    """How often the model has changed a control's value, the current value, and the earlier (key, value) pairs."""

    changes: int
    value: Any
    earlier: tuple[tuple[str, Any], ...] = ()


def showing(name: str, value: Any, take: Callable[[Any], None]) -> dict[str, Any]:
    """Set a control to ``value`` before it is drawn; return the Streamlit arguments for its key and its callback.

    The callback calls ``take`` with the reader's choice. The first key is ``name``.
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
    """Call ``take`` with the control's value, unless it is an outdated value that the control showed earlier."""
    value, controls = st.session_state[key], st.session_state[_CONTROLS]
    shown: _ShownValue = controls[name]
    if key == _key(name, shown):
        controls[name] = shown._replace(value=value)  # if the model accepts the value, the control keeps its key
    elif (key, value) in shown.earlier:
        return
    take(value)


def _key(name: str, shown: _ShownValue) -> str:
    return f"{name} {shown.changes}" if shown.changes else name


def _kept() -> dict[str, Any]:
    values = kept.get(_CONTROLS)
    return values if isinstance(values, dict) else {}


def _kept_changes(name: str) -> int:
    """How often the value changed in the browser's previous session; 0 if unknown.

    The browser's first message uses the keys of that session.
    """
    changes = _kept().get(name)
    return changes if isinstance(changes, int) else 0
