"""The lectures. Each TOML file in pages/lectures defines a lecture with the same name as the file."""

from difflib import get_close_matches
from pathlib import Path

import streamlit as st

from bertcalc.text import N_
from pages.ui.shell.controls import Reason, Switch, Text

FOLDER = Path(__file__).parents[2] / "lectures"
DEFAULT = "why-110-million"
LONGEST = 60  # maximum number of characters of a screen's name


def names() -> list[str]:
    """The names of all lectures in alphabetical order, except that ``DEFAULT`` comes first.

    The folder is read at each call, so lectures can be added or removed while the app runs.
    """
    return sorted((file.stem for file in FOLDER.glob("*.toml")), key=lambda name: (name != DEFAULT, name))


def _check(text: str) -> Reason | None:
    """The reason why ``text`` in the link is not the name of a lecture, or None if it is."""
    there = names()
    if text in there:
        return None
    message = N_("{name}={text} in the link is invalid: there is no such lecture. Did you mean {nearest}?")
    return message, {"nearest": get_close_matches(text[:100], there or [DEFAULT], n=1, cutoff=0.0)[0]}


LECTURE = Text("lecture", "lecture", DEFAULT, 200, check=_check)
# This control accepts any name. The page checks it, because the screens depend on the lecture.
SCREEN = Text("screen", "screen", "", LONGEST)
NOTES = Switch("notes", "notes", draw=st.checkbox)
# The query parameters of a link to the first screen of the default lecture. A link without them would open the screen
# that the session showed last.
BEGINNING = {control.name: control.default for control in (LECTURE, SCREEN)}
