"""Read the sizes that a text states for a model: hidden_size = 384; a BERT with 6 layers, hidden size 384 and 12 heads.

>>> assigned_sizes("hidden_size = 384, and L = 6")
{'hidden_size': 384, 'num_hidden_layers': 6}
>>> [group.sizes for group in size_groups("It is a BERT with 6 layers, hidden size 384 and 12 heads.")]
[{'num_hidden_layers': 6, 'hidden_size': 384, 'num_attention_heads': 12}]
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_FIELDS = {
    "vocab_size": r"vocab(?:ulary)?[_ ]?size|n_vocab|vocabulary|词表大小|词汇表大小|词表|词典大小",
    "hidden_size": r"hidden[_ ]?(?:size|dim(?:ension)?)|d_model|n_embd|embed_dim|隐藏?层(?:维度|大小)?|隐藏维度",
    "num_hidden_layers": r"num_(?:hidden_)?layers|n_layers?|number of layers|层数",
    "num_attention_heads": r"num_(?:attention_)?heads|n_heads?|number of heads|头数",
    "intermediate_size": r"intermediate[_ ]?size|(?:mlp|ffn)[_ ]width|d_ff|n_inner|ffn_dim"
    r"|inner[_ ]?(?:size|dim(?:ension)?)|中间层(?:维度|大小)?|前馈层?维度",
    "max_position_embeddings": r"max_position_embeddings|max_seq_len|n_positions|max_len"
    r"|max(?:imum)?(?: sequence)? length|最大(?:序列)?(?:长度|位置)",
    "type_vocab_size": r"type_vocab_size",
    "num_labels": r"num_labels",
}
_LETTERS = {"V": "vocab_size", "H": "hidden_size", "d": "hidden_size", "h": "hidden_size", "L": "num_hidden_layers"}
_LETTERS |= {"A": "num_attention_heads", "I": "intermediate_size", "E": "embedding_size"}
PLAUSIBLE = {
    "vocab_size": (300, 2_000_000),
    "hidden_size": (16, 20_000),
    "num_hidden_layers": (1, 200),
    "num_attention_heads": (1, 256),
    "intermediate_size": (16, 100_000),
    "max_position_embeddings": (16, 100_000),
    "type_vocab_size": (1, 32),
    "num_labels": (1, 10_000),
    "embedding_size": (16, 20_000),
}
_NUMBER = r"(?P<number>[0-9]{1,3}(?:[,_][0-9]{3}){1,9}|[0-9]{1,7})(?![0-9.,]*[0-9%kKMB])"
_ASSIGNED = re.compile(
    r"(?<![A-Za-z_*×·+/^])(?<![*×·+/^]\s)(?:"
    + "|".join(f"(?P<{field}>{names})" for field, names in _FIELDS.items())
    + ")"
    r"[\"'`*]{0,3}(?:\s{0,3}\([A-Za-z]{1,10}\))?\s{0,3}(?:[:=]{1,2}|is|of|to|为|是|:|=|)\s{0,3}[*`]{0,2}"
    + _NUMBER
    + r"(?!\s?[-+*/^×x·]\s?[0-9(])",
    re.I,
)
_LETTER = re.compile(
    rf"(?<![A-Za-z0-9_^*/+)])(?P<letter>[VHdhLAIE])\s{{0,2}}=\s{{0,2}}{_NUMBER}(?!\s?[-+*/×^x·]|\s?\([0-9]|\()"
)
_TUPLE = re.compile(
    r"(?m)^[ \t]*(?P<names>[A-Za-z]\w{0,30}(?:,\s?[A-Za-z]\w{0,30}){1,6})\s?=\s?"
    r"(?P<numbers>[0-9]{1,7}(?:,\s?[0-9]{1,7}){1,6})\s*(?:#.*)?$"
)
_LISTED = re.compile(
    r"[\[(](?P<names>[a-z_]{3,30}(?:,\s?[a-z_]{3,30}){1,3})[\])]\s?[,:=为是]{0,2}\s?"
    r"[\[(](?P<numbers>[0-9]{1,7}(?:,\s?[0-9]{1,7}){1,3})[\])]"
)


# The shape of the word embeddings: wte | (50304, 768)
_TABLE = re.compile(
    r"(?:\bwte\b|word_embeddings|embed_tokens|\btok(?:en)?_emb\w*)[^\n\d]{0,60}?[(\[]\s?(?P<number>[0-9]{4,7})"
    r"\s?[,×x*]\s?[0-9]{2,5}\s?[)\]]"
)


def assigned_sizes(text: str) -> dict[str, int]:
    """The sizes that a text assigns, keyed by field; a field without exactly one plausible value is left out."""
    assigned: dict[str, list[int]] = {}
    for match in _TABLE.finditer(text):
        assigned.setdefault("vocab_size", []).append(int(match["number"]))
    for stated in _assigned(text):
        assigned.setdefault(stated.field, []).append(stated.size)
    for match in (*_LISTED.finditer(text), *_TUPLE.finditer(text)):
        names, numbers = (re.split(r",\s?", match[group]) for group in ("names", "numbers"))
        if len(names) == len(numbers):
            for name, number in zip(names, numbers, strict=True):
                if field := _LETTERS.get(name, "") or _field_called(name):
                    assigned.setdefault(field, []).append(int(number))
    sizes = {}
    for field, values in assigned.items():
        low, high = PLAUSIBLE[field]
        likely = {value for value in values if low <= value <= high}
        if len(likely) == 1:
            sizes[field] = likely.pop()
    return sizes


def _field_called(name: str) -> str:
    """The field that a program's name means, such as hidden_size for d_model; empty for other names."""
    return next((field for field, names in _FIELDS.items() if re.fullmatch(names, name)), "")


class StatedSize(NamedTuple):
    """A number that a text states as a size, and its position."""

    start: int
    field: str
    size: int
    is_fact: bool = False  # whether it is stated as a fact, not as a choice
    kind: str = ""  # base or large, if the text states a size for each


def _assigned(text: str) -> Iterator[StatedSize]:
    width = _width_called_dim(text)
    for match in _ASSIGNED.finditer(_TUPLE.sub(lambda line: " " * len(line[0]), text)):
        field = match.lastgroup if match.lastgroup in _FIELDS else next(name for name in _FIELDS if match[name])
        if match[field].lower() == "hidden_dim" and width and int(match["number"].replace(",", "")) > width:
            field = "intermediate_size"
        if field == "num_hidden_layers" and _OF_ADAPTER.search(text[max(0, match.start() - _FARTHEST) : match.start()]):
            continue
        yield StatedSize(match.start("number"), field, int(match["number"].replace(",", "")))
    for match in _LETTER.finditer(text):
        yield StatedSize(match.start("number"), _LETTERS[match["letter"]], int(match["number"].replace(",", "")))


_OF_ADAPTER = re.compile(r"layers[ _]to[ _]transform", re.I)  # PEFT's list of the layers that get adapters


def _width_called_dim(text: str) -> int:
    """The hidden size in a text that calls it dim, as DistilBERT and Meta's LLaMA do; 0 in other texts.

    These models call the intermediate size hidden_dim. A text about DistilBERT alone need not state dim.
    """
    if dim := _DIM.search(text):
        return int(dim[1])
    return _LEAST_DIM if _DISTILBERT.search(text) and not _OTHER_BERT.search(text) else 0


_LEAST_DIM = 768  # DistilBERT's hidden size, which its configuration calls dim
_DIM = re.compile(
    r"(?<![A-Za-z0-9_.-])(?<!head )(?<!embedding )dim[\"'`]?\s?[:=]?\s?([0-9]{2,5})\b(?!\s?(?:\)|per|each))", re.I
)
_DISTILBERT, _OTHER_BERT = re.compile("distil-?bert", re.I), re.compile("(?<!distil)(?<!distil-)bert", re.I)


def stated_sizes(text: str) -> dict[int, StatedSize]:
    """The sizes that a text states, keyed by the positions of their numbers.

    >>> [(stated.field, stated.size) for stated in stated_sizes("d_model = 786; an MLP of 3072 hidden units").values()]
    [('hidden_size', 786), ('intermediate_size', 3072)]
    """
    stated = {size.start: size for size in _assigned(text)}
    start = 0
    for line in text.split("\n"):
        places = ((place.number, place.field, place.size) for place in places_of_sizes(line))
        for number, field, size in places:
            stated.setdefault(start + number, StatedSize(start + number, field, size))
        start += len(line) + 1
    for units in _UNITS.finditer(text):
        size = int(units["count"].replace(",", ""))
        stated[units.start("count")] = StatedSize(units.start("count"), "intermediate_size", size, is_fact=True)
    for pair in _UNITS_OF_BOTH.finditer(text):
        for kind in ("base", "large"):
            size, place = int(pair[kind].replace(",", "")), pair.start(kind)
            stated[place] = StatedSize(place, "intermediate_size", size, is_fact=True, kind=kind)
    return dict(sorted(stated.items()))


def primed_letters(text: str) -> dict[str, int]:
    """The sizes that a text assigns to letters with a prime.

    >>> primed_letters("H = 4096, H' = 11008")
    {"H'": 11008}
    """
    return {f"{match['letter']}'": int(match["number"].replace(",", "")) for match in _PRIMED.finditer(text)}


_PRIMED = re.compile(rf"(?<![A-Za-z0-9'])(?P<letter>[A-Za-z])['′’]\s{{0,2}}=\s{{0,2}}{_NUMBER}(?!\s?[-+*/×^x·(])")


@lru_cache(maxsize=2)
def stated_positions(text: str) -> frozenset[int]:
    """The numbers of positions that a text states, including context lengths.

    >>> sorted(stated_positions("GPT-2 with 256 positions; block_size = 128"))
    [128, 256]
    """
    return frozenset(int(match["before"] or match["number"].replace(",", "")) for match in _POSITIONS.finditer(text))


_POSITIONS = re.compile(
    r"(?<![0-9.,×*])(?P<before>[0-9]{2,5})(?:[ -](?:learned|absolute|position(?:al)?))?(?:[ -]positions?\b|\s?个位置)"
    r"|(?:block[_ ]size|n_ctx|context[_ ](?:length|len|size|window)|n_positions|max_position_embeddings"
    r"|max_(?:seq_)?len(?:gth)?|上下文(?:长度|窗口)|最大(?:序列)?(?:长度|位置)"
    r"|(?:seq(?:uence)?[_ ]len(?:gth)?|序列(?:最大)?长度)(?=[^\n.。]{0,40}(?:position|位置)))"
    rf"(?: to)?[\"'`*]{{0,3}}\s?(?:[:：=]{{1,2}}|is|of|为|是)?\s?{_NUMBER}",
    re.I,
)


@lru_cache(maxsize=2)
def literals(text: str) -> Counter[int]:
    """How often each whole number of three or more digits occurs in a text."""
    literals = re.finditer(r"(?<![0-9A-Za-z_.,])([0-9]{1,3}(?:,[0-9]{3}){1,9}+|[0-9]{3,7})(?![0-9A-Za-z_])", text)
    return Counter(int(match[1].replace(",", "")) for match in literals)


class SizeGroup(NamedTuple):
    """Adjacent sizes that describe one model."""

    start: int
    end: int
    sizes: dict[str, int]
    is_supposed: bool  # whether the model is hypothetical: with half the layers, it would have ...


_COUNT = r"(?P<count>[0-9]{1,3}(?:[,_][0-9]{3}){1,9}|[0-9]{1,7})(?![0-9.]*[0-9%kKMB]|,[0-9]{3}(?![0-9]))"
_ENGLISH = {"twenty-four": 24, "sixteen": 16, "twelve": 12, "three": 3, "eight": 8}
_ENGLISH |= {"four": 4, "five": 5, "two": 2, "six": 6, "ten": 10}
# Longer words come first, so that patterns prefer them.
NUMBER_WORDS = _ENGLISH | {"二十四": 24, "十二": 12} | dict(zip("两三四五六八十", (2, 3, 4, 5, 6, 8, 10), strict=True))
_IN_WORDS = rf"(?P<word>{'|'.join(_ENGLISH)})"


def in_digits(number: str) -> int:
    """The value of a small number in digits or words: 2 for two; 0 for other words."""
    return int(number) if number.isdigit() else NUMBER_WORDS.get(number.lower(), 0)


_IS = r"[\"'`*]{0,3}\s?(?:\([A-Za-z]{1,10}\)\s?)?(?:[:=：]{1,2}|is|of|为|是)?\s?"
_MODEL = r"(?=[ -](?:\w+ ){0,2}?(?:bert|roberta|model|encoder|transformer|version|variant|student)\b)"
_GROUPED = {
    "num_hidden_layers": (
        rf"(?<![0-9.第前后每])(?:{_COUNT}|\b{_IN_WORDS})(?:[ -](?:hidden|encoder|transformer|identical)){{0,2}}"
        r"[ -](?:layers|blocks)\b",
        rf"(?<![0-9.,])\b(?:{_COUNT}|{_IN_WORDS})[ -]layer{_MODEL}",
        rf"(?<![0-9.第前后每]){_COUNT}\s?个?(?:\s?(?:transformer|编码器|encoder))?\s?层",
        rf"\b(?:num_(?:hidden_)?layers|n_layers?|L){_IS}{_COUNT}",
    ),
    "hidden_size": (
        rf"\b(?:hidden(?:[_ ](?:size|width)|_dimension| dim(?:ension)?)?|d_model|n_embd|embed_dim|[Hd]){_IS}{_COUNT}",
        rf"隐藏?层?(?:的?维度|大小)?{_IS}{_COUNT}",
        rf"(?<![0-9.,]){_COUNT}(?:[ -](?:hidden units|dimensional)|\s?维)",
    ),
    "num_attention_heads": (
        rf"(?<![0-9.])(?:{_COUNT}|\b{_IN_WORDS})[ -](?:self-)?(?:attention[ -])?heads\b",
        rf"(?<![0-9.]){_COUNT}\s?个(?:注意力)?头",
        rf"\b(?:num_(?:attention_)?heads|n_heads?|A){_IS}{_COUNT}",
    ),
    "intermediate_size": (
        r"\b(?:(?:feed[ -]?forward|ffn|mlp|intermediate)(?:[_ ](?:size|dim(?:ension)?|width|layer))?|d_ff|n_inner)"
        rf"(?:\s?维度|\s?大小)?{_IS}{_COUNT}",
        rf"(?:中间层|前馈层?)(?:的?维度|大小)?{_IS}{_COUNT}",
    ),
    "vocab_size": (
        rf"\b(?:vocab(?:ulary)?(?:[_ ]size)?|V)(?: has)?{_IS}{_COUNT}",
        rf"(?:词表|词汇表|词典)(?:大小)?(?:只?有)?{_IS}{_COUNT}",
        rf"(?<![0-9.,]){_COUNT}[ -](?:\w+[ -]){{0,2}}?vocabulary\b",
    ),
    "max_position_embeddings": (
        rf"\b(?:max(?:imum)?[_ ](?:sequence[_ ]|seq[_ ])?len(?:gth)?|max_position_embeddings|n_positions){_IS}{_COUNT}",
        rf"(?<![0-9.,×*]){_COUNT} positions\b",
        rf"最大(?:序列)?(?:长度|位置){_IS}{_COUNT}",
    ),
}
# Hidden units of a feed-forward network: not the hidden size, except at its output.
_UNITS = re.compile(
    r"(?<!second )(?<!output )(?<!final )(?<!last )\b(?:feed[ -]?forward|ffn|mlp)(?: (?!output|input|second)\w+){0,5}?"
    rf" (?:ha[sd]|have|with|of|contains?|uses?|comprises?) {_COUNT}[ -](?:(?:hidden|inner) )?(?:units|neurons|nodes)\b",
    re.I,
)
# Hidden units for base and large: larger feedforward networks (768 and 1024 hidden units respectively)
_UNITS_OF_BOTH = re.compile(
    r"(?:(?:feed[ -]?forward|ffn)[ -]?(?:neural )?(?:networks?|layers?)?|前馈(?:神经)?(?:网络|层))"
    r"\s?(?:[(（,，]\s?)?(?:with |of |having |sizes? )*(?:分别?[为是有]?)?\s?"
    r"(?P<base>[0-9][0-9,]{2,5}) ?(?:and|和|与|/) ?(?P<large>[0-9][0-9,]{2,5})\s?个?(?:hidden |隐藏层?)?"
    r"(?:units|neurons|nodes|单元|神经元|节点)",
    re.I,
)
_PATTERNS = {field: [re.compile(pattern, re.I) for pattern in patterns] for field, patterns in _GROUPED.items()}
_FARTHEST = 120  # maximum number of characters between two sizes of a group
_FEWEST_WORDS = 20  # the smallest vocabulary: amino acids or characters
_CALCULATED = re.compile(r"\s?(?:[-+*×·/^⋅²]|x\s?[0-9]|\([0-9])|\s?=")
SUPPOSED = re.compile(
    r"\b(?:if|would|instead|suppose|imagine|halv\w+|doubl\w+|what about)\b|如果|假如|假设|若|换成|只保留", re.I
)


def size_groups(line: str) -> Iterator[SizeGroup]:
    """The groups of sizes on a line, in order; a repeated size begins a new group."""
    group: list[SizePlace] = []
    for place in sorted(places_of_sizes(line)):
        again = any(other.field == place.field for other in group)
        apart = line[group[-1].end : place.start] if group else ""
        if group and (again or place.start - group[-1].end > _FARTHEST or ";" in apart):
            yield _group(group, line)
            group = []
        group.append(place)
    if group:
        yield _group(group, line)


class SizePlace(NamedTuple):
    """The words that state a size on a line, and the position of its number."""

    start: int
    end: int
    field: str
    size: int
    number: int


def places_of_sizes(line: str) -> Iterator[SizePlace]:
    """The sizes that the words of a line state: 12 layers, hidden size 768.

    >>> [(place.field, place.size) for place in places_of_sizes("16 layers, 12 heads")]
    [('num_hidden_layers', 16), ('num_attention_heads', 12)]
    """
    taken = {units.start("count") for units in _UNITS.finditer(line)}
    for field, patterns in _PATTERNS.items():
        for pattern in patterns:
            for match in pattern.finditer(line):
                named = match.groupdict()
                number = match.start("count") if named["count"] else match.start()
                low, high = PLAUSIBLE[field]
                low = _FEWEST_WORDS if field == "vocab_size" else low
                size = in_digits((named["count"] or named["word"]).replace(",", ""))
                if number in taken or not low <= size <= high or _CALCULATED.match(line, match.end()):
                    continue
                if re.search(r"[*×·+/^]\s?$", line[max(0, match.start() - 2) : match.start()]):
                    continue
                taken.add(number)
                yield SizePlace(match.start(), match.end(), field, size, number)


def _group(places: list[SizePlace], line: str) -> SizeGroup:
    start, end = places[0].start, places[-1].end
    clause = re.split(r"[.。;；]\s?", line[max(0, start - _FARTHEST) : start])[-1] + line[start : end + _FARTHEST // 2]
    return SizeGroup(start, end, {place.field: place.size for place in places}, bool(SUPPOSED.search(clause)))
