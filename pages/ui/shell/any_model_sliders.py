"""The sidebar of the page Any model: sliders for the sizes with the largest effect, number fields for the others."""

from functools import partial
from typing import Any

import streamlit as st

from bertcalc.discover.results.config_input import MOST
from bertcalc.discover.results.expressions import letters, names
from bertcalc.discover.results.size_steps import SizeHistory, move_field, nearest, refused, stops
from pages.ui.session.shown_values import showing
from pages.ui.shell import panel
from pages.ui.shell.any_model import selected, set_derived, size_steps
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _, listed

_MOST = 5


def show(page: str) -> None:
    """Draw the selected model's sliders and number fields; without a complete formula, draw only disabled buttons."""
    selection = selected()
    sizes = size_steps(selection)
    with st.container(key="own-sliders"):
        if sizes is None:
            panel.draw(page, [], panel.actions(True, True, True, ""), lambda event: None)
            return
        sliders = [field for field in sizes.discovery.fields if field in sizes.ranked[:_MOST]]
        plain = not (sizes.present or sizes.attempt)
        actions = panel.actions(not sizes.can_undo, not sizes.can_redo, plain, sizes.discovery.cls)
        panel.draw(page, [_field(sizes, field) for field in sliders], actions, partial(_take, sizes))
    others = [field for field in sizes.discovery.fields if field not in sliders]
    values = sizes.values() | {field: value for field, value in sizes.attempt.items() if field in others}
    differ = [field for field in others if field in sizes.present]
    derived = sizes.discovery.derived
    if not (others or derived):
        return
    label = _("More fields ({count} changed)").format(count=len(differ)) if differ else _("More fields")
    with st.expander(
        label, bool(differ) or bool(st.session_state.get("more sizes")), key="more sizes", on_change="rerun"
    ):
        for field in others:
            st.number_input(field, step=1, **showing(f"size {field}", values[field], partial(_typed, field)))
            if field in sizes.attempt:
                st.error(_why(sizes, field))
        for field, leaders in derived.items():
            key = f"derived {selection.model_type} {selection.cls} {field}"
            st.number_input(
                field,
                1,
                MOST,
                None,
                key=key,
                placeholder=_("follows {fields}").format(fields=listed(leaders)) if leaders else _("follows others"),
                on_change=_given,
                args=(key, field),
                help=_("By default, other fields determine this value. If you set it, it becomes an independent size."),
            )


def sizes() -> dict[str, int]:
    """The sizes of the selected model, keyed by field; empty if the model has no complete formula."""
    steps = size_steps(selected())
    return steps.values() if steps else {}


def _typed(field: str, value: int) -> None:
    if sizes := size_steps(selected()):
        sizes.move(field, int(value))


def _given(key: str, field: str) -> None:
    if (value := st.session_state[key]) is not None:
        set_derived(field, value)


def _why(sizes: SizeHistory, field: str) -> str:
    typed = sizes.attempt[field]
    if not isinstance(typed, int):
        return _("{size} must be a whole number, 1 or more.").format(size=field)
    problem = refused(sizes.discovery, move_field(sizes.discovery, field, typed, sizes.present))
    return sentence(problem, str) if problem else ""


def _field(sizes: SizeHistory, field: str) -> dict[str, Any]:
    typed = sizes.attempt.get(field)
    letter = letters(sizes.discovery)[field]
    repairs = [f"{field} = {repair:,}" for repair in _repairs(sizes, field)]
    field_stops = stops(sizes.discovery, field, sizes.present)
    return {
        "name": field,
        "label": names(sizes.discovery)[field],
        "letter": letter,
        "slider": f"{field} {letter}",
        "help": field,
        "exact": _("{field}, exact value").format(field=field),
        "value": sizes.values()[field],
        "stops": field_stops,
        "followers": {stop: moved for stop in field_stops if (moved := _followers(sizes, field, stop))},
        "unlike": [],  # the formula is valid at every stop
        "typed": f"{typed:,}" if isinstance(typed, int) else typed,
        "lock": None,
        "note": None,
        "problem": None if typed is None else {"text": _why(sizes, field), "repairs": repairs},
    }


def _followers(sizes: SizeHistory, field: str, stop: int) -> dict[str, int]:
    """The other sizes that change if ``field`` moves to ``stop``, with their new values."""
    before, moved = sizes.values(), move_field(sizes.discovery, field, stop, sizes.present)
    return {other: value for other, value in moved.items() if other != field and value != before[other]}


def _repairs(sizes: SizeHistory, field: str) -> list[int]:
    typed = sizes.attempt.get(field)
    return nearest(sizes.discovery, field, typed, sizes.present) if isinstance(typed, int) else []


def _take(sizes: SizeHistory, event: dict[str, Any]) -> None:
    """Handle an event from the browser. The data are untrusted; unknown events are ignored."""
    match event:
        case {"do": "move", "field": str(field), "value": int(value)}:
            sizes.move(field, value)
        case {"do": "type", "field": str(field), "text": str(text)}:
            sizes.move(field, panel.whole_number(text))
        case {"do": "repair", "field": str(field), "repair": int(number)}:
            repairs = _repairs(sizes, field)
            if 0 <= number < len(repairs):
                sizes.move(field, repairs[number])
        case {"do": "undo"}:
            sizes.undo()
        case {"do": "redo"}:
            sizes.redo()
        case {"do": "reset"}:
            sizes.reset()
