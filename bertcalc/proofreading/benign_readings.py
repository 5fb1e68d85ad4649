"""Find a reading that makes a seemingly wrong number right or unclear: a changed size, or the share of another total.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "Doubling the layers of BERT-base to 24, the encoder has 170,108,928 parameters."
>>> entry = find(text, {})[-1]
>>> benign_reading(Judged("wrong"), entry, Surroundings(text).of(entry), build(BertConfig())).verdict
'unknown'
"""

import re
from fractions import Fraction
from itertools import permutations

from bertcalc.diagnosis.layer_parts import PARTS
from bertcalc.diagnosis.part_words import part_in_words
from bertcalc.model.model import Model
from bertcalc.proofreading.described_models import model_of
from bertcalc.proofreading.mentions.calculations import WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import models_named
from bertcalc.proofreading.named_parts import all_parts, count_of_part
from bertcalc.proofreading.verdicts import LEAST_WITHOUT_WORDS, UNKNOWN, Judged
from bertcalc.text import N_
from bertcalc.text.amounts import typed
from bertcalc.text.problem import Problem

_SIZE = (
    rf"(?:{PARTS['feed-forward'][1]}|layers?|depth|width|wide|hidden|vocab\w*|positions?|intermediate|embeddings?|tokens?"
    r"|[VHLIP]\b|层数?|隐藏|维度|宽度|词表|前馈|位置|中间)"
)
_VERB = (
    r"(?:wid(?:en|er)|narrow|doubl|halv|tripl|quadrupl|extend|enlarg|shr[iu]nk|increas|decreas|reduc|lower|cut|grow"
    r"|swap|replac|chang|drop|remov|factoriz|resiz)(?:\w{0,4})"
)
# Words for a change of a model's size: doubling the layers, w/o position embeddings, 把词表换成 21,128.
_CHANGES_SIZE = re.compile(
    rf"\b{_VERB}\b[^.。;；]{{0,40}}?{_SIZE}|{_SIZE}[^.。;；]{{0,30}}?\b{_VERB}\b|\bw/o\b"
    rf"|\bwith [^.;]{{0,30}}(?:width|depth)\b[^.;]{{0,30}}\bbut\b"
    rf"|{_SIZE}[^。;；]{{0,24}}?(?:改|换|减|增|扩|缩|降|变|翻)\S{{0,2}}(?:为|成|到|至|倍|半)"
    r"|\bfrom [0-9][0-9,.]*\S? to (?:[0-9]|$)|从\s?[0-9][0-9,.]*\s?[万亿M]?\s?(?:降|减|增|升|变|压)|\bfrom $|从\s?$"
    rf"|(?:扩大|缩小|减少|增加|去掉|替换)[^。;；]{{0,10}}{_SIZE}",
    re.I,
)
_COUNTS_OPERATIONS = re.compile(
    r"[^.。;；]{0,12}?(?:multipl(?:y|ies|ication)|\bMACs?\b|mult-?adds?|operations?\b|\bFLOPs?\b|次?乘加|次乘法|次运算)",
    re.I,
)
_OF_LORA = re.compile(r"\bLoRA\b|\br ?= ?[0-9]|\brank\b|秩", re.I)  # a doubled rank changes no size of the model
_SEVERAL_MODELS = re.compile(
    r"\b(?:two|three|four|both|several)\b[^.。;；]{0,20}?(?:model|bert|cop(?:y|ies))|[两三四几][个份]", re.I
)
_WITH_BIAS = re.compile(r"\b(?:also|plus|and)\b[^.。;；]{0,20}\bbias", re.I)
_NUMBER = re.compile(
    r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3}){1,3}(?![0-9,]*[0-9])|(?<![0-9.,])[0-9]{1,4}(?:\.[0-9]{1,3})?\s?(?:M|million|亿|万)\b"
)
_MOST_NUMBERS, _LEAST_SHARE = 8, Fraction(1, 10_000)


def benign_reading(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Return the verdict on a wrong number in another reading of its sentence; None if no other reading fits."""
    sentence = context.sentence or context.line
    if entry.stated.text.endswith("%"):
        return _share_of_other_whole(judged, entry, context, model)
    if entry.computes and _COUNTS_OPERATIONS.match(entry.after):
        return UNKNOWN
    if entry.stated.unit == "bytes":
        is_of_several = _SEVERAL_MODELS.search(sentence) and entry.stated.value > (judged.right_value or 0)
        operands = {operand.value for side in entry.sides for operand in side.operands}
        is_operand = entry.computes and any(_rounds(operand, judged.right_value) for operand in operands)
        return UNKNOWN if is_of_several or is_operand else None
    if entry.computes and (part := _divided_by_layers(entry, model)):
        return part
    changes_size = any(map(_CHANGES_SIZE.search, (sentence, context.before)))
    if not entry.computes and changes_size and not _OF_LORA.search(sentence):
        return UNKNOWN
    if _is_of_compared(entry, sentence):
        return UNKNOWN
    if judged.right_value and _WITH_BIAS.search(entry.after[:_NEAR]):
        return judged._replace(verdict="conditional")
    return None


_NEAR = 90


def _rounds(operand: Fraction, right: Fraction | None) -> bool:
    """Whether an operand is the right size in bytes, MB or GB, to about three digits: 219 in 2 × 219 MB."""
    return right is not None and any(abs(operand * unit - right) * 200 <= right for unit in (1, 10**6, 10**9))


def _is_of_compared(entry: WrittenNumber, sentence: str) -> bool:
    """Whether a number is the total of one of the models that its sentence compares: 124.6M vs. 109.5M."""
    if not _COMPARES.search(sentence) or entry.best.unit not in (None, "parameters"):
        return False
    totals = (model_of(name).num_parameters() for name in models_named(sentence))
    return any(abs(total - entry.best.value) <= entry.best.reach for total in totals)


_COMPARES = re.compile(
    r"\bvs\b|versus|\b(?:more|fewer|less|larger|smaller) (?:\w+ )?than\b|difference|\bas\b|[对比]", re.I
)


def _share_of_other_whole(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a percentage as the ratio of two numbers in its sentence, or as a share of a total that the sentence names.

    Return None if neither reading fits.
    """
    stated, part = entry.stated.value, judged.counted
    if stated < _LEAST_SHARE:
        return None
    reach, sentence = max(entry.stated.reach, entry.stated.rough), context.sentence or context.line
    values = [typed(match[0]).value for match in _NUMBER.finditer(sentence)][:_MOST_NUMBERS]
    if any(whole and abs(part / whole - stated) <= reach for part, whole in permutations(values, 2)):
        reason = Problem.of(N_("This is the ratio of two numbers in this sentence."))
        return Judged("right", counts=reason)
    names_sublayer = any(map(_SUBLAYER.search, context.names[:2]))
    if entry.cells or not (part or names_sublayer):
        return None
    named = [name for name, words in _WHOLES.items() if re.search(words, sentence, re.I)]
    wholes = [*values, *(Fraction(count_of_part(name, model)) for name in named)]
    counts = [part.right] if part else []
    if names_sublayer:
        names = (*_IN_LAYERS, *_IN_EMBEDDINGS) if "layers" in named else _IN_EMBEDDINGS
        counts += [count_of_part(name, model) for name in names]
    if any(whole and abs(count - stated * whole) <= reach * whole for count in counts for whole in wholes):
        return Judged("conditional", counts=part_in_words(part, model) if part else None)
    return None


_SUBLAYER = re.compile(
    rf"{PARTS['attention'][1]}|{PARTS['feed-forward'][1]}|embeddings?\b|\bwords?\b|\bpositions?\b|位置", re.I
)
_IN_LAYERS = ("attention", "feed-forward", "attention with LayerNorm", "feed-forward with LayerNorm")
_IN_EMBEDDINGS = ("word embeddings", "position embeddings")
_WHOLES = {"layers": r"encoder|layers|编码器|层", "embeddings": r"\b(?:within|among) (?:the |its )?embeddings?\b"}


def _divided_by_layers(entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge a count divided by the number of layers: 85,054,464 / 12 = 7,087,872; return None for other numbers."""
    layers = model.config.num_hidden_layers
    quotient = re.compile(rf"[0-9,]+\s?/\s?{layers}")
    divides = any(quotient.fullmatch(side.text.strip()) for side in entry.sides if side.is_calculation)
    if not divides or entry.best.reach or entry.best.value < LEAST_WITHOUT_WORDS:
        return None
    parts = (part for part in all_parts(model) if part.layers == "one" and part.heads == "all")
    part = next((part for part in parts if part.right == entry.best.value), None)
    return Judged("right", counts=part_in_words(part, model), counted=part) if part else None
