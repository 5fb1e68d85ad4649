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
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
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
    part_in,
    parts_without_biases,
    scoped,
    with_and_without_biases,
)
from bertcalc.proofreading.verdicts import LEAST, Judged, should_be, wrong_part
from bertcalc.proofreading.whole_counts import COUNT_OF_ALL, OWN_MODEL, STATED_LABELS, claimed_counts
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
    context = _of_label(context)
    scope, value = context.scope(model.config.num_hidden_layers), line.value or Fraction(0)
    for name in context.names[:2]:
        meant = meant_alone(name)
        if not meant or not value or IS_DIFFERENCE.search(" ".join((*context.names, *context.headings[:1]))):
            continue
        if meant[0] == "layers" and scope == "one" and names_particular_part(context, model):
            continue
        if _is_joined(name, context.sentence):
            continue
        parts = [*scoped(meant[0], model, scope)]
        nearest = min(parts, key=lambda part: abs(part.right - value), default=None)
        exact = _is_exact(line)
        if nearest is None or not nearest.right or _is_near_another(meant[0], value, model, exact=exact):
            continue
        apart = abs(value - nearest.right)
        ratio = max(value, Fraction(nearest.right)) / min(value, Fraction(nearest.right))
        if apart > 2 * line.rough and (exact or apart * _CLEARLY_APART > nearest.right) and ratio < _MOST_APART:
            return wrong_part(nearest, model)
    return None


def _of_label(context: Context) -> Context:
    """The context without the other cells of a table row, if the row's label names a part alone."""
    is_label = context.header and any(map(meant_alone, context.names[:1]))
    return context._replace(names=context.names[:1]) if is_label else context


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

    If the number is ``exact``, it has to equal the count. The embeddings may include a projection.
    """
    others = [part.right for other in _ALSO.get(name, ()) for part in scoped(other, model)]
    if name == "embeddings" and (projection := count_of_part("projection of the embeddings", model)):
        others += [other + projection for other in (*others, count_of_part("embeddings", model))]
        others += [other + model.config.hidden_size for other in others]  # the bias of the projection, or a LayerNorm
    apart = 0 if exact else Fraction(1, _CLEARLY_APART)
    return any(abs(other - value) <= other * apart for other in others)


# --- words that name a part, and a number near its count ---


_NEAR = 6  # a number is near a count if it differs by at most a sixth of the count
_FIGURES = 40  # a number needs about two significant digits: 0.84M or 22M, but not 8M
_LEAST = 100_000


def near_miss(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """Judge a number close to the count that the words around it mean; return None if it is another part's count."""
    value, reach = line.value or Fraction(0), line.rough
    if value < _LEAST or reach * _FIGURES > value or (not reach and value % 10_000 == 0):
        return None
    context = _of_label(context)
    if context.supposes or _COUNTS_CHANGE.search(" ".join(context.names)):
        return None
    part = _meant(value, context, model)
    if part is None or _is_counted(value, reach, model):
        return None
    around = " ".join((*context.headings[:1], context.line))
    is_changed = _COUNTS_CHANGE.search(around) and not any(map(_UNCHANGED.search, context.names[:1]))
    if part.part == WHOLE_MODEL and is_changed:
        return None
    return wrong_part(part, model)


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
    return should_be(number * of_label, counts)


def judge_classifier_product(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a product that counts a classification head without its bias (768 × 2 = 1,536); return None for others."""
    side, hidden = entry.best, model.config.hidden_size
    factors = sorted(entry.factors)
    if len(factors) != _OF_PRODUCT or factors[1] != hidden or side.value != factors[0] * hidden:
        return None
    labels = context.headings[:1] if any(map(COUNT_OF_ALL.fullmatch, context.names[:1])) else context.names[:1]
    is_head = any(map(_OF_CLASSIFIER.search, labels)) and not _BIAS.search(f"{context.line} {context.below}")
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
    labels, bias = divmod(int(side.value) - whole, hidden)
    if (
        side.reach
        or not {whole, hidden, labels} <= {*entry.factors}
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
    return Judged("right", counts=counts) if bias else should_be(right, counts)


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
    if context.supposes or entry.computes or side.rough * _FIGURES > side.value or _COUNTS_CHANGE.search(context.line):
        return None
    names_part = any(names_part_but_whole(_OF_WEIGHTS.sub(" ", name)) for name in context.names[:2])
    stored = {count.total for count in every_count(model.config, known_counts) if count.model.config == model.config}
    stored |= {count for count in (nominal_count(model),) if count}
    counts = _all_counts(model) if names_part else stored | {*claimed_counts(model)}
    for factor in side.unit_factors:
        for count in counts:
            if abs(width * count - factor * side.value) <= max(factor * side.rough, width * count * _CLOSE):
                return None
    value = side.value / width
    part = _meant(value, context, model) if names_part else _nearest([WHOLE_MODEL], value, "", model)
    if part is None:
        return None
    return should_be(width * part.right, part_in_words(part, model), "bytes", part)


_OF_WEIGHTS = re.compile(r"\bweights?\b|权重", re.I)
_CLOSE = Fraction(3, 100)  # tolerance as a share of the right bytes; a file is slightly larger than its weights


# --- counts without biases ---


_WITHOUT = re.compile(
    r"(?:without|no|not count\w*"
    r"|ignor\w*|omit\w*|neglect\w*|exclud\w*|w/o)\s(?:\w+\s){0,4}?bias|bias(?:es)?\s?=\s?False"
    r"|matri(?:x|ces) (?:alone|only)|weights only|(?:不[考虑算计含包括]{1,3}|忽略|没有|无)(?:\S{0,6}偏置| ?bias)",
    re.I,
)


_WITH_BIASES = re.compile(
    r"\b(?:with|plus|and|including|incl\.?) (?:the |their |all )?bias(?:es)?\b"
    r"|bias(?:es)? included|(?<![不])[加带含]上?偏置",
    re.I,
)
_MATRICES = re.compile(r"\b(?:weights?|kernel|matri(?:x|ces))\b|(?-i:\bW(?:_?[A-Za-z0-9])?\b)(?<!We)|权重|矩阵", re.I)


def judge_without_biases(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """Judge a count without biases; return None unless the text says that it leaves them out."""
    says_so = any(_WITHOUT.search(text) for text in (*context.names, *context.headings[:1], context.line))
    of_part = (heading for heading in context.headings[:1] if names_part_but_whole(_MATRICES.sub(" ", heading)))
    of_matrices = (words for words in (*context.headings[:1], context.header) if _OF_MATRICES_ALONE.match(words))
    near = (*context.names[:2], *of_part, *of_matrices)
    says_so = says_so or context.without_biases or any(map(_MATRICES.search, near))
    says_so = says_so or context.biases_apart or bool(_BIAS_BELOW.match(context.below))
    if not says_so or any(map(_WITH_BIASES.search, context.names)):
        return None
    names = (*context.names, *context.headings[:1])
    is_sum = context.without_biases and any(map(_SUM.fullmatch, context.names[:1]))
    for part in parts_without_biases(model, max(LEAST, line.bounds[0]), line.bounds[1]):
        if is_sum or any(re.search(PARTS[part.part][1], name, re.I) for name in names):
            counts = Problem.of(N_("{part} without biases"), part=part_in_words(part, model))
            return Judged("right", counts=counts, counted=part)
    return None


_SUM = re.compile(r"\W*(?:(?:sub-?)?total|sum|altogether|together|in total|Σ|合计|总计|总共|小计|总和)\W*", re.I)
# The beginning of a heading, or a column's header, about matrices: Matrices of BERT-base; # weights
_OF_MATRICES_ALONE = re.compile(r"\W*(?:(?:weight )?matrices (?:of|in)\b|weights?\W*$|权重矩阵|权重数?\W*$)", re.I)
_BIAS_BELOW = re.compile(
    r"[\s|*•+-]*(?:bias(?:es)?|b_?[0-9oqkv]|偏置)\b(?!\s?=\s?(?:True|False))|这是.{0,12}?(?:weight|权重)", re.I
)  # the next line counts the bias, so this number leaves it out
# Words that say that biases are included: biases included; with its bias.
_INCLUDED = re.compile(
    r"\bbias(?:es)? (?:are )?included|\bincluding (?:the |its |their |all )?bias|含偏置|包括偏置|加上?偏置"
    r"|\bwith (?:a|its|the|their) bias(?:es)?\b(?! of [0-9])",
    re.I,
)


# Words for a count without biases, in a sentence that also has the count with them.
_LEFT_OUT_TOO = re.compile(r"\bwithout\b|\bof which\b|\bno bias|[不未]含|不加", re.I)


def judge_included_biases(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a count without biases in a sentence that claims to include them; return None for other counts."""
    side = entry.best
    if entry.computes or side.reach or not _INCLUDED.search(context.sentence) or _MATRICES.search(context.sentence):
        return None
    if _LEFT_OUT_TOO.search(context.sentence):
        return None
    for part in _WITH_BIASES_ALONE:
        for meant in scoped(part, model):
            matrices = sum(tensor.num_parameters() for tensor in meant.tensors if len(tensor.shape) == 2)
            is_named = re.search(PARTS[part][1], context.sentence, re.I)
            if is_named and matrices == side.value != meant.right:
                return wrong_part(meant, model, LACKS_BIASES, count=meant.right - matrices)
    return None


LACKS_BIASES = N_("{right} is right for {part}: its {count} biases are left out.")


def judge_matrices(entry: WrittenNumber, part: Counted, context: Context, model: Model) -> Judged | None:
    """Judge a sum that leaves out a part's biases; return None if the text mentions biases or counts only matrices."""
    whole = _OF_MATRICES.get(part.part)
    before = context.text[max(0, entry.start - _MOST_BEFORE) : entry.start]
    near = " ".join((*context.names[:2], *context.headings[:1], context.sentence, entry.after))
    if whole is None or not entry.computes or _MATRICES.search(near):
        return None
    if context.is_in_text(_SPEAKS_OF_BIASES) or OWN_MODEL.search(context.line) or context.is_in_text(_OWN_CLASS):
        return None
    meant = part_in(whole, model, part.layers)
    if meant is None or meant.right == part.right or entry.stated.means(meant.right):
        return None
    judged = wrong_part(meant, model, LACKS_BIASES, count=meant.right - part.right)
    return judged._replace(verdict="conditional") if _MATRICES.search(before) else judged


def judge_one_of_several(part: Counted, context: Context, model: Model) -> Judged | None:
    """Judge the count of one matrix under the label of a part that has several: Self-attention: 768 × 768 = 589,824.

    Return None if the words say that one matrix is counted.
    """
    label = next(iter(context.names), "")
    whole = next((part_in(name, model, "one") for name in meant_alone(label)), None)
    if whole is None or len(part.tensors) != 1 or _ONE_MATRIX.search(" ".join((context.sentence, context.header))):
        return None
    [matrix] = part.tensors
    alike = [tensor for tensor in whole.tensors if len(tensor.shape) > 1 and {*tensor.shape} == {*matrix.shape}]
    is_one = len(matrix.shape) > 1 and len(alike) > 1
    return wrong_part(whole, model, _HAS_SEVERAL, count=len(alike)) if is_one else None


_HAS_SEVERAL = N_("{right} is right for {part}, which has {count} such matrices.")
_ONE_MATRIX = re.compile(
    r"\b(?:each|per|every|one|single|matri(?:x|ces)|weights?)\b|\bW_?[A-Za-z]?\b|[每单各]|矩阵|权重", re.I
)
_MOST_BEFORE = 250  # number of characters before a number in which the text may say that it counts matrices
_OF_MATRICES = {"matrices of the attention": "attention", "matrices of the feed-forward network": "feed-forward"}
# A line that mentions biases but no LayerNorm.
_SPEAKS_OF_BIASES = re.compile(r"^(?![^\n]*(?:norm|归一))[^\n]*(?:bias|偏置)", re.I | re.M)
_OWN_CLASS = re.compile(r"\bnn\.(?:Linear|Module)\b")
_WITH_BIASES_ALONE = (
    "query of the attention",
    "key of the attention",
    "value of the attention",
    "output projection of the attention",
    "query, key and value",
    "attention",
    "first matrix of the feed-forward network",
    "second matrix of the feed-forward network",
    "feed-forward",
    "pooler",
)


def judge_heads_without_biases(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge query, key and value of one head, or of all heads, without biases, if the text counts other biases.

    Return None for other numbers.
    """
    if side.reach or context.without_biases or not any(map(OF_HEAD.search, context.names[:1])):
        return None
    if _MATRICES.search(context.names[0]) or not _counts_biases(context.text, model):
        return None
    parts = (part for part in counts_of(("query, key and value",), model) if part.layers == "one")
    part = next((part for part in parts if total(with_and_without_biases(part)[1]) == side.value != part.right), None)
    return wrong_part(part, model, LACKS_BIASES, count=part.right - int(side.value)) if part else None


@lru_cache(maxsize=16)
def _counts_biases(text: str, model: Model) -> bool:
    """Whether a text adds a bias to a matrix: 768 * 3072 + 3072."""
    config, sign = model.config, r"\s?[*x×∗·]\s?"
    return bool(
        re.search(
            rf"{sign}(?P<size>{config.hidden_size}|{config.intermediate_size})\s?(?:[(（][^()（）]{{1,20}}[)）])?\s?\+"
            rf"\s?(?P=size)(?![0-9,.]*[0-9]|{sign}|\s?\+\s?(?P=size))",
            text,
        )
    )


OF_HEAD = re.compile(r"\b(?:attention )?head\b|单个头|每个头|一个头|头的|个head|head的", re.I)
