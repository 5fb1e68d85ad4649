"""The Lecture page: which lecture, which screen of it, and what is on it."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertcalc.lecture import Lecture, LectureError, Screen, read
from bertcalc.presets import PRESETS
from bertcalc.text import shorten
from pages.ui import present
from pages.ui.controls import sentence, set_values
from pages.ui.i18n import translator
from pages.ui.lecture import files
from pages.ui.lecture.parts import PARTS, VOCABULARY, values
from pages.ui.sidebar import Choice, take_preset
from pages.ui.tables import escaped

Fill = Callable[[str], str]


def choose_lecture(row: DeltaGenerator) -> Lecture | None:
    """The lecture, chosen in the row where there are several; None, and a sentence, where there is none."""
    _ = translator()
    there = files.names()
    if not there:
        st.error(_("There is no lecture in the folder {folder}.").format(folder="`pages/lectures`"))
        return None
    name = there[0]
    if len(there) > 1:
        name = row.selectbox(
            "lecture", there, key="lecture", bind="query-params", width=200, label_visibility="collapsed"
        )
    file = files.FOLDER / f"{name}.toml"
    try:
        return _read(file, file.stat().st_mtime_ns)
    except LectureError as error:
        st.error(f"`{file.name}`: {sentence(error.problem, escaped)}")
    return None


@lru_cache(maxsize=16)
def _read(file: Path, changed_ns: int) -> Lecture:
    return read(file.read_bytes(), VOCABULARY)


def filler(choice: Choice) -> Fill:
    """What puts a text of a lecture into the language of the session, if it is translated, with the present numbers."""
    translate, numbers = translator(), values(choice)
    return lambda text: translate(text).format(**numbers)


def choose_screen(lecture: Lecture, row: DeltaGenerator, choice: Choice, fill: Fill) -> Screen:
    """Previous, the screens by title, Next, and the switch of the notes: by button, by key, by the link.

    Beside them the way back to the preset, which the steps of the sliders need not meet.
    """
    _ = translator()
    screens = {screen.name: screen for screen in lecture.screens}
    order = list(screens)
    hidden = st.container(key="lecture-state")
    with hidden:
        # What the link says is in controls that nobody sees: those that people see are in their language.
        name = st.text_input("screen", key="screen", bind="query-params", max_chars=files.LONGEST) or order[0]
        st.checkbox("notes", key="notes", bind="query-params")
    if name not in screens:
        nearest = get_close_matches(name, order, n=1, cutoff=0.0)[0]
        message = _("This lecture has no screen {name}: {nearest} may be meant.")
        st.warning(message.format(name=escaped(shorten(name)), nearest=nearest), icon=":material/help:")
        name = nearest
    at = order.index(name)
    titles = {one: f"{number} / {len(order)} · {fill(screens[one].title)}" for number, one in enumerate(order, 1)}
    st.session_state["jump"] = name
    with row:
        st.markdown(f"**{fill(lecture.title)}**", width="content")
        _move_button(_("Previous"), "Left", order, at, -1)
        st.selectbox(
            _("Screen"),
            order,
            key="jump",
            format_func=titles.__getitem__,
            on_change=_jump,
            label_visibility="collapsed",
        )
        _move_button(_("Next"), "Right", order, at, 1)
        st.button(_("Notes"), shortcut="n", on_click=_switch_notes, type="tertiary")
        if choice.config != PRESETS[choice.preset].config or not choice.current:
            back = _("Back to {preset}").format(preset=choice.preset)
            st.button(back, on_click=take_preset, args=(choice.preset,), type="tertiary")
    with hidden:  # the keys of a presenter's remote control
        _move_button("PageUp", "PageUp", order, at, -1)
        _move_button("PageDown", "PageDown", order, at, 1)
    return screens[name]


def _move_button(label: str, key: str, order: Sequence[str], at: int, by: int) -> None:
    end = not 0 <= at + by < len(order)
    st.button(label, key=f"{key} screen", shortcut=key, disabled=end, on_click=_move, args=(order, at, by))


def _move(order: Sequence[str], drawn: int, by: int) -> None:
    """Go on from where the lecture is by now: keys can be pressed faster than pages are drawn."""
    now = st.session_state["screen"]
    at = (order.index(now) if now in order else drawn) + by
    set_values({"screen": order[min(max(at, 0), len(order) - 1)]})


def _jump() -> None:
    set_values({"screen": st.session_state["jump"]})


def _switch_notes() -> None:
    set_values({"notes": not st.session_state["notes"]})


def show_screen(screen: Screen, choice: Choice, fill: Fill) -> None:
    """What a screen says, its live parts, its sliders, and the speaker's notes if they are wanted."""
    _ = translator()
    present.sliders(screen.sliders)  # first, for the proof takes its time
    with st.container(key="lecture-screen"):
        st.markdown(f"## {fill(screen.title)}\n\n{fill(screen.text)}")
        for show in screen.show:
            try:
                PARTS[show.part].draw(choice, **show.arguments)
            except KeyError:  # of a module that this architecture does not have
                path = show.arguments["path"]
                st.info(_("{architecture} has no {path}.").format(architecture=choice.architecture, path=f"`{path}`"))
    if st.session_state["notes"] and screen.notes:
        with st.container(key="lecture-notes"):
            st.markdown(fill(screen.notes))
