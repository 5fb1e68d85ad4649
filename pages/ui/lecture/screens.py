"""The Lecture page: the choice of a lecture and a screen, the speaker's notes, and the live parts of the screen."""

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertcalc.model.totals import component_at
from bertcalc.teach.lecture_screens import Lecture, Screen, Show, read
from bertcalc.text import code, literal, shorten
from bertcalc.text.live_numbers import fill as live_fill
from bertcalc.text.problem import InputError, Problem
from pages.ui.lecture import screen_files
from pages.ui.lecture.screen_parts import PARTS, VOCABULARY, values
from pages.ui.session import address
from pages.ui.session.component import component
from pages.ui.session.present_model import take_preset
from pages.ui.shell import stepping
from pages.ui.shell.controls import Text, sentence, set_values
from pages.ui.shell.i18n import _, in_context, translator, with_colon
from pages.ui.shell.sidebar import Choice
from pages.ui.shell.theme import colors

Fill = Callable[[str], str]
NOTES_STYLE = Path(__file__).with_name("notes_page.css")
# The speaker's notes are in a separate window, which follows the lecture in the same browser.
NOTES_BUTTON = component("bertcalc_notes_button", "lecture/notes.css", "session/dom.js", "lecture/notes_button.js")
NOTES = component("bertcalc_notes", "lecture/notes.css", "session/dom.js", "lecture/notes.js")


def where(page: str) -> tuple[str, str]:
    """Return the screen that this run will draw ("lecture/screen") and its preset; ("", "") if there is no screen."""
    if page != "lecture" or not (there := screen_files.names()):
        return "", ""
    name = _asked(screen_files.LECTURE) or there[0]
    lecture = _read(name) if name in there else None
    if not isinstance(lecture, Lecture):
        return "", ""
    screen, _exact = _find(lecture, _asked(screen_files.SCREEN))
    return f"{name}/{screen.name}", screen.preset


def _asked(control: Text) -> str:
    """The value of a control before it is drawn.

    It comes from the link after Back or when a page opens, and otherwise from the session.
    """
    linked = st.query_params.get(control.name)
    if address.went_back() or (linked is not None and address.is_opened()):
        return linked or control.default
    held: str = st.session_state.get(control.name, linked or control.default)
    return held


def choose_lecture(row: DeltaGenerator, fill: Fill) -> Lecture | None:
    """Draw the choice of a lecture in ``row`` and return the chosen lecture.

    If the lecture's file is invalid or there is no lecture, show an error and return None. ``fill`` is the result of
    ``filler``.
    """
    there = screen_files.names()
    if not there:
        st.error(_("There is no lecture in the folder {folder}.").format(folder="`pages/lectures`"))
        return None
    # A hidden text field is bound to the link. The visible control has titles in the session's language.
    with st.container(key="lecture-link"):
        name = screen_files.LECTURE.show()
    name = name if name in there else there[0]
    files = {stem: _read(stem) for stem in there}
    titles = {stem: fill(file.title) if isinstance(file, Lecture) else stem for stem, file in files.items()}
    if len(there) > 1:
        st.session_state["choose-lecture"] = name
        row.selectbox(
            _("Lecture"),
            there,
            key="choose-lecture",
            format_func=lambda stem: titles.get(stem, stem),
            on_change=_take_lecture,
            width=240,
            label_visibility="collapsed",
        )
    else:
        row.markdown(f"**{literal(titles[name])}**", width="content")
    lecture = files[name]
    if isinstance(lecture, Lecture):
        return lecture
    st.error(with_colon(code(f"{name}.toml"), sentence(lecture)))
    return None


def _take_lecture() -> None:
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
    """Return a function that translates a text of the lecture and fills in the numbers of the current model."""
    translate, numbers = translator(), values(choice)
    return lambda text: live_fill(translate(text), **numbers)


def offer_preset(lecture: Lecture, choice: Choice) -> None:
    """If the current model started from another preset than the lecture's, show a note and offer the lecture's preset.

    A screen may change the preset, so the presets of all screens belong to the lecture.
    """
    if not lecture.preset or choice.preset in {lecture.preset, *(screen.preset for screen in lecture.screens)}:
        return
    message = _("The texts describe {preset}; the numbers are for {model}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(message.format(preset=lecture.preset, model=choice.preset), width="content")
        label = _("Start with {preset}").format(preset=lecture.preset)
        st.button(label, on_click=take_preset, args=(lecture.preset,))


def titles_of(lecture: Lecture, fill: Fill) -> dict[str, str]:
    """The numbered titles of the screens, in the form "2 / 9 · Title", keyed by the screen's name."""
    count = len(lecture.screens)
    return {
        screen.name: f"{number} / {count} · {fill(screen.title)}" for number, screen in enumerate(lecture.screens, 1)
    }


def notes_of(screen: Screen, titles: Mapping[str, str], fill: Fill) -> dict[str, dict[str, str]]:
    """The data of the speaker's window: the screen's name, title and notes, and the title of the next screen."""
    following = [*titles.values(), ""][[*titles].index(screen.name) + 1]
    after = _("Next: {title}").format(title=following) if following else _("The last screen")
    return {"screen": {"name": screen.name, "title": titles[screen.name], "notes": fill(screen.notes), "after": after}}


def choose_screen(screen: Screen, titles: Mapping[str, str]) -> None:
    """Draw the choice of a screen by its title, between the buttons Previous and Next."""
    order = list(titles)
    stepping.button(in_context("screen", "Previous"), "screen", -1, end=screen.name == order[0])
    st.session_state["jump"] = screen.name
    st.selectbox(
        _("Screen"),
        order,
        key="jump",
        format_func=titles.__getitem__,
        on_change=_jump,
        args=(order,),
        width=400,
        label_visibility="collapsed",
    )
    stepping.button(in_context("screen", "Next"), "screen", 1, end=screen.name == order[-1])


def _find(lecture: Lecture, name: str) -> tuple[Screen, bool]:
    """Find a screen by its name; return the screen, and whether its name is exactly ``name``.

    If there is no such screen, return a screen with a similar name, or else the first screen. An empty name means the
    first screen and counts as exact.
    """
    by_name = {screen.name: screen for screen in lecture.screens}
    near = [name] if name in by_name else get_close_matches(name, by_name, n=1)
    return by_name[near[0]] if near else lecture.screens[0], name in by_name or not name


def screen_of(lecture: Lecture, name: str) -> Screen:
    """The screen called ``name``.

    If there is none, show a warning and return a screen with a similar name, or else the first screen.
    """
    screen, exact = _find(lecture, name)
    if not exact:
        message = _("This lecture has no screen “{name}”. Showing the first screen.")
        if get_close_matches(name, [screen.name], n=1):
            message = _("This lecture has no screen “{name}”. Showing “{nearest}”.")
        st.warning(message.format(name=literal(shorten(name)), nearest=screen.name), icon=":material/help:")
    return screen


def _jump(order: Collection[str]) -> None:
    screen = st.session_state["jump"]
    if screen in order:  # the browser may send an outdated title, since titles contain the model's numbers
        set_values({"screen": screen})


def color_figures(choice: Choice, paths: Sequence[str]) -> None:
    """Color the large numbers of a screen like the module at the first path in ``paths``, if there is one."""
    color = colors()[component_at(choice.model, paths[0])] if paths else "inherit"
    st.html(f"<style>.st-key-lecture-screen [data-testid='stMetricValue'] {{ color: {color}; }}</style>")


def show_part(show: Show, choice: Choice) -> None:
    """Draw a live part of a screen; if the current architecture lacks the part's module, show a note instead."""
    try:
        PARTS[show.part].draw(choice, **show.arguments)
    except KeyError:  # this architecture has no module at the part's path
        path = show.arguments["path"]
        st.info(_("{architecture} has no {path}.").format(architecture=choice.architecture, path=f"`{path}`"))
