"""Judge the bytes that training needs for parameters: weights, gradients, and Adam's two moments.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "Training BERT-base in float32 with Adam: weights, gradients and both moments take 1.31 GB."
>>> entry, training = find(text, {})[-1], TrainingClaims(text)
>>> judged = training.judge(ClaimedNumber(entry, Surroundings(text).of(entry), build(BertConfig())), Judged("unknown"))
>>> judged.verdict, int(judged.right_value)
('wrong', 1751715840)
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from bertcalc.diagnosis.known_counts import every_count, known_counts
from bertcalc.diagnosis.relatives import nominal_count
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.named_parts import names_part_but_whole
from bertcalc.proofreading.verdicts import UNKNOWN, ClaimedNumber, Judged, is_far, should_be
from bertcalc.text import N_
from bertcalc.text.amounts import typed
from bertcalc.text.problem import Problem

# What training stores for each parameter: the pattern of its names, and its bytes per parameter in float32.
_KEPT = {
    "gradients": (
        r"\bgrad(?:ient)?s?\b|梯度",
        4,
    ),
    "moments": (
        r"\badam\w*(?:'s)?[ -](?:optimi[sz]er )?(?:states?|moments?)|optimi[sz]ers?(?:[ -]states?)?(?! and)"
        r"|\b(?:both |two )?moments\b"
        r"|\bmomentum (?:and|\+|&) variance|(?:first|1st)(?: moments?)? and (?:second|2nd) moments?|\b2 ?x? adam"
        r"|优化器(?:的)?(?:状态)?|adam\w*\s?(?:的)?(?:优化器)?状态|[两二2]\s?个?(?:一阶)?动量"
        r"|一阶(?:动量)?[、和与]?\s?(?:和|与)?二阶|动量[和与+、]\s?方差"
        r"|\badam\w* \w+ (?:another|an additional|additional|a further|an extra)|\bm\s?(?:and|和|与|&|/|、)\s?v\b",
        8,
    ),
    "master": (r"\bmaster (?:weights?|cop)|主(?:权重|参数|副本)", 4),
    "weights": (r"\bweights?\b|\bparam(?:eter)?s?\b|\bmodel\b|权重|参数|模型", 4),
}
_TOTAL = re.compile(
    r"\btrain(?:s|ing)?\b|\bfine.?tun(?!ed)|\bstatic\b|\ball (?:the |adam |optimi[sz]er )?states|训练|微调|静态", re.I
)
_SUM = re.compile(r"\b(?:sum|total|together|altogether|in all)\b|合计|总计|总共|一共|加起来|小计|共", re.I)
_ADAM = re.compile(r"\badam", re.I)
_IN_FLOAT32 = re.compile(r"fp32|float32|single precision|32[- ]bit|单精度|全精度|full precision", re.I)
_MIXED = re.compile(r"mixed|\bamp\b|fp16|bf16|float16|half[- ]prec|16[- ]bit|混合|半精度", re.I)
# Words for training that stores other data per parameter, or data for only some parameters.
_OTHERWISE = re.compile(
    r"8[- ]?bit|4[- ]?bit|adafactor|\blion\b|\bzero\b|fsdp|shard|offload|per (?:gpu|device)"
    r"|\bsgd\b|each moment|one moment|single moment|first moment(?! and)|per moment|activation|batch|kv|peak"
    r"|checkpoint"
    r"|infer|\bema\b|\bfile|\bdisk|激活|批|缓存|推理|峰值|每个动量|单个动量|每张|分片",
    re.I,
)
_OF_EACH = re.compile(r"(?:各占?|\beach)[\s*$≈~约:：]{0,3}$", re.I)  # as in "m and v, each 28 GB"
_OF_FEW = re.compile(r"\blora\b|adapter|freez|frozen|适配器|冻结|低秩", re.I)
_WITHOUT_ACTIVATIONS = re.compile(
    r"(?:plus|before|without|excluding|not counting|no|ignoring|不(?:算|含|包括|计)|未计|另加)[ (]*(?:the |any )?"
    r"(?:中间)?(?:activations?|激活值?)",
    re.I,
)
_WOULD_NEED = re.compile(r"\bwould (?:need|take|require|cost|use|be|occupy)", re.I)
_OF_ALL = re.compile(r"\bfull\b|全量|全参|全部参数", re.I)  # "full" contrasts with the adapters of the same sentence
_PLUS = re.compile(r"[\W]*(?:\+|plus|and|with|adding|加上?|再加|还有)", re.I)
_CONTRAST = re.compile(r"^\W*(?:而|versus|vs|compared|against|instead|while|whereas|but)|全量|\bfull\b", re.I)
_JOINED = re.compile(r"\band\b|[+&和与及]")
# Comparisons that name the weights but do not count them: the gradients have the same size as the weights,
# 梯度的大小与模型参数相同
_SAME_AS = re.compile(
    r"\b(?:(?:the )?same (?:size |memory |amount |number )?(?:as|of)|as (?:large|big|much|many) as|equal to)"
    r" (?:that of )?(?:the |its )?(?:model(?:'s)? )?(?:weights|parameters|params|model)\b"
    r"|(?:与|和|跟|同)(?:模型)?(?:参数|权重)(?:量|的?大小|数量)?(?:相同|一样|一致|相等|相当)",
    re.I,
)
_EACH_PARAMETER = re.compile(
    r"\b(?:per|each|every|a) param\w*|每个?参数|所有参数"
    r"|[0-9]\s?(?:[MBK]|million|billion)? (?:trainable |trained )?param\w*",
    re.I,
)
_SAME = re.compile(r"\bsame\b|\bthat\b(?!['’]s)|likewise|同样|相同|一样", re.I)
_STATED = (
    re.compile(
        r"(?<![\w.])(?P<width>[0-9]{1,2})\s?(?:bytes?|B)\s?(?:/|per|for (?:each|every)|each|a)\b\s?(?:param"
        r"|weight|of them|one)?",
        re.I,
    ),
    re.compile(
        r"每个?(?:参数|权重)\s?(?:占|需要?|共|要|为|约)?\s?(?P<width>[0-9]{1,2})\s?(?:个?字节|B\b|bytes?)", re.I
    ),
    re.compile(r"=\s?(?P<width>[0-9]{1,2})\s?(?:bytes?|个?字节)\b", re.I),
)
# Bytes per parameter, for N parameters: 8N = 875.9 MB
_PER_PARAMETER = re.compile(
    r"(?<![0-9A-Za-z.])(?P<width>[0-9]{1,2})\s?[*×·]?\s?(?:N|Φ|Ψ|\\?Psi|\\?Phi)\s?(?:bytes?|字节"
    r"|B)?\s?[$=≈:：~\s]{1,6}$"
)
_WIDTHS = (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24)
_IN_MIXED = (18, 20)
_SENTENCE_END = re.compile(r"[。!?！？;；\n]|\.(?=\s)")
_STATED_COUNT = re.compile(
    r"(?P<count>(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3}){0,3}(?:\.[0-9]{1,4})?\s?(?:[MBK]|million|billion|亿|万))\s?(?:个)?(?:param|参数)",
    re.I,
)
_BYTES = re.compile(r"[0-9][0-9.,]*\s?~?(?:[KMGT]i?B|bytes|字节)\b", re.I)
_NEAR_LINES, _MOST_EMPTY, _MOST_BEFORE, _MOST_AFTER, _MOST_BEFORE_COUNT = 6, 2, 200, 60, 600
_NEAR, _LAST_DIGITS, _ROUNDED = Fraction(3, 100), Fraction(1, 1000), Fraction(1, 80)
_FARTHEST, _LEAST_NAMED = 20, 10**4


class _BytesOfEach(NamedTuple):
    """The bytes per parameter that a number may count, the likeliest first.

    ``sure`` says whether a number that does not fit them is wrong.
    """

    widths: tuple[int, ...]
    counts: Problem
    sure: bool


class _NamedBytes(NamedTuple):
    """A number of bytes in the text: its line, its end, and what it counts according to the text."""

    line: int
    end: int
    parts: frozenset[str]


class _JudgedBytes(NamedTuple):
    """A number of bytes that was judged: its line, its end, what it counts, and the model."""

    line: int
    end: int
    expected: _BytesOfEach
    model: Model


class TrainingClaims:
    """Judges a text's numbers about training memory, in the order of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._kept: list[_JudgedBytes] = []
        self._named: list[_NamedBytes] = []
        self._last = 0

    def judge(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a size of training memory; return None if the number counts something else."""
        entry, context, model = number.entry, number.context, number.model
        if entry.stated.unit != "bytes" or model is None:
            return None
        last, self._last = self._last, entry.end
        stated = _PER_PARAMETER.search(context.before)
        if stated and int(stated["width"]) in _WIDTHS:
            return _of_width(int(stated["width"]), entry.stated, model)
        label = _own(self._label(entry, last, context))
        parts, alone = _parts(label), re.split("[,，、]", label)[-1]
        if not parts and _CONTRAST.search(label) and self._named and self._named[-1].end == last:
            # As in "the moments of LoRA take 2.4 MB, while full fine-tuning needs 997 MB".
            parts = self._named[-1].parts
        expected = self._expected(entry, label, parts, context, model)
        if expected and (last_part := _parts(alone)) and last_part != parts and not _JOINED.search(alone):
            # Only the end of the label may be meant: the gradients the same, Adam's two moments 875.9 MB
            other = self._expected(entry, alone, last_part, context, model) or expected
            expected = other._replace(widths=(*other.widths, *expected.widths))
        if entry.value >= _LEAST_NAMED:
            self._named.append(_NamedBytes(entry.line, entry.end, parts or frozenset(("other",))))
        if expected is None:
            return None
        words = _WITHOUT_ACTIVATIONS.sub(" ", " ".join((label, context.sentence or context.line)))
        supposes = context.supposes and not _WOULD_NEED.search(words)
        is_of_few = _OF_FEW.search(words) and not _OF_ALL.search(label)
        is_share = bool(_OF_EACH.search(context.before))
        if _OTHERWISE.search(words) or is_of_few or supposes or is_share or _names_part(label):
            return UNKNOWN if judged.verdict == "wrong" and "moments" in parts and not entry.computes else None
        self._kept.append(_JudgedBytes(entry.line, entry.end, expected, model))
        by_width = _judged(entry.stated, expected, model, judged)
        if by_width and by_width.verdict == "wrong" and self._is_of_stated_count(entry):
            return UNKNOWN
        is_open = not entry.computes or (
            judged.verdict == "unknown"
            and by_width
            and (by_width.verdict == "right" or not _is_of_any_width(entry.stated, model))
        )
        return by_width if is_open else None

    def _is_of_stated_count(self, entry: WrittenNumber) -> bool:
        """Whether a size is the last count before it times a usual number of bytes: 150M parameters take 1,200 MB."""
        before = self._text[max(0, entry.start - _MOST_BEFORE_COUNT) : entry.start]
        stated = [typed(match["count"]).value for match in _STATED_COUNT.finditer(before)]
        return bool(stated) and any(stated[-1] * width == entry.stated.value for width in _WIDTHS)

    def fits(self, entry: WrittenNumber, other: Model) -> bool:
        """Whether a number is right for a different model, if ``judge`` has just judged it as training memory."""
        kept = self._kept[-1] if self._kept and self._kept[-1].end == entry.end else None
        judged = _judged(entry.stated, kept.expected, other, Judged("unknown")) if kept else None
        return judged is not None and judged.verdict in ("right", "conditional")

    def _label(self, entry: WrittenNumber, last: int, context: Context) -> str:
        """The words that say what a number counts: before it, and after it if they begin with "for" or similar."""
        if entry.cells:
            return " ".join((*context.names[:1], context.header))
        before = self._text[max(last, entry.start - _MOST_BEFORE) : entry.start]
        before = _SENTENCE_END.split(before)[-1]
        if (
            last
            and self._text[last : last + 5].lstrip(" *$").startswith(("for ", "of "))
            and last >= entry.start - len(before)
        ):
            before = re.sub(r"^\W*(?:for|of)\s[^,;，；]*?(?:,|;|\band\b|$)", "", before)
        after = _BYTES.split(self._text[entry.end : entry.end + _MOST_AFTER])[0]
        after = _SENTENCE_END.split(after)[0]
        of = re.match(
            r"[\s*$]*(?:(?:for|of|to hold|to store|on)\s|in total|together|altogether|combined|overall)", after
        )
        return f"{before} {after}" if of else before

    def _expected(
        self, entry: WrittenNumber, label: str, parts: frozenset[str], context: Context, model: Model
    ) -> _BytesOfEach | None:
        """The bytes per parameter that the words beside a number mean; None if they mean no part of training memory."""
        near = (context.sentence or context.line, *context.headings[:2], *context.names[:2])
        around = " ".join((label, *near))
        if width := self._stated_width(entry, context):
            return _BytesOfEach((width,), Problem.of(_EACH, width=width), True)
        is_mixed = bool(_MIXED.search(around)) and not _IN_FLOAT32.search(label)
        above = self._above(entry)
        if _SUM.search(label) and above and not parts - {"weights"}:
            return self._sum(above, is_mixed)
        if parts == {"moments"} and not _NOT_ONLY_MOMENTS.search(label.lstrip("+ ")):
            return self._added(
                _BytesOfEach((8, 12) if is_mixed else (8,), Problem.of(_MOMENTS), not is_mixed), label, above
            )
        if parts == {"gradients"}:
            in_float32 = bool(_IN_FLOAT32.search(around)) and not is_mixed
            widths = (4,) if in_float32 else (4, 2)
            return self._added(_BytesOfEach(widths, Problem.of(_GRADIENTS), in_float32), label, above)
        if len(parts) > 1 and parts & {"gradients", "moments", "master"}:
            width = sum(_KEPT[part][1] for part in parts)
            if is_mixed:
                mixed = (_ALL, *_IN_MIXED) if {"gradients", "moments"} <= parts else (width,)
                return _BytesOfEach(mixed, Problem.of(_EACH, width=mixed[0]), parts == {"master", "moments"})
            if {"gradients", "moments"} <= parts and "weights" not in parts and _TOTAL.search(label):
                return _BytesOfEach((width, _ALL), Problem.of(_EACH, width=width), True)
            widths = (width,)
            if _PLUS.match(label) and (others := frozenset[str]().union(*above) - parts - {"other"}):
                widths = (width, width + sum(_KEPT[part][1] for part in others))  # added to the sizes above
            return _BytesOfEach(widths, Problem.of(_EACH, width=width), True)
        is_near = bool(self._kept) and entry.line - self._kept[-1].line <= _NEAR_LINES
        if is_near and (_SAME.search(label) or self._is_next_model(entry, label, parts, model)):
            return self._kept[-1].expected
        if parts <= {"weights", "moments"} and _TOTAL.search(label) and _ADAM.search(around):
            sure = bool(_IN_FLOAT32.search(around)) or self._has_total()
            return _BytesOfEach((_ALL, *_IN_MIXED), Problem.of(_TRAINING), sure and not is_mixed)
        if parts <= {"weights"} and _TOTAL.search(label) and self._has_total():
            return _BytesOfEach((_ALL, *_IN_MIXED), Problem.of(_TRAINING), not is_mixed)
        return None

    def _added(self, expected: _BytesOfEach, label: str, above: Sequence[frozenset[str]]) -> _BytesOfEach:
        """Add the bytes per parameter of a running sum if a plus precedes the number: plus gradients, 2.7 GB."""
        if not _PLUS.match(label):
            return expected
        before = sum(_KEPT[part][1] for parts in above for part in parts - {"other"})
        return expected._replace(widths=(*expected.widths, expected.widths[0] + before))

    def _stated_width(self, entry: WrittenNumber, context: Context) -> int:
        """The bytes per parameter that the sentence states before a number; 0 if it states none."""
        before = self._text[max(0, entry.start - 2 * _MOST_BEFORE) : entry.start]
        sentence = _SENTENCE_END.split(before)[-1]
        if entry.cells:
            sentence = f"{context.header} {' '.join(context.names[:1])}"
        stated = [match for pattern in _STATED for match in pattern.finditer(sentence)]
        latest = max(stated, key=lambda match: match.end(), default=None)
        if latest is None or int(latest["width"]) not in _WIDTHS:
            return 0
        between = sentence[latest.end() :]
        changes = any(re.search(pattern, between, re.I) for pattern, _width in [*_KEPT.values()][:3])
        return 0 if changes or _OTHERWISE.search(between) or _OF_FEW.search(between) else int(latest["width"])

    def _above(self, entry: WrittenNumber) -> list[frozenset[str]]:
        """The parts of training memory that the numbers in the few lines above count, the nearest first."""
        near: list[frozenset[str]] = []
        line = entry.line
        for named in reversed(self._named):
            if line - named.line > _MOST_EMPTY or entry.line - named.line > _NEAR_LINES:
                break
            near.append(named.parts)
            line = named.line
        return near

    def _sum(self, above: Sequence[frozenset[str]], is_mixed: bool) -> _BytesOfEach | None:
        """The possible bytes per parameter of a sum of the previous numbers: 16 if they include Adam's moments."""
        if any("other" in parts for parts in above):
            return None
        if not any("moments" in parts for parts in above):
            width = sum(_KEPT[part][1] for part in {part for parts in above for part in parts})
            return _BytesOfEach((width,), Problem.of(_EACH, width=width), False) if len(above) > 1 else None
        widths = (_ALL, *_IN_MIXED) if is_mixed else (_ALL,)
        return _BytesOfEach(widths, Problem.of(_TRAINING), not is_mixed)

    def _is_next_model(self, entry: WrittenNumber, label: str, parts: frozenset[str], model: Model) -> bool:
        """Whether a number repeats the previous number's claim for a different model."""
        last = self._kept[-1]
        if last.model is model or parts - {"weights"} or _IN_FLOAT32.search(label) or _MIXED.search(label):
            return False
        row = bool(entry.cells) and entry.line == last.line
        return row or (entry.line == last.line and not _SENTENCE_END.search(self._text[last.end : entry.start]))

    def _has_total(self) -> bool:
        """Whether the text has already counted 16 bytes per parameter."""
        return any(kept.expected.sure and kept.expected.widths[0] == _ALL for kept in self._kept)


_ALL = 16
_NOT_ONLY_MOMENTS = re.compile(
    r"weights|total|altogether|half|fp16|bf16|16[ -]bit|master|\ball\b|权重|合计|总|半精度|所有|全部|\+", re.I
)
_EACH = N_("{width} bytes per parameter")
_MOMENTS = N_("Adam's two moments of each parameter, in float32")
_GRADIENTS = N_("the gradient of each parameter")
_TRAINING = N_("weights, gradients and Adam's two moments: 16 bytes per parameter")


def _own(label: str) -> str:
    """The last piece of a label, split at colons, that names a use of memory: "gradients" in "gradients: the same"."""
    pieces = re.split("[:：]", label)
    return next((piece for piece in reversed(pieces) if _parts(piece) or _SUM.search(piece)), label)


def _parts(label: str) -> frozenset[str]:
    """The parts of training memory that words name; "master weights" do not count as weights."""
    rest, parts = _EACH_PARAMETER.sub(" ", _SAME_AS.sub(" ", label)), set[str]()
    for part, (pattern, _width) in _KEPT.items():
        if re.search(pattern, rest, re.I):
            parts.add(part)
            rest = re.sub(pattern, " ", rest, flags=re.I)
    return frozenset(parts)


def _names_part(label: str) -> bool:
    """Whether words name a part of the model, such as the embeddings."""
    for pattern, _width in _KEPT.values():
        label = re.sub(pattern, " ", label, flags=re.I)
    return names_part_but_whole(re.sub(r"\b(?:matrices|layers?|fp32|total)\b|\+", " ", label, flags=re.I))


def _of_width(width: int, side: ChainSide, model: Model) -> Judged | None:
    """Judge a number by a stated number of bytes per parameter."""
    expected = _BytesOfEach((width,), Problem.of(_EACH, width=width), True)
    return _judged(side, expected, model, Judged("unknown"), _LAST_DIGITS, _NEAR / 3)


def _is_of_any_width(side: ChainSide, model: Model) -> bool:
    """Whether a size is close to some usual number of bytes per parameter."""
    count = nominal_count(model) or model.num_parameters()
    return any(abs(width * count - side.value) <= _NEAR * side.value for width in (*_WIDTHS, *_IN_MIXED))


def _judged(
    side: ChainSide,
    expected: _BytesOfEach,
    model: Model,
    judged: Judged,
    nearly: Fraction = _ROUNDED,
    near: Fraction = _NEAR,
) -> Judged | None:
    """Judge a number by the expected bytes per parameter; it is conditional if it fits a different number of bytes.

    ``judged`` is the verdict so far. A size is right within ``nearly`` of the expected size, and not wrong within
    ``near``. Return None if the verdict so far stands.
    """
    totals = [count.total for count in every_count(model.config, known_counts) if count.model.config == model.config]
    totals = [model.num_parameters(), *totals, *filter(None, [nominal_count(model)])]
    sizes = [factor * side.value for factor in side.unit_factors]

    def fitting(width: int, tolerance: Fraction) -> int:
        return next(
            (
                total
                for total in totals
                for size in sizes
                if abs(width * total - size) <= max(side.rough, width * total * tolerance)
            ),
            0,
        )

    def is_size(width: int, tolerance: Fraction) -> bool:
        return bool(fitting(width, tolerance))

    if any(is_size(width, nearly) for width in expected.widths):
        is_first = is_size(expected.widths[0], nearly) and expected.counts.message != _TRAINING
        if is_first or expected.sure:
            return Judged("right", counts=expected.counts)
        return None if judged.verdict == "right" else _conditional(side, model, expected.widths)
    other = next((width for width in _WIDTHS if is_size(width, nearly)), 0)
    is_part = other and expected.widths[0] % other == 0  # half as much may be one moment instead of two
    parameters = (fitting(other, _LAST_DIGITS) if is_part else 0) or model.num_parameters()
    right = Fraction(expected.widths[0] * parameters)
    if not expected.sure:
        return _conditional(side, model, (other,)) if other and judged.verdict != "right" else None
    if is_size(expected.widths[0], near) or is_far(side.value, right, _FARTHEST):
        return None
    return should_be(right, expected.counts, "bytes")


def _conditional(side: ChainSide, model: Model, widths: Sequence[int]) -> Judged:
    """Return the verdict that a number is right with one of ``widths``, in bytes per parameter."""
    width = min(widths, key=lambda width: abs(width * model.num_parameters() - side.value))
    reason = Problem.of(N_("This is correct with {width} bytes per parameter."), width=width)
    return Judged("conditional", Fraction(width * model.num_parameters()), reason, (reason,))
