"""Judge a single number of a text: what it counts, whether it is right, and the likeliest mistake.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.calculations import find
>>> from bertcalc.proofreading.contexts import Surroundings
>>> text = "multi-head attention: 2,359,296"
>>> [entry] = find(text, {})
>>> judged = judge(entry, Surroundings(text).of(entry), build(BertConfig()), sure=True)
>>> judged.verdict, int(judged.right_value), str(judged.reasons[0])
('wrong', 2362368, '2,362,368 is right for attention of one layer: the biases of the attention are left out.')
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.explain import Explanation, causes, search
from bertcalc.diagnosis.flop_counts import flops_of
from bertcalc.diagnosis.hand_count import LineVerdict
from bertcalc.diagnosis.hand_count import judge as judge_line
from bertcalc.diagnosis.known_counts import CLAIMS, KnownCount, every_count, known_counts, published_counts
from bertcalc.diagnosis.layer_parts import PARTS, SPECIFIC, USUAL, Counted, part_counts, parts_of
from bertcalc.diagnosis.miscounts import MiscountSizes, counted, total
from bertcalc.diagnosis.part_words import known_in_words, mistakes, part_in_words
from bertcalc.diagnosis.tensor_filter import is_bias
from bertcalc.diagnosis.typos import is_slip
from bertcalc.families.presets import PRESETS
from bertcalc.model.inventory import inventory, named
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.model.totals import totals_by_component
from bertcalc.proofreading.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.claims import Verdict, in_words
from bertcalc.proofreading.contexts import Context
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import Typed
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem

_WHOLE = "the whole model"
WHOLE = (_WHOLE, "the model without its head")
_BITS = 9.0
_LEAST = 1000  # smaller numbers without a calculation are no claims
_LEAST_WITHOUT_WORDS = 10_000


class Judged(NamedTuple):
    """The verdict on a number; None if it is no claim. ``counted`` is the part that it counts or should count."""

    verdict: Verdict | None
    right_value: Fraction | None = None
    counts: Problem | None = None
    reasons: tuple[Problem, ...] = ()
    counted: Counted | None = None


NO_CLAIM = Judged(None)
UNKNOWN = Judged("unknown")


def judge(
    entry: WrittenNumber, context: Context, model: Model | None, *, sure: bool, published: Config | None = None
) -> Judged:
    """Judge a number by the words around it.

    A model of None is one that is not counted here. Unless the model is ``sure``, no count is called wrong.
    ``published`` is the configuration of the published model that the text names.
    """
    arithmetic = _arithmetic(entry, context, model)
    if arithmetic is not None and arithmetic.verdict == "wrong":
        return _with_meaning(arithmetic, entry, context, model)
    if model is None:
        return UNKNOWN if entry.computes or entry.best.value >= _LEAST_WITHOUT_WORDS else NO_CLAIM
    judged = _vocabulary(entry, context, model, published if sure else None) or _by_unit(entry, context, model, sure)
    if judged.verdict == "unknown" and len([side for side in entry.sides if not side.letters]) > 1 and entry.computes:
        return judged._replace(reasons=(Problem.of(N_("The calculation is right; what it counts is not recognized.")),))
    return judged


def _by_unit(entry: WrittenNumber, context: Context, model: Model, sure: bool) -> Judged:
    side = entry.best
    if entry.stated.unit == "bytes" and (judged := _keys_and_values(entry.stated, context, model)):
        return judged
    if side.unit == "bytes":
        return _bytes(side, context, model, single=bool(_SINGLE.search(entry.after[:40])))
    if side.unit in ("FLOPs", "MACs"):
        return _flops(side, model)
    if side.value < 1:
        return _share(side, model)
    return _count(entry, side, context, model, sure)


# --- arithmetic ---


def _arithmetic(entry: WrittenNumber, context: Context, model: Model | None) -> Judged | None:
    """Whether the sides of a chain agree; None for a single side."""
    sides = entry.sides
    if len(sides) < 2:
        return None
    first = next((side for side in sides if side.is_calculation or side.is_shape), sides[0])
    for side in sides:
        if not _agree(first, side):
            return _disagreement(first, side, model)
    return Judged("right")


def _agree(value: ChainSide, other: ChainSide) -> bool:
    """Whether a result is the value, perhaps rounded or cut off, or its size in bytes."""
    if other.unit == "bytes" and value.unit != "bytes":
        return _agree_in_bytes(value, other)
    if _is_near(value, other.value, max(other.reach, other.rough)):
        return True
    if other.text.endswith("%") and _is_near(value, 100 * other.value, 100 * other.reach):
        return True
    return bool(other.unit is None and value.value < 1 and _is_near(value, other.value, 2 * other.reach))


def _is_near(value: ChainSide, stated: Fraction, reach: Fraction) -> bool:
    difference = value.value - stated
    return -reach - value.reach <= difference <= max(reach, 2 * reach * (reach < 1)) + value.reach


def _agree_in_bytes(value: ChainSide, other: ChainSide) -> bool:
    reach = max(other.reach, other.rough)
    factors = (1, 2, 4, 8, 12, 16, Fraction(1, 8), 10**3, 10**6, 10**9)
    binary = [Fraction(factor) * ratio for factor in (1, 2, 4, 8) for ratio in (_KIBI, _MEBI, _GIBI)]
    divided = re.search(r"/\(?1,?024|/\(?2\^[123]0|/\(?10\^|/\(?1000", value.text)
    candidates = [*(Fraction(factor) for factor in factors), *binary]
    if not divided:
        candidates.remove(Fraction(1))
        candidates = [factor for factor in candidates if factor not in (10**3, 10**6, 10**9)] + [Fraction(1)]
        candidates += [Fraction(number) for number in (10**3, 10**6, 10**9) if value.value < 10**4]
        candidates = [factor for factor in candidates if factor not in (_MEBI, _GIBI, _KIBI)]
    return any(abs(value.value * factor - other.value) <= reach + value.reach * factor for factor in candidates)


_KIBI, _MEBI, _GIBI = Fraction(1000, 1024), Fraction(10**6, 2**20), Fraction(10**9, 2**30)


def _disagreement(first: ChainSide, other: ChainSide, model: Model | None) -> Judged:
    if other.unit == "bytes" and first.unit is None:
        for power in (2, 3):
            if abs(first.value / 1024**power - other.value / 1000**power) * 1000**power <= max(
                other.reach, other.rough
            ):
                return _divided(first.value, other)
        return UNKNOWN
    message = N_("The calculation gives {value}, not {written}.")
    reason = Problem("", None, message, {"value": in_words(first.value), "written": shorten(other.text)})
    return Judged("wrong", first.value, reasons=(reason,))


def _divided(count: Fraction, other: ChainSide) -> Judged:
    message = N_("{written} is the count divided by 1,024 · 1,024, not its bytes: in float32 it takes {bytes}.")
    values = {"written": other.text, "bytes": in_words(4 * count, "bytes")}
    return Judged("wrong", 4 * count, reasons=(Problem("", None, message, values),))


def divided_count(entry: WrittenNumber, counts: Collection[Fraction]) -> Judged | None:
    """The verdict on a count that is divided by 1,024 · 1,024 and called MB: 75641856 / 1024 / 1024 = 72.1 MB."""
    stated = entry.stated
    if stated.unit != "bytes" or len(entry.sides) < 2:
        return None
    value = entry.sides[-2].value
    operands = [operand.value for side in entry.sides[:-1] for operand in side.operands]
    for count in operands:
        if count in counts and abs(count / 2**20 - value) * 2**20 < 1:
            return _divided(count, stated)
    return None


def _with_meaning(judged: Judged, entry: WrittenNumber, context: Context, model: Model | None) -> Judged:
    """A wrong calculation; if its stated result is right for what it is called, the right value is that."""
    if model is None or entry.stated.unit == "bytes":
        return judged
    if is_total(context) and not entry.computes:
        return judged._replace(right_value=Fraction(model.num_parameters()))
    stated = entry.stated
    meant = _meant(TypedLine("", stated.text, stated.value, None, stated.reach, stated.rough), context, model)
    value = judged.right_value or Fraction(0)
    computed = _meant(TypedLine("", "", value), context, model)
    if meant and meant.is_right and meant.counted and _is_likelier(meant, computed):
        message = N_("The result is right for {part}; the calculation is not.")
        reason = Problem("", None, message, {"part": part_in_words(meant.counted, model)})
        return judged._replace(right_value=Fraction(meant.counted.right), reasons=(*judged.reasons, reason))
    counts = part_in_words(computed.counted, model) if computed and computed.is_right and computed.counted else None
    return judged._replace(counts=counts, counted=computed.counted if computed and computed.is_right else None)


def _is_likelier(meant: LineVerdict, computed: LineVerdict | None) -> bool:
    """Whether the stated result, not the computed one, is what the words mean."""
    if computed is None or not computed.is_right or not computed.counted:
        return True
    stated = meant.counted.part if meant.counted else ""
    return stated in USUAL and computed.counted.part not in USUAL


# --- counts ---


def _count(entry: WrittenNumber, side: ChainSide, context: Context, model: Model, sure: bool) -> Judged:
    alone = not entry.computes
    if (alone and _is_year(side)) or (side.is_shape and len(entry.sides) == 1 and not _names_tensor(context)):
        return NO_CLAIM
    if side.value < _LEAST and (alone or side.value < 10) and not (entry.computes and _modules(side, context, model)):
        return NO_CLAIM if alone else UNKNOWN._replace(verdict="unknown" if len(entry.sides) > 1 else None)
    if modules := _modules(side, context, model):
        return modules
    if not alone and len(entry.sides) > 1 and side.value in (model.config.hidden_size, model.config.intermediate_size):
        return Judged("right", counts=Problem.of(N_("a size of the model")))
    if alone and (judged := _size(side, context, model)):
        return judged
    line = TypedLine("", side.text, side.value, None, side.reach, max(side.reach, side.rough))
    verdict = _meant(line, context, model)
    if verdict and verdict.is_right and verdict.counted:
        return _right(verdict.counted, side, context, model)
    if whole := _as_total(side, context, model):
        return whole
    if without := _without_biases(line, context, model):
        return without
    part = _any_part(side, model)
    particular = _is_named(context, model)
    if part and not particular and not (verdict and verdict.explanation and (_is_said(verdict, context, model))):
        return Judged("right", counts=part_in_words(part, model), counted=part)
    if verdict and verdict.explanation and verdict.counted:
        if not sure or (alone and side.value < _LEAST_WITHOUT_WORDS and not particular):
            return UNKNOWN if sure or not alone else NO_CLAIM
        if not verdict.counted.right and verdict.counted.part not in (*_TABLES, "pooler"):
            return UNKNOWN
        if _DIFFERENCE.search(" ".join((*context.names, *context.headings[:1]))):
            return UNKNOWN
        if (line.reach and len(verdict.explanation) > 1) or (side.letters and side.value < _LEAST_OF_LETTERS):
            return UNKNOWN if len(entry.sides) > 1 or not side.letters else NO_CLAIM
        if elsewhere := _published(side):
            return elsewhere
        is_named = part and "query, key and value" in part.part and _QUERY_KEY_VALUE.search(context.line)
        is_far = any(cause.miscount in _FAR_FETCHED for cause in verdict.explanation)
        if part and (is_far or (is_named and len(verdict.explanation) > 1)):
            return _right_as(part, model)
        if any(_INSTEAD.search(name) for name in context.names) or _is_shape(entry):
            return UNKNOWN
        judged = _explained(verdict.counted, verdict.explanation, model)
        return _if_said(judged, verdict.explanation, entry, context)
    if part and (alone or len(entry.sides) > 1):
        return _right_as(part, model)
    if sure and (judged := _other_total(side, context, model) or _slip(side, context, model)):
        return judged
    if sure and (judged := _contradicted(line, context, model)):
        return judged
    if side.letters or (alone and side.unit is None and side.value < _LEAST_WITHOUT_WORDS):
        return NO_CLAIM
    if entry.computes and len(entry.sides) == 1 and side.value < _LEAST_WITHOUT_WORDS:
        return NO_CLAIM
    return UNKNOWN


_DIFFERENCE = re.compile(
    r"remov|fewer|less|smaller|differen|sav(?:e|ing)|reduc|more than|additional|减少|节省|相差|差值|少了|多了|增加",
    re.I,
)
# A matrix of 768 x 64: its sizes, which count nothing.
_SHAPE = re.compile(r"[0-9]+\*[0-9]+")


def _is_shape(entry: WrittenNumber) -> bool:
    """Whether a product of two sizes without a result may be only a shape."""
    return len(entry.sides) == 1 and bool(_SHAPE.fullmatch(re.sub("[x×·⋅]", "*", entry.best.text)))


# Words before a number that the text itself does not claim.
_INSTEAD = re.compile(r"\b(?:instead of|rather than|if (?:you|we|one|it|they))\b|而不是|而非|如果|假如|若是", re.I)
_WITHOUT = re.compile(
    r"(?:without|no|ignor\w*|omit\w*|neglect\w*|exclud\w*|w/o)\s(?:\w+\s){0,4}?bias|bias(?:es)?\s?=\s?False"
    r"|matri(?:x|ces) (?:alone|only)|weights only|(?:不[考虑算计含包括]{1,3}|忽略|没有|无)\S{0,6}偏置",
    re.I,
)
_MATRICES = re.compile(r"\b(?:weights?|kernel|matri(?:x|ces))\b|(?-i:\bW(?:_?[A-Za-z0-9])?\b)(?<!We)|权重|矩阵", re.I)


def _is_said(verdict: LineVerdict, context: Context, model: Model) -> bool:
    """Whether the words beside a number, not only a heading, mean the layers or the whole model."""
    if verdict.counted and verdict.counted.part == "layers":
        return any(re.search(PARTS["layers"][1], name, re.I) for name in context.names)
    return _says_total(context) or bool(context.scope(model.config.num_hidden_layers))


def _says_total(context: Context) -> bool:
    return any(re.search(r"total|总|合计|sum|model|模型|param|参数", name, re.I) for name in context.names)


def _without_biases(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """The verdict on a count without biases, where the text says so."""
    said = any(_WITHOUT.search(text) for text in (*context.names, *context.headings[:1], context.line))
    said = said or any(_MATRICES.search(name) for name in (*context.names[:2], *context.headings[:1]))
    if not said:
        return None
    names = (*context.names, *context.headings[:1])
    for part in parts_of(counted(model), MiscountSizes.of(model.config)):
        beside = any(re.search(PARTS[part.part][1], name, re.I) for name in names)
        for tensors in _with_and_without_biases(part)[1:]:
            right = total(tensors)
            if beside and part.heads == "all" and right >= _LEAST and line.means(right):
                message = N_("{part} without biases")
                counts = Problem("", None, message, {"part": part_in_words(part, model)})
                return Judged("right", counts=counts, counted=part._replace(tensors=tuple(tensors)))
    return None


def _with_and_without_biases(part: Counted) -> tuple[list[Tensor], ...]:
    """The tensors of a part: all, without biases, without beta as well, and matrices only."""
    return (
        list(part.tensors),
        [tensor for tensor in part.tensors if not is_bias(tensor)],
        [tensor for tensor in part.tensors if not tensor.name.endswith(("bias", "bias)"))],
        [tensor for tensor in part.tensors if len(tensor.shape) == 2],
    )


_QUERY_KEY_VALUE = re.compile(r"\bQ\b.{0,5}\bK\b.{0,8}\bV\b|query.{0,8}key", re.I)


def _right_as(part: Counted, model: Model) -> Judged:
    described = part_in_words(part, model)
    reason = Problem("", None, N_("It is right as the count of {part}."), {"part": described})
    return Judged("conditional", Fraction(part.right), described, (reason,), part)


_LEAST_OF_LETTERS = 10**6  # of a formula in letters, whose letters may mean something else


def _published(side: ChainSide) -> Judged | None:
    """The verdict on the count of another published model."""
    entry = published_counts().get(int(side.value)) if not side.reach and side.value >= 10**6 else None
    if entry is None:
        return None
    reason = Problem.of(N_("It is the count of another model: {preset}."), preset=entry[0])
    return Judged("conditional", side.value, reason, (reason,))


def _if_said(judged: Judged, explanation: Explanation, entry: WrittenNumber, context: Context) -> Judged:
    """The verdict; under a condition if the text itself says what differs: its own vocabulary, or biases apart."""
    operands = {operand.value for side in entry.sides if side.is_calculation for operand in side.operands}
    size = re.fullmatch("V=([0-9]+)|[A-Z]=([0-9]+)|padded to .*|rounded to .*", explanation[0].miscount)
    vocabulary = [value for value in operands if value % 1000 == 0 and value >= _LEAST_WITHOUT_WORDS]
    if size and size[1] and any(_contains(text, Fraction(size[1])) for text in (context.line, *context.headings)):
        vocabulary.append(Fraction(size[1]))
    apart = all("bias" in cause.miscount for cause in explanation) and (
        re.search("bias|偏置", entry.after[:40], re.I) or _contains(context.line, judged.right_value)
    )
    last = any(_OUTPUT_LAYER.search(name) for name in context.names[:2])  # the pooler, or of the attention, or a head
    near = judged.right_value and abs(entry.best.value - judged.right_value) <= judged.right_value * _ALMOST
    last = last or bool(near and _ABOUT.search(entry.before))
    own_size = len(explanation) == 1 and bool(size and vocabulary)
    return (
        judged._replace(verdict="conditional")
        if apart or last or own_size or _says_why(explanation, context)
        else judged
    )


# What a sentence says is not counted, by the words in the names of the mistakes.
_NOT_COUNTED = re.compile(
    r"(?:\bwithout|\bnot count|n't count|\bexclud|\bignor|\bomit|\bleav\w* out|不含|不计|不算|不包括|未计|忽略)"
    r"(.{0,60})",
    re.I,
)
_LEFT_OUT = {
    "position": r"position|\bwpe\b|位置",
    "bias": r"bias|偏置",
    "norm": r"norm|\bln\b|归一",
    "type": r"segment|type|类型|段",
    "pooler": r"pool|池化",
}


def _says_why(explanation: Explanation, context: Context) -> bool:
    """Whether the line itself says that all of what is missing is not counted."""
    said = " ".join(match[1] for match in _NOT_COUNTED.finditer(context.line))
    patterns = [
        next(
            (pattern for word, pattern in _LEFT_OUT.items() if word in cause.miscount.lower() and cause.amount < 0),
            r"(?!)",
        )
        for cause in explanation
    ]
    return bool(said) and all(re.search(pattern, said, re.I) for pattern in patterns)


# An approximation that is called one, and that is right to one part in 500.
_FAR_FETCHED = ("decoder layers", "cross attention added")  # if another part has exactly this count
_ABOUT, _ALMOST = re.compile(r"(?:\babout|\bapproximately|\broughly|[~≈]|约|大概|近似)\W{0,3}$", re.I), Fraction(1, 500)
_OUTPUT_LAYER = re.compile(r"^(?!.*(?:att|注意力|ffn|feed|前馈)).*(?:\boutput layer|输出层)", re.I)


def _contains(line: str, value: Fraction | None) -> bool:
    """Whether a line contains a whole number, with or without separators."""
    return value is not None and bool(re.search(rf"(?<![0-9,])(?:{int(value)}|{int(value):,})(?![0-9])", line))


def _is_year(side: ChainSide) -> bool:
    return side.unit is None and bool(re.fullmatch("(?:19|20)[0-9]{2}", side.text.strip()))


def _names_tensor(context: Context) -> bool:
    return bool(context.names and re.search(r"\w\.(?:weight|bias)\b", context.names[0]))


def _modules(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on a number of modules, such as 37 for Dropout."""
    if side.value.denominator != 1 or side.value > _LEAST:
        return None
    for name in context.names[:2]:
        for group in (*inventory(model), named(model, "dense")):
            beside = re.search(rf"(?<![A-Za-z]){re.escape(group.name)}(?![A-Za-z])", name, re.I)
            if beside and group.modules == side.value:
                message = N_("{count} modules: {name}")
                return Judged("right", counts=Problem.of(message, count=group.modules, name=group.name))
    return None


_VOCABULARY = re.compile(r"vocab|词表|词汇|词典|^V$|-?tokens?$", re.I)


def _vocabulary(entry: WrittenNumber, context: Context, model: Model, published: Config | None) -> Judged | None:
    """The verdict on the vocabulary if it is a rounded one, such as 30,000."""
    side = entry.best
    own = _OWN.search(" ".join(context.names[:2]))
    if entry.computes or published is None or side.unit or own or not _is_vocabulary(context):
        return None
    right = published.vocab_size
    others = {entry.config.vocab_size for entry in PRESETS.values() if type(entry.config) is type(published)}
    if side.value % 1000 or side.value in others or not 0 < abs(side.value - right) <= right // 20:
        return None
    message = N_("The vocabulary has {count} tokens; {written} is rounded.")
    reason = Problem.of(message, count=right, written=in_words(side.value))
    return Judged("wrong", Fraction(right), Problem.of(N_("the vocabulary")), (reason,))


def _is_vocabulary(context: Context) -> bool:
    beside = " ".join(context.names[:2])
    return bool(_VOCABULARY.search(beside)) and not re.search(r"param|参数", beside, re.I)


def _size(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on a size of the model, such as its vocabulary; sizes as such are no claims."""
    config = model.config
    sizes = {value for value in vars(config).values() if isinstance(value, int) and not isinstance(value, bool)}
    if side.value == config.vocab_size:
        return Judged("right", counts=Problem.of(N_("the vocabulary"))) if _is_vocabulary(context) else NO_CLAIM
    if side.value in sizes and side.value < _LEAST_WITHOUT_WORDS:
        meant = _meant(TypedLine("", side.text, side.value), context, model)
        beside = re.search(r"bias|偏置|norm|param|参数", " ".join(context.names[:2]), re.I)
        return None if meant and meant.is_right and beside and side.value >= _LEAST else NO_CLAIM
    if _is_vocabulary(context) and side.unit is None and _LEAST <= side.value < 10**6:
        return UNKNOWN
    return None


# Words that say how many layers are meant, not which part.
_NUMBERS = r"(?:all|per|each|every|one|single|a|the|[0-9]+)"
_LAYERS = re.compile(
    rf"\b(?:{_NUMBERS}|in|for|of)\b(?:\s+{_NUMBERS})*\s+(?:transformer |encoder |identical )?(?:layers?|blocks?)\b"
    r"|[0-9]+\s?个?\s?(?:encoder|transformer)?\s?层|[每单一]一?层|所有层|全部层",
    re.I,
)


def _meant(line: TypedLine, context: Context, model: Model) -> LineVerdict | None:
    """The verdict by the nearest words that name a part: right if any beside it do, else the likeliest mistake."""
    wrong: LineVerdict | None = None
    scope = context.scope(model.config.num_hidden_layers)
    for name in _named_parts(context, model):
        if wrong and name in context.headings and (wrong.explanation or _names_strictly(wrong)):
            break
        verdict = _line_verdict(name, line, model)
        verdict = _of_the_meant(verdict, name, scope, model)
        if verdict.is_right and verdict.counted and verdict.kind != "size":
            return _in_scope(verdict, scope, name, model)
        verdict = _in_scope_of(verdict, scope, model)
        if wrong is None or (verdict.explanation and not wrong.explanation and _names_strictly(verdict)):
            wrong = verdict
    return wrong


def _names_strictly(verdict: LineVerdict) -> bool:
    return bool(verdict.counted and verdict.counted.part != _WHOLE)


def _named_parts(context: Context, model: Model) -> list[str]:
    """The names around a number that mean a part of a model: particular ones before "layers", "total" and "model".

    A heading that means a particular part comes before "layers" and "total" beside a number.
    """
    names = [_without_layers(name, model) for name in context.names if _names_part(name, model)]
    headings = [_without_layers(name, model) for name in context.headings if _names_part(name, model)]
    particular = [name for name in names if not _names_whole_only(name, model)]
    above = headings[:1] if _heading_is_particular(context, model) else []
    return list(dict.fromkeys((*particular, *above, *names, *headings)))


def _heading_is_particular(context: Context, model: Model) -> bool:
    return bool(context.headings) and not _names_whole_only(context.headings[0], model)


def _without_layers(name: str, model: Model) -> str:
    """A name without the number of layers, if the rest still means a part: feed forward, all layers."""
    rest = _LAYERS.sub(" ", name)
    return rest if rest != name and _names_part(rest, model) and not _names_whole_only(rest, model) else name


_WIDE = ("layers", "layers without cross-attention and distances", _WHOLE, "the model without its head")


@lru_cache(maxsize=4096)
def _names_whole_only(name: str, model: Model) -> bool:
    """Whether a name means layers or the whole model, and no particular part."""
    if re.search(r"\w\.(?:weight|bias)\b", name):
        return False
    called = (part for part, (_of, pattern) in PARTS.items() if re.search(pattern, name, re.I))
    return all(part in _WIDE for part in called)


# Parts that a name means alone, although others are called so as well.
_TABLES = {
    "word embeddings": r"\bwords?\b|vocab|\bwte\b|token(?!.?type)(?!s?[ _-]?seg)|词(?!元类型)",
    "position embeddings": r"\bpos|\bwpe\b|位置",
    "token type embeddings": r"\bseg|\btypes?\b|token.?type|类型|分段|句子|片段",
}
_TABLE = r"(?:[ _-]?embeddings?)(?: (?:table|matrix|layer))?"
_TABLE_LABELS = {
    "word embeddings": rf"(?:the )?(?:word|token|input){_TABLE}|词嵌入(?:矩阵|表)?",
    "position embeddings": rf"(?:the )?position(?:al)?{_TABLE}|位置嵌入(?:矩阵|表)?",
    "token type embeddings": rf"(?:the )?(?:segment|token.?type){_TABLE}|句子嵌入",
}
_PLAIN_LABELS = {
    "attention": r"(?:the )?(?:multi.?head(?:ed)? )?(?:self.?)?(?:attention|attn|mha)(?: (?:layer|block|module))?"
    r"|(?:多头)?(?:自)?注意力(?:层|机制|模块)?",
    "query, key and value": r"(?:the )?(?:qkv|query-key-value)(?: (?:projections?|linear layers?|layers?))?"
    r"|qkv ?(?:线性层|投影|三个线性层)",
    "feed-forward": r"(?:the )?(?:position.?wise )?(?:feed.?forward|ffn|mlp)(?: (?:network|layer|block|module))?"
    r"|前馈(?:神经)?(?:网络)?(?:层)?",
}


def _of_the_meant(verdict: LineVerdict, name: str, scope: str, model: Model) -> LineVerdict:
    """The verdict; explained for the part that the name means alone, if it is right or explained for another."""
    alone = _alone(name)
    part = verdict.counted
    if not alone or not part or part.part not in PARTS or part.part == alone[0]:
        return verdict
    if part.part in alone and (verdict.is_right or not verdict.explanation):
        return verdict
    if verdict.is_right and part.part in ("embeddings", "embeddings without LayerNorm"):
        return verdict._replace(explanation=None)
    sizes = MiscountSizes.of(model.config)
    for meant in parts_of(counted(model), sizes, alone):
        is_meant = meant.right and meant.heads == "all" and (not scope or meant.layers == scope)
        if is_meant and (explained := _best(meant, verdict.line, model)):
            return verdict._replace(counted=meant, explanation=explained)
    return verdict


# Words around the name of a part that say nothing about which part it is: "So the feed forward has".
_AROUND_LABEL = re.compile(
    r"(?:[\W_]|\b(?:of|in|per|for|has|have|is|are|contains?|with|takes?|needs?|adds?|gives?|parameters?|params)\b"
    r"|为|是|有|共|约|参数|数|量|个|的){1,20}$"
    r"|^(?:[\W_]|\([a-z]\)|[a-z]\)|\b(?:so|then|thus|hence|its|an?|one|each|in|has|have|with|所以|因此)\b|[一每]个|的){1,20}",
    re.I,
)
_ALL_NORMS = re.compile(r"\ball (?:the )?layer[ _-]?norms?\b|(?:所有|全部)的?(?:layer ?norm|层归一化)", re.I)


@lru_cache(maxsize=4096)
def _alone(name: str) -> tuple[str, ...]:
    """The parts that a name means and no others; none if it is not so particular."""
    tables = [part for part, pattern in _TABLES.items() if re.search(pattern, name, re.I)]
    if re.search(r"emb|嵌入|table", name, re.I) and len(tables) == 1 and not re.search("norm|归一", name, re.I):
        return tuple(tables)
    label = " ".join(_AROUND_LABEL.sub("", name.strip()).split())
    if _ALL_NORMS.search(name) and not re.search(r"layers|blocks|encoder|each|per|每|编码|的层|各层", name, re.I):
        return ("all LayerNorms",)
    plain = [part for part, pattern in _PLAIN_LABELS.items() if re.fullmatch(pattern, label, re.I)]
    if plain:
        return tuple(part for part in (plain[0], f"{plain[0]} with LayerNorm") if part in PARTS)
    return tuple(part for part, pattern in SPECIFIC.items() if re.search(pattern, name, re.I))


def _in_scope_of(verdict: LineVerdict, scope: str, model: Model) -> LineVerdict:
    """A wrong verdict, explained for one layer or for all if the words say which it is."""
    part = verdict.counted
    if not part or not scope or part.layers == scope or part.part not in PARTS or part.heads == "one":
        return verdict
    sizes = MiscountSizes.of(model.config)
    scoped = next((other for other in parts_of(counted(model), sizes, [part.part]) if other.layers == scope), None)
    explained = _best(scoped, verdict.line, model) if scoped else None
    return verdict._replace(counted=scoped, explanation=explained) if explained else verdict


def _is_named(context: Context, model: Model) -> bool:
    near = any(not _names_whole_only(name, model) for name in context.names)
    return near or _heading_is_particular(context, model)


@lru_cache(maxsize=4096)
def _names_part(name: str, model: Model) -> bool:
    """Whether a name means parts of a model."""
    if re.search(r"\w\.(?:weight|bias)\b", name):
        return True
    return any(re.search(pattern, name, re.I) for _of, pattern in PARTS.values())


@lru_cache(maxsize=8192)
def _line_verdict(name: str, line: TypedLine, model: Model) -> LineVerdict:
    tensor = re.search(r"(?:[A-Za-z_][\w*]*\.)+(?:[0-9]+\.)?(?:\w+\.)*(?:weight|bias)\b", name)
    if not tensor and re.fullmatch(r"\W*[A-Za-z]+\W*", name):
        name = f"the {name}"  # a word of the text, not the path of a module such as attention
    return judge_line(line._replace(name=tensor[0] if tensor else name), model, model.config)


def _in_scope(verdict: LineVerdict, scope: str, name: str, model: Model) -> LineVerdict:
    """The verdict, or that of one layer instead of all if the words say which it is."""
    part, line = verdict.counted, verdict.line
    if not part or not scope or part.part not in PARTS or part.heads == "one":
        return verdict
    if part.layers == scope or not any(tensor.copies > 1 for tensor in _all_of(part, model).tensors):
        return verdict
    same = [
        other for other in _parts(model) if other.layers == scope and line.means(other.right) and other.heads == "all"
    ]
    if any(re.search(PARTS[other.part][1], name, re.I) for other in same if other.part in PARTS):
        return verdict
    if scope == "one" and re.search(rf"\b(?:all|total|{model.config.num_hidden_layers})\b|[×*]|共|总|所有", name, re.I):
        return verdict
    meant = next((other for other in _scoped(part, model) if other.layers == scope), None)
    explained = _best(meant, line, model) if meant else None
    return verdict._replace(counted=meant, explanation=explained) if explained else verdict


def _scoped(part: Counted, model: Model) -> Iterator[Counted]:
    """A part in all layers, in one, and in all but one."""
    sizes = MiscountSizes.of(model.config)
    return (other for other in parts_of(counted(model), sizes, [part.part]) if other.heads == "all")


@lru_cache(maxsize=32)
def _parts(model: Model) -> tuple[Counted, ...]:
    return tuple(part_counts(counted(model), MiscountSizes.of(model.config)))


def _all_of(part: Counted, model: Model) -> Counted:
    """A part in all layers."""
    sizes = MiscountSizes.of(model.config)
    return next(parts_of(counted(model), sizes, [part.part]), part) if part.part in PARTS else part


def _best(part: Counted, line: TypedLine, model: Model) -> Explanation | None:
    """The likeliest mistakes that lead from a part to a value."""
    sizes = MiscountSizes.of(model.config)
    among = search(part.tensors, sizes, _BITS)
    found = [combination for value in among.near(*line.bounds, _BITS) for combination in among.combinations(value)[:1]]
    return causes(part.tensors, sizes, min(found).miscounts) if found else None


def times_layers(part: Counted, value: Fraction, model: Model) -> Judged | None:
    """The verdict on a right count of one layer that is multiplied by the number of layers."""
    whole = _all_of(part, model)
    if part.layers != "one" or whole.layers != "all" or whole.right != value:
        return None
    return Judged("right", counts=part_in_words(whole, model), counted=whole)


def in_all_layers(part: Counted, value: Fraction, model: Model) -> Judged | None:
    """The verdict on a count of one layer where all are meant: one layer instead of twelve."""
    whole = _all_of(part, model)
    explained = _best(whole, TypedLine("", "", value), model) if whole.layers == "all" != part.layers else None
    return _explained(whole, explained, model) if explained else None


def _right(part: Counted, side: ChainSide, context: Context, model: Model) -> Judged:
    """The verdict on a right count; under a condition if the words do not say what is left out."""
    described = part_in_words(part, model)
    judged = Judged("right", counts=described, counted=part)
    missing = _of_part("LayerNorm of the embeddings", model)
    covers = any(
        side.value - side.reach <= other.right <= side.value + side.reach
        for other in _parts(model)
        if other.part == "embeddings"
    )
    if (
        part.part == "embeddings without LayerNorm"
        and missing
        and not covers
        and not re.search(r"without|norm|三|three|tables", context.line, re.I)
    ):
        message = N_("The LayerNorm of the embeddings ({count}) is not in it.")
        reason = Problem.of(message, count=missing)
        return judged._replace(verdict="conditional", reasons=(reason,))
    if not side.reach and side.value != part.right:
        message = N_("It is rounded: the exact count is {count}.")
        return judged._replace(reasons=(Problem.of(message, count=part.right),))
    return judged


def _of_part(name: str, model: Model) -> int:
    return next((part.right for part in parts_of(counted(model), MiscountSizes.of(model.config), [name])), 0)


_IS_RIGHT = {
    1: N_("{right} is right for {part}: {first}."),
    2: N_("{right} is right for {part}: {first}; {second}."),
    3: N_("{right} is right for {part}: {first}; {second}; {third}."),
}


def _explained(part: Counted, explanation: Explanation, model: Model) -> Judged:
    described = part_in_words(part, model)
    made = list(mistakes(explanation, model.config))
    message = _IS_RIGHT[min(len(made), 3)]
    values = {
        "right": f"{part.right:,}",
        "part": described,
        **dict(zip(("first", "second", "third"), made, strict=False)),
    }
    return Judged("wrong", Fraction(part.right), described, (Problem("", None, message, values),), part)


# --- totals ---

_TOTAL = re.compile(r"param|参数|total|总|model|模型|合计|共|bert", re.I)


def _as_total(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on a total that is right by another class or convention, or as it was published."""
    if side.value < 10**6:
        return None
    named_total = any(_TOTAL.search(name) for name in (*context.names, *context.headings[:1], context.line))
    for known in every_count(model.config, known_counts):
        if side.reach and known.model.config.tie_word_embeddings != model.config.tie_word_embeddings:
            continue
        exactly = side.value == known.total if not side.reach else abs(known.total - side.value) <= side.reach
        if exactly and (named_total or not side.reach):
            message = N_("It is the count of {known}.")
            reason = Problem("", None, message, {"known": known_in_words(known)})
            said = known.model.architecture in context.line or known == KnownCount(model, model.num_parameters())
            return Judged("right" if said else "conditional", Fraction(known.total), reason, () if said else (reason,))
    typed = Typed(side.value, side.value - side.reach, side.value + side.reach, None)
    for claim in CLAIMS:
        if named_total and claim.is_meant(typed) and PRESETS[claim.preset].config == model.config:
            message = N_("It is published ({source}), but the model has {count} parameters.")
            reason = Problem.of(message, source=claim.source, count=model.num_parameters())
            return Judged("conditional", Fraction(model.num_parameters()), None, (reason,))
    return None


def _other_total(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on a number of parameters of a named model that no way of counting gives."""
    beside = " ".join(context.names[:2])
    plain = re.search(r"\b(?:has|have|contains?|with|is|are|有|为|总|共|total)", beside, re.I)
    about = (re.search(r"param|参数|total|总", beside, re.I) and plain) or is_name(context.names[:1])
    if not about or side.value < 10**6 or _names_part_but_whole(beside) or side.unit not in (None, "parameters"):
        return None
    if _OWN.search(" ".join((*context.names, *context.headings[:1], context.line))):
        return None
    right = model.num_parameters()
    if not Fraction(1, 2) * right <= side.value <= 4 * right:
        return None
    reach = max(side.reach, side.rough)
    if any(
        abs(known.total - side.value) <= max(reach, side.value / 50)
        for known in every_count(model.config, known_counts)
    ):
        return None if side.reach or side.rough else _total_is(model)
    return _total_is(model) if abs(right - side.value) > right / 20 else None


_OWN = re.compile(r"keras|\b(?:our|my|own|custom|toy|tiny|smaller) |自己|自定义", re.I)
_NAME = re.compile(
    r"(?:the )?(?:bert|roberta|albert|electra|gpt)?[ _-]?2?[ _-]?(?:base|small|medium|(?:xx?)?large|xl)(?: model)?"
    r"|(?:the )?(?:distil|ro|al|deberta|xlm-ro)?bert[\w-]{0,20}|gpt-?2[\w-]{0,10}",
    re.I,
)


def is_name(names: Collection[str]) -> bool:
    """Whether words are only the name of a model: BERT-base; base."""
    return any(_NAME.fullmatch(re.sub(r"^[\W_]+|[\W_]+$|的?参数量?$", "", name)) for name in names)


def _names_part_but_whole(name: str) -> bool:
    return any(
        re.search(pattern, name, re.I)
        for part, (_of, pattern) in PARTS.items()
        if "whole" not in part and "model" not in part
    )


_TOTAL_IS = N_("{architecture} has {count} parameters.")


def is_total_of_model(judged: Judged) -> bool:
    """Whether a verdict says no more than how many parameters the model has."""
    return bool(judged.reasons) and judged.reasons[0].message == _TOTAL_IS


def _total_is(model: Model) -> Judged:
    right = model.num_parameters()
    reason = Problem.of(_TOTAL_IS, architecture=model.architecture, count=right)
    return Judged("wrong", Fraction(right), None, (reason,))


def _slip(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on a count with a digit that is mistyped."""
    if side.reach or side.value.denominator != 1 or side.value < _LEAST_WITHOUT_WORDS or side.is_calculation:
        return None
    for part in _parts(model):
        beside = any(re.search(PARTS[part.part][1], name, re.I) for name in context.names if part.part in PARTS)
        if beside and part.heads == "all" and is_slip(int(side.value), part.right):
            message = N_("{right} is right for {part}: a digit is mistyped.")
            values = {"right": f"{part.right:,}", "part": part_in_words(part, model)}
            return Judged("wrong", Fraction(part.right), values["part"], (Problem("", None, message, values),), part)  # type: ignore[arg-type]
    return None


_CLEAN = {**_TABLE_LABELS, **_PLAIN_LABELS, "pooler": r"(?:the )?pooler(?: layer)?|池化层"}
_LEAST_APART, _MOST_APART = 50, 4  # a fiftieth of the right value, and four times it


def _contradicted(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """The verdict on a number whose label means one part alone, if it is clearly another number."""
    scope = context.scope(model.config.num_hidden_layers)
    for name in context.names[:2]:
        meant = _meant_alone(name)
        if not meant or line.value is None or _DIFFERENCE.search(" ".join((*context.names, *context.headings[:1]))):
            continue
        parts = [part for part in _scoped_by_name(meant[0], model) if not scope or part.layers == scope]
        nearest = _nearest(parts, line.value)
        if nearest is None or not nearest.right:
            continue
        apart = abs(line.value - nearest.right)
        ratio = max(line.value, Fraction(nearest.right)) / min(line.value, Fraction(nearest.right))
        exact = not line.rough and line.value >= _LEAST_EXACT
        if apart > 2 * line.rough and (exact or apart * _LEAST_APART > nearest.right) and ratio < _MOST_APART:
            message = N_("{right} is right for {part}.")
            described = part_in_words(nearest, model)
            reason = Problem("", None, message, {"right": f"{nearest.right:,}", "part": described})
            return Judged("wrong", Fraction(nearest.right), described, (reason,), nearest)
    return None


_LEAST_EXACT = 10**6  # digits of a larger number that is not rounded are meant
_ALL_LAYERS = r"(?:the |all )?(?:[0-9]+|all)[ 个]*(?:transformer|encoder|identical)? ?(?:layers|blocks|层|block)"


def _meant_alone(name: str) -> list[str]:
    """The part that a label means, if it is nothing else."""
    label = " ".join(_AROUND_LABEL.sub("", _LAYERS.sub(" ", name)).split())
    meant = [part for part, pattern in _CLEAN.items() if re.fullmatch(pattern, label, re.I)]
    whole = re.fullmatch(_ALL_LAYERS, " ".join(_AROUND_LABEL.sub("", name).split()), re.I)
    return meant or (["layers"] if whole else [])


def _nearest(parts: Collection[Counted], value: Fraction) -> Counted | None:
    return min(parts, key=lambda part: float(abs(part.right - value)), default=None)


def _scoped_by_name(name: str, model: Model) -> Iterator[Counted]:
    sizes = MiscountSizes.of(model.config)
    parts = parts_of(counted(model), sizes, [name])
    return (part for part in parts if part.heads == "all" and part.layers != "others")


def _any_part(side: ChainSide, model: Model) -> Counted | None:
    """The part, module or tensor with exactly this count."""
    if side.reach or side.value < _LEAST:
        return None
    fitting = [part for part in (*_parts(model), *_heads(model)) if part.right == side.value and part.heads == "all"]
    return next(iter(fitting), None)


@lru_cache(maxsize=32)
def _heads(model: Model) -> tuple[Counted, ...]:
    """The heads of the other classes of the family."""
    heads = []
    for cls in model.family.classes:
        try:
            tensors = counted(model.changed(architecture=cls.name))
        except InputError:
            continue
        head = tuple(tensor for tensor in tensors if tensor.place.component == "head")
        heads.append(Counted(cls.name, head))
    return tuple(heads)


def is_total(context: Context) -> bool:
    """Whether the words beside a number, or its heading, mean the whole model and no part of it."""
    names = (*context.names, *context.headings[:1])
    whole = any(re.search(PARTS[_WHOLE][1], name, re.I) for name in names) or is_name(context.names[:1])
    if _OWN.search(" ".join(names)):
        return False
    return whole and not any(_names_part_but_whole(name) for name in context.names)


def searched(value: int, model: Model, *, untied: bool = False) -> Judged | None:
    """The verdict on a total, by the likeliest mistakes that lead to it in any class of the family.

    ``untied`` is whether the text says that the decoder is not tied.
    """
    typed = Typed(Fraction(value), Fraction(value), Fraction(value), None)
    decoders = [cls.name for cls in model.family.classes if cls.task in ("causal-lm", "masked-lm")]
    if untied and decoders:
        model = model.changed(replace(model.config, tie_word_embeddings=False), decoders[0])
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), typed)
    if diagnosis.known or not diagnosis.confident:
        return None
    likeliest = diagnosis.miscounted[0]
    known = likeliest.known_count
    if known.mix or not known.right <= 2 * value <= 4 * known.right:
        return None
    made = list(mistakes(likeliest.explanation, model.config))[:3]
    values = {"right": f"{known.right:,}", "part": known_in_words(known)}
    values |= dict(zip(("first", "second", "third"), made, strict=False))
    return Judged("wrong", Fraction(known.right), None, (Problem("", None, _IS_RIGHT[len(made)], values),))


# --- other units ---

_DOUBLE = Fraction(1, 10**12)  # shares are computed in double precision


def _share(side: ChainSide, model: Model) -> Judged:
    """The verdict on a share of a component: 0.2177 of the parameters are in the embeddings."""
    if len(re.sub(r"\D", "", side.text.lstrip("0."))) < 2:
        return NO_CLAIM
    right = model.num_parameters()
    for component, count in totals_by_component(model).items():
        if count and abs(Fraction(count, right) - side.value) <= max(side.reach, _DOUBLE):
            message = N_("the share of this component: {component}")
            return Judged("right", counts=Problem.of(message, component=component))
    return NO_CLAIM


_DTYPES = ((4, "float32"), (2, "16 bits"), (1, "8 bits"))


_SINGLE = re.compile(r"^\W{0,3}(?:in|of|as|at|用|以)?\s?(?:float32|fp32|single precision|32[ -]bits?|单精度)", re.I)


def _bytes(side: ChainSide, context: Context, model: Model, *, single: bool) -> Judged:
    """The verdict on a size in bytes: of the weights, in MB or in MiB; ``single`` is whether it says float32."""
    judged = _of_bytes(side, context, model)
    if judged.verdict == "right" and judged.counts and single:
        dtype = judged.counts.values.get("dtype")
        if dtype != "float32" and (width := next((width for width, name in _DTYPES if name == dtype), 0)):
            right = 4 * round(side.value / width) if is_total(context) is False else 4 * model.num_parameters()
            message = N_("It is {counts}; in float32 it is {bytes}.")
            values = {"counts": judged.counts, "bytes": in_words(Fraction(right), "bytes")}
            return Judged("wrong", Fraction(right), judged.counts, (Problem("", None, message, values),))
    return judged


_CACHED = re.compile(r"\bKV\b|\bK/V\b|\bkeys? (?:and|&) values?|键值|KV ?缓存", re.I)
_PER_TOKEN = re.compile(r"\btoken\b|词元|个token", re.I)


def _keys_and_values(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the bytes of the keys and values that a decoder keeps for a token, in 16 bits."""
    words = " ".join((*context.names, *context.headings[:1]))
    if not _CACHED.search(words) or not _PER_TOKEN.search(words) or side.reach:
        return None
    config = model.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    layers = 1 if context.scope(config.num_hidden_layers) == "one" else config.num_hidden_layers
    of_head = 2 * (config.hidden_size // config.num_attention_heads) * 2
    right = of_head * heads * layers
    counts = Problem.of(N_("keys and values of a token in 16 bits"))
    if side.value == right:
        return Judged("right", counts=counts)
    if side.value != of_head and side.value * heads != right:
        return None
    message = N_("{right} is right for {part}: only one head is counted.")
    reason = Problem("", None, message, {"right": in_words(Fraction(right), "bytes"), "part": counts})
    return Judged("wrong", Fraction(right), counts, (reason,))


def _of_bytes(side: ChainSide, context: Context, model: Model) -> Judged:
    reach = max(side.reach, Fraction(0))
    power = next((power for power, sign in enumerate("kmgt", 1) if sign in side.text.lower().split("b")[0]), 0)
    binary = Fraction(1024**power, 1000**power)
    known = [(count.total, known_in_words(count)) for count in every_count(model.config, known_counts)]
    named = [(part.right, part_in_words(part, model)) for part in _parts(model) if part.right > 10**5]
    for ratio in (Fraction(1), binary):
        for width, dtype in _DTYPES:
            for count, described in (*known, *named):
                if abs(width * count - side.value * ratio) <= reach * ratio:
                    message = (
                        N_("the bytes of {known} in {dtype}")
                        if ratio == 1
                        else N_("the bytes of {known} in {dtype}, in binary units")
                    )
                    return Judged("right", counts=Problem("", None, message, {"known": described, "dtype": dtype}))
    return _bytes_of_named(side, context, model) or _bytes_of_training(side, context, model) or UNKNOWN


_TRAINING = re.compile(r"adam|optimi[sz]er|moments?\b|gradient|train|tun|优化器|梯度|训练|微调|动量", re.I)


def _bytes_of_training(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the bytes of training: 8 a parameter for Adam's moments, 12 or 16 with weights and gradients."""
    if not _TRAINING.search(" ".join((*context.names, *context.headings[:1]))):
        return None
    for width in (8, 12, 16):
        if abs(width * model.num_parameters() - side.value) <= side.reach:
            reason = Problem.of(N_("It is right with {width} bytes for a parameter."), width=width)
            right = Fraction(width * model.num_parameters())
            return Judged("conditional", right, reason, (reason,))
    return None


_TENTH = Fraction(1, 1000)  # of the right bytes: closer sizes mean the same


def _bytes_of_named(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the bytes of a part that differ from the right ones in the last digits only."""
    digits = re.sub(r"\D", "", side.text)
    if len(digits) < 4 or is_total(context) or re.search("file|checkpoint|文件|\\.(?:bin|pt)", context.line, re.I):
        return None
    named = [
        (abs(4 * total(tensors) - side.value), 4 * total(tensors), part)
        for part in _parts(model)
        if part.part in PARTS and part.part not in WHOLE
        and any(re.search(PARTS[part.part][1], name, re.I) for name in context.names)
        for tensors in _with_and_without_biases(part)
    ]  # fmt: skip
    apart, right, part = min(named, key=lambda entry: entry[0], default=(Fraction(0), 0, None))
    if part is None or right < 10**6 or not side.reach < apart < right * _TENTH:
        return None
    described = part_in_words(part, model)
    reason = Problem(
        "", None, N_("{right} is right for {part}."), {"right": _in_unit_of(right, side), "part": described}
    )
    return Judged("wrong", Fraction(right), described, (reason,), part)


def _in_unit_of(right: int, side: ChainSide) -> str:
    """A number of bytes in the unit of a size that somebody wrote, with as many decimals."""
    number, unit = re.fullmatch(r"([0-9.,]+)(.*)", side.text.strip(), re.S).groups()  # type: ignore[union-attr]
    places = len(number.partition(".")[2])
    factor = side.value / Fraction(number.replace(",", "") or 1)
    return f"{fixed(right / factor, places)}{unit}"


def _flops(side: ChainSide, model: Model) -> Judged:
    typed = Typed(side.value, side.value - side.reach, side.value + side.reach, side.unit)
    for cost in flops_of(model, typed):
        message = N_("It is right for a batch of {batch} x {length} tokens.")
        reason = Problem.of(message, batch=cost.batch_size, length=cost.sequence_length)
        return Judged("conditional", cost.operations, reason, (reason,))
    return UNKNOWN
