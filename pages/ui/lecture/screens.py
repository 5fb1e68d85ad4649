"""The Lecture page: the choice of a lecture and a screen, and what is on the screen."""

from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertcalc.lecture_screens import Lecture, Screen, Show, read
from bertcalc.problem import InputError, Problem
from bertcalc.text import code, literal, shorten
from bertcalc.tree.totals import component_at
from pages.ui import address, stepping
from pages.ui.component import component
from pages.ui.controls import Text, sentence, set_values
from pages.ui.i18n import _, in_context, translator
from pages.ui.lecture import screen_files
from pages.ui.lecture.screen_parts import PARTS, VOCABULARY, draw_place, place, values
from pages.ui.sidebar import Choice, show_only
from pages.ui.theme import colors

Fill = Callable[[str], str]
# The speaker's notes have a window of their own, which follows the lecture in the same browser.
_NOTES_BUTTON = component("bertcalc_notes_button", "lecture/notes.css", "dom.js", "lecture/notes_button.js")
_NOTES = component("bertcalc_notes", "lecture/notes.css", "dom.js", "lecture/notes.js")


def where(page: str) -> tuple[str, str]:
    """The lecture's screen that this run is going to draw, and the preset that the screen is about; empty if none."""
    there = screen_files.names()
    if page != "lecture" or not there:
        return "", ""
    name = _asked(screen_files.LECTURE) or there[0]
    lecture = _read(name) if name in there else None
    if not isinstance(lecture, Lecture):
        return "", ""
    screen, _exact = _find(lecture, _asked(screen_files.SCREEN))
    return f"{name}/{screen.name}", screen.preset


def _asked(control: Text) -> str:
    """The value of a control before it is drawn: the link's if the control is new or after Back, else the session's."""
    linked = st.query_params.get(control.name, control.default)
    held: str = linked if address.went_back() else st.session_state.get(control.name, linked)
    return held


def choose_lecture(row: DeltaGenerator, choice: Choice) -> Lecture | None:
    """The lecture, with a choice in the row if there are several; None, and an error on the page, if none is valid."""
    there = screen_files.names()
    if not there:
        st.error(_("There is no lecture in the folder {folder}.").format(folder="`pages/lectures`"))
        return None
    # Hidden controls hold what the link says; the visible ones have titles in the language of the session.
    with st.container(key="lecture-link"):
        name = screen_files.LECTURE.show()
    name = name if name in there else there[0]
    found = {one: _read(one) for one in there}
    fill = filler(choice)
    titles = {one: fill(read.title) if isinstance(read, Lecture) else one for one, read in found.items()}
    if len(there) > 1:
        st.session_state["choose-lecture"] = name
        row.selectbox(
            _("Lecture"),
            there,
            key="choose-lecture",
            format_func=lambda one: titles.get(one, one),
            on_change=_take_lecture,
            width=240,
            label_visibility="collapsed",
        )
    else:
        row.markdown(f"**{literal(titles[name])}**", width="content")
    lecture = found[name]
    if isinstance(lecture, Lecture):
        return lecture
    st.error(f"{code(f'{name}.toml')}: {sentence(lecture)}")
    return None


def _take_lecture() -> None:
    """Another lecture begins with its first screen."""
    name = st.session_state["choose-lecture"]
    if name in screen_files.names():
        set_values({"lecture": name, "screen": ""})


def _read(name: str) -> Lecture | Problem:
    file = screen_files.FOLDER / f"{name}.toml"
    return _read_file(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _read_file(file: Path, changed_ns: int) -> Lecture | Problem:
    try:
        return read(file.read_bytes(), VOCABULARY)
    except InputError as error:
        return error.problem


def filler(choice: Choice) -> Fill:
    """A function that translates a text of a lecture and fills in the present model's numbers."""
    translate, numbers = translator(), values(choice)
    return lambda text: translate(text).format(**numbers)


def choose_screen(lecture: Lecture, row: DeltaGenerator, fill: Fill) -> Screen:
    """Draw Previous, the screens by title, Next, the notes, and the way out; return the chosen screen."""
    order = [screen.name for screen in lecture.screens]
    with st.container(key="lecture-state"):
        asked = screen_files.SCREEN.show()
        speaking = not screen_files.NOTES.show()
    screen, exact = _find(lecture, asked)
    if not exact:
        _say_nearest(asked, screen.name)
    name, at = screen.name, lecture.screens.index(screen)
    titles = [f"{number} / {len(order)} · {fill(one.title)}" for number, one in enumerate(lecture.screens, 1)]
    last = at + 1 == len(order)
    after = _("The last screen") if last else _("Next: {title}").format(title=titles[at + 1])
    said = {"name": name, "title": titles[at], "notes": fill(screen.notes), "after": after}
    st.session_state["jump"] = name
    with row:
        if not speaking:
            _NOTES(key="notes-page", data={"said": said})
            st.button(_("To the screen"), on_click=set_values, args=({"notes": False},))
            return screen
        stepping.button(in_context("screen", "Previous"), "screen", -1, end=at == 0)
        st.selectbox(
            _("Screen"),
            order,
            key="jump",
            format_func=dict(zip(order, titles, strict=True)).__getitem__,
            on_change=_jump,
            args=(order,),
            width=400,
            label_visibility="collapsed",
        )
        stepping.button(in_context("screen", "Next"), "screen", 1, end=last)
        _NOTES_BUTTON(key="notes-button", data={"label": _("Notes"), "said": said})
        st.page_link("parameters.py", label=_("Leave"), icon=":material/close_fullscreen:")
    stepping.listen("screen", order, name)
    return screen


def _find(lecture: Lecture, name: str) -> tuple[Screen, bool]:
    """The screen of a name, the one with the most similar name, or else the first; and whether the name was right."""
    by_name = {screen.name: screen for screen in lecture.screens}
    near = [name] if name in by_name else get_close_matches(name, by_name, n=1)
    return by_name[near[0]] if near else lecture.screens[0], name in by_name or not name


def _say_nearest(name: str, nearest: str) -> None:
    message = _("This lecture has no screen “{name}”. Showing the first one.")
    if get_close_matches(name, [nearest], n=1):
        message = _("This lecture has no screen “{name}”. Showing “{nearest}”.")
    st.warning(message.format(name=literal(shorten(name)), nearest=nearest), icon=":material/help:")


def _jump(order: Collection[str]) -> None:
    screen = st.session_state["jump"]
    if screen in order:  # titles hold numbers of the model: the browser may have one that is gone
        set_values({"screen": screen})


def show_screen(screen: Screen, choice: Choice, fill: Fill) -> None:
    """Draw a screen: its sliders, its text, its live parts, and a picture of the model if it is about modules."""
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
