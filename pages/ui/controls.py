"""Controls that several places draw: a whole number bound to the link, and what is wrong with a value."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import streamlit as st
from streamlit.errors import StreamlitAPIException

from bertcalc.config import Problem
from bertcalc.text import N_, literal
from bertcalc.track import NAMES
from pages.ui import model
from pages.ui.i18n import translator
from pages.ui.labels import OPTIONS, label_of, option_of
from pages.ui.numbers import MINUS

Number = TypeVar("Number", int, int | None)


# What is wrong with a text in the link, or None: see Parameters.
TextCheck = Callable[[str], tuple[str, dict[str, str]] | None]


class Parameters(NamedTuple):
    """What a link can say to the controls of a module: names by what their values are.

    A text has a function that gives None, or what is wrong with it: an English sentence with placeholders in braces
    (name and text are among them) and what fills them.
    """

    whole_numbers: tuple[str, ...] = ()
    booleans: tuple[str, ...] = ()
    decimals: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = {}
    texts: Mapping[str, TextCheck] = {}


def at_most(longest: int) -> TextCheck:
    """The check of a text in the link that only has to fit into its field."""
    message = N_("{name} in the link is too long: at most {most} characters.")
    return lambda text: None if len(text) <= longest else (message, {"most": f"{longest:,}"})


def whole_number(label: str, field: str, default: Number, **look: Any) -> Number:
    """A field for a whole number under its own name in the link; the core says which numbers are possible."""
    carry(field, default)
    try:
        value: Number = st.number_input(label, value=default, step=1, key=field, bind="query-params", **look)
    except OverflowError:
        # A step back to a link that had inf here: Streamlit 1.67 does not refuse that, and trips over it. The value
        # can be set only before the control is drawn: in the next run.
        st.session_state["repair"] = {field: default}
        st.rerun()
    return value


def choose_view(page: str, views: Sequence[str]) -> str:
    """The switch between the views of a page, under the page's name in the link."""
    _ = translator()
    return choose_one(_("View"), page, views)


def choose_one(label: str, field: str, options: Sequence[str]) -> str:
    """A switch under its own name in the link; the first option is the default, the label is for screen readers."""
    look: dict[str, Any] = {"required": True, "label_visibility": "collapsed"}
    if field in OPTIONS:
        return choose(field, options, st.segmented_control, label=label, **look)
    chosen: str = st.segmented_control(label, options, default=options[0], key=field, bind="query-params", **look)
    return chosen


def choose(
    field: str,
    options: Sequence[str],
    draw: Callable[..., Any] = st.selectbox,
    *,
    default: str | None = None,
    label: str | None = None,
    on_change: Callable[[], object] = lambda: None,
    **look: Any,
) -> str:
    """A choice under its own name in the link, with words for its options; ``default`` is the first unless given.

    Streamlit writes an option into the link as it is shown (1.67). So the option itself is in a control that nobody
    sees, and what people see is in step with it.
    """
    with st.container(key=f"unseen-{field}"):
        at = 0 if default is None else options.index(default)
        chosen: str = st.selectbox(field, options, at, key=field, bind="query-params")
    shown = f"{field} shown"
    st.session_state[shown] = chosen  # in every run: the browser keeps the words of another language

    def take() -> None:
        if (taken := offered(shown, options)) is not None:
            set_values({field: taken})
            on_change()

    words = {option: option_of(field, option) for option in options}
    draw(
        label_of(field) if label is None else label,
        options,
        key=shown,
        format_func=lambda option: words.get(option, option),
        on_change=take,
        **look,
    )
    return chosen


def offered(key: str, options: Container[str]) -> str | None:
    """What somebody chose, if it is still an option; in a callback.

    Streamlit takes an option that is gone, of a browser that was faster than the page, as its text.
    """
    chosen: str = st.session_state[key]
    return chosen if chosen in options else None


def carry(field: str, default: object) -> None:
    """Bring what a control of the same name says on another page into the link, where this page's control reads it.

    Streamlit takes each page's control for a new one, which would begin with its default.
    """
    value = st.session_state.get(field, default)
    if value != default and field not in st.query_params:
        with suppress(StreamlitAPIException):  # it is this page's control already, and writes the link itself
            st.query_params[field] = str(value)
            st.session_state[field] = value


def repair() -> None:
    """Set what ``whole_number`` found broken; before any control is drawn."""
    set_values(st.session_state.pop("repair", {}))


def sentence(problem: Problem, write: Callable[[str], str] = literal) -> str:
    """What is wrong, in the language of the session, as Markdown; with ``str`` where none is read."""
    _ = translator()
    named = {name: label_of(value) if name in _CONTROLS else _(value) for name, value in problem.values.items()}
    if re.fullmatch(r"-[0-9.,]+", value := named.get("value", "")):
        named["value"] = value.replace("-", MINUS)
    return _(problem.message).format(**{name: write(value) for name, value in named.items()})


_CONTROLS = ("field", "low_name", "high_name")  # where a problem names a control


def show_problem(problem: Problem) -> None:
    """One sentence, and a button for each way out."""
    st.error(sentence(problem))
    for remedy in problem.remedies:
        label, names = assignments(remedy), ", ".join(f"{name} = {value}" for name, value in remedy.items())
        st.button(label, key=f"remedy {names}", on_click=change, args=(remedy,), width="stretch")


def assignments(values: Mapping[str, object]) -> str:
    """Fields with their values."""
    return ", ".join(assignment(field, value) for field, value in values.items())


def assignment(field: str, value: object) -> str:
    """A field with its value: vocab_size = 30,522, Batch size = 8."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return f"{label_of(field)} = {value:,}" if is_number else f"{label_of(field)} = {option_of(field, value)}"


def change(values: Mapping[str, Any]) -> None:
    """Change fields of the model, in one step, and put other values into controls and the link: in a callback."""
    model.change({name: value for name, value in values.items() if name in NAMES})
    others = {name: value for name, value in values.items() if name not in NAMES}
    for field, value in others.items():
        if field not in st.session_state:  # a control that is drawn for the first time leaves the link as it is
            st.query_params[field] = str(value).lower()
    set_values(others)


def set_values(values: Mapping[str, Any]) -> None:
    """Put values into controls: in a callback, or before they are drawn."""
    st.session_state.update(values)
