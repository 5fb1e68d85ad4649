"""What a reader of Markdown sees, by a parser that is none of ours (markdown-it-py)."""

import re
from typing import NamedTuple

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_DIRECTIVE = re.compile(r":[a-z-]+\[")


class Read(NamedTuple):
    """A text as it is read: all that is seen of it, what of that is code, what is not, and what else was made of it."""

    seen: str
    code: list[str]
    words: list[str]
    made: set[str]


def read(markdown: str) -> Read:
    """Read a text as CommonMark with GitHub's tables. Code in the label of a directive counts as words there.

    Streamlit ends such a label at the first bracket, wherever that is.
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
