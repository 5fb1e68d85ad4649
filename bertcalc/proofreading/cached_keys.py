"""Judge the bytes of a decoder's KV cache: the keys and values of earlier tokens.

>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> from bertcalc.diagnosis.relatives import RELATIVES
>>> text = "In fp16, the KV cache of Llama-3-8B takes 2.15 GB for 4,096 tokens."
>>> entry, model = find(text, {})[-2], RELATIVES["llama-3-8b"].model
>>> judged = CacheClaims(text).judge(ClaimedNumber(entry, Surroundings(text).of(entry), model), UNKNOWN, assumed=False)
>>> judged.verdict, int(judged.right_value)
('wrong', 536870912)
"""

import re
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import NamedTuple

from bertcalc.diagnosis.file_sizes import PRECISIONS
from bertcalc.diagnosis.relatives import relative_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.byte_claims import is_capacity, widths_in
from bertcalc.proofreading.chains import gives, is_miscalculated
from bertcalc.proofreading.claims import in_words
from bertcalc.proofreading.described_models import preset_with
from bertcalc.proofreading.mentions.calculations import WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import names_model
from bertcalc.proofreading.verdicts import UNKNOWN, ClaimedNumber, Judged, is_far, should_be
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_CACHED = re.compile(
    r"(?<![A-Za-z])KV(?![A-Za-z])|(?<![A-Za-z])K/V(?![A-Za-z])|\bkeys? ?(?:and|&|\+|/|-) ?values?\b|键值|键和值"
    r"|key[-/ ]value|past[_ ]key|(?<![A-Za-z])(?:MHA|GQA|MQA)(?![A-Za-z])",
    re.I,
)
_CACHE = re.compile(r"cach|缓存", re.I)
_ONLY_KEYS = re.compile(r"\bkeys?\b|\bK cache\b|(?<![A-Za-z])K(?: ?缓存)|键", re.I)
_ONLY_VALUES = re.compile(r"\bvalues?\b|\bV cache\b|(?<![A-Za-z])V(?: ?缓存)|(?<![数激活])值", re.I)
_EACH = re.compile(r"\beach\b|各", re.I)
# Words for other uses of memory.
_OF_OTHERS = re.compile(
    r"weight|param|activation|gradient|optimi[sz]er|logit|embed|checkpoint|\bmodel (?:size|itself|takes|needs|is)"
    r"|权重|参数|激活|梯度|优化器|嵌入|模型(?:大小|本身|占)",
    re.I,
)
# Words for other caches, or for only part of the keys and values.
_OTHERWISE = re.compile(
    r"shard|\bL[123] cache|\bdisk\b|tensor[ -]parallel|\btp\b|per (?:gpu|device|block|page)|each (?:gpu|device)"
    r"|[0-9] gpus|\bblocks?\b"
    r"|\bpages?\b"
    r"|sliding|window(?! of)|\bmla\b|latent|compress|quanti|int4|4[- ]bit|\bsav(?:e|es|ed|ing)|reduc|shrink"
    r"|evict|offload"
    r"|beam|speculat|prefix|cross[- ]attention|bandwidth|per second|reserv|pre-?alloc|\bleft\b|remain|available"
    r"|\bfree\b"
    r"|fragment|wast|at most|up to|分片|张量并行|每张|每块|块|页|滑动|压缩|量化|节省|减少|剩余|可用|预留|浪费"
    r"|最多|带宽"
    # In sentences with these words, a size may count something else, or several sequence lengths.
    r"|\btotal\b(?! (?:KV|key|cache))|\bin all\b(?! (?:\w+ )?(?:layers|heads))|overhead|weights?\b"
    r"|\bmodel has\b|\bGPU|\bRTX\b|\b[AHVT][0-9]{1,3}\b|\bfits?\b"
    r"|\bfills?\b|needs (?:around|about|at least)|\boutput|\binput\b|generat|activations?\b|padding|concurrency"
    r"|权重|总计|总共|合计|显存|激活|输出|输入|生成|以上",
    re.I,
)
_SUMS = re.compile(r"\+|\bplus\b|\btogether\b|\bin total\b|\bweights and\b|合计|一共|加上|总显存", re.I)
_EACH_TOKEN = re.compile(
    r"\b(?:per|each|every|single|one|a|1)[ -](?:\w{2,12} )?tok(?:en)?\b(?!s)|\bper (?:layer|head)(?:,| and| per"
    r"|, per)* (?:a )?token\b|/ ?tok(?:en)?\b|[每单一1]\s?个?\s?(?:token|词元)",
    re.I,
)
_TOKENS = re.compile(
    r"(?<![\w.×*])(?<![0-9],)(?P<number>[0-9][0-9,]*(?:\.[0-9])?)\s?(?P<scale>[kKM](?![A-Za-z]))?[ -]?(?:个\s?)?"
    r"(?:(?:cached|context|input|prompt) )?(?:tokens?\b|positions\b|词元|context\b|(?:的)?上下文)"
    r"|(?:seq(?:uence)?[ _]?len(?:gth)?|sequences? of|context(?: length| window| size)?|prompts? of"
    r"|上下文(?:长度|窗口)?"
    r"|序列长度|tokens?(?= ?[:：])|(?<![A-Za-z])(?:S|s|T|n|N)(?= ?=))\s?(?:is|of|to|at|=|为|是|:|：|[(（])?\s?"
    r"(?P<length>[0-9][0-9,]*)\s?(?P<prefix>[kKM](?![A-Za-z]))?(?![0-9.]*\s?(?:[KMGT]i?B|bytes|字节))",
    re.I,
)
_BATCH = re.compile(
    r"(?:batch(?:[ _-]?size)?|(?<![A-Za-z])B(?= ?=)|(?<![A-Za-z])bs(?= ?=)|批(?:次|量)?(?:大小)?)\s?(?:of|=|:"
    r"|：|为|是)?\s?"
    r"(?P<number>[0-9][0-9,]*)(?![0-9.]|\s?[KMG]i?B)"
    r"|(?<![\w.])(?<![0-9],)(?P<users>[0-9][0-9,]*)\s?个?\s?"
    r"(?:concurrent |parallel |simultaneous |active |independent |并发)*"
    r"(?:users|requests|sequences|sessions|conversations|prompts|streams|用户|请求|序列|会话|并发)",
    re.I,
)
_ONE_SEQUENCE = re.compile(
    r"(?:per|each|every|one|single|a|/)[ -]?(?:\w+ )?(?:request|sequence|user|session|conversation|prompt)\b(?!s)"
    r"|[每单一1]\s?个?条?\s?(?:请求|序列|用户|会话)",
    re.I,
)
_ONE_LAYER = re.compile(
    r"(?:per|each|every|single|one|a|/)[ -]?(?:\w+ )?(?:layer|block)\b|\btoken and (?:per )?layer\b"
    r"|[每单一1]\s?个?\s?(?:\w{2,12})?层",
    re.I,
)
_ANY_LAYER = re.compile(r"\blayers?\b|层", re.I)
_ALL_LAYERS = re.compile(
    r"\ball (?:the |its |[0-9]+ )*(?:\w+ )?layers|[0-9]+ layers|\btotal|\bwhole|\bentire|\bfull\b|所有层|全部层"
    r"|[0-9]+\s?层|总|层数|number of layers|n_?layers",
    re.I,
)
_ONE_HEAD = re.compile(
    r"(?:per|each|every|single|one|a|/)[ -]?(?:attention |KV |key-value )?head\b(?! ?(?:dim|size))"
    r"|[每单一1]\s?个?\s?(?:注意力|attention )?头"
    r"|(?:attention )head\b(?!s)",
    re.I,
)
_MULTI_HEAD = re.compile(
    r"(?<![A-Za-z])MHA(?![A-Za-z])|multi-?head\b|(?:without|no|not) (?:GQA|grouped)|多头注意力|(?:没有|不用)\s?GQA",
    re.I,
)
_MULTI_QUERY = re.compile(r"(?<![A-Za-z])MQA(?![A-Za-z])|multi-?query|多查询", re.I)
_GROUPED = re.compile(r"(?<![A-Za-z])GQA(?![A-Za-z])|grouped?[- ]quer|分组查询", re.I)
_NUMBER_OF = {
    "layers": r"(?<![\w.])([0-9]{1,3})[ -]?(?:transformer |decoder |hidden )?(?:layers|blocks)\b"
    r"|(?<![A-Za-z])(?:L|n_?layers?|num_(?:hidden_)?layers|层数)\s?[=:：为是]\s?([0-9]{1,3})(?![0-9.])"
    r"|(?<![0-9第每])([0-9]{1,3})\s?个?(?:transformer\s?)?层",
    "shared": r"(?<![\w.])([0-9]{1,3})\s?个?\s?(?:KV|key[-/ ]?value|K/V|键值)[ -]?(?:attention )?(?:heads?|头)"
    r"|(?<![A-Za-z])(?:n_?kv(?:_heads?)?|num_(?:key_value|kv)_heads|kv_heads|KV (?:heads?"
    r"|头数?))\s?[=:：为是]\s?([0-9]{1,3})",
    "heads": r"(?<![\w.])([0-9]{1,3})[ -](?:attention |query |Q )?heads\b"
    r"|(?<![A-Za-z])(?:n_?heads?|num_(?:attention_)?heads|(?<!KV )头数)\s?[=:：为是]\s?([0-9]{1,3})"
    r"|(?<![0-9])([0-9]{1,3})\s?个\s?(?:注意力|查询|Q)?头",
    "head_size": r"(?:head[ _-]?(?:dim(?:ension)?|size)|(?<![A-Za-z])d_?\{?(?:head|k|h)\}?|头的?维度"
    r"|每个头的?维度)\s?"
    r"(?:of|is|[=:：为是])?\s?([0-9]{2,3})(?![0-9])"
    r"|(?<![\w.])([0-9]{2,3})[ -]dim(?:ension)?(?:al)?s?(?: per)?[ -]heads?\b"
    r"|(?<![A-Za-z])heads?(?:,|，| of| with)? ?(?:size |dim\w* )?(64|80|96|128|256)\b(?![ -]?(?:tokens?|layers"
    r"|[a-z]*,))",
    "hidden": r"(?:hidden[ _]?(?:size|dim(?:ension)?)?|d_?model|隐藏层?(?:维度|大小)?|(?<![A-Za-z])[dh](?= ?=))\s?"
    r"(?:of|is|[=:：为是])?\s?([0-9]{3,5})(?![0-9])",
}
_MODEL_SIZE = re.compile(r"(?<![0-9.x])[0-9x.]{1,4}B(?![A-Za-z])")  # x replaces the digits in a model's name
_SENTENCE_END = re.compile(r"[。!?！？\n]|\.(?=\s|$)")
_BYTES = re.compile(r"[0-9][0-9.,]*\s?(?:[KMGT]i?B|bytes|字节)(?![A-Za-z])", re.I)
# Words that belong to the previous size: per token, so 3.36 GB; for a sequence of 2,048 tokens; with batch size 8 ...
_OF_LAST = re.compile(
    r"^[\s*`)）]*(?:(?:per|for|of|at)\s|/)(?:[^,;，；]|,(?=[0-9])){0,60}?(?:[;，；]|,(?![0-9])|\band\b)", re.I
)
_WORD = re.compile(r"[^\W\d_]{2}|[㐀-鿿]")
_SIZE = re.compile(r"[0-9][0-9,]{0,8}\s?[kKM]?")  # a number in a table cell: 4K
_IN_OTHER_UNITS = re.compile(r"[\s(（≈=~*`,，、]*(?:or|i\.e\.|about|即|约|或)?[\s≈~*`,，]*", re.I)
_MOST_BEFORE, _MOST_AFTER, _MOST_COLUMNS = 200, 60, 20
_SCALES = {"k": (1024, 1000), "m": (10**6, 2**20), "": (1,)}
_NEAR, _FARTHEST, _LEAST_TOKENS = Fraction(1, 20), 64, 16

_OF_ALL_HEADS = N_("all {heads} heads are counted, although only {shared} have keys and values")
_KEYS_AND_VALUES = N_("keys and values in {dtype} (layers: {layers}, heads: {heads}, tokens: {tokens})")


class _CacheSizes(NamedTuple):
    """The sizes of a model that determine its KV cache."""

    layers: int
    heads: int
    shared: int  # key-value heads
    head_size: int


class _KeysAndValues(NamedTuple):
    """A possible meaning of a byte count: the keys and values of some layers, heads and tokens."""

    sizes: _CacheSizes
    layers: int
    heads: int
    tokens: int
    batch: int
    width: int  # bytes per element
    of_both: int = 2  # 2 for keys and values, 1 for only one of them

    @property
    def bytes(self) -> Fraction:
        numbers = self.of_both * self.layers * self.heads * self.sizes.head_size
        return Fraction(numbers * self.tokens * self.batch * self.width)

    def in_words(self) -> Problem:
        tokens = f"{self.batch} × {self.tokens:,}" if self.batch > 1 else f"{self.tokens:,}"
        dtype = PRECISIONS[self.width]
        return Problem.of(_KEYS_AND_VALUES, dtype=dtype, layers=self.layers, heads=self.heads, tokens=tokens)


class _Options(NamedTuple):
    """The values that the words allow for a size, the likeliest first; ``sure`` says whether the words state it."""

    values: tuple[int, ...]
    sure: bool = True


class CacheClaims:
    """Judges a text's numbers about the KV cache, in the order of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._has_cache = bool(_named(text))
        self._last = 0
        self._words = ""  # the words before the previous size
        self._line = -1  # the line of the previous size if it was a size of the KV cache, else -1

    @cached_property
    def _lengths(self) -> list[tuple[int, ...]]:
        return _lengths(self._text)

    @cached_property
    def _widths_of_text(self) -> list[int]:
        return widths_in(self._text)

    @cached_property
    def _batches(self) -> list[tuple[int, int]]:
        return _batches_with_ends(self._text)

    @cached_property
    def _stated(self) -> _CacheSizes | None:
        return _stated_sizes(self._text)

    def judge(
        self,
        number: ClaimedNumber,
        judged: Judged,
        *,
        assumed: bool,
        others: Collection[Model] = (),
    ) -> Judged | None:
        """Judge a number of bytes if the words around it mean the KV cache; otherwise return None.

        ``judged`` is the verdict so far. If the model is only ``assumed``, the text has to state its sizes.
        ``others`` are further models that the number may be about.
        """
        entry, context, model, headers = number.entry, number.context, number.model, number.row.headers
        if not self._has_cache or entry.stated.unit != "bytes":
            return None
        last, self._last = self._last, entry.end
        before, after = self._beside(entry, last, context, headers)
        is_next = self._line == entry.line or (bool(entry.cells) and any(map(_named, headers)))
        is_cache = self._names_cache(before, after, context, is_next=is_next)
        self._line = entry.line if is_cache else -1
        if is_miscalculated(judged) or not is_cache:
            return None
        cached = self._judged(entry, before, after, context, model, assumed=assumed)
        if cached and cached.verdict == "wrong":
            for other in others:
                instead = self._judged(entry, before, after, context, other, assumed=False)
                cached = instead if instead and instead.verdict == "right" else cached
        return cached or (None if judged.verdict == "unknown" else UNKNOWN)

    def _judged(
        self, entry: WrittenNumber, before: str, after: str, context: Context, model: Model | None, *, assumed: bool
    ) -> Judged | None:
        sentence, stated = context.sentence or context.line, entry.stated
        if is_capacity(entry) or (_SUMS.search(f"{before} {after}") and _OF_OTHERS.search(sentence)):
            return None
        is_named = names_model(sentence) or names_model(" ".join(context.headings))
        sizes = self._sizes(model, sentence, assumed=assumed, is_named=is_named)
        if sizes is None:
            return None
        kept = list(self._readings(sizes, f"{before} {after}", after, entry, context))
        if product_in_bytes := _other_product(entry, [reading for reading, _sure in kept]):
            return product_in_bytes
        for (reading, _sure), unit in product(kept, stated.unit_factors):
            apart = abs(reading.bytes - unit * stated.value)
            if apart <= stated.rough * unit and 2 * apart <= reading.bytes:
                return Judged("right", counts=reading.in_words())
        sure = [reading for reading, is_sure in kept if is_sure]
        words = f"{before} {after} {sentence}"
        is_direct = bool(entry.cells) or any(
            map(_named, (before, after, context.sentence, *context.names, *context.headings))
        )
        if not sure or context.supposes or _OTHERWISE.search(words) or not is_direct:
            return None
        lengths = {*_lengths(sentence)} - {(1,)}
        if not entry.cells and (len(lengths) > 1 or len(_MODEL_SIZE.findall(sentence)) > 1):
            return None  # the sentence is about several models or several sequence lengths
        return _wrong(stated.value, stated.unit_factors, sure, [reading for reading, _sure in kept], model)

    def _beside(self, entry: WrittenNumber, last: int, context: Context, headers: Collection[str]) -> tuple[str, str]:
        """The words before a number, back to the previous size, and the words after it.

        In a table, the words before it are its column header and its row.
        """
        if entry.cells:
            is_narrow = len(headers) == len(entry.cells) <= _MOST_COLUMNS
            row = zip(headers, entry.cells, strict=True) if is_narrow else ()
            others = [f"{header}: {cell}" for header, cell in row if _SIZE.fullmatch(cell)]
            return " | ".join((context.header, *context.names[:1], *others)), ""
        before = self._text[max(last, entry.start - _MOST_BEFORE) : entry.start]
        before = _OF_LAST.sub("", before) if last else before
        before = self._words if last and _IN_OTHER_UNITS.fullmatch(before) else before
        self._words = before
        after = _BYTES.split(self._text[entry.end : entry.end + _MOST_AFTER])[0]
        after = re.split(
            r"[;；，]|, (?!batch)|,(?=[0-9]{4})|(?<!keys )(?<!key )\band\b(?! (?:per )?(?:layer|head|token))|而",
            _SENTENCE_END.split(after)[0],
        )[0]
        before = _SENTENCE_END.split(before)[-1]
        is_alone = not _WORD.search(f"{before}{after}")
        return next(iter(context.names), "") if is_alone else before, after

    def _names_cache(self, before: str, after: str, context: Context, *, is_next: bool) -> bool:
        """Whether a number is about the cache, according to the nearest words that name a use of memory.

        Without such words, it is about the cache if the previous size is (``is_next``), or if the sentence or a title
        names the cache and no other use.
        """
        cached, others = max(_last(_CACHED, before), _last(_CACHE, before)), _last(_OF_OTHERS, before)
        if cached != others:
            return cached > others
        first, other = _named(after), _OF_OTHERS.search(after)
        if first or other:
            return bool(first and not (other and other.start() < first.start()))
        if is_next:
            return True
        if _named(context.sentence):
            return not _OF_OTHERS.search(context.sentence)
        titles = (*context.names, *context.headings)
        title = next((title for title in titles if _named(title) or _OF_OTHERS.search(title)), "")
        return bool(_named(title) and not _OF_OTHERS.search(title))

    def _sizes(self, model: Model | None, sentence: str, *, assumed: bool, is_named: bool) -> _CacheSizes | None:
        """The sizes of the model or, if the model is unknown or assumed, the stated sizes.

        None if the model has no KV cache, or if the text does not state all sizes.
        """
        if model is not None and not assumed:
            config = model.config
            heads = config.num_attention_heads
            if not (relative_of(config) or model.family.name == "gpt2"):
                return None
            shared = getattr(config, "num_key_value_heads", None) or heads
            return _CacheSizes(config.num_hidden_layers, heads, shared, config.hidden_size // heads)
        return _stated_sizes(sentence) if is_named else self._stated

    def _readings(
        self, sizes: _CacheSizes, beside: str, after: str, entry: WrittenNumber, context: Context
    ) -> Iterator[tuple[_KeysAndValues, bool]]:
        """The meanings that the words allow, the likeliest first, each with True if the words state every size."""
        titles = " ".join((*context.headings, *context.names))
        line_start = self._text.rfind("\n", 0, entry.start) + 1
        sentence = _SENTENCE_END.split(self._text[max(line_start, entry.start - 2 * _MOST_BEFORE) : entry.start])[-1]
        places = (after, beside, "" if entry.cells else sentence, titles)
        heads = self._heads(sizes, places)
        layers = self._layers(sizes, heads, places, context)
        multiplied = entry.numbers & {sizes.layers, sizes.heads, sizes.shared, *_of_all_heads(sizes)}
        if entry.numbers and entry.computes and not multiplied and not _ANY_LAYER.search(beside):
            layers, heads = _Options((1, sizes.layers), sure=False), _Options((1, sizes.shared), sure=False)
        tokens = self._tokens(places)
        is_each_token = tokens.sure and tokens.values == (1,)
        batch = _Options((1,)) if is_each_token else self._batch(places[1:], entry)
        widths = self._widths(entry, places)
        without = _CACHED.sub(" ", beside)
        of_keys, of_values = bool(_ONLY_KEYS.search(without)), bool(_ONLY_VALUES.search(without))
        only = of_keys != of_values or (of_keys and bool(_EACH.search(without)))
        sure = all(option.sure for option in (layers, heads, tokens, batch)) and not only
        for layer, head, token, sequences, width in product(
            layers.values, heads.values, tokens.values, batch.values, widths.values
        ):
            is_usual = widths.sure and width == widths.values[0]
            yield _KeysAndValues(sizes, layer, head, token, sequences, width), sure and is_usual
            if only:
                yield _KeysAndValues(sizes, layer, head, token, sequences, width, of_both=1), False

    def _layers(self, sizes: _CacheSizes, heads: _Options, places: Sequence[str], context: Context) -> _Options:
        after, beside, sentence, titles = places
        if _ONE_LAYER.search(after) or _ONE_LAYER.search(beside):
            return _Options((1,))
        if _ALL_LAYERS.search(beside):
            return _Options((sizes.layers,))
        if heads.sure and heads.values == (1,) != (sizes.shared,) and not _MULTI_QUERY.search(beside):
            return _Options((1,))
        others = re.sub(
            rf"(?<![0-9]){sizes.layers}[ -]?个?(?:\w+ )?(?:layers?|层)", " ", f"{sentence} {titles}", flags=re.I
        )
        if not _ANY_LAYER.search(others):
            return _Options((sizes.layers,))
        scope = context.scope(sizes.layers)
        if scope == "one":
            return _Options((1,))
        return _Options((sizes.layers,)) if scope == "all" else _Options((sizes.layers, 1), sure=False)

    def _heads(self, sizes: _CacheSizes, places: Sequence[str]) -> _Options:
        _after, beside, sentence, titles = places
        if _ONE_HEAD.search(beside):
            return _Options((1,))
        if _MULTI_HEAD.search(beside):
            return _Options((sizes.heads,))
        if _MULTI_QUERY.search(beside):
            return _Options((1,))
        if sizes.shared != sizes.heads and _MULTI_HEAD.search(f"{sentence} {titles}") and not _GROUPED.search(beside):
            return _Options((sizes.shared, sizes.heads), sure=False)
        if _ONE_HEAD.search(f"{sentence} {titles}"):
            return _Options((sizes.shared, 1), sure=False)
        return _Options((sizes.shared,), sure=not _MULTI_QUERY.search(sentence))

    def _tokens(self, places: Sequence[str]) -> _Options:
        """The possible numbers of tokens, from the nearest words that state any; 1 if no words do."""
        after, beside, sentence, *_titles = places
        if _EACH_TOKEN.match(after.strip(" *`_)")):
            return _Options((1,))
        for place in (*places, self._text):
            if lengths := self._lengths if place is self._text else _lengths(place):
                values = tuple(dict.fromkeys(length for several in reversed(lengths) for length in several))
                return _Options(values, sure=len(set(lengths)) == 1 or place in (beside, sentence))
        return _Options((1,), sure=False)

    def _batch(self, places: Sequence[str], entry: WrittenNumber) -> _Options:
        """The possible numbers of sequences: 1, and the batch sizes that the text states near or before the number."""
        beside, *others = places
        if _last(_ONE_SEQUENCE, beside) > _last(_BATCH, beside):
            return _Options((1,))
        for place in (beside, *others):
            if numbers := _batches(place):
                return _Options((*sorted(numbers), 1), sure=False) if len(numbers) > 1 else _Options(tuple(numbers))
        behind = re.split("[;；]", _BYTES.split(_SENTENCE_END.split(self._text[entry.end :][:_MOST_BEFORE])[0])[0])[0]
        before = {number for end, number in self._batches if end <= entry.start}
        several = sorted(before | _batches(behind))
        return _Options((1, *several[:3]), sure=not set(several) - {1})

    def _widths(self, entry: WrittenNumber, places: Sequence[str]) -> _Options:
        """The possible bytes per element: those that the text states, or else 2 (half precision) and 4 (float32)."""
        for side in entry.sides:
            for operand in side.operands:
                if re.fullmatch(r"[124]\s?(?:bytes?|字节|B)", operand.text, re.I):
                    return _Options((int(operand.text[0]),))
        for place in (*places, self._text):
            if widths := self._widths_of_text if place is self._text else widths_in(place):
                return _Options(tuple(widths), sure=len(widths) == 1)
        return _Options((2, 4))


def _of_all_heads(sizes: _CacheSizes) -> tuple[int, int]:
    """The size of a token's keys in one layer: with separate keys for all heads, and with shared keys."""
    return sizes.heads * sizes.head_size, sizes.shared * sizes.head_size


def _named(words: str) -> re.Match[str] | None:
    return _CACHED.search(words) or _CACHE.search(words)


def _last(pattern: re.Pattern[str], words: str) -> int:
    return max((match.end() for match in pattern.finditer(words)), default=-1)


def _batches(words: str) -> set[int]:
    """The batch sizes in a text."""
    return {number for _end, number in _batches_with_ends(words)}


def _batches_with_ends(words: str) -> list[tuple[int, int]]:
    """The batch sizes in a text, as (end position, batch size) pairs."""
    return [
        (match.end(), int((match["number"] or match["users"]).replace(",", ""))) for match in _BATCH.finditer(words)
    ]


def _lengths(words: str) -> list[tuple[int, ...]]:
    """The sequence lengths in a text, in order, each with all its meanings (4K: 4,096 or 4,000); 1 for "per token"."""
    lengths: list[tuple[int, ...]] = []
    matches = (*_TOKENS.finditer(words), *_EACH_TOKEN.finditer(words))
    for match in sorted(matches, key=lambda match: match.start()):
        if match.re is _EACH_TOKEN:
            lengths.append((1,))
            continue
        number = Fraction((match["number"] or match["length"]).replace(",", ""))
        scale = (match["scale"] or match["prefix"] or "").lower()
        if number * _SCALES[scale][0] >= _LEAST_TOKENS:
            lengths.append(tuple(int(number * factor) for factor in _SCALES[scale]))
    return lengths


def _stated_sizes(text: str) -> _CacheSizes | None:
    """The sizes that a text states; None if a size is missing or has several values."""
    sizes: dict[str, int] = {}
    for name, pattern in _NUMBER_OF.items():
        matches = re.finditer(pattern, text, re.I if name != "layers" else 0)
        values = {int(next(filter(None, match.groups()))) for match in matches}
        if len(values) > 1:
            return None
        if values:
            sizes[name] = values.pop()
    if "layers" not in sizes or ("shared" not in sizes and _GROUPED.search(text)):
        return None
    heads = sizes.get("heads", sizes.get("shared", 0))
    if "head_size" not in sizes and "hidden" in sizes:
        heads = heads or 1
        sizes["head_size"] = sizes["hidden"] // heads
    if not heads or "head_size" not in sizes:
        return None
    return _CacheSizes(sizes["layers"], heads, sizes.get("shared", heads), sizes["head_size"])


def _wrong(
    value: Fraction,
    units: Collection[Fraction],
    sure: Collection[_KeysAndValues],
    kept: Collection[_KeysAndValues],
    model: Model | None,
) -> Judged | None:
    """Judge a wrong number by its likeliest meaning; return None if another meaning or model may explain it."""
    near = (abs(reading.bytes - unit * value) <= _NEAR * reading.bytes for reading in kept for unit in units)
    right = next(iter(sure))
    cause = _cause(right, value, units)
    if any(near) or (not cause and is_far(value, right.bytes, _FARTHEST)):
        return None
    if model is not None and any(_keeps(config, right, value, units) for config in _siblings(model)):
        return None
    described = right.in_words()
    judged = should_be(right.bytes, described, "bytes")
    if not cause:
        return judged
    stated = in_words(right.bytes, "bytes")
    reason = Problem.of(N_("{right} is right for {part}: {cause}."), right=stated, part=described, cause=cause)
    return judged._replace(reasons=(reason,))


def _siblings(model: Model) -> Iterator[_CacheSizes]:
    """The sizes of larger models that a name without a size may also mean: GPT-2 XL for GPT-2."""
    name = preset_with(model.config)
    for other, preset in PRESETS.items():
        if name and other.startswith(f"{name}-"):
            heads = preset.config.num_attention_heads
            yield _CacheSizes(preset.config.num_hidden_layers, heads, heads, preset.config.hidden_size // heads)


def _keeps(sizes: _CacheSizes, kept: _KeysAndValues, value: Fraction, units: Collection[Fraction]) -> bool:
    layers = 1 if kept.layers == 1 else sizes.layers
    other = kept._replace(sizes=sizes, layers=layers, heads=1 if kept.heads == 1 else sizes.shared)
    return any(abs(other.bytes - unit * value) <= _NEAR * other.bytes for unit in units)


def _cause(kept: _KeysAndValues, value: Fraction, units: Collection[Fraction]) -> Problem | None:
    """The mistake that leads from the right bytes to ``value``; None if no mistake does."""
    sizes = kept.sizes
    of_all, several = kept.layers > 1, sizes.heads > sizes.shared == kept.heads
    causes = (
        (Fraction(sizes.heads, sizes.shared), several, _OF_ALL_HEADS),
        (Fraction(1, kept.layers), of_all, N_("only one layer is counted")),
        (Fraction(kept.layers), of_all, N_("the layers are counted twice")),
        (Fraction(1, kept.heads), kept.heads > 1, N_("only one head is counted")),
        (Fraction(1, 2), True, N_("only half is counted, such as the keys without the values")),
        (Fraction(1, kept.tokens), kept.tokens > 1, N_("only one token is counted")),
        (Fraction(1, kept.batch), kept.batch > 1, N_("only one sequence is counted")),
    )
    for ratio, applies, message in causes:
        wrong = ratio * kept.bytes
        if applies and any(abs(wrong - unit * value) <= _NEAR * wrong for unit in units):
            return Problem.of(message, heads=sizes.heads, shared=sizes.shared)
    return None


def _other_product(entry: WrittenNumber, readings: Sequence[_KeysAndValues]) -> Judged | None:
    """Judge the wrong result of a right calculation of the cache's bytes: 2 × 32 × ... × 2 = 3 GB.

    Return None for other numbers.
    """
    side, stated = entry.calculation, entry.stated
    if side is None or side.unit or stated.is_calculation:
        return None
    if not any(reading.bytes == side.value and reading.width > 1 and reading.of_both > 1 for reading in readings):
        return None
    near = (stated.may_mean(side.value, unit) for unit in stated.unit_factors)
    return None if any(near) else gives(side.value, stated.text, "bytes")
