"""The Lecture page: which lecture, which screen of it, and what is on it."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertcalc.lecture_screens import Lecture, Screen, Show, read
from bertcalc.problem import InputError
from bertcalc.text import code, literal, shorten
from bertcalc.tree.totals import component_at
from pages.ui import stepping
from pages.ui.controls import sentence, set_values
from pages.ui.i18n import _, in_context, translator
from pages.ui.lecture import notes, screen_files
from pages.ui.lecture.screen_parts import PARTS, VOCABULARY, draw_place, place, values
from pages.ui.sidebar import Choice, show_only
from pages.ui.theme import colors

Fill = Callable[[str], str]


def choose_lecture(row: DeltaGenerator) -> Lecture | None:
    """The lecture, chosen in the row where there are several; None, and a sentence, where there is none."""
    there = screen_files.names()
    if not there:
        st.error(_("There is no lecture in the folder {folder}.").format(folder="`pages/lectures`"))
        return None
    name = there[0]
    if len(there) > 1:
        name = row.selectbox(
            "lecture", there, key="lecture", bind="query-params", width=200, label_visibility="collapsed"
        )
    file = screen_files.FOLDER / f"{name}.toml"
    try:
        return _read(file, file.stat().st_mtime_ns)
    except InputError as error:
        st.error(f"{code(file.name)}: {sentence(error.problem)}")
    return None


@lru_cache(maxsize=16)
def _read(file: Path, changed_ns: int) -> Lecture:
    return read(file.read_bytes(), VOCABULARY)


def filler(choice: Choice) -> Fill:
    """A function that translates a text of a lecture and fills in the present model's numbers."""
    translate, numbers = translator(), values(choice)
    return lambda text: translate(text).format(**numbers)


def choose_screen(lecture: Lecture, row: DeltaGenerator, fill: Fill) -> Screen:
    """Previous, the screens by title, Next, the notes, and the way out: by button, by key, by the link."""
    order = [screen.name for screen in lecture.screens]
    with st.container(key="lecture-state"):
        # What the link says is in controls that nobody sees: those that people see are in their language.
        name = screen_files.SCREEN.show() or order[0]
        speaking = not screen_files.NOTES.show()
    if name not in order:
        name = _nearest(name, order)
    at = order.index(name)
    screen = lecture.screens[at]
    titles = [f"{number} / {len(order)} · {fill(one.title)}" for number, one in enumerate(lecture.screens, 1)]
    said = notes.said_of(lecture.screens, at, titles, fill(screen.notes))
    st.session_state["jump"] = name
    with row:
        if not speaking:
            notes.show(said)
            st.button(_("To the screen"), on_click=set_values, args=({"notes": False},))
            return screen
        st.markdown(f"**{fill(lecture.title)}**", width="content")
        _move_button(in_context("screen", "Previous"), "back", at > 0, -1)
        st.selectbox(
            _("Screen"),
            order,
            key="jump",
            format_func=dict(zip(order, titles, strict=True)).__getitem__,
            on_change=_jump,
            args=(order,),
            label_visibility="collapsed",
        )
        _move_button(in_context("screen", "Next"), "forward", at + 1 < len(order), 1)
        notes.offer(said)
        st.page_link("parameters.py", label=_("Leave"), icon=":material/close_fullscreen:")
    stepping.listen("screen", order, name)
    return screen


def _nearest(name: str, order: Sequence[str]) -> str:
    """The screen with the most similar name, or else the first; and a message that says so."""
    near = get_close_matches(name, order, n=1)
    message = (
        _("This lecture has no screen “{name}”. Showing “{nearest}”.")
        if near
        else _("This lecture has no screen “{name}”. Showing the first one.")
    )
    nearest = (near or order)[0]
    st.warning(message.format(name=literal(shorten(name)), nearest=nearest), icon=":material/help:")
    return nearest


def _move_button(label: str, arrow: str, possible: bool, by: int) -> None:
    icon = f":material/arrow_{arrow}:"
    st.button(label, key=f"{arrow} screen", icon=icon, disabled=not possible, on_click=stepping.go, args=(by,))


def _jump(order: Sequence[str]) -> None:
    screen = st.session_state["jump"]
    if screen in order:  # titles hold numbers of the model: the browser may have one that is gone
        set_values({"screen": screen})


def show_screen(screen: Screen, choice: Choice, fill: Fill) -> None:
    """What a screen says, its live parts, its place in the picture of the model if it is about modules; its sliders."""
    show_only(screen.sliders)
    paths = list(filter(None, (place(show, choice) for show in screen.show)))
    color = colors()[component_at(choice.model(), paths[0])] if paths else "inherit"
    st.html(f"<style>.st-key-lecture-screen [data-testid='stMetricValue'] {{ color: {color}; }}</style>")
    with st.container(key="lecture-screen"):
        said, picture = st.columns([0.7, 0.3], gap="medium") if paths else (st.container(), None)
        with said:
            st.markdown(f"## {fill(screen.title)}\n\n{fill(screen.text)}")
            for show in screen.show:
                _show(show, choice)
        if picture:
            with picture, st.container(key="lecture-place"):
                draw_place(choice, paths)


def _show(show: Show, choice: Choice) -> None:
    try:
        PARTS[show.part].draw(choice, **show.arguments)
    except KeyError:  # of a module that this architecture does not have
        path = show.arguments["path"]
        st.info(_("{architecture} has no {path}.").format(architecture=choice.architecture, path=f"`{path}`"))
