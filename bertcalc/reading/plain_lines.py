r"""Remove what terminals, notebooks and editors add to a pasted text.

>>> plain_lines("\x1b[1m>>> model\x1b[0m\nOut[3]: BertModel(\n  12 |   (embeddings): BertEmbeddings(")
['model', 'BertModel(', '  (embeddings): BertEmbeddings(']
"""

import re

from bertcalc.text import N_
from bertcalc.text.problem import wrong

LARGEST = 1_000_000  # characters
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_PROMPT = re.compile(r" {0,20}(?:>>>|(?:In|Out) ?\[[0-9 ]{0,6}\]:)(?: |$)")
_LINE_NUMBER = re.compile(r" {0,8}[0-9]{1,6}(?: ?[|:.│] ?| (?=[( A-Z)]))")
_MARK = re.compile(r" {0,20}(?:[>#|│•*-]|//)(?: |$)")
_BREAK = re.compile(r"<br ?/?>\n?", re.IGNORECASE)
_INVISIBLE = str.maketrans({"\u00a0": " ", "\u3000": " ", "\u200b": None, "\ufeff": None, "\r": "\n", "\x00": None})


def checked_length(text: str) -> None:
    """Refuse a text that is too long. Raises InputError."""
    if len(text) > LARGEST:
        message = N_("This text has {length} characters: at most {most} are allowed.")
        raise wrong(message, length=len(text), most=LARGEST)


def without_ansi(text: str) -> str:
    """The text without terminal colors, and with ordinary spaces and line ends.

    In a text from a notebook's source, the escapes \\n become line ends.
    """
    if text.count("\\n") > max(3, text.count("\n")):
        text = text.replace('\\"', '"').replace("\\n", "\n")
    return _ANSI.sub("", text.replace("\r\n", "\n")).translate(_INVISIBLE)


# What ptflops, DeepSpeed, calflops and fvcore print in front of a module's arguments: its parameters and operations.
_AMOUNT = r"[0-9][0-9.e+-]{0,20}(?: ?[A-Za-zµ]{1,9})?"
_SHARE = rf"{_AMOUNT}(?: =|,) [0-9.e+-]{{1,20}}% [A-Za-z]{{3,9}}"
_SPEED = r"[0-9][0-9.e+-]{0,20} ?[A-Za-z]?FLOPS"
_PROFILE = re.compile(
    rf"(?<![0-9.]){_AMOUNT}(?: =|,) [0-9.e+-]{{1,20}}% Params(?:, (?:{_SHARE}|{_SPEED}))*(?:, ?|(?= ?[)\n]|$))"
    r"|^ *#params: .*(?:\n|$)",
    re.MULTILINE,
)


def plain_lines(text: str) -> list[str]:
    """The lines without prompts, line numbers, marks of quotes, comments and lists, and figures of profilers.

    <br> ends a line.
    """
    text = without_ansi(text)
    if "% Params" in text or "#params:" in text:
        text = _PROFILE.sub("", text)
    lines = _BREAK.sub("\n", text).split("\n")
    return [_without_prefix(line.expandtabs(4).rstrip()) for line in lines]


def _without_prefix(line: str) -> str:
    for prefix in (_PROMPT, _LINE_NUMBER, _MARK):
        if match := prefix.match(line):
            line = line[match.end() :]
    return line


def is_fence(line: str) -> bool:
    """Whether a line begins or ends code in Markdown."""
    return line.lstrip().startswith(("```", "~~~"))


_VERB = re.compile(r"\b(?:has|have|is|are|adds?|gives?|takes?|needs?|contains?|makes?)\b|[有是为共含占]", re.IGNORECASE)


def sentences(text: str) -> int:
    """The number of lines that are prose: they have a verb, and end with a full stop.

    >>> sentences("The pooler has 590,592 parameters.\\npooler = 768*768 + 768")
    1
    """
    return sum(line.rstrip().endswith((".", "。")) and bool(_VERB.search(line)) for line in text.split("\n"))
