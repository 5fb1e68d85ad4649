"""Untrusted text as Markdown: it is read back unchanged, and creates no markup."""

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc.export.table import Code, Math, plain
from bertcalc.text import code, literal, shorten, visible
from tests.markdown import read
from tests.payloads import PAYLOADS

# Words and Markdown characters close together, and arbitrary texts.
TEXTS = st.sampled_from(PAYLOADS) | st.text() | st.text(st.sampled_from("`$[]()*_~|\\:/<>&{}#!+-=.,' \nwa1é“"))
BETWEEN = st.sampled_from(("", "a ", "**a**: ", "1. ", "$x$ ", "(", '"', "“"))


def shown(text: str) -> str:
    """The visible form of a text. If nothing of it is visible, quotation marks show it as a text."""
    return visible(text) if visible(text).strip() else f'"{visible(text)}"'


@pytest.mark.parametrize("text", PAYLOADS)
@pytest.mark.parametrize("write", [code, literal])
def test_payloads_are_code(text: str, write: Callable[[str], str]) -> None:
    assert read(write(text)).code == [visible(text)]


@given(TEXTS, BETWEEN)
def test_code_is_read_back_as_it_was(text: str, before: str) -> None:
    found = read(f"{before}{code(text)} and {code(text)}.")
    assert found.code == [shown(text), shown(text)]
    assert found.made <= {"strong_open", "strong_close", "ol", "li"}


@given(TEXTS)
def test_what_stays_as_it_is_is_words_and_numbers(text: str) -> None:
    found = read(f"It is {literal(text)}.")
    assert not found.made
    assert found.seen == f"It is {text and shown(text)}."
    if not found.code:
        # Addresses and arrows are recognised in words, too: https://github.github.com/gfm/#autolinks-extension-
        assert not re.search(r"[@:<>\\$`*|~{}\[\]]|//|--|www\.", text, re.IGNORECASE)


@given(TEXTS, TEXTS)
def test_what_is_taken_away_of_code_is_the_text(one: str, other: str) -> None:
    assert plain(f"**a** $x$ {code(one)}, {code(other)}") == (
        "a ",
        Math("x"),
        " ",
        Code(shown(one)),
        ", ",
        Code(shown(other)),
    )


@given(TEXTS)
def test_all_of_a_text_can_be_seen(text: str) -> None:
    shown = visible(text)
    # Neither control characters nor unassigned ones.
    assert {unicodedata.category(sign)[0] for sign in shown} <= {*"LMNPSZ"}
    assert all(sign == " " for sign in shown if unicodedata.category(sign)[0] == "Z")
    assert visible(shown) == shown
    assert len(shorten(text)) <= 40


def test_directions_controls_and_blank_letters_are_escapes() -> None:
    assert visible("a\u202eb\u2066\u200b\ufeff\n\0\x1b\ud800\u3164\u2028\xa0\U000e0041") == (
        r"a\u202eb\u2066\u200b\ufeff\n\x00\x1b\ud800\u3164\u2028\xa0\U000e0041"
    )
    assert visible("中文 é ½ 🧮 a̐") == "中文 é ½ 🧮 a̐"
