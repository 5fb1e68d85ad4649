"""Judge byte counts: the size of the weights or of a file."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, product
from math import ceil, floor
from operator import mul
from typing import NamedTuple

from bertcalc.diagnosis.file_sizes import PRECISIONS, file_sizes
from bertcalc.diagnosis.known_counts import KnownCount, every_count, known_counts
from bertcalc.diagnosis.layer_parts import PARTS, WHOLE_OR_BODY
from bertcalc.diagnosis.miscounts import total
from bertcalc.diagnosis.part_words import known_in_words, part_in_words
from bertcalc.diagnosis.relatives import nominal_count
from bertcalc.model.model import Model
from bertcalc.proofreading.claims import Verdict, in_words
from bertcalc.proofreading.labelled_counts import near_bytes
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import models_named, names_model
from bertcalc.proofreading.named_parts import (
    all_parts,
    meant_alone,
    names_part_but_whole,
    scoped,
    with_and_without_biases,
)
from bertcalc.proofreading.verdicts import UNKNOWN, Judged, is_far, should_be
from bertcalc.proofreading.whole_counts import COUNT_OF_ALL, OWN_MODEL, claimed_counts, is_total, opens_behind_name
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import Problem


def judge_bytes(entry: WrittenNumber, context: Context, model: Model) -> Judged:
    """Judge a byte count as the size of weights, in the text's precision and in units of 1,000 or 1,024."""
    if any(map(_FOUR_BITS.search, context.names[:1])) or re.match(_AFTER + _FOUR_BITS.pattern, entry.after, re.I):
        return UNKNOWN  # each 4-bit format stores different scales in addition to the weights
    if is_capacity(entry) or any(map(_OF_BATCH.fullmatch, context.names[:1])):
        return UNKNOWN
    of_part = any(map(_names_part, (*context.names, *context.headings[:1], context.header, context.line)))
    stored = list(_stored(entry.stated, model, of_part=of_part))
    if not of_part and _is_of_model(context):
        stored = [size for size in stored if not _is_coincidence(size, entry.stated, model)]
    width = _named_width(entry, context)
    if width in (None, 1) and _WITHOUT_TABLES.search(context.sentence):
        return UNKNOWN  # 8-bit formats may leave the embeddings as they are
    if judged := _bytes_of_meant(entry, context, width, model) or _bytes_of_written_count(entry, width, model):
        return judged
    if not stored:
        return _of_other_bytes(entry, context, model)
    fitting = [size for size in stored if width in (None, size.width)]
    if width is None and not entry.computes and not of_part and (judged := _count_in_mb(fitting, context, model)):
        return judged
    if width is None or fitting:
        return _in_its_unit(fitting[0], context)
    if not _is_of_model(context):
        return UNKNOWN  # some part has this size in another precision by chance
    right = width * model.num_parameters()
    message = N_("This is {counts}; in {dtype}, it is {bytes}.")
    counts, stated = stored[0].in_words(), in_words(Fraction(right), "bytes")
    reason = Problem.of(message, counts=counts, dtype=PRECISIONS[width], bytes=stated)
    return Judged("wrong", Fraction(right), counts, (reason,))


_CAPACITY = re.compile(
    r"\s?(?:GPUs?\b|cards?\b|A100|H100|A10|L4|T4|V100|RTX|HBM|of (?:GPU memory|V?RAM)\b|of memory (?:available|left)"
    r"|(?:is |are )?(?:left|free|remaining)\b|的?显卡)",
    re.I,
)
_CAPACITY_OF = re.compile(
    r"(?:GPUs?|cards?|A100s?|H100s?|A10G?|L4|T4|V100s?|RTX ?[0-9]{4}\w*|显卡)(?: has| with|的显存[有为是]?"
    r"|有|\W){0,3}$"
    r"|(?:\b(?:leav(?:e|es|ing)|remaining|only)|剩下?|剩余)(?: only| about| roughly|约|的|\W){0,3}$",
    re.I,
)


def is_capacity(entry: WrittenNumber) -> bool:
    """Whether a size is the total or the free memory of a GPU: an 80 GB card; an A100 with 80 GB."""
    return bool(_CAPACITY.match(entry.after) or _CAPACITY_OF.search(entry.before[-_NEAR:]))


def _bytes_of_meant(entry: WrittenNumber, context: Context, width: int | None, model: Model) -> Judged | None:
    """Judge a wrong size with a label that names one part; return None if it is nearly right in some precision."""
    meant = meant_alone(context.names[0]) if context.names and not entry.computes else []
    words = " ".join((*context.names, *context.headings, context.line, entry.after[:_NEAR]))
    about_weights = _WEIGHTS.search(words) or widths_in(words)
    if len(meant) != 1 or not about_weights or context.supposes or _NOT_WEIGHTS.search(words):
        return None
    scope = context.scope(model.config.num_hidden_layers)
    parts = [*scoped(meant[0], model, scope)]
    widths = [width] if width else widths_in(words) or list(PRECISIONS)
    counts = {total(tensors) for part in parts for tensors in with_and_without_biases(part)}
    sizes = [width * count for count in counts for width in widths]
    value = entry.stated.value
    near = (
        abs(size - factor * value) <= max(entry.stated.reach * factor, size * _NEAR_BYTES)
        for size in sizes
        for factor in entry.stated.unit_factors
    )
    if not parts or any(near):
        return None
    part = min(parts, key=lambda part: abs(part.right * widths[0] - value))
    right, described = Fraction(widths[0] * part.right), part_in_words(part, model)
    return None if is_far(value, right, _FARTHEST) else should_be(right, described, "bytes")


def _bytes_of_written_count(entry: WrittenNumber, precision: int | None, model: Model) -> Judged | None:
    """Judge the bytes of the model's rounded or published count, as in 110M × 4 bytes = 440 MB; None for others.

    ``precision`` is the number of bytes that the text states for a parameter, or None.
    """
    written = entry.calculation
    if written is None or re.search("[-−+/÷]", written.text):
        return None
    if any(count.total in written.numbers for count in every_count(model.config, known_counts)):
        return None  # an exact count, which is named
    of_model = (model.num_parameters(), *claimed_counts(model), *filter(None, [nominal_count(model)]))
    for width in accumulate(reversed(written.numbers), mul):
        count = written.value / width
        is_meant = any(abs(count - other) * _ROUNDED_COUNT <= other for other in of_model)
        is_written = any(count == number * scale for number in written.numbers for scale in (1, 10**6, 10**9))
        if is_meant and is_written and width in _BYTES_OF_EACH and precision in (None, width):
            message = N_("{count} parameters of {width} bytes each")
            return Judged("right", counts=Problem.of(message, count=int(count), width=int(width)))
    return None


# Bytes per parameter: weights, Adam's moments, and all training states in full and in mixed precision.
_BYTES_OF_EACH, _ROUNDED_COUNT = (2, 4, 8, 12, 16, 18, 20), 50
_WITHOUT_TABLES = re.compile(r"\bnon-?embedding|(?:without|excluding|except) (?:the )?embedding|非嵌入|不含嵌入", re.I)


# Words for memory that depends on the batch; it equals the size of weights only by chance.
_OF_BATCH = re.compile(
    r"(?!.*(?:weight|param|权重|参数))\W*(?:[\w-]+ ){0,2}(?:activations?|kv[ -]?cache|(?:中间)?激活值?)\W*", re.I
)
_NEAR = 40
_NOT_WEIGHTS = re.compile(
    r"activation|score|cache|\bKV\b|gradient|optimi|adam|moment|train|fine.?tun|batch|激活|缓存|梯度|优化|动量"
    r"|训练|微调",
    re.I,
)


class _Stored(NamedTuple):
    """A count that has the stated size in some precision; ``is_binary`` says whether MB has to mean MiB for that."""

    parameters: int
    part: Problem
    width: int
    is_binary: bool

    def in_words(self) -> Problem:
        message = (
            N_("the size of {known} in {dtype}, in binary units")
            if self.is_binary
            else N_("the size of {known} in {dtype}")
        )
        return Problem.of(message, known=self.part, dtype=PRECISIONS[self.width])


def _count_in_mb(stored: Sequence[_Stored], context: Context, model: Model) -> Judged | None:
    """Judge a parameter count that mistakenly has a unit of bytes, as in bert-base-uncased (110MB), or return None.

    The verdict is conditional unless the number follows a name or a word for the count: it may be a size in 8 bits.
    """
    is_of_bytes = all(size.width == 1 for size in stored)
    is_count = opens_behind_name(context.before) or any(map(COUNT_OF_ALL.fullmatch, context.names[:1]))
    if not is_of_bytes or not _is_of_model(context) or context.is_in_text(_EIGHT_BITS):
        return None
    judged = should_be(4 * model.num_parameters(), Problem.of(N_("the bytes in float32")), "bytes")
    return judged if is_count else judged._replace(verdict="conditional")


_EIGHT_BITS = re.compile(r"int-?8|fp8|\b8[- ]?bits?\b|quanti[sz]|8 ?位|量化|压缩|compress", re.I)


def _in_its_unit(size: _Stored, context: Context) -> Judged:
    """Judge a right size by its unit. If MB has to mean MiB, it is right only if the text divides by 1,024."""
    counts = size.in_words()
    if not size.is_binary or _BY_1024.search(f"{context.line} {context.sentence}"):
        return Judged("right", counts=counts)
    right = Fraction(size.parameters * size.width)
    message = N_("This is correct in units of 1,024, such as MiB; in units of 1,000, it is {bytes}.")
    reason = Problem.of(message, bytes=in_words(right, "bytes"))
    verdict: Verdict = "wrong" if context.is_in_text(_BY_1000) else "conditional"
    return Judged(verdict, right, counts, (reason,))


_BY_1024 = re.compile(r"1,?024|1,?048,?576|2\s?(?:\*\*|\^)\s?\{?[123]0|[MGK]iB\b|mebi|二进制")
_BY_1000 = re.compile(r"1\s?[MG]B\s?(?:=|is|为)\s?(?:10\s?(?:\*\*|\^)\s?\{?[69]|1e[69]|1(?:[ ,]?000){2,3})", re.I)


def _names_part(words: str) -> bool:
    return names_part_but_whole(_OF_WEIGHTS.sub(" ", words))


_OF_WEIGHTS = re.compile(r"\b(?:weights?|matrices)\b|权重", re.I)


def _stored(side: ChainSide, model: Model, *, of_part: bool) -> Iterator[_Stored]:
    """Yield the counts and precisions that give a stated size; decimal units come first.

    Parts of the model are included only with ``of_part``, because nearly every size matches some part in some precision
    by chance.
    """
    parameters_of = _parameters(model) if of_part else _known(model)
    for factor in side.unit_factors:
        low, high = ceil((side.value - side.reach) * factor), floor((side.value + side.reach) * factor)
        for (parameters, part), width in product(parameters_of, PRECISIONS):
            if low <= width * parameters <= high:
                yield _Stored(parameters, part, width, factor != 1)


def _is_coincidence(size: _Stored, side: ChainSide, model: Model) -> bool:
    """Whether a rounded size fits by chance: only in binary units, and without the head (28 GB for Llama 3 8B)."""
    lacks_head = size.parameters < model.num_parameters() * _OF_WHOLE
    return size.is_binary and lacks_head and side.reach * _EXACT > side.value


_OF_WHOLE, _EXACT = Fraction(19, 20), 1000


def _named_width(entry: WrittenNumber, context: Context) -> int | None:
    """The bytes per parameter of the precision that the nearest words name; None unless they name exactly one.

    The words after the number come first, then the words before it. For a size in parentheses after another size, the
    words before that size are used: in FP32 438 MB (418 MiB). In a table, the column header is next. Elsewhere, the
    beginning of the sentence is next (In fp32 BERT-base is 438 MB, DistilBERT 265 MB), then a question before it.
    """
    restated = _RESTATED.match(context.text, entry.end) if not entry.cells else None
    behind = context.text[restated.end() : restated.end() + _NEAR] if restated else entry.after
    after = [width for width, pattern in _PRECISIONS.items() if re.match(_AFTER + pattern, behind, re.I)]
    if len(after) == 1:
        return after[0]
    if not entry.cells and _RESTATES.search(context.before):
        widths = widths_in(_WRITTEN_SIZE.split(context.before)[-2])
        return widths[0] if len(widths) == 1 else None
    if entry.cells:
        places = [*context.names[:1], context.header]
    else:
        sentences = _SENTENCE_END.split(context.before)
        question = sentences[-2:-1] if sentences[-2:-1] and _ANSWERS.fullmatch(sentences[-1]) else []
        opening = [sentences[-1][:_NEAR]] if _names_only_one(context.sentence) else []
        places = [*context.names[:1], *opening, *question]
    for place in places:
        if (widths := widths_in(place)) and not _CHANGES_PRECISION.search(place):
            return widths[0] if len(widths) == 1 else None
    return None


_WRITTEN_SIZE = re.compile(r"[0-9][0-9.,]*\s?[KMGT]i?B\b")
_RESTATED = re.compile(rf"\s?[(（][^()（）\d]{{0,12}}{_WRITTEN_SIZE.pattern}\s?[)）]")  # 219 MB (209 MiB) in FP16
_RESTATES = re.compile(rf"{_WRITTEN_SIZE.pattern}\s?[(（](?:\W|约|about|roughly){{0,3}}$")


def widths_in(words: str) -> list[int]:
    """The bytes per parameter of each precision that words name."""
    return [width for width, pattern in _PRECISIONS.items() if re.search(pattern, words, re.I)]


def _names_only_one(sentence: str) -> bool:
    """Whether a sentence is about a single precision from beginning to end."""
    return len(widths_in(sentence)) == 1 and not _FOUR_BITS.search(sentence) and not _CHANGES_PRECISION.search(sentence)


_FOUR_BITS = re.compile(r"(?:int4|\bnf4\b|(?:4|four)[ -]?bits?|4 ?位)", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；;])")
_ANSWERS = re.compile(r"\W*(?:A|Answer|Ans|Solution|答案?|解)?\W*", re.I)


# Words for a change of precision: a size beside them may be the size before or after the change.
_CHANGES_PRECISION = re.compile(
    r"halv|half of|shrink|reduc|compress|quanti|convert|cast|\bcut|\bthan\b|\bfrom\b|instead"
    r"|减|压缩|量化|转换|从|而不是",
    re.I,
)


@lru_cache(maxsize=32)
def _known(model: Model) -> tuple[tuple[int, Problem], ...]:
    """All known counts of whole models, as (count, description) pairs."""
    return tuple((count.total, known_in_words(count)) for count in every_count(model.config, known_counts))


@lru_cache(maxsize=32)
def _parameters(model: Model) -> tuple[tuple[int, Problem], ...]:
    """All known counts of whole models, and the counts of large parts, as (count, description) pairs."""
    named = [(part.right, part_in_words(part, model)) for part in all_parts(model) if part.right > _LEAST_OF_BYTES]
    return (*_known(model), *named)


_LEAST_OF_BYTES = 10**5


_AFTER = r"[\s)（(]{0,3}(?:in|of|as|at|用|以)?\s?"
_PRECISIONS = {
    4: r"(?:fp32|float32|(?<![0-9])4 ?(?:bytes?|字节)|single precision|32[ -]bits?|32 ?位|单精度)",
    2: r"(?:fp16|(?<![0-9])2 ?(?:bytes?|字节)|float16|bf16|bfloat16|half[ -]precision|16[ -]bits?|16 ?位|半精度)",
    1: r"(?:int8|fp8|(?<![0-9])8[ -]bits?|(?<![0-9])8 ?位|(?<![0-9.])1 byte\b|(?<![0-9])1 ?字节)",
}
_ANY_PRECISION = f"(?:{'|'.join(_PRECISIONS.values())})"
_ONLY_PRECISION = re.compile(
    rf"\W*(?:(?:and|in|at|with|用) )*{_ANY_PRECISION}\W*(?:[MG]i?B|weights|is|it is|takes|needs|[则约]?[为是占需])?\W*",
    re.I,
)
_PRECISION_OF_MODEL = re.compile(rf"[\w.-]{{3,40}}(?: [\w.-]{{2,12}})?{_AFTER}{_ANY_PRECISION}\W*", re.I)
_WEIGHTS = re.compile(r"weight|size|storage|checkpoint|disk|\bfile|model takes|大小|权重|占用|存储", re.I)
_SEVERAL = 2
_DYNAMIC = re.compile(r"dynamic|动态", re.I)  # dynamic quantization converts only the matrices of linear layers
_IN_FLOAT32 = 2  # maximum bytes per parameter of a model in 8 bits, because its embedding tables stay in float32
_NEAR_BYTES = Fraction(3, 100)  # tolerance as a share of the right bytes; a file is slightly larger than its weights
_FARTHEST = 20  # maximum ratio to the right size; a size beyond it is not the size of these weights


def _other_bytes(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a wrong size in the precision that the text names; return None if a count of the model explains it."""
    above = [heading for heading in context.headings if len(models_named(heading)) < _SEVERAL]
    words = " ".join((*context.names, context.header, *above, entry.after[:_NEAR]))
    nearest = _named_width(entry, context)
    widths = [nearest] if nearest else widths_in(words)
    of_weights = (
        _WEIGHTS.search(f"{words} {context.line}"),
        any(map(_ONLY_PRECISION.fullmatch, (context.header, *context.names[:1]))),
        any(_PRECISION_OF_MODEL.fullmatch(name) and names_model(name) for name in context.names),
        any(re.search(_ANY_PRECISION, heading, re.I) and names_model(heading) for heading in above),
    )
    label = "".join(re.split("[:：]", context.sentence)[:-1])  # Training (bf16): 4 GB for BERT, 5 GB for ModernBERT
    if len(widths) != 1 or not any(of_weights) or _TRAINING.search(f"{words} {label}") or _DYNAMIC.search(words):
        return None
    if entry.computes or context.supposes or not _is_of_model(context) or OWN_MODEL.search(context.line):
        return None
    value, right = entry.stated.value, widths[0] * model.num_parameters()
    if widths[0] == 1 and right < value <= _IN_FLOAT32 * right:
        return None  # 8-bit models usually quantize only the matrices of their layers
    counts = every_count(model.config, known_counts)
    sizes = [widths[0] * count.total for count in counts if count.model.config == model.config]
    near = [
        abs(size - factor * value) <= max(entry.stated.reach, size * _NEAR_BYTES)
        for size in sizes
        for factor in entry.stated.unit_factors
        if factor == 1 or size >= right * _OF_WHOLE
    ]
    if any(near) or is_far(value, right, _FARTHEST):
        return None
    described = known_in_words(KnownCount(model, model.num_parameters()))
    return should_be(right, described, "bytes")


def _is_of_model(context: Context) -> bool:
    """Whether the words mean the whole model, or name no part on a line that names a model."""
    return is_total(context) or (names_model(context.line) and not any(map(_names_part, context.names)))


def _of_other_bytes(entry: WrittenNumber, context: Context, model: Model) -> Judged:
    """Judge a size that does not match the bytes of any known count."""
    return (
        _bytes_of_file(entry.stated, model)
        or _bytes_of_named(entry.stated, context, model)
        or _bytes_of_published(entry, context, model)
        or _other_bytes(entry, context, model)
        or _near_bytes(entry, context, model)
        or _bytes_of_weights_alone(entry, context, model)
        or _in_larger_unit(entry, context, model)
        or UNKNOWN
    )


def _in_larger_unit(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a size of the weights with a unit that is 1,000 times too large: 440 GB in FP32 for BERT-base."""
    width, side = _named_width(entry, context), entry.stated
    if width is None or entry.computes or context.supposes:
        return None
    counts = (model.num_parameters(), *claimed_counts(model))
    if not any(side.may_mean(1000 * width * count) for count in counts):
        return None
    described = known_in_words(KnownCount(model, model.num_parameters()))
    right = Fraction(width * model.num_parameters())
    message = N_("The unit is 1,000 times too large: {right} is right for the weights of {part}.")
    reason = Problem.of(message, right=in_words(right, "bytes"), part=described)
    return Judged("wrong", right, described, (reason,))


def _bytes_of_weights_alone(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a size that the text states for the weights alone; return None if it is close in any precision."""
    total, value = model.num_parameters(), entry.stated.value
    is_meant = _WEIGHTS_ALONE.search(context.sentence) and names_model(context.line)
    if not is_meant or entry.computes or context.supposes or OWN_MODEL.search(context.line):
        return None
    for width in _ANY_WIDTH:
        if abs(value - width * total) * _FARTHEST_OF_WIDTH <= width * total:
            return None
    described = known_in_words(KnownCount(model, total))
    return should_be(4 * total, Problem.of(N_("the float32 weights of {known}"), known=described), "bytes")


_WEIGHTS_ALONE = re.compile(
    r"\b(?:for|of|store|hold|load)\b (?:just |only |its |the |model )*(?:parameters|weights) (?:alone|only|themselves)"
    r"|\b(?:parameters|weights) alone\b|(?:仅|光|单)(?:是|有)?模型?(?:参数|权重)|(?:参数|权重)(?:本身|自身)",
    re.I,
)
_ANY_WIDTH = (Fraction(1, 2), 1, 2, 4, 8)  # possible numbers of bytes per parameter
_FARTHEST_OF_WIDTH = 6  # a tolerance of a sixth: such a size may be in GiB, or include a head or buffers


def _near_bytes(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a size near the bytes of the model or of a part, in the precision that the text names."""
    words = " ".join((*context.names, context.header, context.line))
    width = _named_width(entry, context)
    widths = (
        [width] if width else widths_in(f"{words} {entry.after[:_NEAR]}") or ([4] if _WEIGHTS.search(words) else [])
    )
    beside = " ".join((*context.names[:2], context.header))
    if len(widths) != 1 or _NOT_WEIGHTS.search(beside) or _DYNAMIC.search(words) or OWN_MODEL.search(context.line):
        return None
    return near_bytes(entry, context, widths[0], model)


def _bytes_of_published(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a size computed from a published or rounded-up parameter count: 440 MB for 110M."""
    named, side = _named_width(entry, context), entry.stated
    total = model.num_parameters()
    digit = 10 ** (len(f"{total}") - _PUBLISHED_DIGITS)
    published = [*claimed_counts(model), *filter(None, [nominal_count(model)])]
    rounded = -(-total // digit) * digit
    published += [rounded] if (rounded - total) * _CLOSE <= total else []
    for count, width in product(published, [named] if named else PRECISIONS):
        if side.may_mean(count * width):
            message = N_("the size of the published {count} parameters in {dtype}")
            return Judged("right", counts=Problem.of(message, count=count, dtype=PRECISIONS[width]))
    return None


_PUBLISHED_DIGITS, _CLOSE = 2, 50


def _bytes_of_file(side: ChainSide, model: Model) -> Judged | None:
    """Judge the exact size of a file, which has a header or a pickle in addition to the weights."""
    exact = not side.reach and side.value.denominator == 1 and side.value >= _LEAST_OF_FILE
    file = next(file_sizes(model, int(side.value), published=False), None) if exact else None
    return Judged("right", counts=file) if file else None


_LEAST_OF_FILE = 10**6


_TRAINING = re.compile(r"adam|optimi[sz]er|moments?\b|gradient|train|tun|优化器|梯度|训练|微调|动量", re.I)


_LAST_DIGITS = Fraction(1, 1000)  # tolerance as a share of the right bytes; a size within it is meant to be these bytes


def _bytes_of_named(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge the bytes of the part that the words name, if only the last digits are wrong."""
    digits = re.sub(r"\D", "", side.text)
    if len(digits) < 4 or is_total(context) or re.search("file|checkpoint|文件|\\.(?:bin|pt)", context.line, re.I):
        return None
    named = [
        (abs(4 * total(tensors) - side.value), 4 * total(tensors), part)
        for part in all_parts(model)
        if part.part in PARTS and part.part not in WHOLE_OR_BODY
        and any(re.search(PARTS[part.part][1], name, re.I) for name in context.names)
        for tensors in with_and_without_biases(part)
    ]  # fmt: skip
    apart, right, part = min(named, key=lambda entry: entry[0], default=(Fraction(0), 0, None))
    if part is None or right < 10**6 or not side.reach < apart < right * _LAST_DIGITS:
        return None
    described = part_in_words(part, model)
    reason = Problem.of(N_("{right} is right for {part}."), right=_in_unit_of(right, side), part=described)
    return Judged("wrong", Fraction(right), described, (reason,), part)


def _in_unit_of(right: int, side: ChainSide) -> str:
    """Write a number of bytes in the unit of a size in the text, with as many decimals as that size."""
    number = re.match(r"[0-9][0-9,_']*(?:\.[0-9]+)?", side.text.strip())
    if number is None:
        return in_words(Fraction(right), "bytes")
    factor = side.value / Fraction(re.sub("[,_']", "", number[0]))
    return f"{fixed(right / factor, len(number[0].partition('.')[2]))}{side.text.strip()[number.end() :]}"
