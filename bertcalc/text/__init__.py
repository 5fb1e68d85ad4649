"""Mark text for translation, and quote untrusted text."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

Message = TypeVar("Message", bound=str)
Translate = Callable[[str], str]  # translates a marked message


def N_(message: Message) -> Message:
    """Mark a message for the translation catalogue where it is defined."""
    return message


# Characters that are printable according to Unicode, but blank.
_BLANK = frozenset(
    chr(code)
    for start, end in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(start, end + 1)
).union("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_LONGEST = 40


def visible(text: str) -> str:
    r"""Escape invisible characters and characters that change the text direction.

    >>> visible("a\n\u202eb")
    'a\\n\\u202eb'
    """
    return "".join(
        sign if sign.isprintable() and sign not in _BLANK else sign.encode("unicode_escape").decode() for sign in text
    )


def written(value: object) -> str:
    """Format the value of a field: integers with thousands separators, anything else as Python prints it."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{value}"


def shorten(text: str) -> str:
    """Escape invisible characters and shorten the text to 40 characters."""
    escaped = visible(text[: _LONGEST + 1])
    return escaped if len(escaped) <= _LONGEST else f"{escaped[: _LONGEST - 4]} ..."


def distinct(names: Sequence[str]) -> list[str]:
    """Number repeated names: BERT, GPT, BERT (2)."""
    times = (names[: index + 1].count(name) for index, name in enumerate(names))
    return [f"{name} ({time})" if time > 1 else name for name, time in zip(names, times, strict=True)]


def text_table(rows: Sequence[Sequence[str]], sides: str) -> str:
    """Align each column of a table to the left (<) or right (>); ``sides`` has one sign per column.

    >>> print(text_table([("layers", "12"), ("heads", "2")], "<>"))
    layers  12
    heads    2
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)] for row in rows)
    return "\n".join("  ".join(line).rstrip() for line in lines)


def code(text: str) -> str:
    """Quote a text as a code span, the only place in Markdown where markup has no effect.

    Escaping is not enough: Streamlit looks for addresses and emoji after it has removed the escapes. Code spans do not
    work inside a directive, :small[...], which ends at the first bracket, even in code.

    >>> code("[x](//y)"), code("`a``b"), code("")
    ('`[x](//y)`', '``` `a``b ```', '`""`')
    """
    escaped = visible(text)
    if not escaped.strip():
        escaped = f'"{escaped}"'
    fence = "`" * (1 + max(map(len, re.findall("`+", escaped)), default=0))
    # Markdown removes one space at either end, see https://spec.commonmark.org/0.31.2/#code-spans.
    space = " " if escaped.startswith(("`", " ")) or escaped.endswith(("`", " ")) else ""
    return f"{fence}{space}{escaped}{space}{fence}"


_WORD = "[A-Za-z0-9\u0080-\U0010ffff]+"
_BETWEEN = r"(?: |, | = |(?<=[A-Za-z])\. |(?<=[A-Za-z0-9])[._,/-](?=[A-Za-z0-9]))"


@cache
def _words() -> re.Pattern[str]:
    """The pattern for numbers and words, compiled at first use: compiling takes longer than importing most modules."""
    return re.compile(rf"(?!.*[wW]{{3}}\.){_WORD}(?:{_BETWEEN}{_WORD})*")


def literal(text: str) -> str:
    """Quote a text for a Markdown sentence: plain if it has only numbers and words, otherwise as code.

    >>> literal("hidden_size, 1.1e8"), literal("www.x.org"), literal("*x*")
    ('hidden_size, 1.1e8', '`www.x.org`', '`*x*`')
    """
    return text if not text or (_words().fullmatch(text) and visible(text) == text) else code(text)
