"""Read and validate lectures: sequences of screens that a lecturer writes in a TOML file.

>>> words = Vocabulary(parts={"total": {}}, sliders=["vocab_size"], placeholders=["parameters"])
>>> lecture = read(b'''
... title = "Why so many?"
... [[screen]]
... name = "sum"
... title = "The sum"
... text = "There are {parameters} of them."
... show = [{part = "total"}]
... ''', words)
>>> lecture.screens[0].show
(Show(part='total', arguments={}),)
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from string import Formatter
from typing import Any, NamedTuple

from bertcalc.text import N_, shorten
from bertcalc.text.problem import wrong
from bertcalc.text.suggestions import nearest


class Vocabulary(NamedTuple):
    """The names that a lecture can use.

    - ``parts``: live parts. Each part's arguments are mapped to their valid options, or to None if any text is valid.
    - ``sliders``: the sliders that a screen can show.
    - ``placeholders``: the placeholders that texts can contain.
    - ``presets``: the models that a screen can start from.
    """

    parts: Mapping[str, Mapping[str, Collection[str] | None]]
    sliders: Collection[str]
    placeholders: Collection[str]
    presets: Collection[str] = ()


class Show(NamedTuple):
    """A live part on a screen, with its arguments."""

    part: str
    arguments: Mapping[str, str]


class Screen(NamedTuple):
    """A screen: its name in the link, texts with placeholders, live parts, sliders and speaker's notes.

    A screen with a preset starts from this model. Without a preset, the present model is kept.
    """

    name: str
    title: str
    text: str
    show: tuple[Show, ...]
    sliders: tuple[str, ...] = ()
    notes: str = ""
    preset: str = ""


class Lecture(NamedTuple):
    """A title, and one or more screens with distinct names; ``preset`` is the model that the texts are about."""

    title: str
    screens: tuple[Screen, ...]
    preset: str = ""


def read(data: bytes, vocabulary: Vocabulary) -> Lecture:
    """Read the lecture in a TOML file. Raises InputError if the file is not valid."""
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise wrong(N_("This is not a TOML file in UTF-8: {reason}."), reason=f"{error}") from error
    file = _TomlTable(N_("the file"), content)
    file.only(("title", "screen", "preset"))
    if preset := file.text("preset", default=""):
        file.check("preset", preset, vocabulary.presets)
    screens = tuple(
        _screen(table, number, vocabulary) for number, table in enumerate(file.tables("screen", least=1), 1)
    )
    names = [screen.name for screen in screens]
    for twice in (name for name in names if names.count(name) > 1):
        raise wrong(N_("Two screens have the name {name}: names must be unique, because links use them."), name=twice)
    return Lecture(file.template("title", vocabulary.placeholders), screens, preset)


def _screen(content: dict[str, Any], number: int, vocabulary: Vocabulary) -> Screen:
    name = content.get("name")
    screen = _TomlTable(f"[[screen]] {shorten(name) if isinstance(name, str) else number}", content)
    screen.only(Screen._fields)
    name = screen.text("name")
    if not re.fullmatch(r"[\w-]{1,60}", name):
        message = N_(
            "{where}: name can contain only letters, digits and hyphens, and at most 60 characters, because it "
            "appears in the link."
        )
        raise wrong(message, where=screen.where)
    if preset := screen.text("preset", default=""):
        screen.check("preset", preset, vocabulary.presets)
    sliders = screen.texts("sliders")
    for slider in sliders:
        screen.check("sliders", slider, vocabulary.sliders)
    return Screen(
        name,
        screen.template("title", vocabulary.placeholders),
        screen.template("text", vocabulary.placeholders),
        tuple(_show(screen.where, table, vocabulary) for table in screen.tables("show")),
        sliders,
        screen.template("notes", vocabulary.placeholders, default=""),
        preset,
    )


def _show(where: str, content: dict[str, Any], vocabulary: Vocabulary) -> Show:
    table = _TomlTable(f"{where}, show", content)
    part = table.text("part")
    table.check("part", part, vocabulary.parts)
    parameters = vocabulary.parts[part]
    table.only(("part", *parameters))
    arguments = {name: table.text(name) for name in parameters}
    for name, options in parameters.items():
        if options is not None:
            table.check(name, arguments[name], options)
    return Show(part, arguments)


class _TomlTable:
    """A table of the file, and its location for error messages. The methods raise InputError."""

    def __init__(self, where: str, content: Mapping[str, Any]) -> None:
        self.where = where
        self._content = content

    def only(self, keys: Collection[str]) -> None:
        for unknown in self._content.keys() - set(keys):
            message = N_("{where}: unknown key {key}: did you mean {nearest}?")
            near = nearest(unknown, keys, similarity=0.0)
            raise wrong(message, where=self.where, key=shorten(unknown), nearest=near)

    def check(self, key: str, value: str, options: Collection[str]) -> None:
        if value not in options:
            message = N_("{where}: {key} {value} is invalid: did you mean {nearest}?")
            near = nearest(value, options, similarity=0.0)
            raise wrong(message, where=self.where, key=key, value=shorten(value), nearest=near)

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value(key, default)
        if not isinstance(value, str):
            raise wrong(N_("{where}: {key} must be a string."), where=self.where, key=key)
        return value

    def template(self, key: str, placeholders: Collection[str], default: str | None = None) -> str:
        """Return the text of a key. Raises InputError for unknown placeholders."""
        value = self.text(key, default)
        try:
            names = list(_placeholders(value))
        except ValueError:
            message = N_("{where}: {key} has a single brace: to write a brace, double it.")
            raise wrong(message, where=self.where, key=key) from None
        for placeholder in names:
            if placeholder not in placeholders:
                message = N_("{where}: {key} has the unknown placeholder {placeholder}: did you mean {nearest}?")
                braced = f"{{{shorten(placeholder)}}}"
                near = nearest(placeholder, placeholders, similarity=0.0)
                raise wrong(message, where=self.where, key=key, placeholder=braced, nearest=near)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings in a list; empty if the key is missing."""
        value = self._content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise wrong(N_("{where}: {key} must be a list of strings."), where=self.where, key=key)
        return tuple(value)

    def tables(self, key: str, least: int = 0) -> list[dict[str, Any]]:
        value = self._value(key)
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value) or len(value) < least:
            raise wrong(N_("{where}: {key} must be a list of tables."), where=self.where, key=key)
        return value

    def _value(self, key: str, default: object = None) -> object:
        value = self._content.get(key, default)
        if value is None:
            raise wrong(N_("{where}: {key} is missing."), where=self.where, key=key)
        return value


def _placeholders(text: str) -> Iterator[str]:
    """Yield the contents of all braces in a text. Raises ValueError for an unmatched brace."""
    for _text, name, form, conversion in Formatter().parse(text):
        if name is not None:
            yield name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
