"""Translation of messages into the session's language. Source texts are English; gettext catalogues translate them."""

import gettext
import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import streamlit as st

from bertcalc.text import Translate
from bertcalc.text.live_numbers import between, fill, is_live
from pages.server.upstream.streamlit_internals import session_value
from pages.ui.session import address

_NAMES = {"en": "English", "zh": "中文"}  # maps language codes to the languages' own names
LANGUAGES = tuple(_NAMES)
LOCALE = Path(__file__).parents[1] / "locale"
_CHINESE = "[\u3001-\u9fff\uff00-\uffef]"


class _ThreadTranslator(threading.local):
    """The translator of this thread's run. A run translates hundreds of texts, for which session state is too slow."""

    translate: Translate | None = None


_RUN = _ThreadTranslator()


def choose_language() -> None:
    """Draw the language switch, and set the session's language.

    The link has a language code (lang=zh), while readers see the languages' own names. Without a code in the link, the
    page is in the browser's language. The link keeps its code, and gets a code when the reader chooses a language. So a
    link with a code opens in the same language everywhere, and a link without a code stays unchanged.
    """
    linked = st.query_params.get("lang")
    if "lang is chosen" not in st.session_state or address.went_back():
        # In a new session, the values that the browser kept from the previous session are already restored.
        restored = None if address.went_back() else st.session_state.get("lang")
        language = linked if linked in LANGUAGES else restored or _browser_language()
        st.session_state["lang"] = language
        st.session_state["lang is chosen"] = linked in LANGUAGES or language != _browser_language()
    st.session_state["lang"] = st.session_state["lang"]  # otherwise Streamlit drops it with the old page's control
    st.segmented_control(
        "Language / 语言",
        LANGUAGES,
        key="lang",
        format_func=_NAMES.__getitem__,
        required=True,
        on_change=_choose,
        label_visibility="collapsed",
        width="content",
    )
    _RUN.translate = _translator_into(st.session_state["lang"])
    chosen = st.session_state["lang is chosen"]
    st.session_state["drawn choices"]["lang"] = st.session_state["lang"] if chosen else None


def _choose() -> None:
    """Callback that records the choice of a language, so that the link contains the language from now on."""
    st.session_state["lang is chosen"] = True
    _RUN.translate = None


def _browser_language() -> str:
    """The code of the browser's language ("zh" for zh-CN), or "en" if that language has no catalogue."""
    code = (st.context.locale or "").partition("-")[0].lower()
    return code if code in LANGUAGES else LANGUAGES[0]


def _(message: str) -> str:
    return translator()(message)


def translator() -> Translate:
    """A function that translates into this session's language, even when it is called in a thread without a session."""
    return _RUN.translate or _translator_into(st.session_state.get("lang", "en"))


@lru_cache
def _translator_into(language: str) -> Translate:
    translate = catalogue(language).gettext
    return lambda text: text and translate(text)  # gettext translates "" into the header of the catalogue


def translator_of(session_id: str) -> Translate:
    """A function that translates into the language of the session ``session_id``, for use outside its runs."""
    return catalogue(session_value(session_id, "lang") or LANGUAGES[0]).gettext


def in_context(context: str, message: str) -> str:
    """Translate a message whose translation depends on a context: "Next" can refer to a screen or an exercise."""
    return catalogue(st.session_state.get("lang", "en")).pgettext(context, message)


def filled(message: str, **values: str | int) -> str:
    """Fill in the placeholders of a translated message; remove spaces between its Chinese text and Chinese values."""
    for name, value in values.items():
        if isinstance(value, int):
            continue
        if re.match(_CHINESE, value):
            message = re.sub(rf"(?<={_CHINESE}) (\{{{name}\}})", r"\1", message)
        if re.search(f"{_CHINESE}$", value):
            message = re.sub(rf"(\{{{name}\}}) (?={_CHINESE})", r"\1", message)
    return fill(message, **values)


def listed(items: Iterable[str]) -> str:
    """Join items with the comma of the session's language."""
    return between(_(", "), items)


def with_colon(name: str, text: str) -> str:
    """Join a name and a text with the colon of the session's language."""
    return fill(_("{name}: {what}"), name=name, what=text)


def space() -> str:
    """The separator between two sentences in the session's language: a space in English, nothing in Chinese."""
    return _("{first} {second}").format(first="", second="")


def in_a_row(sentences: Iterable[str]) -> str:
    """Join sentences with the separator of the session's language (see ``space``); skip empty sentences."""
    return between(space(), (sentence for sentence in sentences if sentence or is_live(sentence)))


@lru_cache
def catalogue(language: str) -> gettext.NullTranslations:
    """The messages of a language, compiled from its .po file at run time, so that no .mo file can be out of date.

    The catalogue of English, or of an unknown language, is empty.
    """
    if language not in LANGUAGES[1:]:
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo  # imported here, because English needs no Babel
    from babel.messages.pofile import read_po

    with (LOCALE / f"{language}.po").open("rb") as file:
        messages = read_po(file, locale=language)
    compiled = BytesIO()
    write_mo(compiled, messages)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
