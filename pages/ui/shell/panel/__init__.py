"""The panel: one component with the model's sliders and locks, messages about typed values, undo, redo and reset.

While the reader drags a slider, the browser recomputes the page's live numbers (pages/ui/shell/live). The server
receives the value when the reader releases the slider. The end of the page (pages/ui/shell/page_end) tells the panel
that the page is complete.
"""

from collections.abc import Callable, Collection
from functools import cache, lru_cache, partial
from typing import Any

import streamlit as st

from bertcalc.config import LETTERS, Config, Problem
from bertcalc.config.fields import EVERY_LETTER, MEANINGS
from bertcalc.controls.chosen_model import NAMES, ChosenModel
from bertcalc.controls.model_history import ModelHistory
from bertcalc.controls.stops import SLIDERS, WORDS, Locks, alike, followers, stops
from bertcalc.families.presets import PRESETS
from bertcalc.model.formula import SYMBOLS, symbolic_model
from bertcalc.model.model import Model
from bertcalc.text import N_, Translate
from bertcalc.text.amounts import whole
from bertcalc.text.digits import brief
from bertcalc.transformers4.version import version_of
from pages.ui.session import address, present_model
from pages.ui.session.component import component
from pages.ui.shell import live, page_slider, stepping
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _, listed, translator, with_colon

_PANEL = component(
    "bertcalc_panel",
    *("shell/panel/panel.css", "session/dom.js", "shell/panel/address.js"),
    *("shell/panel/panel.js", "shell/panel/field.js", "shell/panel/menu.js"),
    isolate_styles=False,  # in a shadow root, letters typed into the panel would trigger shortcuts
)
# The texts that Streamlit 1.67's front end shows; tests/browser/test_text.py fails if it shows others.
_STREAMLIT_TEXTS = (
    *(N_("Press Enter to apply"), N_("Press Enter to submit form"), N_("No results"), N_("Choose an option")),
    *(N_("System"), N_("Light"), N_("Dark"), N_("Theme"), N_("Print"), N_("Main menu"), N_("Close")),
    *(N_("Record screen"), N_("Stop recording"), N_("Cancel recording")),
    *(N_("Fullscreen"), N_("Close fullscreen"), N_("Download as CSV"), N_("Search"), N_("Show/hide columns")),
    *(N_("Copy to clipboard"), N_("Copied"), N_("Increment"), N_("Decrement"), N_("Connecting"), N_("Running...")),
    *(N_("Sort ascending"), N_("Sort descending"), N_("Pin column"), N_("Unpin column"), N_("Hide column")),
    *(N_("Autosize"), N_("Format"), N_("Copy column name"), N_("Show data"), N_("Show chart")),
)
# Maps a page to its replacements for some of these texts.
_PAGE_TEXTS = {
    "any_model": {
        "No results": N_(
            "No results: these are model types. Enter a model's name, such as t5-small, or its config.json below."
        )
    }
}
_LONGEST = 40  # maximum number of characters of a typed number
_MOST = 20  # maximum number of events that are read from one message


def show(page: str, fields: Collection[str] = tuple(SLIDERS), *, lecture: bool = False) -> None:
    """Draw the buttons undo, redo and reset, and the sliders of ``fields`` and of all fields with a problem.

    ``page`` is the path of the page that this run draws. ``lecture`` says whether it is a screen of a lecture, where a
    released slider loses the focus, so that the arrow keys step through the screens again.
    """
    steps = present_model.track()
    problems = {problem.field: problem for problem in steps.problems()}
    drawn = [field for field in SLIDERS if field in fields or field in problems]
    plain = steps.present == present_model.plain() and not steps.attempt
    acts = actions(not steps.can_undo, not steps.can_redo, plain, steps.present.preset)
    draw(page, [_field(steps, field, problems.get(field)) for field in drawn], acts, _take, lecture=lecture)


def draw(
    page: str,
    fields: list[dict[str, Any]],
    actions: list[dict[str, Any]],
    take: Callable[[dict[str, Any]], None],
    *,
    lecture: bool = False,
) -> None:
    """Draw the panel; each dictionary in ``fields`` has the format of ``_field`` and describes a slider.

    ``actions`` is the result of the function ``actions``. For ``page`` and ``lecture``, see ``show``.
    ``take`` handles an event from the browser. It must check the event, because a client can send anything.
    """
    # When ``page`` changes, the browser checks the address again.
    data: dict[str, Any] = {"names": [*NAMES, "lang"], "page": page, "menu": _menu(page), "link": _link()}
    data |= {"fields": fields, "actions": actions, "lecture": lecture, "taken": st.session_state.get("last event", 0)}
    _PANEL(key="panel", data=data, on_events_change=partial(_take_events, take))


def drawn(page: str) -> dict[str, Any]:
    """The data for the panel after the page is drawn: the last answered event, and parameters of the link.

    On a page that this run opens, these are all parameters; otherwise only the parameters that every page has.
    """
    whole = address.is_opened()
    link = {**(st.query_params.to_dict() if whole else {}), **_link()}
    answered = st.session_state.get("last event", 0)
    return {"event": answered, "page": page, "link": link, "whole": whole}


def _link() -> dict[str, str]:
    language = {name: text for name, text in st.query_params.items() if name == "lang"}
    return language | present_model.link()


def _menu(page: str) -> dict[str, Any]:
    around = {"menu": _("Menu"), "close": _("Close"), "more": _("More"), "skip": _("Skip to main content")}
    return {"lang": st.session_state["lang"], **around, "texts": _texts(page, translator())}


@lru_cache(maxsize=64)
def _texts(page: str, translate: Translate) -> dict[str, str]:
    special = _PAGE_TEXTS.get(page, {})
    return {text: translate(special.get(text, text)) for text in _STREAMLIT_TEXTS}


def actions(undone: bool, redone: bool, plain: bool, preset: str) -> list[dict[str, Any]]:
    """The buttons undo, redo and reset (to ``preset``).

    ``undone``, ``redone`` and ``plain`` disable undo, redo and reset, because there is nothing to undo, redo or reset.
    """
    named = (
        (_("Undo"), _("Undo one step"), "Ctrl+Z", "undo", ["ctrl+z"], undone),
        (_("Redo"), _("Redo one step"), "Ctrl+Y", "redo", ["ctrl+y", "ctrl+shift+z"], redone),
        (_("Reset"), _("Reset to {preset}").format(preset=preset), "0", "reset", ["0"], plain),
    )
    return [
        {
            "label": label,
            "title": _("{action} ({key})").format(action=title, key=key),
            "touch": title,  # the title on a device without a keyboard
            "event": {"do": action},
            "keys": keys,
            "disabled": off,
        }
        for label, title, key, action, keys, off in named
    ]


def _field(steps: ModelHistory, field: str, problem: Problem | None) -> dict[str, Any]:
    present = steps.present
    config, locks = present.config, present.locks
    typed = steps.attempt.get(field)
    label, name = _(WORDS[field]), config.own_name(field)
    start: int = getattr(PRESETS[present.preset].config, field)
    field_stops = stops(config, field, locks, also=start)
    return {
        "name": field,
        "label": label,
        "letter": LETTERS[field],
        "slider": listed((f"{label} {LETTERS[field]}", name)),
        "help": with_colon(name, _(MEANINGS[field])),
        "exact": _("{field}, exact value").format(field=listed((label, name))),
        "value": getattr(config, field),
        "stops": field_stops,
        "followers": {stop: sizes for stop in field_stops if (sizes := followers(config, field, stop, locks))},
        "unlike": [stop for stop in field_stops if not alike(config, field, stop, locks)],
        "typed": typed if typed is None or isinstance(typed, str) else f"{typed:,}",
        "lock": _lock(steps, field),
        "note": _note(present, field),
        "problem": problem and {"text": sentence(problem, str), "repairs": [*map(_repair, problem.remedies)]},
    }


def _note(present: ChosenModel, field: str) -> str | None:
    """A note if a size does not affect the parameter count; None if it does.

    With steps of the Change page, such as fewer heads, every size can affect the count, so there is no note.
    """
    if present.changes:
        return None
    if field == "num_attention_heads" and not version_of(present.config).distances:
        return _("The number of heads does not change the count.")
    if field == "num_hidden_layers" and not _counts_layers(type(present.config)):
        return _("The layers share their weights, so the number of layers does not change the count.")
    return None


@cache
def _counts_layers(kind: type[Config]) -> bool:
    """Whether a family's parameter count depends on the number of layers. If layers share weights, it does not."""
    total: Any = symbolic_model(Model(kind.default())).num_parameters()
    return SYMBOLS["num_hidden_layers"] in total.free_symbols


def _repair(remedy: dict[str, Any]) -> str:
    """A remedy as text, such as "H = 768, A = 12"."""
    return ", ".join(f"{EVERY_LETTER.get(field, field)} = {value:,}" for field, value in remedy.items())


def _lock(steps: ModelHistory, field: str) -> dict[str, Any] | None:
    """The data of the lock under a slider, or None for a slider without a lock.

    Two locks determine whether the number of heads and the intermediate size follow the hidden size.
    """
    config, locks = steps.present.config, steps.present.locks
    if field == "hidden_size":
        name, closed = "heads", locks.heads
        label = _("A follows H: {size:,} per head") if closed else _("A is fixed: H is a multiple of {heads:,}")
        keep = _("Keep the number of heads when the hidden size changes")
        follow = _("Let the heads follow the hidden size")
    elif field == "intermediate_size":
        name, closed = "intermediate", locks.intermediate
        label = _("I follows H: {multiple} H") if closed else _("I is fixed: currently {multiple} H")
        keep = _("Keep the feed-forward size when the hidden size changes")
        follow = _("Let the feed-forward size follow the hidden size")
    else:
        return None
    sizes = {"size": config.attention_head_size, "heads": config.num_attention_heads}
    values = {**sizes, "multiple": brief(config.intermediate_size / config.hidden_size, 3)}
    return {"name": name, "closed": closed, "label": label.format(**values), "title": keep if closed else follow}


def _take_events(take: Callable[[dict[str, Any]], None]) -> None:
    """Pass each event from the browser to ``take`` once, although the browser repeats unanswered events.

    Events are untrusted, because a client can send anything.
    """
    # If a run is interrupted before the panel is drawn, Streamlit drops the panel's state. The browser then repeats the
    # events.
    events = st.session_state.get("panel", {}).get("events")
    for event in events[-_MOST:] if isinstance(events, list) else []:
        match event:
            case {"program": str(program)}:
                live.note_browser_has(program)
        match event:
            case {"number": int(number)} if number > st.session_state.get("last event", 0):
                st.session_state["last event"] = number
                if not page_slider.take(event):
                    take(event)


def _take(event: dict[str, Any]) -> None:
    steps = present_model.track()
    match event:
        case {"do": "move", "field": str(field), "value": int(value)} if field in SLIDERS:
            steps.move(field, value)
        case {"do": "type", "field": str(field), "text": str(text)} if field in SLIDERS:
            steps.move(field, whole_number(text))
        case {"do": "repair", "field": str(field), "repair": int(number)}:
            for problem in steps.problems():
                if problem.field == field and 0 <= number < len(problem.remedies):
                    steps.change(problem.remedies[number])
                    break
        case {"do": "lock", "name": str(name), "closed": bool(closed)} if name in Locks._fields:
            steps.change({f"lock_{name}": closed})
        case {"do": "undo"}:
            steps.undo()
        case {"do": "redo"}:
            steps.redo()
        case {"do": "reset"}:
            present_model.reset()
        case {"do": "go", "by": int(by)}:
            stepping.go(by)


def whole_number(text: str) -> int | str:
    """Read a typed text as an integer; return the text, truncated, if it is not an integer."""
    return whole(text[:_LONGEST])
