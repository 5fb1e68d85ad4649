"""Text that people read: English here, translated by whoever shows it; and somebody else's text, which is only text."""

import re
from typing import TypeVar

Message = TypeVar("Message", bound=str)


def N_(message: Message) -> Message:
    """Mark a message for the translation catalogue where it is defined."""
    return message


# Of what Unicode calls printable, the letters and marks that nobody sees.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_LONGEST = 40


def visible(text: str) -> str:
    r"""Somebody else's text, with all that cannot be seen, or turns around what is beside it, as an escape.

    >>> visible("a\n\u202eb")
    'a\\n\\u202eb'
    """
    return "".join(
        sign if sign.isprintable() and not _BLANK.match(sign) else sign.encode("unicode_escape").decode()
        for sign in text
    )


def shorten(text: str) -> str:
    """Somebody else's text, visible, and cut so that it cannot fill a page."""
    shown = visible(text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 4]} ..."


def code(text: str) -> str:
    """Somebody else's text as Markdown: visible, in a code span, the one place where nothing in it is read.

    Escapes are not enough: readers of Markdown look for addresses and emoji when the escapes are gone. Only the label
    of a directive, :small[...], is no place for it: that ends at the first bracket, in code as well.

    >>> code("[x](//y)"), code("`a``b"), code("")
    ('`[x](//y)`', '``` `a``b ```', '`""`')
    """
    shown = visible(text)
    if not shown.strip():
        shown = f'"{shown}"'
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    # The space at either end belongs to the fence, see https://spec.commonmark.org/0.31.2/#code-spans.
    space = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{fence}{space}{shown}{space}{fence}"


_WORD = "[A-Za-z0-9\u0080-\U0010ffff]+"
_BETWEEN = r"(?: |, | = |(?<=[A-Za-z])\. |(?<=[A-Za-z0-9])[._,/-](?=[A-Za-z0-9]))"
_WORDS = re.compile(rf"(?!.*www\.){_WORD}(?:{_BETWEEN}{_WORD})*", re.IGNORECASE)


def literal(text: str) -> str:
    """Somebody else's text in a sentence of Markdown: numbers and words as they are, anything else as code.

    >>> literal("hidden_size, 1.1e8"), literal("www.x.org"), literal("*x*")
    ('hidden_size, 1.1e8', '`www.x.org`', '`*x*`')
    """
    return text if not text or (_WORDS.fullmatch(text) and visible(text) == text) else code(text)
