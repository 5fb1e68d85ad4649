"""Controls that several places draw: a whole number bound to the link, and what is wrong with a value."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import streamlit as st
from streamlit.errors import StreamlitAPIException

from bertcalc.config import Problem
from bertcalc.text import N_
from pages.ui.i18n import translator

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
    message = N_("{name} in the link is too long: {most} characters are the most.")
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
    chosen: str = st.segmented_control(
        label,
        options,
        default=options[0],
        key=field,
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen


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


def sentence(problem: Problem, write: Callable[[str], str] = str) -> str:
    """What is wrong, in the language of the session; ``write`` is how its values are written."""
    _ = translator()
    return _(problem.message).format(**{name: write(_(value)) for name, value in problem.values.items()})


def show_problem(problem: Problem) -> None:
    """One sentence, and a button for each way out."""
    st.error(sentence(problem))
    for remedy in problem.remedies:
        label = ", ".join(assignment(field, value) for field, value in remedy.items())
        st.button(label, key=f"remedy {label}", on_click=change, args=(remedy,), width="stretch")


def assignment(field: str, value: object) -> str:
    """A field with its value: vocab_size = 30,522."""
    return f"{field} = {value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{field} = {value}"


def change(values: Mapping[str, Any]) -> None:
    """Put values that are no defaults into controls, in a callback, and into the link."""
    for field, value in values.items():
        if field not in st.session_state:  # a control that is drawn for the first time leaves the link as it is
            st.query_params[field] = str(value).lower()
    set_values(values)


def set_values(values: Mapping[str, Any]) -> None:
    """Put values into controls: in a callback, or before they are drawn."""
    st.session_state.update(values)
