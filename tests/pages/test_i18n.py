"""The catalogue: every message of the source is in it, nothing else is, and placeholders are the same."""

import tomllib
from string import Formatter
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po
from streamlit.testing.v1 import AppTest

from pages.ui.i18n import LANGUAGES, LOCALE, catalogue
from tests.pages.apptest import ROOT, open_app

OTHERS = LANGUAGES[1:]


def in_source() -> set[str]:
    """As ``make messages`` finds it."""
    keywords: dict[str, None] = {"_": None, "N_": None}
    with (ROOT / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    found = [message for _line, message, *_rest in extract_from_file("python", ROOT / "app.py", keywords=keywords)]
    for folder in ("bertcalc", "pages"):
        extracted = extract_from_dir(ROOT / folder, methods, options, keywords=keywords)
        found += [message for _file, _line, message, *_rest in extracted]
    return set(map(str, found))


def in_catalogue(language: str) -> Catalog:
    with (LOCALE / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_is_missing_and_nothing_is_stale(language: str) -> None:
    messages = in_catalogue(language)
    assert {message.id for message in messages if message.id} == in_source()
    assert not messages.obsolete


def test_the_texts_of_the_lecture_are_messages() -> None:
    lecture = tomllib.loads((ROOT / "pages" / "lectures" / "why-110-million.toml").read_text(encoding="utf-8"))
    texts = {screen[key] for screen in lecture["screen"] for key in ("title", "text", "notes")}
    assert {lecture["title"], *texts} <= in_source()


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_translated_with_the_same_placeholders(language: str) -> None:
    for message in in_catalogue(language):
        if not message.id:
            continue
        assert message.string, message.id
        assert not message.fuzzy, message.id
        assert placeholders(message.string) == placeholders(message.id), message.id


def placeholders(text: str) -> set[tuple[str, str]]:
    return {(name, form or "") for _text, name, form, _conversion in Formatter().parse(text) if name}


def test_nothing_stays_nothing() -> None:
    def script() -> None:
        import streamlit as st

        from pages.ui.i18n import translator

        st.session_state["lang"] = "zh"
        st.text(repr(translator()("")))

    assert AppTest.from_function(script).run().text[0].value == "''"


def test_english_is_the_source_itself() -> None:
    assert catalogue("en").gettext("Architecture") == "Architecture"


@pytest.mark.parametrize("page", ["", "structure.py", "verify.py"])
def test_no_english_sentence_is_left_on_a_chinese_page(page: str) -> None:
    app: Any = open_app(page, lang="zh", hidden_size="770", tensors="true", num_labels="x")
    shown = [
        *(
            element.label
            for kind in ("metric", "selectbox", "button", "toggle", "number_input")
            for element in app.get(kind)
        ),
        *(
            element.value
            for kind in ("caption", "error", "warning", "success", "info", "text")
            for element in app.get(kind)
        ),
        *(str(cell) for table in app.table for cell in [*table.value.columns, *table.value.to_numpy().ravel()]),
    ]
    messages = {message.id for message in in_catalogue("zh") if message.id != message.string}
    assert not messages & set(map(str, shown))
