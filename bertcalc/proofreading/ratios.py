"""Judge how large a model is beside another: 61% of the parameters of BERT, 40% fewer, 3.06 times as many.

>>> compared_in("DistilBERT has", "of the parameters of BERT-base")
Compared(other='BERT-base', more='')
>>> compared_in("DistilBERT 相比 BERT-base 减少了大约", "")
Compared(other='BERT-base', more='减少')
"""

import re
from fractions import Fraction
from typing import NamedTuple

from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.calculations import ChainSide
from bertcalc.proofreading.described_models import model_of
from bertcalc.proofreading.shares import roundness
from bertcalc.proofreading.verdicts import Judged
from bertcalc.proofreading.whole_counts import name_of
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import Problem

_DOUBLE = Fraction(1, 10**12)
_MORE = "fewer|less|smaller|lighter|more|larger|bigger"
_NOUNS = "(?:parameters|params|weights|size|parameter count)"
# 61% of the parameters of BERT; 40% smaller than BERT-base
_BESIDE = re.compile(
    rf"\W{{0,3}}(?:of|as (?:large|big|many \w+) as) (?:(?:the|its) )?(?:(?:{_NOUNS}|that) (?:of|in) )?(?:the )?"
    rf"(?=[\w*`])|\W{{0,3}}(?P<more>{_MORE}) (?:{_NOUNS} )?than (?:the )?",
    re.I,
)
# 40% fewer parameters; 40% the size
_ALONE = re.compile(rf"\W{{0,2}}(?:(?P<more>fewer|less|smaller) ?{_NOUNS}|of the size|the size)(?=\W|$)", re.I)
_NAME = r"(?P<other>[A-Za-z][\w.+-]{2,30}(?: (?:base|large|small|tiny|mini|medium|xl))?)"
_BEFORE = (
    re.compile(
        rf"(?:相比之?下?|相较|比|较|相对)(?:于|起)?\s?{_NAME}\s?[^\d,，。；]{{0,10}}?"
        r"(?P<more>减少|缩小|降低|压缩|减小|小|少|轻|增加|增大|多|大)了?(?:大?约|近|将近|大概|差不多)?\s?$"
    ),
    re.compile(
        rf"(?:是|为|有|占|相当于|到|约)\s?{_NAME}\s?(?:的|总|模型|参数量?){{1,4}}(?:大?约|近|仅|只有|[^\d,，。；]{{0,8}}[,，]约)?\s?$"
    ),
)
TIMES = re.compile(r"\s?(?:x|×|times|-?fold)(?![\w])|\s?倍", re.I)
RATIO_COLUMN = re.compile(r"\bratio|\bfactor\b|倍|比值", re.I)
FORMER = re.compile(
    r"(?:前者|后者|它|其|[两二]者)\S{0,4}$|(?:that is|that's|which is|i\.e\.|a factor of|ratio of?)(?: about"
    r"| roughly)?\W{0,2}$",
    re.I,
)
_TIMES_OF = re.compile(
    r"\s?(?:x|×|times|-?fold) (?:as (?:large|big|many \w+) as |(?:the )?(?:size|parameters"
    r"|number of parameters) of |larger than |bigger than |that of )"
    r"(?:the )?",
    re.I,
)
_TIMES_BEFORE = re.compile(rf"(?:是|为|有|相当于|约)\s?{_NAME}\s?(?:的|总|参数量?){{1,4}}(?:大?约|近)?\s?$")


class Compared(NamedTuple):
    """The model that another one is compared with, by the words that begin with its name, and whether it is more."""

    other: str
    more: str = ""


def compared_in(before: str, after: str) -> Compared | None:
    """What the words around a percentage compare; ``other`` is empty if they do not name it, and None for nothing."""
    if beside := _BESIDE.match(after):
        return Compared(after[beside.end() :], beside["more"] or "")
    for pattern in _BEFORE:
        if named := pattern.search(before):
            return Compared(named["other"], named.groupdict().get("more") or "")
    alone = _ALONE.match(after)
    return Compared("", alone["more"] or "") if alone else None


def compared_times(before: str, after: str) -> str:
    """The words for the model whose parameters another one has several times; empty if there are none."""
    if beside := _TIMES_OF.match(after):
        return after[beside.end() :]
    named = _TIMES_BEFORE.search(before)
    return named["other"] if named else ""


# BERT-base, which DistilBERT is always compared with.
TEACHER, _STUDENT = model_of(DEFAULT_PRESET), PRESETS["distilbert-base-uncased"].config


def is_distilled(model: Model) -> bool:
    """Whether a model is DistilBERT, whose size people give beside BERT-base's without its name."""
    return model.config == _STUDENT


def judge_ratio(side: ChainSide, more: str, model: Model, other: Model) -> Judged | None:
    """The verdict on the share that a model's parameters are of another's, or by which they are ``more`` or fewer.

    None if it is right only roughly.
    """
    ratio = Fraction(model.num_parameters(), other.num_parameters())
    right = ratio if not more else ratio - 1 if _IS_MORE.fullmatch(more) else 1 - ratio
    counts = Problem.of(_IS_BESIDE, first=name_of(model), second=name_of(other))
    if abs(right - side.value) <= max(side.reach, _DOUBLE):
        return Judged("right", counts=counts)
    rough = min(_ROUGH_RATIO, _ROUGH_PUBLISHED * right)
    if right <= 0 or abs(right - side.value) <= max(side.reach, rough, roundness(side)):
        return None
    message = N_("The number of parameters of {first} is {share} % of that of {second}.")
    reason = Problem.of(message, first=name_of(model), second=name_of(other), share=fixed(100 * ratio, 1))
    return Judged("wrong", right, counts, (reason,))


_IS_BESIDE = N_("the number of parameters of {first} beside that of {second}")
_IS_MORE = re.compile("more|larger|bigger|[多增大].*", re.I)
_ROUGH_RATIO, _ROUGH_PUBLISHED = Fraction(3, 100), Fraction(3, 50)  # published numbers have few digits


def judge_times(side: ChainSide, model: Model, other: Model) -> Judged | None:
    """The verdict on how many times a model's parameters another one has; None if it is right only roughly."""
    ratio = Fraction(other.num_parameters(), model.num_parameters())
    counts = Problem.of(_IS_BESIDE, first=name_of(other), second=name_of(model))
    return _ratio_is(ratio, side, counts)


def judge_quotient(first: Fraction, second: Fraction, side: ChainSide) -> Judged | None:
    """The verdict on how many times one of two numbers before it the other one is."""
    larger, smaller = max(first, second), min(first, second)
    return _ratio_is(larger / smaller, side, Problem.of(N_("the ratio of the two numbers before it")))


def _ratio_is(ratio: Fraction, side: ChainSide, counts: Problem) -> Judged | None:
    decimals = len(side.text.strip().rstrip("xX×倍 ").partition(".")[2])
    reach = Fraction(1, 2 * 10**decimals)
    if abs(ratio - side.value) <= reach:
        return Judged("right", counts=counts)
    if abs(ratio - side.value) <= max(reach, ratio * _ROUGH_TIMES) or not ratio / 4 < side.value < ratio * 4:
        return None
    reason = Problem.of(N_("The ratio is {ratio}."), ratio=fixed(ratio, max(decimals, 2)))
    return Judged("wrong", ratio, counts, (reason,))


_ROUGH_TIMES = Fraction(1, 20)
