"""The words that may say what a number counts: before and after it, in its table row, and in headings.

>>> from bertcalc.proofreading.mentions.calculations import find
>>> text = "# Attention\\nThe query has 590,592 parameters."
>>> around = Surroundings(text)
>>> [entry] = find(text, {})
>>> around.of(entry).names, around.of(entry).headings
(('The query has', 'parameters'), ('Attention',))
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber, cells_of
from bertcalc.text.amounts import typed
from bertcalc.text.problem import InputError

_MOST_BEFORE, _MOST_AFTER, _MOST_HEADING = 100, 60, 80
_LINES_BELOW = 2  # number of lines below a number to search for text; one may be empty
_SENTENCE = re.compile(r"[。；;!?！？]|\.\s|\)\s*[,，]|\|")
_SENTENCE_END, _LONGEST_SENTENCE = re.compile(r"[。!?！？]|\.(?:\s|$)"), 300
_CLAUSE = re.compile(r"[,，;；。|]|(?<![A-Za-z])、|、(?![A-Za-z])|\.(?:\s|$)|(?<=\w)\s(?:and|while|but|plus)\s|而|以及")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s*(\S.*)|\s{0,3}(?:\*\*|__)([^*_\n]{2,80})(?:\*\*|__)\s*[:：]?\s*$")
_TRIMMED = " \t:：=≈~*-–—>→|(（[`'\"#，,.。"
_ONE = (
    r"\b(?:one|single|per|each|every|a(?![ -][0-9]))[ -](?:\w+[ -]){0,2}?(?:layer|block)s?(?!s?.?norm)"
    r"|\beach of (?:(?:its|the|these|those|all)\s)?(?:[\w-]+\s){0,2}(?:layers|blocks)\b|\blayer[ _.-]?[0-9]"
    r"|(?:layers|blocks),? (?:each )?(?:of|with|having)(?= \||$)|\b(?:param\w*|weights) each\b"
    r"|^each\b|\| each\b|\beach of (?:them|these)\b|\bthe (?:first|second|third|last) ha[sd]\b|\bthe same(?= \||$)"
    r"|(?:^|\| )每个(?= \||$)|单层|每一?层|一层|一个(?:\w{0,12})?(?:层|block)"
)
_ALL = (
    r"\ball\s(?:\w+\s){{0,2}}?(?:layers|blocks)(?!(?: of [\w-]+(?: [\w-]+)?)? (?:have|contain|hold)\b)"
    r"|\ball (?:{layers} )?of (?:them|these)\b(?=\W*(?:ha(?:ve|s)\W*)?(?:$|\|))"
    r"|\b{layers}\s(?:\w+\s){{0,2}}?(?:layers|blocks)(?! times\b)"
    r"|\b(?:whole|entire|full)\s(?:\w+\s){{0,2}}?(?:stack|encoder)\b(?! (?:layer|block))"
    r"|\b(?:over|across|throughout) the (?:entire|whole)"
    r"|(?<![0-9]){layers}\s?个\s?(?:\w+\s){{0,2}}?(?:layer|block)"
    r"|整个\s?(?:编码器|encoder|transformer)(?!\s?(?:层|块|layer|block))|所有层|全部层"
    r"|(?<!第)(?<![0-9]){layers}\s?(?:个\S{{0,12}}?)?层|共{layers}层"
)


# Words that say which layers a whole sentence is about: In every layer, the attention has ..., and the feed-forward ...
_OPENING = re.compile(
    r"^\s*(?:so|thus|and|then)?,? ?(?:per|(?:in|inside|within|over|across|for)\s"
    r"(?:each|every|one|a single|all|the)\s?(?:of (?:the|its)\s)?"
    r"(?:[0-9]{1,3}\s)?)(?:\w+ ){0,2}?(?:layers?|blocks?)\b"
    r"|^\s*(?:over|across|throughout) the (?:entire|whole) (?:network|model|stack)\b",
    re.I,
)
_OF_OTHERS = re.compile(
    r"total|altogether|overall|\bsum|together|times|embed|pool|model|[总共]|合计|嵌入|池化|模型", re.I
)
_LAYER = re.compile(r"\b(?:layer|block)s?\b", re.I)
_IN_GENERAL = re.compile(r"\ba (?:\w+[ -]){0,2}?(?:layer|block)", re.I)
# In a pattern, \b does not match between Chinese and Latin characters, as in 12层MHA共. Contexts have a space there.
_BETWEEN_SCRIPTS = re.compile(r"(?<=[㐀-鿿]) (?=[A-Za-z])|(?<=[A-Za-z]) (?=[㐀-鿿])")
_TOUCHING = re.compile(r"(?<=[㐀-鿿])(?=[A-Za-z])|(?<=[A-Za-z])(?=[㐀-鿿])")


# Words before a hypothetical number.
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|if (?:you|we|one|it|they)\b"
    r"(?!\s?,| (?:add|sum|multiply|count|look|put|take|do)\b)|would|without (?:\w+[ -]){0,2}(?:shar|ty|ti)\w+)\b"
    r"|\b(?:originally|previously|formerly|before (?:the )?factori[sz]\w+)\b"
    r"|而不是|而非|如果|假如|若是|若不|不共享|原先|原来的?参数|原本",
    re.I,
)


class WrittenBatch(NamedTuple):
    """The batch for a number: its sequence length, or 0 if the text states none, and the possible batch sizes."""

    length: int = 0
    batch_sizes: tuple[int, ...] = (1,)
    lengths: tuple[int, ...] = ()  # all lengths in the text
    recent: int = 0  # the last length before the number, or the text's first one

    @property
    def possible(self) -> tuple[int, ...]:
        """The sequence lengths that a number may refer to."""
        return (self.length,) if self.length else self.lengths


_LENGTH = re.compile(
    r"(?:(?<![A-Za-z\d])[snST]|seq(?:uence)?[ _]?len(?:gth)?|length|序列长度|句长|长度)\s?(?:=|of|为|是|:|：)?\s?"
    r"(?P<length>[0-9]{2,5})(?![0-9.,]*[0-9%])"
    r"|(?<![0-9.,])(?P<tokens>[0-9]{2,5})(?: |-| ?个 ?)?(?:tokens?\b|词元)",
    re.I,
)
_BATCH = re.compile(r"batch(?:[ _]?size)?\s?(?:of|=|为|是|:|：)?\s?([0-9]{1,4})(?![0-9])", re.I)
_SHORTEST, _LONGEST = 16, 8192
# The maximum number of characters from a number to a batch size after it, and to a length before it.
_MOST_BEHIND, _FARTHEST_LENGTH = 30, 1000


def _lengths(text: str) -> list[int]:
    lengths = [int(match["length"] or match["tokens"]) for match in _LENGTH.finditer(text)]
    return [length for length in lengths if _SHORTEST <= length <= _LONGEST]


class Context(NamedTuple):
    """The text around a number: words that may name what it counts (nearest first) and headings (innermost first)."""

    names: tuple[str, ...]
    headings: tuple[str, ...]
    line: str
    without_biases: bool = False  # whether the text builds its model with bias=False, or leaves biases out
    header: str = ""  # the header of its column, in a table
    before: str = ""  # the last characters before it on its line
    opening: str = ""  # the first words of its sentence, if they say which layers the sentence is about
    sentence: str = ""  # the words on both sides of the number, up to the ends of its sentence; none in a table
    after: str = ""  # the first characters after it on its line
    below: str = ""  # the first characters of the next line
    of_other: bool = False  # whether the number is judged for a model other than the model that its context means
    batch: WrittenBatch = WrittenBatch()
    of_all: bool = False  # whether the number counts more than one layer, whatever the words say
    text: str = ""  # the whole text
    biases_apart: bool = False  # whether its list or table counts biases in lines of their own

    def is_in_text(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern occurs anywhere in the text."""
        return _occurs(pattern, self.text)

    @property
    def supposes(self) -> bool:
        """Whether the words beside a number make it hypothetical, not a claim."""
        return any(map(_INSTEAD.search, (*self.names, _SENTENCE_END.split(self.before)[-1])))

    def scope(self, layers: int) -> str:
        """How many layers the words beside a number mean: "one" or "all"; empty if they do not say."""
        beside = _BETWEEN_SCRIPTS.sub("", " | ".join(self.names))
        pattern = _ALL.format(layers=_in_digits_or_words(layers))
        nearest = f"{_BETWEEN_SCRIPTS.sub('', self.names[0])} | " if self.names else ""
        if layers > 1 and re.search(pattern, nearest, re.I) and not re.search(_ONE, nearest, re.I):
            return "all"
        if re.search(_ONE, beside, re.I):
            return "" if self.of_all else "one"
        if layers > 1 and not _LAYER.search(nearest) and re.search(pattern, beside, re.I):
            return "all"
        if self.opening and not _OF_OTHERS.search(beside):
            is_all = not re.search(_ONE, self.opening, re.I) and re.search(pattern, self.opening, re.I)
            return "all" if is_all else "one" * (not self.of_all)
        return "one" if not self.of_all and self.headings and re.search(_ONE, self.headings[0], re.I) else ""

    @property
    def is_of_any_layer(self) -> bool:
        """Whether the only mention of a layer is a general heading: The parameters of a Transformer layer."""
        beside = _BETWEEN_SCRIPTS.sub("", " | ".join(self.names))
        return not re.search(_ONE, beside, re.I) and any(map(_IN_GENERAL.search, self.headings[:1]))


_WORDS = {
    2: "two|两",
    3: "three|三",
    4: "four|四",
    6: "six|六",
    8: "eight|八",
    10: "ten|十",
    12: "twelve|十二",
    24: "twenty[ -]four|二十四",
    36: "thirty[ -]six|三十六",
    48: "forty[ -]eight|四十八",
}  # patterns for common numbers of layers as words


def _in_digits_or_words(layers: int) -> str:
    """The pattern for a number of layers, in digits or as a word: 12 or twelve."""
    return f"(?:{layers}|{_WORDS[layers]})" if layers in _WORDS else f"{layers}"


@lru_cache(maxsize=64)  # cached, because it is called for every number in a text
def _occurs(pattern: re.Pattern[str], text: str) -> bool:
    return bool(pattern.search(text))


class TableRow(NamedTuple):
    """The row of a table that contains a number, the table's header row, and the header of the number's column."""

    cells: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    header: str = ""


# Query, key and value are one part, despite the commas; with the output, they are all matrices of the attention.
_TRIPLE = re.compile(
    r"(?<![A-Za-z])(?P<four>Q(?P<comma>[,、/+] ?)K(?P=comma)V(?:(?P=comma)| ?(?:and|&|和|与) ?)O)(?![A-Za-z])"
    r"|(?<![A-Za-z])Q[,、/] ?K[,、/]? ?(?:and|&|和|与|[,、/] ?)? ?V(?![A-Za-z])"
    r"|(?<![A-Za-z])quer(?:y|ies), keys?,? (?:and|&) values?(?![A-Za-z])"
    r"|(?<![A-Za-z])(?P<matrices>W_?Q(?P<and>\s?(?:[,、+&]|,?\sand\s|和|与)\s?)W_?K(?P=and)W_?V)(?![A-Za-z])",
    re.I,
)


def _as_one(text: str) -> str:
    return _TRIPLE.sub(_triple, text)


def _triple(match: re.Match[str]) -> str:
    if match["four"]:
        return "attention matrices"
    if match["matrices"]:
        return "W QKV"
    return "QKV" if len(match[0]) < 12 else "query-key-value"


# A short first sentence that is a heading: Feed forward. The first layer maps ...
# A label that multiplies layers: 24 × Layers: 302M
_TIMES_LAYERS = re.compile(r"(?<![\w.])([0-9]{1,3})\s?[×x*]\s?((?:transformer |encoder )?(?:layers|blocks)\b)", re.I)
_RUN_IN = re.compile(
    r"\s{0,3}(?:[-*•]\s{1,4}|[0-9]{1,2}[.)、]\s?)?[(（\[]?([^\W\d][\w-]{1,80}(?: {1,3}(?:[&+] )?[\w-]{1,30}){0,4}) ?"
    r"[)）\]]?[.:：。]\s?(?=[\w(])"
)


_WORD = re.compile(r"[^\W\d_]")
# The name of a part behind a share in brackets: 23.8M (22 %) are embeddings, 28.3M (26 %) attention
_BEHIND_SHARE = re.compile(
    r"(?: ?param(?:eter)?s)? ?[(（][0-9.]{1,6} ?%[)）] (?!and\b|while\b|but\b|in\b)(?:are |is |for |belong to )?"
    r"(?:the )?(?P<name>[A-Za-z][A-Za-z -]{2,30})"
)
# The name of a sum before its formula in letters: SUM = (|V| + max_len + 2) * d + 12[d*d*3 + d*d] =
_DERIVED = re.compile(
    r"(?P<name>[^=\n]*[^\W\d_]{3}[^=\n]*)=(?=[^\n]*[*+×])"
    r"(?:(?<![A-Za-z])(?:[A-Za-z]{1,2}|[a-z]{1,20}_[a-z_]{1,20})(?![A-Za-z])|[^A-Za-z㐀-鿿])*",
)
# A column header that does not say which part the column counts.
_OF_ANYTHING = re.compile(r"param|参数|model|模型|bert|gpt|total|size|shape|count|number|value|#|数|^\W*\w?\W*$", re.I)
# A formula without any word: 2 d d_ff + d_ff + d =
_IS_FORMULA = re.compile(r"^(?!.*(?:[^\W\d_]{3}|[㐀-鿿])).*[*+/^×·=⋅]")
# Words before the share that follows in brackets: 15,560,457 (word embeddings account for 52.1%)
_OF_NEXT = re.compile(r"\s*[(（][^()（）]{1,40}(?:占|account for|are|make up)\s*", re.I)
# The name of the count in brackets behind its share: FFN: 55.5% (12 * 4,722,432 = 56,669,184)
_OPENS = re.compile(r"\s*[(（]\s*")
_SHARE_BEFORE = re.compile(r"(?P<name>[^\d,;，；。]{2,60})\s[0-9.]{1,6}\s?%\s*[(（]\s*$")
# Words that belong to the previous number: 7,087,872 each, ... or 124.4M for GPT-2 and ...
_OF_LAST = re.compile(
    r"^(?:(?:each|apiece|altogether|in total|(?:per|for each|in each) \w{1,12})\s?[,;，；]"
    r"|(?:for|in) [\w.-]{2,30}(?: [\w.-]{2,12})?,? (?:and|vs\.?|versus|but)(?:\s|$))\s?",
    re.I,
)
# Words after a number that say what it counts. If a number has them, such words before it belong to the previous
# number: 7.1M parameters for each layer, 85.1M parameters for all.
_NOUN_BEHIND = re.compile(r"^(?:parameters?|params|weights)?\s?(?:for|in|of|are|per)\s", re.I)
_NOUN_OF_LAST = re.compile(
    r"^(?:parameters?|params|weights)?\s?(?:for|in|of|are|per)\s[^,.;，；]{2,80}?(?:[,;，；]|\sand(?:\s(?:at|to|of|with|in))?$)",
    re.I,
)
# A sentence that continues the subject of the previous sentence: The MLP has two matrices. It needs ...
_GOES_ON = re.compile(
    r"^\W*(?:(?:so|thus|altogether|together|in total|then),?\s)?(?:it|this|that|they|these|each of (?:them|these))\b"
    r"|^\W*[它其这]",
    re.I,
)
# A word between a question and the number that answers it.
_ANSWER = re.compile(r"^\W*(?:solution|answer|ans|result|a|解|答|答案|解答|结果)?\W*$", re.I)
# Words before a number that belongs to the list item on the line above.
_OF_ITEM = re.compile(r"\W*(?:(?:total |number of )?param(?:eter)?s(?: per (?:layer|block))?|参数量?)\W*", re.I)
_QUESTION = re.compile(r"^\W*(?:Q|Question|问题?)[0-9]{0,2}\W+", re.I)
# The sizes of a model after its name, which do not describe the number: bert-medium (8 layers, hidden 512) 41.4M
_SIZES_OF_MODEL = re.compile(
    r"(?<=[a-z0-9])\s?[(（](?=[^()（）]{0,60}[0-9])[^()（）]{0,60}(?:hidden|heads|[HLA] ?=|隐藏|个头)"
    r"[^()（）]{0,60}[)）](?=\W*$)",
    re.I,
)
# The comma after a number in apposition: Two thirds of them, 4,722,432, belong to the feed-forward.
_APPOSITION = re.compile(r"^[,，]\s(?=(?:belongs?|are|is|go|goes|sit|comes? from|to|in|for)\s)", re.I)
_OF_NUMBER = re.compile(r"[0-9][0-9,.]* of $")
_IS_VERB = re.compile(r"has|have|contains?|with|is|are|有|为|是", re.I)
_LAYERS_INSIDE = re.compile(
    r"[0-9]+[ -](?:\w+[ -]){0,2}?(?:layers|blocks)\b|[0-9]+\s?个?\s?(?:encoder|transformer)?\s?层", re.I
)


class Surroundings:
    """The lines and headings of a text, and the context that they give to each number."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._without_biases = _is_without_biases(self._lines) or bool(_LEAVES_OUT.search(text))
        self._biases_apart = frozenset(_blocks_with_biases(self._lines))
        self._headings: list[tuple[str, ...]] = []
        self._first_rows = list(_first_rows(self._lines))
        stack: list[tuple[int, str]] = []
        self._parents = parents = list(_parents(self._lines))
        self._lengths = tuple(dict.fromkeys(_lengths(text)))
        self._batch_sizes = tuple(dict.fromkeys(map(int, _BATCH.findall(text))))
        for number, line in enumerate(self._lines):
            if title := _title(line):
                level = line.count("#", 0, 8) or (_BOLD if _HEADING.match(line[:200]) else _PLAIN)
                stack = [entry for entry in stack if entry[0] < level]
                stack.append((level, _UP.sub(" ", _NAMED_EMBED.sub("model", title))))
            elif stack and stack[-1][0] == _PLAIN and _names_part_itself(line):
                stack.pop()
            headings = tuple(text for _level, text in reversed(stack))
            self._headings.append((*parents[number], *headings))

    def of(self, entry: WrittenNumber) -> Context:
        """The context of a number: the words around it, its headings and, in a table, its column header."""
        header = self.row(entry).header
        names = dict.fromkeys(name for name in self._names(entry, header) if name)
        if (parents := self._parents[entry.line]) and (not names or _IS_SUM.fullmatch(next(iter(names)))):
            names = dict.fromkeys((parents[0], *names))
        headings, line = self._headings[entry.line][:2], self._lines[entry.line][:400]
        before = self._text[max(self._text.rfind("\n", 0, entry.start) + 1, entry.start - _MOST_BEFORE) : entry.start]
        opening = _OPENING.match(
            _SENTENCE.split(self._text[max(0, entry.start - 400) : entry.start].rpartition("\n")[2])[-1]
        )
        layers_named = opening[0] if opening else ""
        sentence = "" if entry.cells else self._sentence(entry)
        after = entry.after[:_MOST_AFTER]
        batch = self.batch_of(entry) if entry.stated.unit in ("FLOPs", "MACs") else WrittenBatch()
        following = self._lines[entry.line + 1 : entry.line + 1 + _LINES_BELOW]
        below = next((text[:_MOST_AFTER] for text in following if text.strip()), "")
        return Context(
            tuple(names),
            headings,
            line,
            self._without_biases,
            header,
            before,
            layers_named,
            sentence,
            after,
            below,
            batch=batch,
            text=self._text,
            biases_apart=entry.line in self._biases_apart,
        )  # fmt: skip

    def batch_of(self, entry: WrittenNumber) -> WrittenBatch:
        """The batch of a number, with the sequence length and batch sizes that the text states near it.

        The length is the only one in the number's sentence, else the last one before it on its line, else the only one
        in the text.
        """
        sentence = self._sentence(entry)
        in_sentence = list(dict.fromkeys(_lengths(sentence)))
        line_start = self._text.rfind("\n", 0, entry.start) + 1
        before = _lengths(self._text[max(line_start, entry.start - _LONGEST_SENTENCE) : entry.start])
        only = self._lengths if len(self._lengths) == 1 else ()
        length = next(iter(in_sentence if len(in_sentence) == 1 else (*reversed(before), *only)), 0)
        near = sentence[: sentence.find(self._text[entry.start : entry.end]) + entry.end - entry.start + _MOST_BEHIND]
        batch_sizes = tuple(dict.fromkeys(map(int, _BATCH.findall(near)))) or (1, *self._batch_sizes)
        earlier = _lengths(self._text[max(0, entry.start - _FARTHEST_LENGTH) : entry.start])
        recent = next(iter((*reversed(earlier), *self._lengths)), 0)
        return WrittenBatch(length, tuple(dict.fromkeys(batch_sizes)), self._lengths, recent)

    def _sentence(self, entry: WrittenNumber) -> str:
        """The sentence that contains a number or a calculation."""
        first = self._text.rfind("\n", 0, entry.start) + 1
        before = self._text[max(first, entry.start - _LONGEST_SENTENCE) : entry.start]
        after = self._text[entry.end : entry.end + _LONGEST_SENTENCE].partition("\n")[0]
        inside = self._text[entry.start : entry.end]
        return f"{_SENTENCE_END.split(before)[-1]}{inside}{_SENTENCE_END.split(after)[0]}"

    def line(self, number: int) -> str:
        return self._lines[number]

    def row(self, entry: WrittenNumber) -> TableRow:
        """The table row that contains a number; empty outside of a table and in the header row."""
        first = self._first_rows[entry.line]
        if not entry.cells or first in (None, entry.line):
            return TableRow()
        headers = _cells(self._lines[first])
        header = headers[entry.column][:_MOST_BEFORE] if len(headers) == len(entry.cells) else ""
        return TableRow(entry.cells, headers, header)

    def _names(self, entry: WrittenNumber, header: str) -> Iterator[str]:
        before = entry.before[-400:]
        if _OPENS.fullmatch(before):
            line_start = self._text.rfind("\n", 0, entry.start) + 1
            share = _SHARE_BEFORE.search(self._text[max(line_start, entry.start - _MOST_BEFORE) : entry.start])
            before = share["name"] if share else before
        before = _TIMES_LAYERS.sub(r"\1 \2", before)
        before = _OF_LAST.sub("", _as_one(_SIZES_OF_MODEL.sub("", before)))
        if derived := _DERIVED.fullmatch(before):
            before = derived["name"]
        if _NOUN_BEHIND.match(entry.after):
            before = _NOUN_OF_LAST.sub("", before)
        pieces = [piece for piece in reversed(_SENTENCE.split(before)) if _WORD.search(piece)]
        sentence = next((piece for piece in pieces if not _IS_FORMULA.search(piece)), next(iter(pieces), ""))
        clause = _CLAUSE.split(sentence)[-1]
        if entry.cells:
            yield _row_label(entry.cells)
            yield "" if _OF_ANYTHING.search(header) else _trimmed(header)
        label = _trimmed(clause[-_MOST_BEFORE:]) if _WORD.search(clause) else ""
        if not label and (behind_share := _BEHIND_SHARE.match(self._text, entry.end)):
            yield _trimmed(behind_share["name"])
        if _ANSWER.fullmatch(label) and len(pieces) > 1:
            yield _trimmed(_QUESTION.sub("", pieces[1])[-_MOST_BEFORE:])
        yield _trimmed(sentence[-_MOST_BEFORE:]) if _IS_VERB.fullmatch(label) else label
        behind = _as_one(entry.after[:200]).strip(" *`)）")
        is_part = _OF_NUMBER.search(self._text[max(0, entry.start - 20) : entry.start])
        after = _CLAUSE.split(behind if is_part else _APPOSITION.sub("", behind))[0]
        if re.match(r"\s*(?:[(（]|[-–—]{1,3}|#|//)?\s*[^\W\d_]", after) and not _OF_NEXT.fullmatch(after):
            yield _trimmed(after[:_MOST_AFTER])
        if clause != sentence:
            yield _trimmed(sentence[-_MOST_BEFORE:])
        if _GOES_ON.match(sentence):
            yield from (_trimmed(piece[-_MOST_BEFORE:]) for piece in pieces[1:2])
        if (not re.search(r"[^\W\d_]{2}", before) or _ANSWER.match(before)) and entry.line:
            yield from self._above(entry.line)
        elif _OF_ITEM.fullmatch(before) and entry.line and _ITEM.match(self._lines[entry.line - 1]):
            yield _run_in(self._lines[entry.line - 1][:80])
        if entry.computes and (inside := _LAYERS_INSIDE.search(self._text, entry.start, entry.end)):
            yield inside[0]
        if entry.start:
            yield _run_in(self._lines[entry.line][:80])

    def _above(self, line: int) -> Iterator[str]:
        """Yield the nearest line above that has text, if it may say what the number on this line counts.

        It is a heading, ends with a colon or a question mark, or contains no count.
        """
        for number in range(line - 1, max(-1, line - 3), -1):
            text = self._lines[number].strip()
            if heading := _HEADING.match(text[:200]):
                yield _trimmed((heading[1] or heading[2])[-_MOST_BEFORE:])
                return
            if text:
                if re.search(r"[:：?？]\s*$", text) or not _IS_COUNT.search(text):
                    yield _trimmed(text[-_MOST_BEFORE:])
                return


def _title(line: str) -> str:
    """The words of a heading; empty for other lines.

    A page that was copied without its markup has no marked headings. There, a short line is a heading if it is a
    numbered part or step, only the name of a part, or a word such as "total".
    """
    if heading := _HEADING.match(line[:200]):
        is_prompt = re.match(r"\s*#\s?(?:In|Out)\b", line)
        return "" if is_prompt else (heading[1] or heading[2]).strip()[:_MOST_HEADING]
    text = line.strip()
    if not text or len(text) > _LONGEST_PLAIN or _NO_PLAIN.search(text):
        return ""
    is_title = _NUMBERED.match(text) or _NAME_OF_PART.fullmatch(text) or _ENDS_PART.fullmatch(text)
    return text if is_title else ""


def _names_part_itself(line: str) -> bool:
    """Whether a line begins with the name of a part (FeedForward: 4722432), and so does not belong to a heading."""
    label, colon, _rest = line.strip(" -*•\t").replace("：", ":").partition(":")
    return bool(colon) and len(label) <= _LONGEST_PLAIN and bool(_NAME_OF_PART.fullmatch(label.strip(" *`")))


_BOLD, _PLAIN = 7, 8  # the levels of headings without #
_LONGEST_PLAIN = 48
# Lines that are not headings: sentences, list items, table rows, formulas and numbers.
_NO_PLAIN = re.compile(r"[。.!?！？,，;；、]\s*$|^[-*•+|>`]|[|=*×/_{}<>]|[0-9]{3}|[0-9]\s?[MGk万亿%]|\s[+-]\s")
_NUMBERED = re.compile(
    r"(?:(?:part|step|section|stage)\s?[0-9IVX]{1,4}\b|第\s?[0-9一二三四五六七八九十]{1,3}\s?(?:部分|步|节|章)"
    r"|[一二三四五六七八九十]{1,3}、|[(（][一二三四五六七八九十]{1,3}[)）]|[0-9]\.[0-9](?:\.[0-9])?\s)\s?\S",
    re.I,
)
_NAME_OF_PART = re.compile(
    r"(?:the )?(?:bert )?(?:input |token |word |position(?:al)? |segment |multi-?head(?:ed)? |self-?)*"
    r"(?:embeddings?|self-?attention|attention|feed-?[ ]?forward|ffn|mlp|pooler|layer-?[ ]?norm(?:alization)?|encoder)"
    r"(?: ?(?:layers?|sub-?layers?|blocks?|network|module|部分|层|模块|子层))?(?: ?[(（][^()（）]{1,30}[)）])?[:：]?"
    r"|(?:多头)?(?:自?注意力|前馈(?:神经)?网络|前馈层|嵌入层?|词嵌入|池化层?|层归一化|输入)(?:机制|模块)?(?:部分|层|子层)?"
    r"(?: ?[(（][^()（）]{1,30}[)）])?[:：]?|多头 ?attention ?(?:部分|层)?[:：]?",
    re.I,
)
# Words that end a section about a part.
_ENDS_PART = re.compile(
    r"(?:summary|total|in total|conclusion|overall|altogether|总结|总共|总计|合计|汇总|总参数量?|总共参数|总体)[:：]?",
    re.I,
)


_IS_SUM = re.compile(
    r"(?:(?:the|in|this|that|makes|is|so|all) ?)*(?:sum|total|together|altogether|合计|小计|共|总计|总共|一共)(?: is)?"
    r"|总参数量?[为是]?",
    re.I,
)
_SUM_LINE = re.compile(r"\s+[*_]{0,2}(?:sum|total|subtotal|together|合计|小计|共|总计|总共|一共|=>|=)", re.I)
_ITEM = re.compile(r"(?P<indent>[ \t]{0,40})(?:[-*•◦▪–—·+]|[0-9a-z]{1,2}[.)])\s+\S")
_LONGEST_PARENT = 80
# The name of an item before a calculation: - multi_head: 768 * 768 * 4
_LABEL_OF_ITEM = re.compile(r"(?:[-*•◦▪–—·+]|[0-9a-z]{1,2}[.)])\s+([^\W\d][^:：=*×]{1,30})[:：]")


def _parents(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """For each line, the titles of the lines that contain it, the innermost first.

    A title is a list item, an unindented line, or a line that ends with a colon. It must be short and have no count. An
    item with a count is represented by its label, if it has one. Empty for lines that are neither list items nor sums
    in a list.
    """
    stack: list[tuple[int, str]] = []
    for line in lines:
        if not line.strip():
            yield ()
            continue
        item = _ITEM.match(line)
        indent = len(line) - len(line.lstrip())
        leads = not item and line.rstrip().endswith((":", "："))
        stack = [entry for entry in stack if (item or indent) and entry[0] < 2 * indent + bool(item)]
        belongs = item or (indent and _SUM_LINE.match(line))
        yield tuple(title for _indent, title in reversed(stack) if title) if belongs else ()
        text = line.strip()
        is_title = len(text) <= _LONGEST_PARENT and not _IS_COUNT.search(text) and (item or leads or not indent)
        label = _LABEL_OF_ITEM.match(text) if item and not is_title else None
        stack.append((2 * indent + bool(item), _trimmed(text if is_title else label[1] if label else "")))


# Words that leave the biases out of a whole text (biases are ignored; we drop the biases; 忽略偏置), and a line of a
# program that counts them alone: attn_bias = 4 * d
_LEAVES_OUT = re.compile(
    r"^[ \t]*(?:(?:\w{1,20}_)?bias(?:es)?(?:_\w{1,20})?|b_(?:qkv|[qkvo]))[ \t]*=[ \t]*(?!True|False)"
    r"|\bbias(?:es| terms?| parameters)?(?:,? (?:and|or) (?:\w+ ){0,2}\w+)?,? (?:are |is )?(?:all |here )?"
    r"(?:ignored|omitted|neglected|left out|not counted|excluded|dropped|disregarded)\b"
    r"|\bbias(?:es)? (?:of (?:\w+ ){1,4})?(?:are|is) (?:\w+ ){0,2}(?:small|negligible|tiny|insignificant)\b"
    r"|\bbias(?:es)?\b[^.;\n]{0,40}\b(?:counted|added|treated|listed) (?:separately|later|apart|at the end)\b"
    r"|(?<!if we )(?<!if you )(?<!if one )"
    r"\b(?:ignor|omitt?|neglect|disregard|dropp?|exclud|skipp?|leav)(?:e|ing|es|s)?(?: out)? (?:the |all |any )?"
    r"bias(?:es)?\b"
    r"|\bwithout (?:the |any )?biases[*_]{0,2}\s?[:：]\s*$"
    r"|(?<!若)(?<!如果)(?<!假如)(?<!假设)(?:忽略|省略|不计|不考虑|略去|不算)了?(?:所有|全部)?的?(?:偏置|\s?bias\b)"
    r"|(?:偏置|\bbias\s?)(?:项|参数)?(?:均|都|全部)?(?:忽略|省略|不计|略去|未计)"
    r"|(?:偏置|(?<![a-z])bias(?:es)?)(?![^。；;\n]{0,24}[若如假])[^。；;\n\dA-Za-z]{0,24}(?:未|没有?|(?<!不能)(?<!不可)(?<!不得)不)[再被]?"
    r"(?:加入|加上|算入|计入|算上|计?算|考虑|统计)(?:进?[来去]|在内)?(?=\s?(?:[，,。；;）)]|$))"
    r"|(?:差异|差值|差额|差距|误差|相差|剩余|剩下|其余)[^。；;\n\d]{0,12}(?:来自|源自|源于|在于|是|为)[^。；;\n\d]{0,16}(?:偏置|bias)"
    r"|\b(?:difference|rest|remainder|gap)\b[^.;\n\d]{0,30}\b(?:comes? from|is due to|stems? from|are|is)\b"
    r"[^.;\n\d]{0,24}\bbias(?:es)?\b",
    re.I | re.M,
)


def _blocks_with_biases(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines of each list or table, without empty lines, that counts biases in a line of their own."""
    block: list[int] = []
    for number, line in enumerate((*lines, "")):
        if line.strip():
            block.append(number)
            continue
        if any(_LINE_OF_BIASES.match(lines[place][:_LONGEST_SENTENCE]) for place in block):
            yield from block
        block = []


# A line whose label ends with the biases: * Q/K/V bias = 768 × 3 = 2,304
_LINE_OF_BIASES = re.compile(
    r"[ \t|*•+–-]*(?:[\w/,&.]{1,20} ){0,4}(?:bias(?:es)?|偏置)[*`]{0,2}\s?[|=:：][^\n]*[0-9]{3}", re.I
)


def _is_without_biases(lines: Sequence[str]) -> bool:
    """Whether the whole model, not only one of its modules, is built with bias=False."""
    fields = ((line, field.start()) for line in lines for field in re.finditer(r"\bbias\s?=\s?False\b", line))
    return any(not _IN_MODULE.search(line[max(0, start - 200) : start]) for line, start in fields)


# The call of a module up to one of its arguments: nn.Linear(n_embd, 4 * (n_embd),
_IN_MODULE = re.compile(r"(?:\bnn\.\w{1,30}|Linear|Norm|Embedding|Conv\w{0,4})\((?:[^()]|\([^()]{0,60}\)){0,200}$")


def _first_rows(lines: Sequence[str]) -> Iterator[int | None]:
    """For each line, the line number of its table's first row, or None; empty lines may separate rows."""
    first, empty = None, 0
    for number, line in enumerate(lines):
        if line.count("|") > 1:
            first, empty = number if first is None else first, 0
        else:
            empty = _MOST_EMPTY + 1 if line.strip() else empty + 1
            first = first if empty <= _MOST_EMPTY else None
        yield first


_MOST_EMPTY = 2  # maximum number of empty lines between two rows of a table that was converted from HTML


# Cached, because every number of a row reads the cells of its headers.
_cells = lru_cache(maxsize=16)(cells_of)


@lru_cache(maxsize=16)
def _row_label(cells: Sequence[str]) -> str:
    """The first cell with words in a row; empty if there is none."""
    label = next((cell for cell in cells if re.search(r"[^\W\d_]{2}|[㐀-鿿]", cell)), "")
    return _trimmed(_as_one(label[:_MOST_BEFORE]))


@lru_cache(maxsize=16)
def _run_in(line: str) -> str:
    """The heading at the beginning of a line (**Attention.** ...); empty if there is none."""
    label = _RUN_IN.match(line)
    return _trimmed(label[1]) if label else ""


# A count or a calculation, not the number of layers in a label: query, key, value, 12 layers
_IS_COUNT = re.compile(
    r"[0-9][0-9,.]{2,}|[0-9]\s?[kKM亿万%]|[0-9]\s?B\s?(?:param|参数)|\.[0-9]+\s?B|[=*×/+]\s?[0-9(]|[0-9)]\s?[*×/+]|\||[.。!]$|^.{80}"
)
# Formulas in names, such as V*W + L*W = (V+L+2)*W: their letters are not words.
_FORMULA = re.compile(
    r"(?<![A-Za-z_])\(?(?:[A-Za-z0-9]{1,3}|[a-z]{1,20}_[a-z_]{1,20})[²³]?\)?"
    r"(?:\s?[*+/^×·⋅]\s?\(?(?:[A-Za-z0-9.,]{1,12}|[a-z]{1,20}_[a-z_]{1,20})[²³]?\)?){1,12}(?![A-Za-z_])"
)


# Words that are removed because they name no part of a model: an embedding size, or a tied or untied decoder.
_SIZE = re.compile(
    r"(?:embed(?:ding)?|嵌入|词向量)[ _-]?(?:size|dim\w*|width|大小|维度|维数)"
    r"|\bposition-?wise\b"
    r"|(?:\b(?:with|lm_head|decoder|head|output|weights?) (?:is |are )?)?(?:\bnot |\bun-?)?\b(?:un)?tied\b",
    re.I,
)


# Verbs with "up" or "down", which otherwise mean the matrices of a feed-forward network.
_UP = re.compile(r"\b(?:scal|add|sum|set|end|mak|round|siz|cut)\w{0,5}\s(?:\w{1,6}\s)?(?:up|down)\b", re.I)
_NAMED_EMBED = re.compile(r"\bnomic-embed[\w.-]{0,20}", re.I)  # a model, not its embeddings
_EVERYTHING = re.compile(r"\b(?:everything|altogether|overall)\b", re.I)


_BULLET = re.compile(r"^\s*(?:[-*•]|[(（]?(?:[0-9]{1,2}|[ivx]{1,4}|[a-z])[.)、）/])\s+")
# A layer always has LayerNorms and biases, so words that add them are removed: one layer including two LayerNorms.
_WITH_ITS = re.compile(
    r"\b(layers?|blocks?)(?:\s(?:has|have))?,?\s(?:including|incl\.?|with|and)\s(?:(?:the|its|two|both|all)\s){0,2}"
    r"(?:layer ?norm(?:alization)?s?|biases)\b",
    re.I,
)


# A linear layer is not a layer of the model, so the word "layer" is removed.
_LINEAR = re.compile(r"\b(linear|dense|fully[ -]connected) layers?\b", re.I)
_NON_EMBEDDING = re.compile(r"\bnon[- ]?embeddings?\b", re.I)
# A size in a sentence does not say what a number counts: with L = 24.
_ASSIGNED = re.compile(r"(?<![\w.])[A-Za-z_]{1,30}\s?=\s?[0-9][0-9,]{0,12}\b(?!\s?[-+*/^×·])")


# A program that prints a label: print("  - Per layer total: 7,087,872")
_PRINTS = re.compile(r"^\W*(?:print|printf|echo|log(?:ger)?(?:\.\w{1,12})?)\s?\(?\s?[fr]?[\"'](?:\\[nt])*")


def _trimmed(text: str) -> str:
    text = _BULLET.sub("", _PRINTS.sub("", text))
    text = _LINEAR.sub(r"\1", _ASSIGNED.sub(" ", _NON_EMBEDDING.sub(" ", text)))
    text = _TOUCHING.sub(" ", _NAMED_EMBED.sub("model", text))
    text = _EVERYTHING.sub("total", _FORMULA.sub(" ", _SIZE.sub(" ", _UP.sub(" ", text))))
    text = _WITH_ITS.sub(r"\1", text).strip(_TRIMMED)
    return " ".join(text.split())


_UNIT_OF_HEADER = re.compile(
    r"[(（\[/,，]\s?(?:in |单位[:：]?\s?)?(?P<unit>k|M|B|[kMG]i?B|million|billion|万|百万|亿|[MGT]FLOPs?|[MGT]MACs?)\s?"
    r"(?:params?|parameters|bytes)?[)）\]]?\W*$|^\W*(?P<whole>[MG]i?B|[MGT]FLOPs?)\W*$",
)
_FIRST_OF_TWO, _SECOND_UNIT = re.compile(r"\s?/\s?[0-9]"), re.compile(r"(?<=[kMGTB])\s?/\s?[kMGT]i?B\b")
# Operations without a scale: 604M under "FLOPs per layer".
_OPERATIONS, _LEAST_OPERATIONS = re.compile(r"\b(?<!/)(?:FLOPs|MACs)\b(?!\s?(?:/|per (?:s|token)))", re.I), 10**4
# A column of shares in percent: % of total.
_IN_PERCENT = re.compile(r"^\W*%\W*$|%\s?(?:of|total|param)|(?:share|fraction|proportion|占比|比例)\W{1,3}%", re.I)
_PERCENTS = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3})?")
_BARE = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]{1,4})?|[0-9]{1,6}(?:\.[0-9]{1,4})?")


# A unit of operations behind a number with a scale: 201M MACs.
_UNIT_BEHIND = re.compile(
    r"[ *`]{0,3}(?:(?P<flops>FLOPs?\b|floating.point operations|浮点运算|次浮点)"
    r"|MACs?\b|multiply[- ](?:adds?|accumulates?)\b|次?乘加)(?!\s?(?:/|per (?:s|token|param)))",
    re.I,
)


def in_unit_behind(entry: WrittenNumber) -> WrittenNumber:
    """Give a number the unit of operations that follows it, as in "201M MACs"; other numbers stay unchanged."""
    side, unit = entry.stated, _UNIT_BEHIND.match(entry.after)
    if unit is None or side.unit or side.is_decimal or side.value < _LEAST_OPERATIONS:
        return entry
    return entry._replace(sides=(*entry.sides[:-1], side._replace(unit="FLOPs" if unit["flops"] else "MACs")))


def in_unit_of_header(entry: WrittenNumber, header: str) -> WrittenNumber:
    """Convert a number to the unit in its column header. A calculation, or a number with a unit, stays unchanged.

    >>> from bertcalc.proofreading.mentions.calculations import find
    >>> [entry] = find("| BERT-base | 109.5 |", {})
    >>> int(in_unit_of_header(entry, "Params (M)").value)
    109500000
    """
    if _FIRST_OF_TWO.match(entry.after):
        header = _SECOND_UNIT.sub("", header)  # 0.438 / 0.408 under "GB / GiB"
    unit = _UNIT_OF_HEADER.search(header.replace("*", "").replace("`", ""))
    side = entry.stated
    if unit is None and (operations := _OPERATIONS.search(header)) and side.counts_parameters:
        is_scaled = side.value >= _LEAST_OPERATIONS and not side.is_decimal
        counted = side._replace(unit="MACs" if operations[0].lower() == "macs" else "FLOPs")
        return entry._replace(sides=(*entry.sides[:-1], counted)) if is_scaled else entry
    if unit is None and _IN_PERCENT.search(header) and len(entry.sides) == 1 and _PERCENTS.fullmatch(side.text.strip()):
        reach = Fraction(1, 2 * 10 ** (2 + len(side.text.strip().partition(".")[2])))
        share = side._replace(value=side.value / 100, text=f"{side.text}%", reach=reach, rough=reach, is_decimal=True)
        return entry._replace(sides=(share,))
    if unit is None or len(entry.sides) > 1 or side.unit or not _BARE.fullmatch(side.text.strip()):
        return entry
    try:
        amount = typed(f"{side.text.strip()} {unit['unit'] or unit['whole']}")
    except InputError:
        return entry
    reach = (amount.high - amount.low) / 2
    written = ChainSide(
        amount.value, side.start, side.end, side.text, reach=reach, rough=reach, unit=amount.unit, about=side.about
    )
    return entry._replace(sides=(written,))
