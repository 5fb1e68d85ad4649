"""Judge a single number in a text: what it counts, whether it is right, and the likeliest mistake.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "multi-head attention: 2,359,296"
>>> [entry] = find(text, {})
>>> judged = judge(entry, Surroundings(text).of(entry), build(BertConfig()), sure=True)
>>> print(judged.verdict, judged.reasons[0])
wrong 2,362,368 is right for attention of one layer. The mistake: the biases of the attention are left out.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from bertcalc.config import Config
from bertcalc.diagnosis.count_lines import TypedLine
from bertcalc.diagnosis.hand_count import LineVerdict
from bertcalc.diagnosis.layer_parts import PARTS, TABLES, USUAL, WHOLE_MODEL, WHOLE_OR_BODY, Counted
from bertcalc.diagnosis.miscounts import counted, total
from bertcalc.diagnosis.number_meanings import COUNTS_OTHER_THINGS
from bertcalc.diagnosis.part_words import mistakes_in_words, part_in_words
from bertcalc.diagnosis.typos import is_slip
from bertcalc.families.presets import PRESETS
from bertcalc.model.inventory import inventory, named
from bertcalc.model.model import Model
from bertcalc.proofreading.adapters import judge_adapters, judge_trainable_share
from bertcalc.proofreading.byte_claims import judge_bytes
from bertcalc.proofreading.chains import judge_chain
from bertcalc.proofreading.claims import in_words
from bertcalc.proofreading.code_claims import judge_module
from bertcalc.proofreading.flop_claims import judge_flops
from bertcalc.proofreading.known_terms import judge_heads_times, judge_rounded_product
from bertcalc.proofreading.labelled_counts import (
    IS_DIFFERENCE,
    OF_HEAD,
    contradicted,
    judge_classifier,
    judge_classifier_product,
    judge_heads_without_biases,
    judge_included_biases,
    judge_matrices,
    judge_one_of_several,
    judge_with_classifier,
    judge_without_biases,
    near_miss,
)
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.mentions.model_names import without_models
from bertcalc.proofreading.mentions.written_sizes import SUPPOSED
from bertcalc.proofreading.named_parts import (
    WIDE,
    all_parts,
    count_of_part,
    exchanged,
    meant_by_words,
    names_particular_part,
    part_in,
    scoped,
    with_and_without_biases,
)
from bertcalc.proofreading.other_readings import (
    OF_OWN,
    OF_RULE_OF_THUMB,
    OF_VOCABULARY,
    RESIZED,
    ROUGHEST,
    other_reading,
    unless_explained,
)
from bertcalc.proofreading.shares import judge_share
from bertcalc.proofreading.size_slips import MISTYPED, is_rounded_vocabulary, is_slip_of_vocabulary
from bertcalc.proofreading.verdicts import (
    LEAST,
    LEAST_WITHOUT_WORDS,
    NO_CLAIM,
    UNKNOWN,
    Judged,
    right_as,
    right_part,
    should_be,
    wrong_because,
    wrong_part,
)
from bertcalc.proofreading.whole_counts import (
    OWN_MODEL,
    ends_list_of_sizes,
    is_total,
    judge_other_total,
    judge_published,
    judge_total,
    leaves_out_embeddings,
)
from bertcalc.storage.tensorflow_names import pytorch_tensor
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem


def judge(
    entry: WrittenNumber, context: Context, model: Model | None, *, sure: bool, published: Config | None = None
) -> Judged:
    """Judge a number by the words around it.

    ``model`` is None for a model that bertcalc does not support. ``sure`` says whether the text is certainly about the
    model; if not, few counts are judged wrong. ``published`` is the configuration of the published model that the text
    names.
    """
    is_bare = not entry.computes and entry.stated.unit not in ("FLOPs", "MACs")
    if is_bare and COUNTS_OTHER_THINGS.match(entry.after):
        return NO_CLAIM
    context = _with_tensors(_of_all_layers(entry, context, model))
    arithmetic = judge_chain(entry, context.before)
    if arithmetic is NO_CLAIM:
        return NO_CLAIM
    if arithmetic is not None and arithmetic.verdict == "wrong":
        return _with_meaning(arithmetic, entry, context, model)
    if model is None:
        judged = UNKNOWN if entry.computes or entry.best.value >= LEAST_WITHOUT_WORDS else NO_CLAIM
    else:
        judged = (
            judge_module(entry, context)
            or _vocabulary(entry, context, model, published if sure else None)
            or (judge_heads_times(entry, context, model) if sure else None)
            or _by_unit(entry, context, model, sure)
        )
    if judged.verdict == "wrong" and model:
        judged = other_reading(judged, entry, context, model) or judged
        if any(_is_of_other_sizes(side, model) for side in entry.sides):
            return UNKNOWN
        if _is_of_larger_model(judged, entry, context, model) or _subtracts(entry):
            return UNKNOWN
    if arithmetic and arithmetic.verdict == "conditional" and judged.verdict != "wrong":
        if model is not None and len(entry.sides) > _OF_RESULT and entry.sides[-2].value == arithmetic.right_value:
            exact = judge(entry._replace(sides=entry.sides[:-1]), context, model, sure=sure, published=published)
            if exact.verdict == "wrong":  # 108,808,704 ≈ 104M lacks biases, whatever M means
                return exact
        return arithmetic._replace(counts=judged.counts, counted=judged.counted)
    if judged.verdict == "unknown" and arithmetic and arithmetic.verdict == "right" and _is_in_numbers(entry):
        return judged._replace(
            reasons=(Problem.of(N_("The calculation is right, but its meaning was not recognized.")),)
        )
    return judged


_OF_RESULT = 2  # number of sides of a calculation with its result


def _is_of_larger_model(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> bool:
    """Whether a tool printed a number as the total of a larger model that contains ``model``.

    False for a typing error, and for the total of another preset.
    """
    value, right = entry.best.value, model.num_parameters()
    if entry.computes or not _MEASURED.search(context.line) or not is_total(context):
        return False
    is_known = judged.right_value != right or sorted(f"{value}") == sorted(f"{right}") or value in _totals_of_presets()
    return not entry.best.reach and not is_known and value * _LARGER > right * (_LARGER + 1)


@lru_cache(maxsize=1)
def _totals_of_presets() -> frozenset[int]:
    """The parameter counts of all presets, without heads."""
    return frozenset(Model(preset.config).num_parameters() for preset in PRESETS.values())


def _subtracts(entry: WrittenNumber) -> bool:
    """Whether a calculation subtracts, so that its result is not the part that the words name: 109,482,240 - V * H."""
    return any(side.is_calculation and _MINUS.search(side.text) for side in entry.sides)


_MINUS = re.compile(r"[0-9)]\s?[-−–]\s?[0-9(]")
_LARGER = 100  # a total is larger if it exceeds the model's by more than 1/100
_MEASURED = re.compile(r"\b(?:total|trainable)\s?params\s?[:=]|\bnumber of trainable parameters\s?=", re.I)


def _is_in_numbers(entry: WrittenNumber) -> bool:
    """Whether a chain has a calculation, and at least two of its sides have no letters."""
    return entry.computes and len([side for side in entry.sides if not side.letters]) > 1


def _of_all_layers(entry: WrittenNumber, context: Context, model: Model | None) -> Context:
    """Mark the context as covering all layers if a calculation uses their number and exceeds one layer's count."""
    layers = model.config.num_hidden_layers if model else 0
    if model is None or layers < _LEAST_LAYERS or layers not in entry.numbers:
        return context
    of_layer = count_of_part("layers", model, "one")
    return context._replace(of_all=bool(of_layer) and entry.best.value > of_layer)


_LEAST_LAYERS = 3


def _by_unit(entry: WrittenNumber, context: Context, model: Model, sure: bool) -> Judged:
    side = entry.best
    if entry.stated.unit in ("bytes", "FLOPs", "MACs"):
        judged = (judge_bytes if entry.stated.unit == "bytes" else judge_flops)(entry, context, model)
        return judged if sure or judged.verdict != "wrong" else UNKNOWN
    if side.value < 1 or (side.is_decimal and _SHARE.search(" ".join(context.names))):
        return judge_trainable_share(side, context) or judge_share(side, context, model)
    judged = _of_one_norm(_count(entry, context, model, sure), entry, context, model)
    part = judged.counted
    is_but_one = judged.verdict == "right" and part is not None and part.layers == "others"
    return right_as(part, model) if is_but_one and part and not _OF_OTHERS.search(context.line) else judged


def _of_one_norm(judged: Judged, entry: WrittenNumber, context: Context, model: Model) -> Judged:
    """The verdict, which does not say which LayerNorm is meant if the words around the number do not say so.

    If the words name both LayerNorms of a layer, the count of one of them is wrong.
    """
    is_right = judged.verdict == "right" and entry.best.value == 2 * model.config.hidden_size
    if not (is_right and judged.counted and any(map(_NORM.search, context.names[:1]))):
        return judged
    both = _by_count(model).get(4 * model.config.hidden_size)
    beside = context.sentence or context.line
    names_both = any(map(_BOTH_NORMS.search, context.names[:1])) and not _EACH_NORM.search(beside)
    if both and "LayerNorm" in both.part and names_both:
        return wrong_part(both, model, N_("{right} is right for {part}: this is only one LayerNorm."))
    is_placed = any(map(_PLACE_OF_NORM.search, (*context.names[:2], *context.headings[:1])))
    if is_placed and "LayerNorm" in judged.counted.part:
        return judged
    return judged._replace(counts=Problem.of(N_("a LayerNorm")))


_BOTH_NORMS = re.compile(
    r"\b(?:both|two|2)(?: of the)? (?:\w+ )?layer ?norm|[两2二] ?个? ?(?:layer ?norm|层归一化)", re.I
)
_EACH_NORM = re.compile(r"\b(?:each|every|per|one|single|respectively|apiece)\b|@|[各每单一均]|分别", re.I)
_PLACE_OF_NORM = re.compile(
    r"emb|att|feed|ffn|\bff\b|mlp|final|last|ln_\w|after|\bboth|\ball|norms|嵌入|注意力|前馈|全连接|最后|最终|输出|两|各",
    re.I,
)


# Words for all layers except one. Without them, the count of the other layers is right only under a condition.
_OF_OTHERS = re.compile(
    r"\b(?:others?|remaining|rest|except|but|without|freez\w*|frozen|prun\w*|drop\w*|remov\w*|first|last)\b"
    r"|\blayers?\W{0,2}[0-9]{1,2}\W{1,4}(?:to |through )?[0-9]{1,2}\b|\[1:\]|\[[0-9]{1,2}-[0-9]{1,2}\]"
    r"|其余|其他|其它|剩|除|冻结|剪",
    re.I,
)
_SHARE = re.compile("trainable ?%", re.I)


def _with_meaning(judged: Judged, entry: WrittenNumber, context: Context, model: Model | None) -> Judged:
    """Add what a wrong calculation counts to its verdict.

    If its stated result fits the words around it, that result is the right value.
    """
    if model is None or entry.stated.unit == "bytes":
        return judged
    if is_total(context) and not entry.computes and judged.right_value == entry.sides[0].value:
        return judged._replace(right_value=Fraction(model.num_parameters()))
    if (product := judge_rounded_product(entry, model)) and product.right_value:
        reasons = (*judged.reasons, *product.reasons)
        return product._replace(verdict="wrong", reasons=reasons)
    stated = entry.stated
    meant = meant_by_words(stated.line, context, model)
    value = judged.right_value or Fraction(0)
    if stated.value - value in entry.factors and re.search("bias|偏置", context.line, re.I):
        return judged._replace(verdict="conditional")  # the result includes the bias: c_attn has 768 × 2304 = 1,771,776
    computed = meant_by_words(TypedLine("", "", value), context, model)
    if meant and meant.is_right and meant.counted and _is_likelier(meant, computed):
        lacks_biases = entry.calculation is not None and value in {
            Fraction(total(tensors)) for tensors in with_and_without_biases(meant.counted)[1:]
        }
        message = N_("The result is right for {part}, but the calculation is wrong.")
        if lacks_biases:
            message = N_("The result is right for {part}, but the calculation leaves out the biases.")
        reason = Problem.of(message, part=part_in_words(meant.counted, model))
        if lacks_biases:
            return judged._replace(verdict="conditional", right_value=Fraction(meant.counted.right), reasons=(reason,))
        return judged._replace(right_value=Fraction(meant.counted.right), reasons=(*judged.reasons, reason))
    counts = part_in_words(computed.counted, model) if computed and computed.is_right and computed.counted else None
    return judged._replace(counts=counts, counted=computed.counted if computed and computed.is_right else None)


def _is_likelier(meant: LineVerdict, computed: LineVerdict | None) -> bool:
    """Whether the words mean the stated result of a calculation, rather than the computed result."""
    if computed is None or not computed.is_right or not computed.counted:
        return True
    stated = meant.counted.part if meant.counted else ""
    return stated in USUAL and computed.counted.part not in USUAL


def _count(entry: WrittenNumber, context: Context, model: Model, sure: bool) -> Judged:
    if judged := _other_than_part(entry, context, model, sure):
        return judged
    meant = meant_by_words(entry.best.line, context, model)
    if judged := _by_words(entry, meant, context, model, sure):
        return judged
    part = _any_part(entry.best, model)
    part = _with_factors(part, entry, model) if part else None
    return (
        (_by_part(entry, part, meant, context, model, sure) if part else None)
        or _table_of_rounded_vocabulary(entry.best, context, model)
        or _by_mistakes(entry, part, meant, context, model, sure)
        or _unexplained(entry, part, context, model, sure)
    )


def _other_than_part(entry: WrittenNumber, context: Context, model: Model, sure: bool) -> Judged | None:
    """Judge a number that counts no part of the model, such as a year, a size or a number of modules, or return None.

    It may also count a classifier, or multiply the rounded count of one layer.
    """
    side, alone = entry.best, not entry.computes
    if (alone and _is_year(side)) or (side.is_shape and len(entry.sides) == 1 and not _names_tensor(context)):
        return NO_CLAIM
    if alone:
        judged = _half_norm(entry, context, model) or judge_classifier(side.line, context, model)
    else:
        judged = (
            (judge_classifier_product(entry, context, model) or judge_with_classifier(entry, model)) if sure else None
        )
    if judged:
        return judged
    if alone and side.value < LEAST:
        return NO_CLAIM
    if modules := _modules(side, context, model):
        return modules
    if side.value < 10:
        return UNKNOWN if len(entry.sides) > 1 else NO_CLAIM
    if sure and (norm := _norm_as_matrix(entry, context, model)):
        return norm
    is_named = _OF_TENSORS.search(" ".join(context.names[:2]))
    if not alone and len(entry.sides) > 1 and side.value in _sizes_computed(model) and not is_named:
        return Judged("right", counts=Problem.of(N_("a size of the model")))
    if alone and (judged := _size(side, context, model)):
        return judged
    if _DECAY.search(" ".join(context.names)):
        return _decayed(side, model)
    product = judge_rounded_product(entry, model)
    if product and product.verdict == "wrong" and _ABOUT.search(context.line):
        return product._replace(verdict="conditional")
    return UNKNOWN if product and not sure and product.verdict != "right" else product


def _by_words(
    entry: WrittenNumber, meant: LineVerdict | None, context: Context, model: Model, sure: bool
) -> Judged | None:
    """Judge a number that the words explain: a part, a total, an adapter, or one attention head; else return None.

    ``meant`` is the verdict by the names of parts in the words.
    """
    side, alone = entry.best, not entry.computes
    if meant and meant.counted and meant.is_right:
        part = _with_factors(meant.counted, entry, model)
        if sure and (other := exchanged(part, context, model)):
            return wrong_part(other, model)
        return judge_included_biases(entry, context, model) or _right(part, side, context, model)
    is_of_tensor = alone and not side.reach and any(map(_TENSOR.fullmatch, context.names[:1]))
    if is_of_tensor and meant and meant.counted and meant.counted.right and not _CHANGED.search(context.header):
        return wrong_part(meant.counted, model)
    if whole := judge_total(side, context, model):
        return whole
    if alone and (rounded := _rounded_part(side.line, context, model)):
        return right_part(rounded, model)
    if alone and (adapters := judge_adapters(side, context, model)):
        return adapters
    if without := judge_without_biases(side.line, context, model):
        return without
    if sure and (of_heads := judge_heads_without_biases(side, context, model)):
        return of_heads
    of_head = _of_one_head(side, context, model)
    return right_part(of_head, model) if of_head else None


def _with_factors(part: Counted, entry: WrittenNumber, model: Model) -> Counted:
    """The part with the same count whose matrix has the sizes that a calculation multiplies, or else ``part``."""
    wide = model.config.intermediate_size
    if wide not in entry.numbers or wide == model.config.hidden_size or _has_size(part, wide):
        return part
    alike = (other for other in all_parts(model) if other.right == part.right and _has_size(other, wide))
    return next((other for other in alike if other.part in PARTS and other.layers == part.layers), part)


def _has_size(part: Counted, size: int) -> bool:
    return any(size in tensor.shape for tensor in part.tensors)


def _by_part(
    entry: WrittenNumber, part: Counted, meant: LineVerdict | None, context: Context, model: Model, sure: bool
) -> Judged | None:
    """Judge a number that is the exact count of a part; return None if the words mean a different part."""
    if sure and (other := exchanged(part, context, model)):
        return wrong_part(other, model)
    is_norm = entry.best.value == 2 * model.config.hidden_size and any(map(_NORM.search, context.names[:1]))
    are_biases = meant is not None and meant.counted is not None and _are_biases_of(part, meant.counted)
    if is_norm or are_biases or _is_layer_times_layers(entry, part, model):
        return right_part(part, model)
    if each := _each_of_three(part, context, model):
        return each
    if part.layers == "all" and leaves_out_embeddings(context):
        return right_part(part, model)
    if lacking := judge_included_biases(entry, context, model):
        return lacking
    if names_particular_part(context, model) or (
        meant and meant.explanation and _names_whole(meant, context, model, part)
    ):
        return None
    if sure and (lacking := judge_matrices(entry, part, context, model)):
        return lacking
    is_of_larger = not entry.computes and _is_smaller(part, context, model)
    return right_as(part, model) if is_of_larger else right_part(part, model)


def _by_mistakes(
    entry: WrittenNumber,
    part: Counted | None,
    meant: LineVerdict | None,
    context: Context,
    model: Model,
    sure: bool,
) -> Judged | None:
    """Judge a number by the mistakes that lead to it from the part that the words mean; return None without mistakes.

    ``part`` is the part with exactly this count, if there is one.
    """
    if meant is None or not meant.explanation or not meant.counted:
        return None
    side, alone, whole = entry.best, not entry.computes, meant.counted
    causes = [cause.miscount for cause in meant.explanation]
    particular = names_particular_part(context, model)
    if _multiplies_vocabulary(side, model) and whole.part not in (*OF_VOCABULARY, *WHOLE_OR_BODY):
        return UNKNOWN
    if not sure or (alone and side.value < LEAST_WITHOUT_WORDS and not particular):
        return UNKNOWN if sure or not alone else NO_CLAIM
    if not particular and whole.part not in WIDE:
        return _otherwise(entry, context, model) or UNKNOWN
    if _proves_nothing(whole, causes, context):
        return (None if side.letters else _otherwise(entry, context, model)) or UNKNOWN
    if _is_too_rough(side, causes):
        judged = None if side.letters else _otherwise(entry, context, model)
        return judged or (UNKNOWN if len(entry.sides) > 1 or not side.letters else NO_CLAIM)
    if elsewhere := judge_published(side):
        return elsewhere
    if part and _is_likelier_part(part, whole, causes, context):
        return right_as(part, model)
    of_size = any(map(_SIZE_TAKEN.match, causes))
    if context.supposes or _is_shape(entry) or (of_size and side.letters):
        return UNKNOWN
    judged = wrong_because(whole, mistakes_in_words(meant.explanation, model.config), model)
    judged = unless_explained(judged, meant.explanation, entry, context, model)
    is_nearly_rounded = abs(whole.right - side.value) <= _ROUNDED_TOO_FAR * entry.stated.reach
    return judged._replace(verdict="conditional") if is_nearly_rounded else judged


def _proves_nothing(whole: Counted, causes: Sequence[str], context: Context) -> bool:
    """Whether mistakes may explain a number only by chance: no such part, too many mistakes, or a difference."""
    lacks_part = not whole.right and whole.part not in (*TABLES, "pooler")
    is_odd = any(map(_GATED.match, causes)) and not context.is_in_text(_GATE)
    too_many = len(causes) >= _TOO_MANY and whole.part not in WHOLE_OR_BODY
    is_difference = IS_DIFFERENCE.search(" ".join((*context.names, *context.headings[:1])))
    return lacks_part or is_odd or too_many or bool(is_difference)


def _is_too_rough(side: ChainSide, causes: Sequence[str]) -> bool:
    """Whether a number is too rough, or its formula in letters too small, to be explained by mistakes."""
    is_plain = len(causes) == 1 or (len(causes) == 2 and all(map(OF_RULE_OF_THUMB.search, causes)))
    too_rough = side.reach * ROUGHEST > side.value or not is_plain
    return (bool(side.reach) and too_rough) or (side.letters and side.value < _LEAST_OF_LETTERS)


def _is_likelier_part(part: Counted, whole: Counted, causes: Sequence[str], context: Context) -> bool:
    """Whether a number is more likely the exact count of ``part`` than a miscount of ``whole``."""
    of_whole = whole.part in WHOLE_OR_BODY and part.part in USUAL
    is_unlikely = len(causes) > _MOST_OF_WHOLE or part.layers == "one"
    of_heading = part.part in TABLES and not any(map(_EMBEDDED.search, context.names))
    return any(cause in _FAR_FETCHED for cause in causes) or (of_whole and is_unlikely) or of_heading


def _unexplained(entry: WrittenNumber, part: Counted | None, context: Context, model: Model, sure: bool) -> Judged:
    """Judge a number that is not the count that the words mean, and that no mistake explains."""
    side, alone = entry.best, not entry.computes
    if part and (alone or len(entry.sides) > 1):
        by_chance = sure and alone and contradicted(side.line, context, model)
        is_one_of_several = sure and not alone and judge_one_of_several(part, context, model)
        return by_chance or is_one_of_several or right_as(part, model)
    if adapters := judge_adapters(side, context, model):
        return adapters
    if sure and (judged := _otherwise(entry, context, model)):
        return judged
    if side.letters or (alone and side.unit is None and side.value < LEAST_WITHOUT_WORDS):
        return NO_CLAIM
    if entry.computes and len(entry.sides) == 1 and side.value < LEAST_WITHOUT_WORDS:
        return NO_CLAIM
    return UNKNOWN


_GATED, _GATE, _TOO_MANY = re.compile("gated"), re.compile(r"gate|glu\b|门控", re.I), 3


def _are_biases_of(part: Counted, whole: Counted) -> bool:
    """Whether a part has only some of the biases that the words mean, such as query, key and value but not output."""
    names = {tensor.name for tensor in part.tensors}
    both = part.part.startswith("biases of") and whole.part.startswith("biases of")
    return both and part.layers == whole.layers and names < {tensor.name for tensor in whole.tensors}


def _each_of_three(part: Counted, context: Context, model: Model) -> Judged | None:
    """Judge the count or the shape of each of query, key and value: Q、K、V的形状为 768 * 768; else return None."""
    query, weight = (part_in(name, model, "one") for name in ("query of the attention", "weight of the query"))
    each = next((match for name in context.names[:1] if (match := _EACH_OF_THREE.search(name))), None)
    if not (each and query and weight) or part.right not in (query.right, weight.right):
        return None
    if part.right == query.right:
        return right_part(query, model)
    return right_part(weight, model) if each["shape"] else wrong_part(query, model)._replace(verdict="conditional")


_EACH_OF_THREE = re.compile(
    r"(?<![a-z])(?:qkv|query-key-value)(?![a-z])"
    r".{0,20}(?:(?P<shape>(?<![a-z])shapes?(?![a-z])|形状|维度)|(?<![a-z])each(?![a-z])|各|均|都)",
    re.I,
)


def _is_layer_times_layers(entry: WrittenNumber, part: Counted, model: Model) -> bool:
    """Whether a calculation multiplies the right count of one layer by the number of layers: 12 * 7,087,872."""
    layers = model.config.num_hidden_layers
    return part.part == "layers" and part.layers == "all" and {layers, Fraction(part.right, layers)} <= entry.numbers


def _rounded_part(line: TypedLine, context: Context, model: Model) -> Counted | None:
    """The named part if its count rounds to the number, as in "a pooler with 590,000 parameters"; otherwise None."""
    if line.reach or not line.value or line.value % _THOUSAND or not names_particular_part(context, model):
        return None
    verdict = meant_by_words(line._replace(reach=line.rough), context, model)
    return verdict.counted if verdict and verdict.is_right else None


_THOUSAND = 1000


def _sizes_computed(model: Model) -> tuple[int, ...]:
    """The model sizes that texts calculate: 12 × 64 = 768, 4 × 768 = 3072, 768 / 12 = 64."""
    config = model.config
    return config.hidden_size, config.intermediate_size, config.hidden_size // config.num_attention_heads


_OF_EMBEDDINGS = re.compile(r"\bemb|嵌入", re.I)
_NORM = re.compile(r"layer[ _-]?norm|\blns?\b|\bln_\w|层归一化", re.I)
_HALF_OF_NORM = re.compile(r"gamma|beta|γ|β|weight|bias|\bsize|\bdim|\beach\b|各|权重|偏置|维|\bH\b|\bh\b", re.I)
_SCALE, _SHIFT = re.compile(r"\bscal|缩放", re.I), re.compile(r"\bshift|平移", re.I)
_COUNTED = re.compile(r"\W{0,3}(?:more |other |additional |个)?(?:param|weights|numbers|参数)", re.I)


def _half_norm(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a LayerNorm count that includes only one of its two vectors (another 768 parameters), or return None."""
    words = " ".join((*context.names[:2], context.sentence))
    named = "LayerNorm of the embeddings" if _OF_EMBEDDINGS.search(words) else "LayerNorm of the attention"
    of_norm = next((part for part in scoped(named, model) if part.right == 2 * entry.best.value), None)
    if of_norm is None or not _COUNTED.match(entry.after) or not _NORM.search(words):
        return None
    is_half = _HALF_OF_NORM.search(words) or bool(_SCALE.search(words)) != bool(_SHIFT.search(words))
    names_both = context.sentence.count(entry.best.text.strip()) > 1  # 768 for scale, and another 768 for shift
    return None if is_half or names_both else wrong_part(of_norm, model)


def _table_of_rounded_vocabulary(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a count of word embeddings with a rounded vocabulary size (30,000 × 768); return None for others."""
    vocabulary, hidden = model.config.vocab_size, model.config.hidden_size
    factors = sorted(side.numbers)
    is_named = any(map(_OF_EMBEDDINGS.search, (*context.names, *context.headings[:1])))
    if not side.is_calculation or len(factors) != _OF_MATRIX or factors[0] != hidden or not is_named:
        return None
    rounded = factors[1]
    if not is_rounded_vocabulary(rounded, vocabulary) or side.value != rounded * hidden:
        return None
    reason = Problem.of(_ROUNDED_VOCABULARY, count=vocabulary, written=in_words(rounded))
    words = next((part for part in scoped("word embeddings", model) if part.right == vocabulary * hidden), None)
    return Judged("conditional", Fraction(words.right), part_in_words(words, model), (reason,)) if words else None


def _norm_as_matrix(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a LayerNorm that is counted as a matrix (layernorm = 768 * 768); return None for other numbers."""
    hidden = Fraction(model.config.hidden_size)
    is_matrix = any(side.numbers[:2] == (hidden, hidden) for side in entry.sides)
    if not is_matrix or entry.best.value not in (hidden**2, hidden**2 + hidden):
        return None
    if not any(map(_NORM_ALONE.fullmatch, context.names[:1])):
        return None
    norm = part_in("LayerNorm of the attention", model, "one")
    return wrong_part(norm, model) if norm else None


_NORM_ALONE = re.compile(r"\W*(?:the )?(?:layer[ _-]?norm(?:ali[sz]ation)?|(?:层)?归一化层?)(?:的?参数量?)?\W*", re.I)


def _multiplies_vocabulary(side: ChainSide, model: Model) -> bool:
    """Whether a calculation contains a vocabulary size; if so, it does not count a part of a layer."""
    least, most = _VOCABULARIES
    sizes = (model.config.intermediate_size, model.config.hidden_size)
    return side.is_calculation and any(least <= number <= most and number not in sizes for number in side.numbers)


_VOCABULARIES = 20_000, 300_000
_EMBEDDED = re.compile(r"\bemb|嵌入|词向量", re.I)  # without these words, only the heading is about embeddings
_MOST_OF_WHOLE = 2  # maximum number of mistakes in a whole model's count if a part has exactly this count


def _otherwise(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge a number that clearly differs from the count that the words mean, although no known mistake explains it.

    Return None if there is no verdict.
    """
    side = entry.best
    if any(IS_DIFFERENCE.search(name) for name in context.names[:2] if name not in context.headings):
        return None
    if _multiplies_vocabulary(side, model) or _is_of_other_sizes(side, model):
        return None
    if side.counts_parameters and ends_list_of_sizes(context):
        return judge_other_total(side, context, model)
    return (
        _slip(side, context, model)
        or contradicted(side.line, context, model)
        or judge_other_total(side, context, model)
        or (None if entry.computes else near_miss(side.line, context, model))
    )


def _is_of_other_sizes(side: ChainSide, model: Model) -> bool:
    """Whether a calculation contains sizes but none of the model's widths; if so, it is about another model."""
    config = model.config
    widths = {config.hidden_size, config.intermediate_size, getattr(config, "embedding_size", config.hidden_size)}
    widths |= {times * config.hidden_size for times in (2, 3, 4)}
    sizes = {size for size in side.numbers if size > _MOST_OF_FACTOR}
    is_bare = not side.is_calculation or side.letters or max(sizes, default=0) >= _LEAST_COUNTED
    if is_bare or widths & sizes:
        return False
    return len(sizes) > 1 or bool(sizes - {*vars(config).values()})


_LEAST_COUNTED, _MOST_OF_FACTOR = 10**4, 100
_ROUNDED_TOO_FAR = 2  # a number rounded the wrong way is off by at most twice its rounding error: 590K for 590,592
_DECAY = re.compile(r"\bdecay", re.I)


def _decayed(side: ChainSide, model: Model) -> Judged:
    """Judge a number of parameters with weight decay (usually all matrices) or without it (biases and LayerNorms)."""
    matrices = sum(tensor.num_parameters() for tensor in counted(model) if len(tensor.shape) > 1)
    for count, words in (
        (matrices, N_("all matrices")),
        (model.num_parameters() - matrices, N_("all biases and LayerNorms")),
    ):
        if side.value == count:
            return Judged("right", counts=Problem.of(words))
    return UNKNOWN


# A shape, not a count: a matrix of 768 x 64.
_SHAPE = re.compile(r"[0-9]+\*[0-9]+")


def _is_shape(entry: WrittenNumber) -> bool:
    """Whether a number may be only a shape: a product of two sizes without a result."""
    return len(entry.sides) == 1 and bool(_SHAPE.fullmatch(re.sub("[x×·⋅]", "*", entry.best.text)))


def _names_whole(verdict: LineVerdict, context: Context, model: Model, part: Counted) -> bool:
    """Whether the words beside a number, not only a heading, mean the layers or the whole model.

    For a common part, "per layer" only means that the part is counted in one layer.
    """
    if verdict.counted and verdict.counted.part == "layers":
        names = (_PER_LAYER.sub(" ", name) if part.part in USUAL else name for name in context.names)
        return any(re.search(PARTS["layers"][1], name, re.I) for name in names)
    scope = context.scope(model.config.num_hidden_layers)
    is_sum = part.layers == "one" and any(map(_IS_SUM.match, context.names[:1]))
    if part.part == "layers" and (part.layers == scope or is_sum):
        return any(re.search(r"total|总|model|模型", name, re.I) for name in context.names)
    return _says_total(context) or bool(scope)


# Words for how many layers are counted, not for which part: parameters per layer.
_PER_LAYER = re.compile(
    r"\b(?:per|(?:in|for|inside|within) (?:each|every|one|a))(?: \w+){0,2}? (?:layer|block)\b|每一?层", re.I
)


_IS_SUM = re.compile(r"\W*(?:sum|together|sub-?total|小计|合计)", re.I)  # labels of a sum of lines


def _says_total(context: Context) -> bool:
    return any(re.search(r"total|总|合计|加起来|sum|model|模型|param|参数", name, re.I) for name in context.names)


_ABOUT = re.compile(r"[×x*]\s?[~≈约]\s?[0-9]")  # a factor that the text marks as rounded
_LEAST_OF_LETTERS = 10**6  # smallest formula in letters that is judged wrong; letters may mean something else


_SIZE_TAKEN = re.compile("[A-Z]=")  # a mistake that confuses two sizes, which a formula in letters cannot do
# Mistakes that are rejected if another part has exactly the stated count.
_FAR_FETCHED = ("decoder layers", "cross attention added")


def _is_year(side: ChainSide) -> bool:
    return side.unit is None and bool(re.fullmatch("(?:19|20)[0-9]{2}", side.text.strip()))


_CHANGED = re.compile(r"after|prun|trained|saved|之后|剪枝", re.I)  # headers of columns about a changed model
_TENSOR = re.compile(r"\W*(?:\w+\.){2,12}(?:weight|bias)[\W0-9]*(?:(?:has|is|shape|有|为)[\W0-9]*)?")
_VARIABLE = re.compile(r"(?<!\w)\w+(?:/\w+){2,12}/(?:kernel|bias|gamma|beta|\w+_embeddings)\b")


def _with_tensors(context: Context) -> Context:
    """Replace TensorFlow's variable names by PyTorch's, and a column header such as "Decoder" by "Decoder layers"."""
    names = (_VARIABLE.sub(lambda name: pytorch_tensor(name[0], ())[0], name) for name in context.names)
    named = [_STACK.sub(r"\1 layers", name) if name == context.header else name for name in names]
    if (
        not context.after.strip(" |")
        and not any(map(_TENSOR.match, named[:1]))
        and (variable := _NAMED_VARIABLE.match(context.line))
    ):
        named = [pytorch_tensor(variable["name"], ())[0], *named]
    return context._replace(names=tuple(named))


# A line that begins with a TensorFlow variable's name: name = bert/pooler/dense/bias:0, shape = (768,) ...
_NAMED_VARIABLE = re.compile(
    r"\W{0,9}name ?= ?(?P<name>\w+(?:/\w+){2,12}/(?:kernel|bias|gamma|beta))(?::0)?\W{1,3}shape ?="
)
_STACK = re.compile(r"^\W*((?:transformer )?(?:de|en)coder|transformer)\W*$", re.I)


def _names_tensor(context: Context) -> bool:
    return bool(context.names and re.search(r"\w\.(?:weight|bias)\b", context.names[0]))


def _modules(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a count of modules, such as 37 for Dropout; return None for other numbers."""
    if side.value.denominator != 1 or side.value > LEAST:
        return None
    for name in context.names[:2]:
        for group in (*inventory(model), named(model, "dense")):
            beside = re.search(rf"(?<![A-Za-z]){re.escape(group.name)}(?![A-Za-z])", name, re.I)
            if beside and group.modules == side.value:
                message = N_("{count} modules: {name}")
                return Judged("right", counts=Problem.of(message, count=group.modules, name=group.name))
    return None


_VOCABULARY_LETTER = re.compile(r"(?<![A-Za-z0-9*×·+/^])\|?V\|?\s?=\s?$")
_VOCABULARY = re.compile(r"vocab|词表|词汇|词典|^V$|-?tokens?$", re.I)


def _vocabulary(entry: WrittenNumber, context: Context, model: Model, published: Config | None) -> Judged | None:
    """Judge a vocabulary size that is mistyped, or rounded as in 30,000; return None for other numbers."""
    side = entry.best
    is_other_model = OWN_MODEL.search(" ".join(context.names[:2])) or OF_OWN.search(context.sentence)
    is_vocabulary = _is_vocabulary(context) or _VOCABULARY_LETTER.search(context.before)
    if entry.computes or published is None or side.unit or is_other_model or not is_vocabulary:
        return None
    right = published.vocab_size
    others = {entry.config.vocab_size for entry in PRESETS.values() if type(entry.config) is type(published)}
    is_own = context.is_in_text(RESIZED) or context.is_in_text(OF_OWN) or SUPPOSED.search(context.sentence)
    if side.value.denominator == 1 and is_slip_of_vocabulary(int(side.value), published) and not is_own:
        reason = Problem.of(MISTYPED, field="vocab_size", right=right, written=in_words(side.value))
    elif side.value in others or not is_rounded_vocabulary(side.value, right):
        return None
    elif not side.text.strip().isdigit() and "," not in side.text:
        return UNKNOWN  # 30k is clearly rounded
    else:
        reason = Problem.of(_ROUNDED_VOCABULARY, count=right, written=in_words(side.value))
    return Judged("wrong", Fraction(right), _THE_VOCABULARY, (reason,))


_THE_VOCABULARY = Problem.of(N_("the vocabulary"))
_ROUNDED_VOCABULARY = N_("The vocabulary has {count} tokens; {written} is rounded.")


def _is_vocabulary(context: Context) -> bool:
    beside = " ".join(context.names[:2])
    return bool(_VOCABULARY.search(beside)) and not re.search(r"param|参数", beside, re.I)


# Words after a size: 1024 hidden units, 1024 维.
_OF_SIZE = re.compile(r"[- ]?(?:hidden\b|units|dim)|[ 个]?(?:维|隐藏)", re.I)


_NAMED_SIZE = re.compile(
    r"(?:d_?model|n_embd|d_?ff|(?:hidden|intermediate)[ _](?:size|dim\w*))\W{0,3}(?:is|of|为|是)?\W{0,3}$", re.I
)


_OF_TENSORS = re.compile(r"bias|偏置|norm|归一|param|参数", re.I)


def _size(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a size of the model; return None for other numbers. Most sizes on their own are not claims."""
    config = model.config
    sizes = {value for value in vars(config).values() if isinstance(value, int) and not isinstance(value, bool)}
    if side.value == config.vocab_size:
        return Judged("right", counts=_THE_VOCABULARY) if _is_vocabulary(context) else NO_CLAIM
    if side.value in sizes and (side.value < LEAST_WITHOUT_WORDS or _NAMED_SIZE.search(context.before)):
        meant = meant_by_words(TypedLine("", side.text, side.value), context, model)
        beside = _OF_TENSORS.search(" ".join(context.names[:2]))
        is_size = _OF_SIZE.match(context.after)
        return None if meant and meant.is_right and beside and side.value >= LEAST and not is_size else NO_CLAIM
    if _is_vocabulary(context) and side.unit is None and LEAST <= side.value < 10**6:
        return UNKNOWN
    return None


def _right(part: Counted, side: ChainSide, context: Context, model: Model) -> Judged:
    """Judge a right count; it is conditional if it leaves out a part and the words do not say so."""
    judged = right_part(part, model)
    if norms := _with_norms(part, context, model):
        return wrong_part(norms, model)
    if part.part in WHOLE_OR_BODY and (whole := _with_pooler(part, context, model)):
        return whole
    if _is_smaller(part, context, model):
        return right_as(part, model)
    missing = count_of_part("LayerNorm of the embeddings", model)
    covers = any(side.means(other.right) for other in all_parts(model) if other.part == "embeddings")
    if (
        part.part == "embeddings without LayerNorm"
        and missing
        and not covers
        and not re.search(r"without|norm|三|three|tables", context.line, re.I)
    ):
        message = N_("The LayerNorm of the embeddings ({count}) is not included.")
        reason = Problem.of(message, count=missing)
        return judged._replace(verdict="conditional", reasons=(reason,))
    if not side.reach and side.value != part.right:
        message = N_("This is rounded: the exact count is {count}.")
        return judged._replace(reasons=(Problem.of(message, count=part.right),))
    return judged


def _with_norms(part: Counted, context: Context, model: Model) -> Counted | None:
    """The part with its LayerNorm if the count's label mentions the LayerNorm (Q/K/V/O/biases/LN); otherwise None."""
    if part.part not in ("attention", "feed-forward") or not any(map(_AND_NORM.search, context.names[:1])):
        return None
    wider = part_in(f"{part.part} with LayerNorm", model, part.layers)
    return wider if wider and wider.right != part.right else None


_AND_NORM = re.compile(
    r"(?:bias(?:es)?|[kqvo])(?:\s?[/+,、]\s?|,? (?:and|plus) )(?:LN|layer.?norms?|层归一化)(?!\w)"
    r"(?!.{0,12}(?:separate|单独|另))",
    re.I,
)


def _is_smaller(part: Counted, context: Context, model: Model) -> bool:
    """Whether the words before a number name a larger part than the one that the number counts."""
    name = without_models(next(iter(context.names), ""))
    if part.part == "layers" and part.layers == "one" and model.config.num_hidden_layers > 1:
        return bool(_ENCODER.fullmatch(name))
    if part.layers != "one" or part.part.startswith("layers") or part.part not in PARTS:
        return False
    if _LAYER.fullmatch(name):
        return not re.search(_called(part), context.sentence, re.I)
    is_in_attention = part.part != "attention" and any(tensor.place.block == "attention" for tensor in part.tensors)
    return is_in_attention and bool(_ATTENTION.fullmatch(name))


_HAS = r"\W*(?:has|have|holds?|contains?|takes?|有|的参数量?(?:为|是)?)?\W*"
_ENCODER = re.compile(rf"\W*(?:the )?(?:whole |entire )?(?:encoder(?: (?:of|in))?|的?编码器){_HAS}", re.I)
_LAYER = re.compile(
    rf"\W*(?:(?:one|each|an?|every|per|single) )(?:encoder |transformer )?(?:layer|block)(?: (?:of|in))?{_HAS}"
    rf"|\W*(?:的?每|的?一)个?层{_HAS}",
    re.I,
)
_ATTENTION = re.compile(
    r"\W*(?:the )?(?:multi-head |self-)?attention (?:of|in) (?:one|each|a|every)\W*(?:layer|block)(?: (?:of|in))?"
    rf"{_HAS}",
    re.I,
)


def _with_pooler(part: Counted, context: Context, model: Model) -> Judged | None:
    """Judge a count that includes the pooler although the words around it exclude the pooler."""
    pooler = count_of_part("pooler", model)
    if not pooler or not any(map(_WITHOUT_POOLER.search, context.names[:1])):
        return None
    counts = Problem.of(N_("{architecture} without pooler"), architecture=model.architecture)
    return should_be(part.right - pooler, counts)


_WITHOUT_POOLER = re.compile(
    r"\b(?:without|no|excluding) (?:the |a )?pooler|add_pooling_layer=False|(?:不含|没有|不带|去掉)池化", re.I
)


def _slip(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """Judge a count with a mistyped digit or two exchanged digits; return None for other numbers."""
    if side.reach or side.value.denominator != 1 or side.value < LEAST or side.is_calculation:
        return None
    for right, part in _counts_of_parts(model):
        is_exchanged = sorted(str(right)) == sorted(str(int(side.value)))
        if (
            right == side.value
            or not is_slip(int(side.value), right)
            or (side.value < LEAST_WITHOUT_WORDS and not is_exchanged)
        ):
            continue
        names = (*context.names, context.sentence) if is_exchanged else context.names
        if any(re.search(_called(part), name, re.I) for name in names):
            return wrong_part(part, model, N_("{right} is right for {part}: a digit is mistyped."))
    return None


@lru_cache(maxsize=32)
def _counts_of_parts(model: Model) -> list[tuple[int, Counted]]:
    """Return (count, part) pairs for the parts that texts usually count."""
    return [(part.right, part) for part in all_parts(model) if part.part in PARTS and part.heads == "all"]


def _called(part: Counted) -> str:
    """The pattern for a part's names; for the whole model, it includes the names of the model without its head."""
    also = f"|{PARTS['the model without its head'][1]}" if part.part == WHOLE_MODEL else ""
    return PARTS[part.part][1] + also


def _any_part(side: ChainSide, model: Model) -> Counted | None:
    """The part, module, tensor or output head with exactly this count; None if there is none."""
    if side.reach or side.value < LEAST or side.value.denominator > 1:
        return None
    return _matrix_of(side, model) or _by_count(model).get(int(side.value))


def _matrix_of(side: ChainSide, model: Model) -> Counted | None:
    """The matrix with the two sizes that a product multiplies, such as 768 × 3072; None if there is none."""
    sizes = sorted(side.numbers)
    if not side.is_calculation or len(sizes) != _OF_MATRIX or sizes[0] == sizes[1]:
        return None
    single = (part for part in all_parts(model) if len(part.tensors) == 1 and part.right == side.value)
    return next((part for part in single if sorted(part.tensors[0].shape) == sizes and part.part in PARTS), None)


_OF_MATRIX = 2


def _of_one_head(side: ChainSide, context: Context, model: Model) -> Counted | None:
    """The part of an attention head with this count, with or without biases; None unless the words name a head."""
    if side.reach or not any(map(OF_HEAD.search, context.names[:2])):
        return None
    parts = (part for part in all_parts(model) if part.heads == "one" and part.layers != "all")
    return next(
        (part for part in parts for tensors in with_and_without_biases(part) if total(tensors) == side.value), None
    )


@lru_cache(maxsize=32)
def _by_count(model: Model) -> dict[int, Counted]:
    """The first part, module, tensor or output head with each count, keyed by the count."""
    return {part.right: part for part in reversed((*all_parts(model), *_heads(model))) if part.heads == "all"}


@lru_cache(maxsize=32)
def _heads(model: Model) -> tuple[Counted, ...]:
    """The output heads of the family's model classes."""
    heads = []
    for cls in model.family.classes:
        try:
            tensors = counted(model.changed(architecture=cls.name))
        except InputError:
            continue
        head = tuple(tensor for tensor in tensors if tensor.place.component == "head")
        heads.append(Counted(cls.name, head))
    return tuple(heads)
