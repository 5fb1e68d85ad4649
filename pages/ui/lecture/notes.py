"""The speaker's notes: a window of their own, which follows the lecture in the same browser; never on its screen."""

from collections.abc import Sequence

from bertcalc.lecture_screens import Screen
from pages.ui.component import component
from pages.ui.i18n import _

_BUTTON = component("bertcalc_notes_button", "lecture/notes.css", "lecture/notes_button.js")
_NOTES = component("bertcalc_notes", "lecture/notes.css", "lecture/notes.js")


def offer(said: dict[str, str]) -> None:
    """The button, with its key, that opens the notes; what they say is told to the windows that show it."""
    _BUTTON(key="notes-button", data={"label": _("Notes"), "said": said})


def show(said: dict[str, str]) -> None:
    """The notes of a screen, and from then on those of the screen that the lecture is at."""
    _NOTES(key="notes-page", data={"said": said})


def said_of(screens: Sequence[Screen], at: int, titles: Sequence[str], notes: str) -> dict[str, str]:
    """What the notes say of screen number ``at``: its place and title, the notes, and what comes next."""
    last = at + 1 == len(screens)
    after = _("The last screen") if last else _("Next: {title}").format(title=titles[at + 1])
    return {"name": screens[at].name, "title": titles[at], "notes": notes, "after": after}
