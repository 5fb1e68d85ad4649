"""Judge numbers that are wrong by every way of counting the part that the words around them name.

>>> from bertcalc import BertConfig, build
>>> line, context = TypedLine("", "", Fraction(7_161_667)), Context(("each transformer layer holds",), (), "")
>>> judged = near_miss(line, context, build(BertConfig()))
>>> judged and str(judged.reasons[0])
'7,087,872 is right for one layer.'
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.known_counts import KnownCount, every_count, known_counts
from bertcalc.diagnosis.layer_parts import PARTS, USUAL, WHOLE_MODEL, WHOLE_OR_BODY, Counted
from bertcalc.diagnosis.miscounts import total
from bertcalc.diagnosis.part_words import known_in_words, part_in_words
from bertcalc.diagnosis.relatives import nominal_count
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.calculations import WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import names_model, without_models
from bertcalc.proofreading.named_parts import (
    count_of_part,
    counts_of,
    meant_alone,
    named_parts,
    names_part_but_whole,
    names_particular_part,
    names_whole_only,
    scoped,
    with_and_without_biases,
)
from bertcalc.proofreading.verdicts import Judged, right_for, should_be
from bertcalc.proofreading.whole_counts import STATED_LABELS, claimed_counts
from bertcalc.text import N_
from bertcalc.text.problem import Problem

IS_DIFFERENCE = re.compile(
    r"remov|fewer|less|smaller|differen|sav(?:e|ing)|reduc|more than|additional|减少|节省|相差|差值|少了|多了|增加",
    re.I,
)


# --- labels that mean a single part ---


_CLEARLY_APART, _MOST_APART = 50, 4  # a wrong count differs by more than a fiftieth, and by less than a factor of four


def contradicted(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """Judge a number with the label of one part, if it is clearly not the count of that part; otherwise return None."""
    scope, value = context.scope(model.config.num_hidden_layers), line.value or Fraction(0)
    for name in context.names[:2]:
        meant = meant_alone(name)
        if not meant or not value or IS_DIFFERENCE.search(" ".join((*context.names, *context.headings[:1]))):
            continue
        if meant[0] == "layers" and scope == "one" and names_particular_part(context, model):
            continue
        if _is_joined(name, context.sentence):
            continue
        parts = [part for part in scoped(meant[0], model) if not scope or part.layers == scope]
        nearest = min(parts, key=lambda part: abs(part.right - value), default=None)
        exact = _is_exact(line)
        if nearest is None or not nearest.right or _is_near_another(meant[0], value, model, exact=exact):
            continue
        apart = abs(value - nearest.right)
        ratio = max(value, Fraction(nearest.right)) / min(value, Fraction(nearest.right))
        if apart > 2 * line.rough and (exact or apart * _CLEARLY_APART > nearest.right) and ratio < _MOST_APART:
            return right_for(nearest, model)
    return None


def _is_joined(name: str, sentence: str) -> bool:
    """Whether a label names one of two parts that its sentence counts together: the embeddings and the head."""
    _before, named, after = sentence.partition(name)
    joined = _JOINED.match(after) if named else None
    return joined is not None and names_part_but_whole(joined["other"])


_JOINED = re.compile(r"\W{0,3}(?:and|plus|\+|&|和|与|加)\s?(?:the |its )?(?P<other>[^\W\d][^\d,.;，。；]{2,30})", re.I)


def _is_exact(line: TypedLine) -> bool:
    """Whether a number states all of its digits: 7,161,667, not 7,200,000."""
    value = line.value or Fraction(0)
    return not line.rough and (value >= _LEAST_EXACT or (value >= _LEAST_OF_SIX_DIGITS and value % 1000 > 0))


_LEAST_EXACT, _LEAST_OF_SIX_DIGITS = 10**6, 10**5


# Further parts that a label may mean, keyed by the part that it names.
_ALSO = {
    "attention": ("attention with LayerNorm",),
    "feed-forward": ("feed-forward with LayerNorm",),
    "embeddings": ("word embeddings", "embeddings without LayerNorm", "projection of the embeddings"),
    "layers": (WHOLE_MODEL,),
}


def _is_near_another(name: str, value: Fraction, model: Model, *, exact: bool) -> bool:
    """Whether a number is near another count with the same name.

    If the number is ``exact``, it has to equal the count. For embeddings with a projection, the result is always True.
    """
    others = [part.right for other in _ALSO.get(name, ()) for part in scoped(other, model)]
    is_projected = name == "embeddings" and count_of_part("projection of the embeddings", model)
    apart = 0 if exact else Fraction(1, _CLEARLY_APART)
    return bool(is_projected) or any(abs(other - value) <= other * apart for other in others)


# --- words that name a part, and a number near its count ---


_NEAR = 6  # a number is near a count if it differs by at most a sixth of the count
_FIGURES = 40  # a number needs about two significant digits: 0.84M or 22M, but not 8M
_LEAST = 100_000


def near_miss(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """Judge a number close to the count that the words around it mean; return None if it is another part's count."""
    value, reach = line.value or Fraction(0), max(line.reach, line.rough)
    if value < _LEAST or reach * _FIGURES > value or (not reach and value % 10_000 == 0):
        return None
    if context.supposes or _COUNTS_CHANGE.search(" ".join(context.names)):
        return None
    part = _meant(value, context, model)
    if part is None or _is_counted(value, reach, model):
        return None
    around = " ".join((*context.headings[:1], context.line))
    is_changed = _COUNTS_CHANGE.search(around) and not any(map(_UNCHANGED.search, context.names[:1]))
    if part.part == WHOLE_MODEL and is_changed:
        return None
    return right_for(part, model)


# Words for a difference, for something added, or for a changed model.
_COUNTS_CHANGE = re.compile(
    r"remov|fewer|less|smaller|larger|differen|sav(?:e|ing)|reduc|more|additional|extra|new\b|own\b|custom|prun|resiz"
    r"|lora|adapter|distill|trainable|减少|节省|相差|差值|少了|多了|增加|新增|自定义|剪枝",
    re.I,
)
_UNCHANGED = re.compile(r"frozen|pre-?train|original|backbone|冻结|预训练|原始", re.I)
_WITH = re.compile(r"(?:\b(?:with|without|incl\w*|excl\w*|w/o)\b|[不包]?[含括]|[无带]).*$", re.I)
_SIZES = re.compile(
    r"[0-9]+[ -]?(?:\w+[ -])?(?:layers?|blocks?|heads?|hidden|dim\w*|层|头|维)|hidden(?:[ _]size)?[ =:]*[0-9]+"
    r"|[LHA] ?= ?[0-9]+",
    re.I,
)
_WHOLE = re.compile(r"\btotal|\ball param|whole|\bmodel\b|模型|总|合计|一共|全部参数", re.I)


def _meant(value: Fraction, context: Context, model: Model) -> Counted | None:
    """The part that the nearest words mean, if the number is close to its count; else None."""
    scope = context.scope(model.config.num_hidden_layers)
    for name in context.names[:2]:
        words = _SIZES.sub(" ", _WITH.sub("", name))
        names_part = names_part_but_whole(without_models(words))
        if (names_model(words) or _WHOLE.search(words)) and not names_part:
            return _nearest([WHOLE_MODEL], value, "", model)
        if _joins_parts(name):
            return None
        if names_part:
            break
    for name in named_parts(context, model):
        called = meant_alone(name) or _called(USUAL, name) or _called(PARTS, name)
        if not names_whole_only(name, model):
            called = [part for part in called if part != "layers"] or called
        called = [part for part in called if part not in WHOLE_OR_BODY]
        if any("embeddings" in part for part in called) and count_of_part("projection of the embeddings", model):
            return None  # the words may include the projection or not
        if near := _nearest(called, value, scope, model):
            return near
        if called and not names_whole_only(name, model):
            return None
    return None


_JOINS, _COMPONENTS = (
    re.compile(r"\band\b|\bplus\b|[+&、]|[和与加]", re.I),
    ("embeddings", "all LayerNorms", "attention", "feed-forward", "pooler", "head"),
)


def _joins_parts(name: str) -> bool:
    """Whether words name several parts that are counted together: the LayerNorms and the pooler."""
    named = [part for part in _COMPONENTS if re.search(PARTS[part][1], name, re.I)]
    return len(named) > 1 and bool(_JOINS.search(name)) and not meant_alone(name)


def _called(parts: Iterable[str], name: str) -> list[str]:
    """The parts that a name may mean; the embeddings always include their LayerNorm."""
    called = [part for part in parts if re.search(PARTS[part][1], name, re.I)]
    return ["embeddings" if part == "embeddings without LayerNorm" else part for part in called]


def _nearest(names: Sequence[str], value: Fraction, scope: str, model: Model) -> Counted | None:
    """The named part with the count nearest to a number, in the layers that the words mean; None if none is near."""
    parts = [part for name in names for part in scoped(name, model)]
    parts = [part for part in parts if not scope or part.layers == scope or not _is_repeated(part, model)]
    near = [part for part in parts if part.right and abs(part.right - value) * _NEAR <= part.right]
    return min(near, key=lambda part: abs(part.right - value), default=None)


def _is_repeated(part: Counted, model: Model) -> bool:
    return len({other.right for other in scoped(part.part, model)}) > 1


def _is_counted(value: Fraction, reach: Fraction, model: Model) -> bool:
    """Whether a number counts one part, two parts or a model class, with or without biases."""
    counts = _all_counts(model)
    if reach:
        return any(abs(count - value) <= 2 * reach for count in counts)
    return value in counts or value in _sums(model) or _has_more_labels(value, model)


def _has_more_labels(value: Fraction, model: Model) -> bool:
    """Whether a number is the count of a class with more labels: each label adds a row and a bias to the classifier."""
    of_label = model.config.hidden_size + 1
    return any(
        0 < value - count < _MOST_LABELS * of_label and (value - count) % of_label == 0 for count in _totals(model)
    )


_MOST_LABELS = 200


@lru_cache(maxsize=32)
def _totals(model: Model) -> frozenset[int]:
    return frozenset(count.total for count in every_count(model.config, known_counts))


@lru_cache(maxsize=32)
def _all_counts(model: Model) -> frozenset[int]:
    """The counts of parts and classes, also without biases or without a usual part, and the published counts."""
    counts = {total(tensors) for part in counts_of(tuple(PARTS), model) for tensors in with_and_without_biases(part)}
    without = {count - count_of_part(part, model) for count in _totals(model) for part in _LEFT_OUT}
    return frozenset(counts | _totals(model) | without | {*claimed_counts(model)})


_LEFT_OUT = ("biases of query, key and value", "position embeddings", "embeddings", "all biases", "all LayerNorms")


@lru_cache(maxsize=32)
def _sums(model: Model) -> frozenset[int]:
    """The sums of the counts of two parts."""
    parts = [part for part in counts_of(tuple(USUAL), model) if part.heads == "all" and part.layers != "others"]
    counts: Collection[int] = {total(tensors) for part in parts for tensors in with_and_without_biases(part)}
    return frozenset(first + second for first, second in combinations(counts, 2))


# --- other amounts ---


def judge_classifier(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """Judge the parameters of a classification head; return None if the line does not state its number of labels."""
    value, of_label = line.value or Fraction(0), model.config.hidden_size + 1
    if line.reach or not any(map(_CLASSIFIER.search, (*context.names[:2], context.sentence))):
        return None
    labels = {int(stated["labels"] or stated["classes"]) for stated in STATED_LABELS.finditer(context.line)}
    meant = {number for number in labels if number > 1 and abs(number * of_label - value) * _NEAR <= number * of_label}
    if len(meant) != 1:
        return None
    [number] = meant
    counts = Problem.of(N_("a classifier with {labels} labels"), labels=number)
    if value == number * of_label:
        return Judged("right", counts=counts)
    return should_be(Fraction(number * of_label), counts)


def judge_classifier_product(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a product that counts a classification head without its bias (768 × 2 = 1,536); return None for others."""
    side, hidden = entry.best, model.config.hidden_size
    factors = sorted(operand.value for other in entry.sides if other.is_calculation for operand in other.operands)
    if len(factors) != _OF_PRODUCT or factors[1] != hidden or side.value != factors[0] * hidden:
        return None
    is_head = any(map(_OF_CLASSIFIER.search, context.names[:1])) and not _BIAS.search(f"{context.line} {context.below}")
    words = " ".join((*context.names, context.sentence))
    is_count = len(entry.sides) == _OF_PRODUCT or _PARAMETERS.search(words) or _LABELS.search(words)
    if not (is_head and is_count and 1 < factors[0] <= _MOST_CLASSES):
        return None
    counts = Problem.of(N_("a classifier with {labels} labels"), labels=int(factors[0]))
    return should_be(factors[0] * (hidden + 1), counts)


def judge_with_classifier(entry: WrittenNumber, model: Model) -> Judged | None:
    """Judge a model's count plus a classifier: 109,482,240 + 768 × 2 lacks the classifier's two biases.

    Return None for other sums.
    """
    side, hidden, whole = entry.best, model.config.hidden_size, model.num_parameters()
    written = {operand.value for other in entry.sides if other.is_calculation for operand in other.operands}
    labels, bias = divmod(int(side.value) - whole, hidden)
    if (
        side.reach
        or not {whole, hidden, labels} <= written
        or not 1 < labels <= _MOST_CLASSES
        or bias not in (0, labels)
    ):
        return None
    config = replace(model.config, num_labels=labels)
    cls = next((cls.name for cls in model.family.classes if cls.task == "sequence-classification"), None)
    right = Model(config, cls).num_parameters() if cls else 0
    if right != whole + labels * (hidden + 1):
        return None
    counts = known_in_words(KnownCount(Model(config, cls), right, convention="labels"))
    return Judged("right", counts=counts) if bias else should_be(Fraction(right), counts)


_OF_PRODUCT, _MOST_CLASSES = 2, 100
_OF_CLASSIFIER = re.compile(
    r"\bclassif\w+ (?:linear )?(?:head|layer)|classifier$|分类(?:线性)?(?:头|层|器)(?:的?参数量?)?$"
    r"|hidden_?(?:size|dim)\s?[*×x·]\s?num_(?:labels|classes)$",
    re.I,
)
_LABELS = re.compile(r"hidden_?(?:size|dim)\s?[*×x·]\s?num_(?:labels|classes)\b")
_PARAMETERS = re.compile("param|参数", re.I)
_BIAS = re.compile(r"bias|偏置|weight|matri|权重|矩阵", re.I)
_CLASSIFIER = re.compile(r"\bhead|classif|分类", re.I)


def near_bytes(entry: WrittenNumber, context: Context, width: int, model: Model) -> Judged | None:
    """Judge a size close to the bytes of the weights that the words around it mean.

    ``width`` is the number of bytes per parameter. Return None if a different count explains the size.
    """
    side = entry.stated
    reach = max(side.reach, side.rough)
    if context.supposes or entry.computes or reach * _FIGURES > side.value or _COUNTS_CHANGE.search(context.line):
        return None
    names_part = any(names_part_but_whole(_OF_WEIGHTS.sub(" ", name)) for name in context.names[:2])
    stored = {count.total for count in every_count(model.config, known_counts) if count.model.config == model.config}
    stored |= {count for count in (nominal_count(model.config),) if count}
    counts = _all_counts(model) if names_part else stored | {*claimed_counts(model)}
    for factor in side.unit_factors:
        for count in counts:
            if abs(width * count - factor * side.value) <= max(factor * reach, width * count * _CLOSE):
                return None
    value = side.value / width
    part = _meant(value, context, model) if names_part else _nearest([WHOLE_MODEL], value, "", model)
    if part is None:
        return None
    return should_be(Fraction(width * part.right), part_in_words(part, model), "bytes", part)


_OF_WEIGHTS = re.compile(r"\bweights?\b|权重", re.I)
_CLOSE = Fraction(3, 100)  # tolerance as a share of the right bytes; a file is slightly larger than its weights
