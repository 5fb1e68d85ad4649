"""English in the source, other languages in gettext catalogues; the language belongs to the session."""

import gettext
import re
from collections.abc import Iterable
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import streamlit as st
from streamlit.runtime import get_instance

from bertcalc.text import Translate

LANGUAGES = ("en", "zh")
LOCALE = Path(__file__).parent / "locale"


def choose_language() -> None:
    """Draw the language switch. Its options are codes, because the link says them (lang=zh)."""
    st.segmented_control(
        "Language / 语言",
        LANGUAGES,
        default="en",
        key="lang",
        required=True,
        bind="query-params",
        label_visibility="collapsed",
        width=108,
    )


def _(message: str) -> str:
    """Translate a message into the language of this session."""
    return translator()(message)


def translator() -> Translate:
    """A function that translates into the language of this session, also in a thread, which has no session."""
    translate = catalogue(st.session_state.get("lang", "en")).gettext
    return lambda text: text and translate(text)  # gettext's answer to "" is the head of the catalogue


def translator_of(session_id: str) -> Translate:
    """A function that translates into the language of a session, from outside of its runs."""
    session = get_instance().get_app_session(session_id)
    language = "en"
    if session is not None and "lang" in session.session_state:
        language = session.session_state["lang"]
    return catalogue(language).gettext


def in_context(context: str, message: str) -> str:
    """Translate a message that depends on its context, such as "Next" (screen, exercise)."""
    return catalogue(st.session_state.get("lang", "en")).pgettext(context, message)


_CHINESE = "[\u3001-\u9fff\uff00-\uffef]"


def filled(message: str, **values: str) -> str:
    """A translated message with its values. Beside a Chinese value there is no space in Chinese, beside others one."""
    for name, value in values.items():
        if re.match(_CHINESE, value):
            message = re.sub(rf"(?<={_CHINESE}) (\{{{name}\}})", r"\1", message)
        if re.search(f"{_CHINESE}$", value):
            message = re.sub(rf"(\{{{name}\}}) (?={_CHINESE})", r"\1", message)
    return message.format(**values)


def listed(items: Iterable[str]) -> str:
    """Join items with the language's own comma."""
    return _(", ").join(items)


def with_colon(name: str, what: str) -> str:
    """A name and a text, separated by the language's own colon."""
    return _("{name}: {what}").format(name=name, what=what)


def in_a_row(sentences: Iterable[str]) -> str:
    """Join sentences; between Chinese ones there is no space."""
    space = _("{said} {more}").format(said="", more="")
    return space.join(filter(None, sentences))


@lru_cache
def catalogue(language: str) -> gettext.NullTranslations:
    """The messages of one language, compiled from its .po file: there is no binary that could be out of date."""
    if language not in LANGUAGES[1:]:
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo  # only a session that is not English needs it
    from babel.messages.pofile import read_po

    with (LOCALE / f"{language}.po").open("rb") as file:
        messages = read_po(file, locale=language)
    compiled = BytesIO()
    write_mo(compiled, messages)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
