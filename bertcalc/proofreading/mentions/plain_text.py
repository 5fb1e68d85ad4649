r"""Remove the markup of a write-up, but keep the position of every character in the original text.

The text may be Markdown, HTML, LaTeX or a notebook. Every step runs in time proportional to the length of the text.

>>> plain = read(r"$30522 \times 768 = 23{,}440{,}896$")
>>> plain.text
'30522 × 768 = 23,440,896'
>>> plain.span(0, len(plain.text))
(1, 34)
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import compress
from typing import NamedTuple

from bertcalc.proofreading.mentions import katex_copies
from bertcalc.text.arithmetic import TIMES

Rewrite = Callable[[re.Match[str]], str]


class Plain(NamedTuple):
    """A text without markup, with the span of the original text that each of its characters stands for."""

    text: str
    starts: list[int]
    ends: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original text that corresponds to a span in this text."""
        return self.starts[start], self.ends[end - 1]

    def kept(self, marks: bytearray) -> "Plain":
        """The text with only the characters whose mark is not zero."""
        return Plain(
            "".join(compress(self.text, marks)), [*compress(self.starts, marks)], [*compress(self.ends, marks)]
        )

    def rewritten(self, pattern: re.Pattern[str], rewrite: Rewrite) -> "Plain":
        """The text with each match replaced; all characters of a replacement stand for the whole match."""
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        last = 0
        for match in pattern.finditer(self.text):
            first, end = match.span()
            new = rewrite(match)
            pieces += (self.text[last:first], new)
            starts += self.starts[last:first]
            ends += self.ends[last:first]
            if first < end:
                starts += [self.starts[first]] * len(new)
                ends += [self.ends[end - 1]] * len(new)
            last = end
        if not last:
            return self
        pieces.append(self.text[last:])
        return Plain("".join(pieces), starts + self.starts[last:], ends + self.ends[last:])


def read(text: str) -> Plain:
    """Remove the markup of a text: Markdown, HTML, LaTeX or a notebook."""
    plain = _without_prints(_without_copies(_notebook(text) if _is_notebook(text) else _whole(text)))
    needed = [(pattern, rewrite) for sign, pattern, rewrite in _STEPS if sign.search(plain.text)]
    for pattern, rewrite in needed:
        plain = plain.rewritten(pattern, rewrite)
    return plain


def without_prompts(text: str) -> str:
    """Replace the prompts of a console or a notebook by spaces.

    >>> without_prompts("In [3]: h = 768"), without_prompts(">>> h = 768")
    ('        h = 768', '    h = 768')
    """
    return _PROMPT.sub(lambda prompt: " " * len(prompt[0]), text)


_PROMPT = re.compile(r"^ *(?:>>>|\.\.\.(?= |$)|(?:In|Out) ?\[[0-9 ]{0,6}\]:) ?", re.MULTILINE)


def numbered_from_one(text: str) -> str:
    """Renumber linear layers from 1 if a text numbers them from 0; its length does not change.

    >>> numbered_from_one("linear_0: 768 × 3072, linear_1: 3072 × 768")
    'linear_1: 768 × 3072, linear_2: 3072 × 768'
    """
    if not _FROM_ZERO.search(text):
        return text
    return _NUMBERED.sub(lambda match: match[1] + str(int(match[2]) + 1), text)


_FROM_ZERO = re.compile(r"\b(?:linear|dense|fc|lin)_?0\b", re.I)
_NUMBERED = re.compile(r"\b((?:linear|dense|fc|lin)_?)([0-2])\b", re.I)


def with_lost_signs(text: str) -> str:
    """Write the plus signs that a page lost: 30000*128 128*4096 = 384万 52万. The length of the text does not change.

    >>> with_lost_signs("30000*128 128*4096 = 384万   52万 = 436万")
    '30000*128+128*4096 = 384万 + 52万 = 436万'
    """
    return _LOST_PLUS.sub(lambda gap: "+".center(len(gap[0])), text)


# The gap between two products, or between two numbers with a unit, in a line that goes on with an equals sign.
_LOST_PLUS = re.compile(
    r"(?<=[0-9])(?<=[*×][0-9]{2}|.[*×][0-9]|[0-9]{3}) {1,4}(?=[0-9]{1,6} ?[*×] ?[0-9]{2,6} ?=)"
    r"|(?<=[0-9][万亿M]) {2,4}(?=[0-9][0-9.]{0,8} ?[万亿M] ?=)"
)


def _without_copies(plain: Plain) -> Plain:
    """Keep one of the three copies of each rendered formula; it stands for the span of all three."""
    if not _RENDERED.search(plain.text):
        return plain
    starts, ends, kept = [*plain.starts], [*plain.ends], bytearray(b"\1" * len(plain.text))
    offset = 0
    for line in plain.text.split("\n"):
        for copy in katex_copies.copied_formulas(line):
            first, start, end, last = (offset + place for place in copy)
            kept[first:start], kept[end:last] = bytes(start - first), bytes(last - end)
            starts[start], ends[end - 1] = starts[first], ends[last - 1]
        offset += len(line) + 1
    return Plain(plain.text, starts, ends).kept(kept)


# Two copies of a number or a formula that touch: 2,359,2964 \times 768
_RENDERED = re.compile(
    r"[0-9],[0-9]{6,8},[0-9]{3}|[\w)]\s?\\(?:times|text|cdot)\b[^\n]{0,300}[\w)]×|[0-9]{4}\s?\\times"
)


def _without_prints(plain: Plain) -> Plain:
    """Keep the printed text of lines that only print: print("1. Embeddings: 30,522 × 768")."""
    prints = [match for match in _PRINT.finditer(plain.text) if match["text"]]
    if not prints:
        return plain
    kept = bytearray(b"\1" * len(plain.text))
    for match in prints:
        for start, end in ((match.start(), match.start("text")), (match.end("text"), match.end())):
            kept[start:end] = bytes(end - start)
    return plain.kept(kept)


_PRINT = re.compile(
    r"""(?m)^[ \t]{0,40}print\(f?(?P<quote>["'])(?:\\n)*"""
    r"""(?P<text>(?:(?!(?P=quote))[^\\{}\n])*)(?:\\n)*(?P=quote)\)[ \t]*;?$"""
)


def _whole(text: str) -> Plain:
    return Plain(text, list(range(len(text))), list(range(1, len(text) + 1)))


# A notebook is JSON; only the strings under these keys are displayed text.
_SHOWN = {"source", "text", "text/plain", "text/markdown", "text/html", "text/latex"}
_JSON_TOKEN = re.compile(r'"(?P<string>(?:[^"\\]|\\.)*+)"?|[\[\]{}:,]', re.S)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _is_notebook(text: str) -> bool:
    return text.lstrip()[:1] == "{" and '"cells"' in text and ('"source"' in text or '"outputs"' in text)


def _notebook(text: str) -> Plain:
    """The sources and the printed outputs of a notebook, each cell followed by an empty line."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for first, end, last in _shown_strings(text):
        for piece, start, after in _decoded(text, first, end):
            pieces.append(piece)
            starts.append(start)
            ends.append(after)
        if last:
            pieces += "\n\n"
            starts += (end, end)
            ends += (end + 1, end + 1)
    return Plain("".join(pieces), starts, ends)


def _shown_strings(text: str) -> Iterator[tuple[int, int, bool]]:
    """The bounds of each string that a notebook displays, and whether the string is the last in its list."""
    key, word, pending, inside = "", None, None, False
    for token in _JSON_TOKEN.finditer(text):
        if token["string"] is not None:
            word = token
            continue
        sign = token[0]
        if sign == ":" and word:
            key = word["string"]
        elif word and key in _SHOWN:
            if pending:
                yield (*pending, False)
            pending = word.span("string")
        if pending and (sign in "]}" or (sign == "," and not inside)):
            yield (*pending, True)
            pending = None
        inside = sign == "[" or (inside and sign not in "]}{")
        word = None


def _decoded(text: str, first: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The characters of a JSON string, each with its bounds."""
    while first < end:
        match = _ESCAPE.match(text, first, end) if text[first] == "\\" else None
        if match:
            sign = chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2])
            yield sign, first, match.end()
            first = match.end()
        else:
            yield text[first], first, first + 1
            first += 1


_COMMENTS = re.compile(r"<!--(?:[^-<]|-(?!->)){0,2000}-->|<(?:script|style)\b[^<>]{0,1000}>[^<]{0,20000}", re.I)
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]{0,15})\b(?:[^<>\"']|\"[^\"<>]{0,1000}\"|'[^'<>]{0,1000}'){0,200}>"
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,6}|#x[0-9a-fA-F]{1,5}|[a-zA-Z]{2,12});")
_BREAKS = {"br", "p", "div", "tr", "li", "ul", "ol", "table", "pre", "section", "article", "dt", "dd", "blockquote"}


def _tag(tag: re.Match[str]) -> str:
    name = tag["name"].lower()
    if name in ("sup", "sub"):
        return "" if tag["end"] or name == "sub" else "^"
    if re.fullmatch("h[1-6]", name):
        return "\n" if tag["end"] else "\n# "
    if name in ("td", "th"):
        return "" if tag["end"] else " | "
    if name == "tr":
        return " |\n" if tag["end"] else "\n"
    return "\n" if name in _BREAKS else ""


def _fraction(match: re.Match[str]) -> str:
    return f"(({match[1]})/({match[2]}))"


_LATEX = re.compile(r"\\(?:times|cdot|text|frac|approx|section|begin|mathrm|left|quad|ast|textbf|item|,)|\{,\}")
_TABULAR = re.compile(r"\\begin\{(?:tabular|longtable)")
_COLUMNS = re.compile(
    r"\\begin\{(?:tabular|longtable)[*x]?\}(?:\[\w{1,3}\])?(?:\{(?:[^{}\n]|\{[^{}\n]{0,30}\}){0,80}\}){1,2}"
)
_FULL_WIDTH = re.compile("[\uff01-\uff0b\uff0d-\uff5e\u3000]|(?<=[\uff10-\uff19])\uff0c(?=[\uff10-\uff19])")
_INVISIBLE = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]")
_HYPHEN = re.compile("[\u2010\u2011]")  # word processors write these characters for a hyphen
_TIMES = re.compile(f"[{TIMES}]")
# Groups of digits separated by a non-breaking or narrow space.
_NARROW = re.compile("(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3}(?![0-9]))")
_SPACED_COMMAS = re.compile(r"(?<=[0-9]) , (?=[0-9]{3}(?![0-9]))")  # as MathJax writes digits: 23 , 440 , 896
# A result with groups of digits separated by ordinary spaces: = 131 072
_SPACED = re.compile(r"(?<=[=≈] )[0-9]{1,3}(?: [0-9]{3})+(?![0-9]|[ ,.][0-9])")
# A line whose result is in groups of four digits: 1662 2592 + 708 7872 = 2371 0464
_FOURS = r"(?!(?:19|20)[0-9]{2} (?:19|20)[0-9]{2})[0-9]{2,4} (?=[0-9]{4}[ \t]{0,3}"
_TERM_IN_FOURS = re.compile(
    rf"(?m)(?<![\w.,])(?<![0-9] ){_FOURS}[+=][^\n=]{{0,300}}=? ?[0-9]{{2,4}} [0-9]{{4}}[ \t]{{0,3}}$)"
)
_RESULT_IN_FOURS = re.compile(rf"(?m)(?:(?<=[=:：])|(?<=[=:：] )){_FOURS}$)")
# A break in the line that peft prints, if it was copied into a comment.
_BROKEN_LINE = re.compile(r"[ \t]{0,9}\n[ \t]{0,20}(?:#|//)[ \t]{0,30}(?=\|\| ?(?:all params|trainable ?%))")
# A calculation that continues on the next line: a + b +\n(c + d) = ...
_GOES_ON = re.compile(r"(?:(?<=[)\w])|(?<=[)\w] ))\+[ \t]{0,4}\n[ \t]{0,20}(?=[(\w][^\n=]{3,300}=[ \t]?[0-9])")
# A number with several Chinese commas: 23，835，648
_CHINESE_COMMAS = re.compile("(?<![0-9\uff0c])[0-9]{1,3}(?:\uff0c[0-9]{3}){2,4}(?!\uff0c?[0-9]|\\s?[)\uff09\\]])")
# A result with one Chinese comma: = 393，216
_CHINESE_COMMA = re.compile(
    "(?:" + "|".join(f"(?<=[=≈]{space}[0-9]{{{digits}}})" for space in ("", " ") for digits in (1, 2, 3)) + ")"
    "\uff0c(?=[0-9]{3}(?![0-9]))"
)
_WORDS = r"text(?:bf|it|tt|rm)?|math(?:rm|bf|it|cal|sf)|emph|operatorname|underline|boxed"

# The steps that remove markup. Each has a pattern that must occur for the step to run, the pattern to replace, and its
# replacement.
_STEPS: tuple[tuple[re.Pattern[str], re.Pattern[str], Rewrite], ...] = (
    (re.compile("\x1b"), re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]"), lambda _match: ""),
    (re.compile("<"), _COMMENTS, lambda _match: ""),
    (re.compile("<"), _TAG, _tag),
    (re.compile("&"), _ENTITY, lambda match: html.unescape(match[0])),
    (_INVISIBLE, _INVISIBLE, lambda _match: ""),
    (_HYPHEN, _HYPHEN, lambda _match: "-"),
    (
        re.compile(r"[*×] ?\["),  # 12 × [4 × 768²]
        re.compile(r"(?<=[*×\s])\[(?=[(0-9])([^\[\]\n]{5,300})\]"),
        lambda match: f"({match[1]})",
    ),
    (re.compile("【"), re.compile("[【】]"), lambda match: "()"["【】".index(match[0])]),
    (_TIMES, _TIMES, lambda _match: "×"),
    (_FULL_WIDTH, _FULL_WIDTH, lambda match: unicodedata.normalize("NFKC", match[0])),
    (_NARROW, _NARROW, lambda _match: ","),
    (_SPACED_COMMAS, _SPACED_COMMAS, lambda _match: ","),
    (_CHINESE_COMMAS, _CHINESE_COMMAS, lambda match: match[0].replace("\uff0c", ",")),
    (re.compile("\uff0c"), _CHINESE_COMMA, lambda _match: ","),
    (re.compile("://"), re.compile(r"https?://[^\s()<>\[\]\"'，。]{1,2000}"), lambda _match: ""),
    # The subscript of a size: d_{\text{model}}, d_{ff}
    (
        re.compile(r"_\{"),
        re.compile(r"(?<=[A-Za-z])_\{(?:\\(?:text|mathrm|mathit|rm)\s?\{?)?([A-Za-z]{2,12})\}{1,2}"),
        lambda match: f"_{match[1]}",
    ),
    (_LATEX, re.compile(r"\{,\}|(?<=[0-9])\\[,;](?=[0-9]{3})"), lambda _match: ","),
    (_LATEX, re.compile(r"\\(?:times|cdot|ast)(?![a-zA-Z])"), lambda _match: "×"),
    (re.compile(r"prime|\^\{?'"), re.compile(r"\^\{?(?:\\prime(?![a-z])|')\}?"), lambda _match: "'"),
    (_LATEX, re.compile(r"\\(?:approx|simeq)(?![a-zA-Z])"), lambda _match: "≈"),
    (_LATEX, re.compile(r"\\(?:sub)*section\*?|\\(?:chapter|paragraph)\*?"), lambda _match: "\n# "),
    (_TABULAR, _COLUMNS, lambda _match: "\n"),
    (_TABULAR, re.compile(r"(?m)^[^\n](?=[^\n]{0,400}?(?<!\\)&(?!\s?=))"), lambda match: f"| {match[0]}"),
    (_TABULAR, re.compile(r"(?<!\\)&(?!\s?=)"), lambda _match: "|"),
    (
        _TABULAR,
        re.compile(r"\\\\(?:\[[^\]\n]{0,20}\])?\s{0,9}(?:\\(?:hline|[a-z]{3,6}rule)\s{0,9}){0,3}"),
        lambda _m: " |\n",
    ),
    (_LATEX, re.compile(r"\\\\(?:\[[^\]\n]{0,20}\])?"), lambda _match: "\n"),
    (_LATEX, re.compile(r"\\[dt]?frac\{([^{}]{1,60})\}\{([^{}]{1,60})\}"), _fraction),
    (_LATEX, re.compile(rf"\\(?:{_WORDS})(?=\{{)"), lambda _match: ""),
    (_LATEX, re.compile(r"\^\{([^{}]{1,20})\}"), lambda match: f"^({match[1]})"),
    (_LATEX, re.compile(r"\\([_%#&$])"), lambda match: match[1]),
    (_LATEX, re.compile(r"\\(?:[a-zA-Z]{1,20}|[ ,;!:])|(?<![|\"'])[{}]"), lambda _match: " "),
    (_LATEX, re.compile("(?<![A-Za-z] )&|&(?! [A-Za-z])"), lambda _match: " "),  # not in: Embeddings & LayerNorm
    # A lower-case m for a million: = 85m
    (
        re.compile("[0-9]m"),
        re.compile(
            r"(?:(?<=[=≈][0-9]{2})|(?<=[=≈] [0-9]{2})|(?<=[0-9]\.[0-9])|(?<=[0-9]\.[0-9]{2}))m(?![A-Za-z0-9²^])"
        ),
        lambda _match: "M",
    ),
    (_LATEX, re.compile(r"(?<=[0-9]) {2,4}(?=[万亿]|[KMB]\b)"), lambda _match: " "),  # 39.3 \text{万}
    (re.compile(r"\\"), re.compile(r"\\([*_#|`$%])"), lambda match: match[1]),
    # ** is a power between a number or letter and a small exponent; otherwise it is Markdown's bold.
    (
        re.compile(r"\*\*"),
        re.compile(r"(?<![0-9A-Za-z)\]\s])\*\*|(?<!\s)\*\*(?!\s?[0-9]{1,2}(?![0-9,.]))"),
        lambda _m: "",
    ),
    (
        re.compile(r"\*\*"),
        re.compile(r"(?<![0-9A-Za-z)\]])(?<![0-9A-Za-z)\]] )\*\*|(?<=[A-Za-z]{2} )\*\*(?=\S)|\*\*(?=[0-9][0-9,.]{2})"),
        lambda _match: "",
    ),
    (
        re.compile(r"\*[^\W\d]"),
        re.compile(r"(?:(?<=[\s(（,，：:])|^)\*(?=[^\W\d])([^*\n]{1,60}[^\W\d_])\*(?=[\s,.;:，。；：)）]|$)", re.M),
        lambda match: match[1],
    ),
    (_LATEX, re.compile(r"(?<=[0-9])\$?~(?=[A-Za-z])"), lambda _match: " "),
    (re.compile("[`$]"), re.compile(r"[`$]"), lambda _match: ""),
    (_SPACED, _SPACED, lambda match: match[0].replace(" ", ",")),
    (_TERM_IN_FOURS, _TERM_IN_FOURS, lambda match: match[0].rstrip()),
    (_RESULT_IN_FOURS, _RESULT_IN_FOURS, lambda match: match[0].rstrip()),
    # A derivation over several lines is one calculation.
    (
        re.compile(r"\n[ \t]{0,20}(?:[-•] )?[=≈]"),
        re.compile(r"\n(?:[ \t]{0,20}[-•] (?=[=≈][ \t]?~?[0-9(])|(?=[ \t]{0,20}[=≈][ \t]{0,4}~?[0-9(]))"),
        lambda _match: " ",
    ),
    (re.compile("trainable params:"), _BROKEN_LINE, lambda _match: " "),
    (_GOES_ON, _GOES_ON, lambda _match: "+ "),
)
