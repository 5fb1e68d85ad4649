"""Numbers near the count of the part that their words name, which no way of counting gives.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.contexts import Context
>>> line, context = TypedLine("", "", Fraction(7_161_667)), Context(("each transformer layer holds",), (), "")
>>> judged = near_miss(line, context, build(BertConfig()))
>>> judged and str(judged.reasons[0])
'7,087,872 is right for one layer.'
"""

import re
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.known_counts import CLAIMS, every_count, known_counts
from bertcalc.diagnosis.layer_parts import PARTS, USUAL, WHOLE_MODEL, Counted
from bertcalc.diagnosis.miscounts import total
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.proofreading.contexts import Context
from bertcalc.proofreading.mentions.model_names import names_model, without_models
from bertcalc.proofreading.named_parts import (
    count_of_part,
    counts_of,
    meant_alone,
    named_parts,
    names_part_but_whole,
    names_whole_only,
    scoped,
    with_and_without_biases,
)
from bertcalc.proofreading.verdicts import Judged, right_for

_NEAR = 6  # a sixth of the right count
_FIGURES = 40  # half a unit in the last of two figures: 0.84M, 22M, not 8M
_LEAST = 100_000


def near_miss(line: TypedLine, context: Context, model: Model) -> Judged | None:
    """The verdict on a number that is near the count that its words mean; None for a count of any other part."""
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
    r"|lora|adapter|distill|减少|节省|相差|差值|少了|多了|增加|新增|自定义|剪枝",
    re.I,
)
_UNCHANGED = re.compile(r"frozen|pre-?train|original|backbone|冻结|预训练|原始", re.I)
_WITH = re.compile(r"(?:\b(?:with|without|incl\w*|excl\w*|w/o)\b|[不包]?[含括]).*$", re.I)
_SIZES = re.compile(
    r"[0-9]+[ -]?(?:\w+[ -])?(?:layers?|blocks?|heads?|hidden|dim\w*|层|头|维)|hidden(?:[ _]size)?[ =:]*[0-9]+"
    r"|[LHA] ?= ?[0-9]+",
    re.I,
)
_WHOLE = re.compile(r"\btotal|\ball parameters|whole|总|合计|一共|全部参数", re.I)


def _meant(value: Fraction, context: Context, model: Model) -> Counted | None:
    """The part that the nearest words mean, if its count is near a number."""
    scope = context.scope(model.config.num_hidden_layers)
    for name in context.names[:1]:
        words = _SIZES.sub(" ", _WITH.sub("", name))
        of_whole = names_model(words) or _WHOLE.search(words)
        if of_whole and not names_part_but_whole(without_models(words)):
            return _nearest([WHOLE_MODEL], value, "", model)
        if _joins_parts(name):
            return None
    for name in named_parts(context, model):
        called = meant_alone(name) or _called(USUAL, name) or _called(PARTS, name)
        if not names_whole_only(name, model):
            called = [part for part in called if part not in (WHOLE_MODEL, "layers")] or called
        if name not in context.names:
            called = [part for part in called if part != WHOLE_MODEL]
        if any("embeddings" in part for part in called) and count_of_part("projection of the embeddings", model):
            return None  # with the projection or without it
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
    """The parts that a name may mean; the embeddings are meant with their LayerNorm."""
    called = [part for part in parts if re.search(PARTS[part][1], name, re.I)]
    return ["embeddings" if part == "embeddings without LayerNorm" else part for part in called]


def _nearest(names: Sequence[str], value: Fraction, scope: str, model: Model) -> Counted | None:
    """The part with the nearest count, in one layer or in all layers as the words say, if it is near a number."""
    parts = [part for name in names for part in scoped(name, model)]
    parts = [part for part in parts if not scope or part.layers == scope or not _is_repeated(part, model)]
    near = [part for part in parts if part.right and abs(part.right - value) * _NEAR <= part.right]
    return min(near, key=lambda part: abs(part.right - value), default=None)


def _is_repeated(part: Counted, model: Model) -> bool:
    return len({other.right for other in scoped(part.part, model)}) > 1


def _is_counted(value: Fraction, reach: Fraction, model: Model) -> bool:
    """Whether a number counts a part, two parts, or a class, with or without biases."""
    counts = _all_counts(model)
    config = model.config
    if any(0 < value - count < _MOST_LABELS * (config.hidden_size + 1) and not (value - count) % (config.hidden_size + 1) for count in _totals(model)):
        return True  # a class with more labels
    if reach:
        return any(abs(count - value) <= 2 * reach for count in counts)
    return value in counts or value in _sums(model)


_MOST_LABELS = 200


@lru_cache(maxsize=32)
def _totals(model: Model) -> frozenset[int]:
    return frozenset(count.total for count in every_count(model.config, known_counts))


@lru_cache(maxsize=32)
def _all_counts(model: Model) -> frozenset[int]:
    """The counts of all parts with and without biases, of all classes also without QKV biases, and as published."""
    counts = {total(tensors) for part in counts_of(tuple(PARTS), model) for tensors in with_and_without_biases(part)}
    totals = _totals(model)
    qkv = count_of_part("biases of query, key and value", model)
    published = {claim.parameters for claim in CLAIMS if PRESETS[claim.preset].config == model.config}
    return frozenset(counts | totals | {count - qkv for count in totals} | published)


@lru_cache(maxsize=32)
def _sums(model: Model) -> frozenset[int]:
    """The sums of two parts."""
    parts = [part for part in counts_of(tuple(USUAL), model) if part.heads == "all" and part.layers != "others"]
    counts: Collection[int] = {total(tensors) for part in parts for tensors in with_and_without_biases(part)}
    return frozenset(first + second for first, second in combinations(counts, 2))
