"""The sizes of the page's model in the sidebar: sliders for those that change its count most, fields for the others."""

from typing import Any

import streamlit as st

from bertcalc.discover.given import MOST
from bertcalc.discover.steps import Steps, nearest, refused, stops
from bertcalc.discover.written import letters, names
from pages.ui import panel
from pages.ui.any_model.choice import chosen, give, steps
from pages.ui.controls import sentence
from pages.ui.i18n import _, listed

_MOST = 5


def show(page: str) -> None:
    """Draw them; without a formula nothing can be moved."""
    now = chosen()
    sizes = steps(now)
    with st.container(key="own-sliders"):
        panel.show_other(page, _Driver(sizes))
    if sizes is None:
        return
    sliders = _shown(sizes)
    others = [field for field in sizes.found.fields if field not in sliders]
    values = sizes.values() | {field: value for field, value in sizes.attempt.items() if field in others}
    differ = [field for field in others if field in sizes.kept]
    derived = sizes.found.derived
    if not (others or derived):
        return
    label = _("More fields ({count} changed)").format(count=len(differ)) if differ else _("More fields")
    with st.expander(
        label, bool(differ) or bool(st.session_state.get("more sizes")), key="more sizes", on_change="rerun"
    ):
        for field in others:
            key = f"size {field}"
            st.session_state[key] = values[field]
            st.number_input(field, step=1, key=key, on_change=_typed, args=(field,))
            if field in sizes.attempt:
                st.error(_why(sizes, field))
        for field, leaders in derived.items():
            st.number_input(
                field,
                1,
                MOST,
                None,
                key=f"derived {now.model_type} {now.cls} {field}",
                placeholder=_("follows {fields}").format(fields=listed(leaders)) if leaders else _("follows others"),
                on_change=_given,
                args=(f"derived {now.model_type} {now.cls} {field}", field),
                help=_("By itself it follows from other fields. With a value of its own it becomes a size like them."),
            )


def _typed(field: str) -> None:
    if held := steps(chosen()):
        held.move(field, int(st.session_state[f"size {field}"]))


def _given(key: str, field: str) -> None:
    if (value := st.session_state[key]) is not None:
        give(field, value)


def _shown(sizes: Steps) -> list[str]:
    """The fields that have sliders, in the order of the configuration."""
    return [field for field in sizes.found.fields if field in sizes.ranked[:_MOST]]


def _why(sizes: Steps, field: str) -> str:
    typed = sizes.attempt[field]
    if not isinstance(typed, int):
        return _("{size} has to be a whole number from 1.").format(size=field)
    found = refused(sizes.found, {**sizes.kept, field: typed})
    return sentence(found, str) if found else ""


class _Driver:
    """What the panel shows and does for this page."""

    def __init__(self, sizes: Steps | None) -> None:
        self._sizes = sizes
        self._letters = letters(sizes.found) if sizes else {}
        self._names = names(sizes.found) if sizes else {}

    def fields(self) -> list[dict[str, Any]]:
        """The sliders' data."""
        return [self._field(self._sizes, field) for field in _shown(self._sizes)] if self._sizes else []

    def actions(self) -> tuple[bool, bool, bool, str]:
        """Whether there is nothing to undo, to redo and to reset, and what is reset to."""
        if self._sizes is None:
            return True, True, True, ""
        nothing = not (self._sizes.kept or self._sizes.attempt)
        return not (self._sizes.past or self._sizes.attempt), not self._sizes.future, nothing, self._sizes.found.cls

    def take(self, event: dict[str, Any]) -> None:
        """Handle an event of the browser, which need not be honest."""
        if self._sizes is None:
            return
        match event:
            case {"do": "move", "field": str(field), "value": int(value), "final": bool(final)}:
                self._sizes.move(field, value, final=final)
            case {"do": "type", "field": str(field), "text": str(text)}:
                self._sizes.move(field, panel.whole_number(text))
            case {"do": "repair", "field": str(field), "repair": int(number)}:
                repairs = self._repairs(self._sizes, field)
                if 0 <= number < len(repairs):
                    self._sizes.move(field, repairs[number])
            case {"do": "undo"}:
                self._sizes.undo()
            case {"do": "redo"}:
                self._sizes.redo()
            case {"do": "reset"}:
                self._sizes.reset()

    def _field(self, sizes: Steps, field: str) -> dict[str, Any]:
        typed = sizes.attempt.get(field)
        label = self._names[field]
        return {
            "name": field,
            "label": label,
            "letter": self._letters[field],
            "slider": f"{field} {self._letters[field]}",
            "help": field,
            "exact": _("{field}, exact value").format(field=field),
            "value": sizes.values()[field],
            "stops": stops(sizes.found, field, sizes.kept),
            "typed": f"{typed:,}" if isinstance(typed, int) else typed,
            "lock": None,
            "note": None,
            "problem": None
            if typed is None
            else {"text": _why(sizes, field), "repairs": [f"{field} = {one:,}" for one in self._repairs(sizes, field)]},
        }

    @staticmethod
    def _repairs(sizes: Steps, field: str) -> list[int]:
        typed = sizes.attempt.get(field)
        return nearest(sizes.found, field, typed, sizes.kept) if isinstance(typed, int) else []
