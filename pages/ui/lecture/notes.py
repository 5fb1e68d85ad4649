"""The speaker's notes: a window of their own, which follows the lecture in the same browser; never on its screen."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from bertcalc.lecture_screens import Screen
from pages.ui.i18n import translator

_HERE = Path(__file__).parent
_BUTTON = st.components.v2.component(
    "bertcalc_notes_button",
    css=(_HERE / "notes.css").read_text(encoding="utf-8"),
    js=(_HERE / "notes_button.js").read_text(encoding="utf-8"),
)
_NOTES = st.components.v2.component(
    "bertcalc_notes",
    css=(_HERE / "notes.css").read_text(encoding="utf-8"),
    js=(_HERE / "notes.js").read_text(encoding="utf-8"),
)


def offer(said: dict[str, str]) -> None:
    """The button, with its key, that opens the notes; what they say is told to the windows that show it."""
    _ = translator()
    _BUTTON(key="notes-button", data={"label": _("Notes"), "said": said})


def show(said: dict[str, str]) -> None:
    """The notes of a screen, and from then on those of the screen that the lecture is at."""
    _NOTES(key="notes-page", data={"said": said})


def said_of(screens: Sequence[Screen], at: int, titles: Sequence[str], notes: str) -> dict[str, str]:
    """What the notes say of screen number ``at``: its place and title, the notes, and what comes next."""
    _ = translator()
    last = at + 1 == len(screens)
    after = _("The last screen") if last else _("Next: {title}").format(title=titles[at + 1])
    return {"name": screens[at].name, "title": titles[at], "notes": notes, "after": after}
