r"""Remove what terminals, notebooks and editors add to a pasted text.

>>> plain_lines("\x1b[1m>>> model\x1b[0m\nOut[3]: BertModel(\n  12 |   (embeddings): BertEmbeddings(")
['model', 'BertModel(', '  (embeddings): BertEmbeddings(']
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise
from operator import itemgetter

from bertcalc.text import N_
from bertcalc.text.problem import wrong

LARGEST = 1_000_000  # maximum number of characters
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_PROMPT = re.compile(r" {0,20}(?:>>>|(?:In|Out) ?\[[0-9 ]{0,6}\]:)(?: |$)")
_LINE_NUMBER = re.compile(r" {0,8}[0-9]{1,6}(?: ?[|:.│] ?| (?=[( A-Z)]))")
_MARK = re.compile(r" {0,20}(?:[>#|│•*-]|//)(?: |$)")
_BREAK = re.compile(r"<br ?/?>\n?|</?(?:pre|code)>", re.IGNORECASE)
_INVISIBLE = str.maketrans({"\u00a0": " ", "\u3000": " ", "\u200b": None, "\ufeff": None, "\r": "\n", "\x00": None})


def checked_length(text: str) -> None:
    """Raise InputError if a text has more than ``LARGEST`` characters."""
    if len(text) > LARGEST:
        message = N_("This text has {length} characters: at most {most} are allowed.")
        raise wrong(message, length=len(text), most=LARGEST)


def without_ansi(text: str) -> str:
    """Remove terminal colors from a text, and normalize its spaces and line breaks.

    In a text from a notebook's source, the escapes \\n become line breaks.
    """
    if text.count("\\n") > max(3, text.count("\n")):
        text = text.replace('\\"', '"').replace("\\n", "\n")
    if "&" in text:
        text = unescape(text)  # the source of a web page
    return _ANSI.sub("", text.replace("\r\n", "\n")).translate(_INVISIBLE)


# The parameters and operations that ptflops, DeepSpeed, calflops and fvcore print before a module's arguments.
_AMOUNT = r"[0-9][0-9.e+-]{0,20}(?: ?[A-Za-zµ]{1,9})?"
_SHARE = rf"{_AMOUNT}(?: =|,) [0-9.e+-]{{1,20}}% [A-Za-z]{{3,9}}"
_SPEED = r"[0-9][0-9.e+-]{0,20} ?[A-Za-z]?FLOPS"
_PROFILE = re.compile(
    rf"(?<![0-9.]){_AMOUNT}(?: =|,) [0-9.e+-]{{1,20}}% Params(?:, (?:{_SHARE}|{_SPEED}))*(?:, ?|(?= ?[)\n]|$))"
    r"|^ *#params: .*(?:\n|$)",
    re.MULTILINE,
)


def plain_lines(text: str) -> list[str]:
    """Split a text into lines without prompts, line numbers, log prefixes and the figures of profilers.

    The marks of quotations, comments and lists are removed as well. A line also ends at <br>. If a model is printed on
    one line, each of its modules becomes a line.
    """
    text = without_ansi(text)
    if "% Params" in text or "#params:" in text:
        text = _PROFILE.sub("", text)
    lines = _without_log([line.expandtabs(4).rstrip() for line in _BREAK.sub("\n", text).split("\n")])
    return [part for line in lines for part in _split(_without_prefix(line))]


def plain_table(text: str) -> str:
    """Return a text with tables whose lines begin with the tables' rows, and whose thousands have commas.

    A prefix that all rules of the tables have, such as the time in a log or a line number, is removed.

    >>> plain_table(f"9 {'=' * 20}\\n10 dense (Dense) 1.536\\n11 {'=' * 20}\\n12 Total params: 1.536")
    '====================\\ndense (Dense) 1,536\\n====================\\nTotal params: 1,536'
    """
    text = _QUOTE.sub("", _BREAK.sub("\n", without_ansi(text)))
    prefixes = Counter(_NUMBERS.sub("0", match["prefix"]) for match in _RULE.finditer(text))
    prefix, count = max(prefixes.items(), key=itemgetter(1), default=("", 0))
    if prefix.strip() and count >= _FEWEST_RULES:
        text = re.sub(f"^{re.escape(prefix).replace('0', ' *[0-9]+')}", "", text, flags=re.MULTILINE)
    if total := _TOTAL.search(text):
        grouped = rf"(?<![0-9.,])[0-9]{{1,3}}(?:{re.escape(total['sign'])}[0-9]{{3}})+(?![0-9])"
        text = re.sub(grouped, lambda number: number[0].replace(total["sign"], ","), text)
    return text


_QUOTE = re.compile(r"^ {0,40}(?:[>#]|//) ", re.MULTILINE)
_RULE = re.compile(r"^(?P<prefix>[^\n=_━─┏┡├└┌-][^\n]{0,100}?)[=_━─┏┡├└┌┳╇┬┼┴-]{20}", re.MULTILINE)
_NUMBERS, _FEWEST_RULES = re.compile(" *[0-9]+"), 2
_TOTAL = re.compile(
    r"Total params:? {0,20}[0-9]{1,3}(?P<sign>[.' ’\u2009\u202f])[0-9]{3}(?:(?P=sign)[0-9]{3})*(?![0-9])", re.IGNORECASE
)
_MODULE = r"\([^()\s:]{1,100}\): ?(?:[0-9]{1,9} ?x ?)?[A-Za-z_][\w.]{0,99}\("
_STARTS = re.compile(_MODULE)
_LOGGED = re.compile(rf"(?P<prefix>[^\s()][^()]{{1,200}}){_MODULE}")
_ROOT = re.compile(r"[A-Za-z_][\w.]{0,99}\(\s{0,80}$")
_CLOSING = re.compile(r"[\s)]*")
_FEWEST_LOGGED = 3  # minimum number of lines of a log with the same prefix
_FEWEST_STARTS = 3  # minimum number of modules of a model that is printed on one line


def _without_log(lines: Sequence[str]) -> Sequence[str]:
    """Remove the time, the level and the name that a logger writes before each line of a printed model.

    >>> list(_without_log(["1:20 M(", "1:20  (a): A(", "1:21    (b): B()", "1:21    (c): C()", "1:21   )", "1:21 )"]))
    [' M(', '  (a): A(', '    (b): B()', '    (c): C()', '   )', ' )']
    """
    prefixes = [_DIGITS.sub("0", match["prefix"].rstrip()) for match in map(_LOGGED.match, lines) if match]
    if len(prefixes) < _FEWEST_LOGGED:
        return lines
    [(prefix, count)] = Counter(prefixes).most_common(1)
    if 2 * count < len(prefixes) or count < _FEWEST_LOGGED:
        return lines
    same = re.compile(re.escape(prefix).replace("0", "[0-9]+"))
    return [line[match.end() :] if (match := same.match(line)) else line for line in lines]


_DIGITS = re.compile("[0-9]+")


def _split(line: str) -> Iterator[str]:
    """Yield the line. If it has several modules of a printed model, yield a line for each module instead.

    >>> list(_split("model = M( (a): A( (b): B(p=0.1) (c): C() ) ) is ready"))
    ['model =', 'M(', '(a): A(', '(b): B(p=0.1)', '(c): C()', '))', 'is ready']
    """
    starts = [match.start() for match in _STARTS.finditer(line)] if line.count("): ") >= _FEWEST_STARTS else []
    if len(starts) < _FEWEST_STARTS:
        yield line
        return
    head = line[: starts[0]]
    root = _ROOT.search(head)
    yield from filter(None, (head[: root.start()].rstrip(), root[0].rstrip()) if root else (head.rstrip(),))
    for start, end in pairwise((*starts, len(line))):
        text = line[start:end].rstrip()
        closed = _end_of_module(text)
        yield text[:closed]
        closing = _CLOSING.match(text, closed)
        if closing and closing[0]:
            yield re.sub(r"\s", "", closing[0])
        if closing and closing.end() < len(text):
            yield text[closing.end() :]


def _end_of_module(text: str) -> int:
    """Return the index after a module's closing parenthesis, or the end of the text if it is not closed."""
    depth = 0
    for place in range(text.index("(", text.index("):")), len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth and text[place] == ")":
            return place + 1
    return len(text)


def _without_prefix(line: str) -> str:
    for prefix in (_PROMPT, _LINE_NUMBER, _MARK):
        if match := prefix.match(line):
            line = line[match.end() :]
    return line


def is_fence(line: str) -> bool:
    """Whether a line begins or ends a code block in Markdown."""
    return line.lstrip().startswith(("```", "~~~"))


_VERB = re.compile(r"\b(?:has|have|is|are|adds?|gives?|takes?|needs?|contains?|makes?)\b|[有是为共含占]", re.IGNORECASE)


def sentences(text: str) -> int:
    """Count the lines of prose: they have a verb and end with a full stop.

    >>> sentences("The pooler has 590,592 parameters.\\npooler = 768*768 + 768")
    1
    """
    return sum(line.rstrip().endswith((".", "。")) and bool(_VERB.search(line)) for line in text.split("\n"))
