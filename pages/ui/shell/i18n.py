"""English in the source, other languages in gettext catalogues; the language belongs to the session."""

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

_NAMES = {"en": "English", "zh": "中文"}  # each language's name for itself
LANGUAGES = tuple(_NAMES)
LOCALE = Path(__file__).parents[1] / "locale"


class _ThreadTranslator(threading.local):
    """The translator for the run in this thread. Each run translates hundreds of texts, and session state is slow."""

    translate: Translate | None = None


_RUN = _ThreadTranslator()


def choose_language() -> None:
    """Draw the language switch. The link has codes (lang=zh); readers see the languages' own names.

    Without a language in the link, the page uses the browser's. The link gets a language only if it had one, or once
    the reader has chosen one. So a link with a language opens in that language everywhere, and a link without a
    language stays unchanged.
    """
    linked = st.query_params.get("lang")
    if "lang is chosen" not in st.session_state or address.went_back():
        # In a new session, the values that the browser has kept from the last session are available already.
        restored = None if address.went_back() else st.session_state.get("lang")
        language = linked if linked in LANGUAGES else restored or _browser_language()
        st.session_state["lang"] = language
        st.session_state["lang is chosen"] = linked in LANGUAGES or language != _browser_language()
    st.session_state["lang"] = st.session_state["lang"]  # or Streamlit drops it with the last page's control
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
    """Callback: from now on, the link contains the language."""
    st.session_state["lang is chosen"] = True
    _RUN.translate = None


def _browser_language() -> str:
    """The browser's language (zh for zh-CN), or English if that language has no catalogue."""
    code = (st.context.locale or "").partition("-")[0].lower()
    return code if code in LANGUAGES else LANGUAGES[0]


def _(message: str) -> str:
    """Translate a message into the language of this session."""
    return translator()(message)


def translator() -> Translate:
    """A function that translates into the language of this session, even in a thread without a session."""
    return _RUN.translate or _translator_into(st.session_state.get("lang", "en"))


@lru_cache
def _translator_into(language: str) -> Translate:
    translate = catalogue(language).gettext
    return lambda text: text and translate(text)  # gettext translates "" into the header of the catalogue


def translator_of(session_id: str) -> Translate:
    """A function that translates into the language of a session, for use outside its runs."""
    return catalogue(session_value(session_id, "lang") or LANGUAGES[0]).gettext


def in_context(context: str, message: str) -> str:
    """Translate a message that depends on its context, such as "Next" (screen, exercise)."""
    return catalogue(st.session_state.get("lang", "en")).pgettext(context, message)


_CHINESE = "[\u3001-\u9fff\uff00-\uffef]"


def filled(message: str, **values: str) -> str:
    """Fill in a translated message; in Chinese, remove the spaces beside values that are Chinese."""
    for name, value in values.items():
        if re.match(_CHINESE, value):
            message = re.sub(rf"(?<={_CHINESE}) (\{{{name}\}})", r"\1", message)
        if re.search(f"{_CHINESE}$", value):
            message = re.sub(rf"(\{{{name}\}}) (?={_CHINESE})", r"\1", message)
    return fill(message, **values)


def listed(items: Iterable[str]) -> str:
    """Join items with the language's own comma."""
    return between(_(", "), items)


def with_colon(name: str, text: str) -> str:
    """A name and a text, separated by the language's own colon."""
    return fill(_("{name}: {what}"), name=name, what=text)


def space() -> str:
    """The space between two sentences in the session's language; empty in Chinese."""
    return _("{first} {second}").format(first="", second="")


def in_a_row(sentences: Iterable[str]) -> str:
    """Join sentences with spaces; in Chinese, without."""
    return between(space(), (sentence for sentence in sentences if sentence or is_live(sentence)))


@lru_cache
def catalogue(language: str) -> gettext.NullTranslations:
    """The messages of one language, compiled from its .po file, so that no binary can be out of date."""
    if language not in LANGUAGES[1:]:
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo  # only sessions in other languages need Babel
    from babel.messages.pofile import read_po

    with (LOCALE / f"{language}.po").open("rb") as file:
        messages = read_po(file, locale=language)
    compiled = BytesIO()
    write_mo(compiled, messages)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
