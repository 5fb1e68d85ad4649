"""The text that a reader of Markdown sees, parsed by markdown-it-py independently of bertcalc."""

import re
from typing import NamedTuple

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_DIRECTIVE = re.compile(r":[a-z-]+\[")


class Read(NamedTuple):
    """Parsed Markdown: all visible text, its code spans, its other text, and the tags of all other elements."""

    seen: str
    code: list[str]
    words: list[str]
    made: set[str]


def read(markdown: str) -> Read:
    """Parse CommonMark with GitHub's tables. Code in the label of a Streamlit directive counts as text.

    Streamlit ends such a label at the first bracket, even inside code.
    """
    code: list[str] = []
    words: list[str] = []
    made, seen = set(), ""
    for block in _PARSER.parse(markdown):
        made.add(block.tag if block.type != "inline" else "")
        before = ""
        for one in block.children or ([block] if block.content and block.type != "inline" else []):
            if one.type == "code_inline":
                inside = before.count("[") > before.count("]") and _DIRECTIVE.search(before)
                (words if inside else code).append(one.content)
                before += re.sub(r"[][]", "", one.content)
            elif one.type == "text":
                words.append(one.content)
                before += one.content
            elif one.type not in ("softbreak", "hardbreak"):
                made.add(one.type)
                words += [one.content, *map(str, one.attrs.values())]
            seen += "\n" if one.type in ("softbreak", "hardbreak") else one.content
    return Read(seen, code, words, made - {"", "p"})
