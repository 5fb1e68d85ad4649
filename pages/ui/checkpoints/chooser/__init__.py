"""A component for choosing files of any size. The browser sends only the necessary bytes, such as a header."""

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from bertcalc.checkpoints.safetensors import LARGEST_HEADER
from bertcalc.checkpoints.shards import MOST_FILES
from pages.server.messages import LARGEST
from pages.ui.session.component import component
from pages.ui.shell.i18n import _

_CHOOSER = component(
    "bertcalc_chooser", "checkpoints/chooser/chooser.css", "session/dom.js", "checkpoints/chooser/chooser.js"
)
# The maximum number of characters of compressed headers in a message. The rest of LARGEST is for the other controls.
_ROOM = LARGEST - 100_000


class AcceptedFiles(NamedTuple):
    """The accepted file types, whether the user can choose several files, and which bytes the browser sends.

    The browser sends only the header of a safetensors file. It sends any other file completely if the file has at most
    ``largest`` bytes and its name ends in ``whole``, which can be empty.
    """

    accept: str
    several: bool
    whole: str
    largest: int


def choose_files(key: str, wanted: AcceptedFiles, on_files: Callable[[], None]) -> None:
    """Draw a button for choosing files and an area to drop files on; ``on_files`` is the callback for chosen files."""
    data = {
        **wanted._asdict(),
        "most": MOST_FILES,
        "header": LARGEST_HEADER,
        "room": _ROOM,
        "taken": _taken(key),
        "choose": _("Choose files") if wanted.several else _("Choose a file"),
        "drop": _("or drop them here") if wanted.several else _("or drop it here"),
        "reading": _("Reading ..."),
    }
    _CHOOSER(key=key, data=data, on_files_change=on_files)


def take_files(key: str) -> object:
    """Return the browser's untrusted data about chosen files, or None if there is no new message.

    Call this only in callbacks.
    """
    match st.session_state.get(key, {}).get("files"):
        case {"number": int(number), "files": files} if number > _taken(key):
            st.session_state[f"taken {key}"] = number
            return files
    return None


def _taken(key: str) -> int:
    number: int = st.session_state.get(f"taken {key}", 0)
    return number
