"""Controls that a page declares once, with their name in the link, their valid values and their appearance.

    LAYER = Number("layer", N_("Layer"), 0)
    ...
    layer = LAYER.show()

A declaration registers the control's name; link.py checks the values that a link gives to registered names.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from bertcalc.config import Problem, check_whole_number
from bertcalc.config.fields import FIELDS, OWN_FIELDS
from bertcalc.controls.chosen_model import NAMES
from bertcalc.text import N_, literal, written
from bertcalc.text.live_numbers import MINUS
from bertcalc.text.suggestions import nearest
from pages.ui.session import address, kept, present_model
from pages.ui.shell.i18n import _, filled, with_colon

P = ParamSpec("P")
Value = TypeVar("Value")
Whole = TypeVar("Whole", bound=int | None)
Option = TypeVar("Option", bound=str)
# Why a text in the link is invalid: an English message with the placeholders {name} and {text}, and a dictionary with
# the values of its other placeholders.
Reason = tuple[str, dict[str, str]]
CONTROLS: dict[str, "Control[Any]"] = {}  # every control that a link can set, keyed by its name in the link
# When the message is shown, Select.named adds the label to ``nearest``.
_NO_OPTION = N_("{name}={text} in the link is invalid: it must be one of the options, such as {nearest}.")
_NAMING = ("field", "low_name", "high_name", "argument")  # the keys of a problem's values that are names of controls


class Control(Generic[Value]):
    """A control with a name in the link, a label (in English, marked for translation) and a default value.

    ``look`` holds further arguments of the Streamlit control, such as ``width`` and ``help``.
    """

    def __init__(self, name: str, label: str, default: Value, **look: Any) -> None:
        self.name, self.label, self.default, self.look = name, label, default, look
        CONTROLS[name] = self

    @property
    def title(self) -> str:
        """The label in the session's language."""
        return _(self.label)

    @property
    def is_changed(self) -> bool:
        """Whether the control's value differs from the default. This also works before the control is drawn."""
        held = None if address.went_back() else st.session_state.get(self.name)
        return self.name in st.query_params if held is None else held != self.default

    def wrong(self, text: str) -> Reason | None:
        """The reason why ``text`` is not a valid value in a link, or None if it is valid."""
        raise NotImplementedError

    def wrong_in(self, link: Mapping[str, str]) -> Reason | None:
        """The reason why the control's value in ``link`` is invalid, or None if it is valid.

        In subclasses, the reason can depend on the other parameters of the link.
        """
        return self.wrong(link[self.name])

    def takes(self, value: object) -> bool:
        """Whether ``value``, which can have any type, is valid for this control."""
        kind = int if self.default is None else type(self.default)
        return type(value) is kind and self.wrong(_in_link(value)) is None

    def _bound(self, look: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that bind a Streamlit control to the link.

        Streamlit starts the controls of each page at their defaults, even if the previous page had a control of the
        same name. To carry the value over, this method writes it into the link, from which Streamlit sets the new
        control.
        """
        if address.is_opened() and st.query_params.get(self.name) == _in_link(self.default):
            # Otherwise Streamlit would keep the session's value, and remove the parameter with a new history entry.
            address.write({self.name}, {})
            st.session_state[self.name] = self.default
        value = st.session_state.get(self.name, self.default)
        if value != self.default and self.name not in st.query_params:
            with suppress(StreamlitAPIException):  # this page's control exists already, and writes the link itself
                address.write((), {self.name: _in_link(value)})
                st.session_state[self.name] = value
        return {"label": self.title, "key": self.name, "bind": "query-params", **self.look, **look}


class Number(Control[Whole]):
    """An input field for a whole number; ``letter``, its symbol in the formulas, follows the label.

    The field has no thousands separators: Streamlit 1.67 formats numbers with sprintf.js, which does not support them.
    """

    def __init__(self, name: str, label: str, default: Whole, *, letter: str = "", **look: Any) -> None:
        super().__init__(name, label, default, step=1, **look)
        self._letter = letter

    def wrong(self, text: str) -> Reason | None:
        """Accept whole numbers of at most 15 digits, in any format that Streamlit reads.

        The limit exists because browsers represent integers exactly only up to 2**53.
        """
        with suppress(ValueError):
            if float(text).is_integer() and abs(float(text)) < 10**15:
                return None
            if float(text).is_integer() or re.fullmatch(r"\s*[+-]?\d+\s*", text):
                return N_("{name}={text} in the link is invalid: it must be a whole number of at most 15 digits."), {}
        return N_("{name}={text} in the link is invalid: it must be a whole number."), {}

    def show(self, **look: Any) -> Whole:
        """Draw the field and return its number, which can be outside the page's limits."""
        label = f"{self.title} ${self._letter}$" if self._letter else self.title
        try:
            value: Any = st.number_input(**self._bound({"label": label, "value": self.default, **look}))
        except OverflowError:
            # Back has led to a link with "inf", which Streamlit 1.67 accepts but cannot convert. The value can only be
            # set before the control is drawn, so it is set in the next run.
            st.session_state["repair"] = {self.name: self.default}
            st.rerun()
        number: Whole = value
        return number

    def problem(self, value: int, low: int, high: int) -> Problem | None:
        """The problem if ``value`` is not from ``low`` to ``high``, with a valid number as remedy; otherwise None."""
        return check_whole_number(self.name, value, low, high, low if self.default is None else self.default)

    def show_within(self, low: int, high: int, say: Callable[[Problem], None] | None = None, **look: Any) -> int:
        """Draw the field and return its number.

        If the number is not from ``low`` to ``high``, show the problem with ``say`` (by default ``show_problem``) and
        return the number that the problem's remedy proposes.
        """
        value = self.show(**look)
        assert value is not None
        if problem := self.problem(value, low, high):
            (say or show_problem)(problem)
            value = problem.remedies[0][self.name]
        return value


class Decimal(Control[float]):
    """An input field for a number with two decimals."""

    def wrong(self, text: str) -> Reason | None:
        with suppress(ValueError):
            if math.isfinite(float(text)):
                return None
        return N_("{name}={text} in the link is invalid: it must be a number."), {}

    def show(self, **look: Any) -> float:
        value: float = st.number_input(value=self.default, format="%.2f", **self._bound(look))
        return value


class Switch(Control[bool]):
    """A toggle switch, or a checkbox with ``draw=st.checkbox``."""

    def __init__(
        self, name: str, label: str, default: bool = False, *, draw: Callable[..., bool] = st.toggle, **look: Any
    ) -> None:
        super().__init__(name, label, default, **look)
        self._draw = draw

    def wrong(self, text: str) -> Reason | None:
        if text.lower() in ("true", "false"):
            return None
        return N_("{name}={text} in the link is invalid: it must be true or false."), {}

    def show(self, **look: Any) -> bool:
        return self._draw(value=self.default, **self._bound(look))


def more_controls(label: str, changed: int) -> DeltaGenerator:
    """Draw a popover for rarely used controls, and return its container; the label shows how many are ``changed``."""
    return st.popover(f"{label} ({changed})" if changed else label)


class Fold(Switch):
    """An expander that contains a part of the page and is closed until the reader opens it."""

    def unfolded(self) -> DeltaGenerator | None:
        """Draw the expander; return the container for its content if it is open, otherwise None."""
        folder = st.expander(**self._bound({}))
        return folder if folder.open else None

    def around(self, show: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> None:
        """Draw the expander; if it is open, call ``show`` inside."""
        if folder := self.unfolded():
            with folder:
                show(*arguments, **named)


class Text(Control[str]):
    """An input field for at most ``longest`` characters; ``check`` can reject a text in a link for other reasons."""

    def __init__(
        self,
        name: str,
        label: str,
        default: str,
        longest: int,
        *,
        check: Callable[[str], Reason | None] = lambda text: None,
        draw: Callable[..., str] = st.text_input,
        **look: Any,
    ) -> None:
        super().__init__(name, label, default, **look)
        self.longest, self._check, self._draw = longest, check, draw

    def wrong(self, text: str) -> Reason | None:
        """Reject texts that ``check`` rejects or that are too long for the field."""
        if (reason := self._check(text)) or len(text) <= self.longest:
            return reason
        return N_("{name} in the link is too long: at most {most} characters."), {"most": f"{self.longest:,}"}

    def show(self, **look: Any) -> str:
        return self._draw(value=self.default, max_chars=self.longest, **self._bound(look))


class Select(Control[Option]):
    """A choice of one option. ``words`` maps options to labels.

    An option without a label is shown as its name or, if it is a config field, as the family's name for the field.
    Streamlit 1.67 would write the option's label into the link, and labels depend on the language. So this control is
    not bound to the link: the session keeps the option, and ``write_link`` writes it.
    """

    def __init__(
        self,
        name: str,
        label: str,
        options: Iterable[Option] | None = None,
        words: Mapping[str, str] = MappingProxyType({}),
        *,
        default: Option | None = None,
        row: bool = False,
        available: Callable[[Mapping[str, str]], Collection[str]] | None = None,
        **look: Any,
    ) -> None:
        """Declare a choice.

        ``options`` defaults to the keys of ``words``, and ``default`` to the first option. ``row`` shows the options as
        a row of buttons. If the options depend on the model, ``available`` returns the options for the model in a link.
        """
        self._words = words
        # Only a Select[str] can leave out ``options``, so the keys of ``words`` have the right type.
        self.options: tuple[Option, ...] = tuple(options or words)  # type: ignore[arg-type]
        super().__init__(name, label, self.options[0] if default is None else default, **look)
        self._row, self._available = row, available

    def wrong(self, text: str) -> Reason | None:
        return None if text in self.options else (_NO_OPTION, {"nearest": _nearest(text, self.options)})

    def wrong_in(self, link: Mapping[str, str]) -> Reason | None:
        """Reject a text that is not an option, or not an option for the model in the link."""
        text = link[self.name]
        if self._available is None:
            return self.wrong(text)
        if text in (available := self._available(link)):
            return None
        unlike = N_("{name}={text} in the link is invalid for this model: use {nearest}.")
        return unlike if text in self.options else _NO_OPTION, {"nearest": _nearest(text, available)}

    def word(self, option: Option) -> str:
        """The label of an option in the session's language."""
        return self._labels((option,))[option]

    def _labels(self, options: Sequence[Option]) -> dict[Option, str]:
        names: dict[str, str] = present_model.own_names(option for option in options if option not in self._words)
        return {option: _(self._words[option]) if option in self._words else names[option] for option in options}

    def named(self, text: str) -> str:
        """The option's name in the link, followed by its label in brackets if the label is different."""
        label = next((self.word(option) for option in self.options if option == text), text)
        return text if label.casefold() == text.casefold() else _("{option} ({label})").format(option=text, label=label)

    def meanings(self, texts: Mapping[Option, str]) -> str:
        """Return a help text with one line for each option: its label and its meaning."""
        return "  \n".join(with_colon(f"**{self.word(option)}**", _(text)) for option, text in texts.items())

    def show(self, options: Sequence[Option] | None = None, **look: Any) -> Option:
        """Draw the control with ``options``, by default all options; return the chosen option."""
        offered = self.options if options is None else options
        value = self.value(offered)
        st.session_state[self.name] = value  # without this, the browser would keep a label in another language
        labels = self._labels(offered)
        draw: Callable[..., object] = partial(st.segmented_control, required=True) if self._row else st.selectbox
        arguments: dict[str, object] = {
            "options": offered,
            "key": self.name,
            "persist_state": "session",  # keeps the choice on other pages and views, like controls bound to the link
            "format_func": lambda option: labels.get(option, option),
        }
        draw(**{"label": self.title, **arguments, **self.look, **look})
        st.session_state["drawn choices"][self.name] = None if value == self.default else value
        return value

    def value(self, options: Sequence[Option] | None = None) -> Option:
        """The chosen option, from the link after Back or when a page opens, otherwise from the session.

        If the reader clicks before the browser has drawn new options, the chosen option may no longer exist. Then the
        result is the option in the link, or else the default, or else the first option.
        """
        offered = self.options if options is None else options
        linked: Any = st.query_params.get(self.name)
        held = st.session_state.get(self.name)
        if address.went_back() or held is None or (linked is not None and address.is_opened()):
            held = linked or self.default
        return next((option for option in (held, linked, self.default) if option in offered), offered[0])


def _nearest(text: str, options: Collection[str]) -> str:
    """The option most similar to ``text``, or the first option; an owner on the Hub ("owner/name") is ignored."""
    return nearest(text.rpartition("/")[2], options) or next(iter(options))


def view(name: str, words: Mapping[str, str]) -> Select[str]:
    """Declare the control that switches between the views of a page; ``name`` is its name in the link."""
    return Select(name, N_("View"), words=words, row=True, label_visibility="collapsed")


def begin() -> None:
    """Prepare the controls at the beginning of a run; in a new session, restore their values."""
    if "drawn choices" not in st.session_state:
        _restore()
    st.session_state["drawn choices"] = {}
    set_values(st.session_state.pop("repair", {}))


def write_link() -> None:
    """Write this run's choices to the link, and remove choices that only the previous run drew."""
    drawn: dict[str, str | None] = st.session_state["drawn choices"]
    wanted = dict.fromkeys(st.session_state.get("choices in the link", ())) | drawn
    if any(st.query_params.get(name) != value for name, value in wanted.items()):
        values = {name: value for name, value in wanted.items() if value is not None}
        address.write(wanted.keys(), values)
    st.session_state["choices in the link"] = list(drawn)
    _keep()


def _restore() -> None:
    """Restore the controls' values from the browser's previous session, unless the link has other values.

    The link may contain parameters of controls on other pages; Streamlit removes them when such a page opens.
    """
    values = kept.get("controls")
    for name, value in values.items() if isinstance(values, dict) else ():
        control = CONTROLS.get(name)
        if control and control.takes(value) and st.query_params.get(name, _in_link(value)) == _in_link(value):
            st.session_state[name] = value


def _keep() -> None:
    """Let the browser keep the values that differ from the controls' defaults."""
    values = {name: value for name, value in st.session_state.to_dict().items() if name in CONTROLS}
    kept.put("controls", {name: value for name, value in values.items() if value != CONTROLS[name].default})


def _in_link(value: object) -> str:
    return f"{value}".lower() if isinstance(value, bool) else f"{value}"


def label_of(name: str) -> str:
    """The label of a control in the session's language, the family's name for a config field, or else ``name``."""
    if name in FIELDS or name in OWN_FIELDS:
        return present_model.own_name(name)
    return CONTROLS[name].title if name in CONTROLS else name


def sentence(problem: Problem, write: Callable[[str], str] = literal, label: Callable[[str], str] = label_of) -> str:
    """A problem as a sentence in the session's language.

    ``write`` formats the values: by default as Markdown, and with ``str`` as plain text. ``label`` returns the page's
    name for a field.
    """
    values = problem.values.items()
    inner = {name: sentence(value, write, label) for name, value in values if isinstance(value, Problem)}
    texts = {name: value for name, value in values if name not in inner}
    named = {name: label(value) if name in _NAMING else _(value) for name, value in texts.items()}
    if re.fullmatch(r"-[0-9.,]+", value := named.get("value", "")):
        named["value"] = value.replace("-", MINUS)
    return filled(_(problem.message), **{name: write(value) for name, value in named.items()}, **inner)


def show_problem(problem: Problem) -> None:
    """Show a problem, and for each remedy a button that applies it."""
    st.error(sentence(problem))
    for remedy in problem.remedies:
        label, names = assignments(remedy), ", ".join(f"{name} = {value}" for name, value in remedy.items())
        st.button(label, key=f"remedy {names}", on_click=change, args=(remedy,), width="stretch")


def assignments(values: Mapping[str, object]) -> str:
    """Return fields with their values, as a comma-separated text in the session's language."""
    return ", ".join(assignment(field, value) for field, value in values.items())


def assignment(field: str, value: object) -> str:
    """Return a field with its value as text, such as "vocab_size = 30,522" or "Batch size = 8"."""
    control = CONTROLS.get(field)
    text = control.word(value) if isinstance(control, Select) and isinstance(value, str) else written(value)
    return f"{label_of(field)} = {text}"


def change(values: Mapping[str, Any]) -> None:
    """Change fields of the model in one step, and set the other controls in ``values``. Call this only in callbacks."""
    present_model.change({name: value for name, value in values.items() if name in NAMES})
    others = {name: value for name, value in values.items() if name not in NAMES}
    for field, value in others.items():
        if field not in st.session_state:  # Streamlit does not write the link when it first draws a control
            st.query_params[field] = _in_link(value)
    set_values(others)


def set_values(values: Mapping[str, Any]) -> None:
    """Set the values of controls. Call this in a callback or before the controls are drawn."""
    st.session_state.update(values)
